//! Human-readable tables of results and lists of series.

use crate::query::answer::{Answer, Line};
use crate::query::labels::{Labels, format_value, shortened};
use crate::query::series_list::SeriesList;
use crate::time::format_time_short;
use rawline_time::format_length;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Rows of an answer's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    /// [`Rows::Steps`] if that table is small, otherwise [`Rows::Series`].
    #[default]
    Auto,
    /// One row per line: minimum, mean, maximum, last value, sparkline.
    Series,
    /// One row per step, one column per line.
    Steps,
}

/// Maximum number of lines of an answer that is shown by steps by default.
const GLANCE_LINES: usize = 6;
const GLANCE_STEPS: usize = 30;

/// Width of a sparkline in characters.
const SPARK_CHARS: usize = 40;

/// Maximum width of a label, on the left or above a column.
const LABEL_CHARS: usize = 60;
const COLUMN_LABEL_CHARS: usize = 24;

/// Formats an answer as a table.
pub fn answer_table(answer: &Answer, rows: Rows) -> String {
    let labels = Labels::of(&answer.lines);
    let times: BTreeSet<i64> = answer.lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    let small = answer.lines.len() <= GLANCE_LINES && times.len() <= GLANCE_STEPS;
    let by_step = rows == Rows::Steps || (rows == Rows::Auto && small);
    let (about, grid) = match (by_step, labels.each.as_slice()) {
        // The label of a single column is above the table, where it has room.
        (true, [label]) => (label.clone(), by_step_grid(answer, &[answer.agg.to_string().to_uppercase()], &times)),
        (true, each) => {
            let heads: Vec<String> = each.iter().map(|label| shortened(label, COLUMN_LABEL_CHARS)).collect();
            (labels.shared.clone(), by_step_grid(answer, &heads, &times))
        }
        (false, _) => (labels.shared.clone(), by_series_grid(answer, &labels)),
    };
    let mut text = caption(answer, &about);
    grid.write(&mut text);
    text
}

/// The caption above a table.
fn caption(answer: &Answer, about: &str) -> String {
    let by =
        answer.by.as_ref().filter(|by| !by.is_empty()).map_or(String::new(), |by| format!(" by {}", by.join(", ")));
    let gap = if about.is_empty() { "" } else { "  " };
    format!(
        "{about}{gap}{}{by} every {}, {} to {} UTC\n",
        answer.agg,
        format_length(answer.step_ms),
        format_time_short(answer.from_ms, answer.step_ms),
        format_time_short(answer.to_ms, answer.step_ms)
    )
}

fn by_series_grid(answer: &Answer, labels: &Labels) -> Grid {
    let mut grid = Grid::new(&["", "POINTS", "MIN", "AVG", "MAX", "LAST", "COURSE"], 1..6);
    grid.name(0, &labels.head);
    for (line, label) in answer.lines.iter().zip(&labels.each) {
        let numbers = || line.points.iter().map(|point| point.1).filter(|value| !value.is_nan());
        let count = numbers().count();
        let mean = numbers().sum::<f64>() / count as f64;
        let least = numbers().fold(f64::NAN, f64::min);
        let greatest = numbers().fold(f64::NAN, f64::max);
        let last = line.points.last().map_or(f64::NAN, |point| point.1);
        grid.row(vec![
            shortened(label, LABEL_CHARS),
            line.points.len().to_string(),
            format_value(least),
            format_value(mean),
            format_value(greatest),
            format_value(last),
            spark(line, answer),
        ]);
    }
    grid
}

fn by_step_grid(answer: &Answer, heads: &[String], times: &BTreeSet<i64>) -> Grid {
    let heads: Vec<&str> = std::iter::once("TIME (UTC)").chain(heads.iter().map(String::as_str)).collect();
    let mut grid = Grid::new(&heads, 1..heads.len());
    let mut left: Vec<_> = answer.lines.iter().map(|line| line.points.iter().peekable()).collect();
    for &time in times {
        let values = left.iter_mut().map(|points| match points.next_if(|point| point.0 == time) {
            Some((_, value)) => format_value(*value),
            None => "-".to_owned(),
        });
        grid.row(std::iter::once(format_time_short(time, answer.step_ms)).chain(values).collect());
    }
    grid
}

/// A sparkline of the whole range; a space for steps without values.
fn spark(line: &Line, answer: &Answer) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = (answer.to_ms - answer.from_ms) / answer.step_ms.max(1);
    let chars = usize::try_from(steps).unwrap_or(0).clamp(1, SPARK_CHARS);
    // Each character shows the mean of its values.
    let mut sums = vec![(0.0, 0_u32); chars];
    let range_ms = (answer.to_ms - answer.from_ms).max(1);
    for &(time, value) in line.points.iter().filter(|point| point.1.is_finite()) {
        let place = i128::from(time - answer.from_ms) * chars as i128 / i128::from(range_ms);
        if let Some(sum) = usize::try_from(place).ok().and_then(|place| sums.get_mut(place)) {
            *sum = (sum.0 + value, sum.1 + 1);
        }
    }
    let means: Vec<Option<f64>> =
        sums.iter().map(|&(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect();
    let least = means.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let greatest = means.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let bar = |mean: &Option<f64>| {
        let Some(mean) = mean else { return ' ' };
        let height = if greatest > least { (mean - least) / (greatest - least) } else { 0.0 };
        BARS.get((height * 7.0).round() as usize).copied().unwrap_or('█')
    };
    means.iter().map(bar).collect::<String>().trim_end().to_owned()
}

/// Formats a list of series as a table.
pub fn series_table(list: &SeriesList) -> String {
    let mut grid = if list.has_spans {
        Grid::new(&["SERIES", "POINTS", "FIRST HOUR (UTC)", "LAST (UTC)"], 1..2)
    } else {
        Grid::new(&["SERIES"], 1..1)
    };
    for (series, span) in list.series.iter().zip(&list.spans) {
        let mut row = vec![series.to_string()];
        if list.has_spans {
            match span {
                Some(span) => row.extend([
                    span.count.to_string(),
                    format_time_short(span.first_hour_ms, 3_600_000),
                    format_time_short(span.last_ms - span.last_ms.rem_euclid(1000), 1000),
                ]),
                None => row.extend(["0", "-", "-"].map(str::to_owned)),
            }
        }
        grid.row(row);
    }
    let mut text = String::new();
    grid.write(&mut text);
    text
}

/// Aligned columns: text to the left, numbers to the right.
struct Grid {
    heads: Vec<String>,
    numbers: std::ops::Range<usize>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// Columns with these headings; those in `numbers` contain numbers.
    fn new(heads: &[&str], numbers: std::ops::Range<usize>) -> Grid {
        Grid { heads: heads.iter().map(|&head| head.to_owned()).collect(), numbers, rows: Vec::new() }
    }

    fn name(&mut self, column: usize, head: &str) {
        if let Some(place) = self.heads.get_mut(column) {
            *place = head.to_uppercase();
        }
    }

    fn row(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    fn write(&self, text: &mut String) {
        let rows = || std::iter::once(&self.heads).chain(&self.rows);
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|column| rows().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0))
            .collect();
        for row in rows() {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                // Writing to a string can't fail.
                let _ = match self.numbers.contains(&column) {
                    true => write!(line, "{gap}{cell:>width$}"),
                    false => write!(line, "{gap}{cell:width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Tier;
    use crate::query::agg::Agg;
    use crate::query::scan::ReadCounts;
    use crate::query::series::Series;
    use crate::query::series_list::Span;

    fn answer(lines: usize, steps: i64) -> Answer {
        let line = |i: usize| Line {
            metric: "cpu".to_owned(),
            tags: vec![("az".to_owned(), "a".to_owned()), ("server".to_owned(), format!("sgp-{i}"))],
            points: (0..steps)
                .filter(|step| *step != 3)
                .map(|step| (step * 60_000, (step * (i as i64 + 1)) as f64))
                .collect(),
        };
        Answer {
            selector: "cpu".to_owned(),
            agg: Agg::Avg,
            by: None,
            from_ms: 0,
            to_ms: steps * 60_000,
            step_ms: 60_000,
            tier: Tier::Minute,
            read: ReadCounts::default(),
            series_count: lines,
            lines: (0..lines).map(line).collect(),
            note: None,
        }
    }

    #[test]
    fn a_small_answer_is_shown_step_by_step() {
        let want = "\
cpu{az=\"a\"}  avg every 1m, 1970-01-01 00:00 to 1970-01-01 00:05 UTC
TIME (UTC)        sgp-0  sgp-1
1970-01-01 00:00      0      0
1970-01-01 00:01      1      2
1970-01-01 00:02      2      4
1970-01-01 00:04      4      8
";
        assert_eq!(answer_table(&answer(2, 5), Rows::Auto), want);
        assert_eq!(answer_table(&answer(2, 5), Rows::Steps), want);
        let one = "\
cpu{az=\"a\",server=\"sgp-0\"}  avg every 1m, 1970-01-01 00:00 to 1970-01-01 00:02 UTC
TIME (UTC)        AVG
1970-01-01 00:00    0
1970-01-01 00:01    1
";
        assert_eq!(answer_table(&answer(1, 2), Rows::Auto), one);
    }

    #[test]
    fn a_large_answer_has_a_row_for_each_series() {
        let want = "\
cpu{az=\"a\"}  avg every 1m, 1970-01-01 00:00 to 1970-01-01 00:08 UTC
SERVER  POINTS  MIN      AVG  MAX  LAST  COURSE
sgp-0        7    0  3.57143    7     7  ▁▂▃ ▅▆▇█
sgp-1        7    0  7.14286   14    14  ▁▂▃ ▅▆▇█
";
        assert_eq!(answer_table(&answer(2, 8), Rows::Series), want);
        let many = answer_table(&answer(7, 8), Rows::Auto);
        assert!(many.contains("COURSE") && many.lines().count() == 9, "{many}");
        let long = answer_table(&answer(1, 400), Rows::Auto);
        assert!(long.contains("SERIES") && long.contains("cpu{az=\"a\",server=\"sgp-0\"}"), "{long}");
        assert!(long.lines().all(|line| line.chars().count() < 120), "{long}");
    }

    #[test]
    fn lines_of_nothing_but_nan_are_shown() {
        let mut nothing = answer(1, 2);
        nothing.lines[0].points = vec![(0, f64::NAN)];
        assert!(answer_table(&nothing, Rows::Series).contains("NaN"));
        nothing.lines[0].points = vec![(0, f64::INFINITY)];
        assert!(answer_table(&nothing, Rows::Series).contains("inf"));
    }

    #[test]
    fn series_are_listed_with_their_spans() {
        let series = |metric: &str| Series { metric: metric.to_owned(), tags: Vec::new(), id: 0 };
        let span = Some(Span { count: 4032, first_hour_ms: 1_392_386_400_000, last_ms: 1_393_597_500_123 });
        let mut list = SeriesList {
            count: 2,
            series: vec![series("cpu"), series("größe")],
            spans: vec![span, None],
            has_spans: true,
        };
        let want = "\
SERIES     POINTS  FIRST HOUR (UTC)  LAST (UTC)
cpu          4032  2014-02-14 14:00  2014-02-28 14:25:00
{\"größe\"}       0  -                 -
";
        assert_eq!(series_table(&list), want);
        list.has_spans = false;
        assert_eq!(series_table(&list), "SERIES\ncpu\n{\"größe\"}\n");
    }
}
