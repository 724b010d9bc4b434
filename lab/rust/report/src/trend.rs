//! Draws how a benchmark's figures change from run to run, from the lines that `rawline bench --append FILE` writes and
//! from `docs/benchmarks.jsonl`.

use crate::svg::{Drawing, Scale};
use crate::text;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One run of one benchmark. Unknown fields are ignored, and every field may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BenchLine {
    /// When, in RFC 3339.
    pub time: String,
    /// The commit of the code, if it is known.
    pub commit: Option<String>,
    /// The program's version.
    pub version: String,
    /// Where it ran. Runs of two machines are two series.
    pub machine: Value,
    /// `write`, `read`, ...
    pub benchmark: String,
    /// Its settings. Runs with different settings are different series.
    pub settings: Value,
    /// Its figures. Values that aren't numbers are ignored.
    pub figures: Map<String, Value>,
}

/// A figure of one run.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    time: Timestamp,
    run: String,
    value: f64,
}

/// The key of a line: runs with equal values are points of one line: benchmark, figure, settings and machine.
type Series = (String, String, String, String);

/// Which figures are drawn.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only those with this text in their benchmark, name, settings or machine.
    pub only: String,
    /// Only those with at least this number of runs.
    pub runs_min: usize,
}

/// A run's notes on the state of its machine, which differ from run to run.
const STATE: [&str; 2] = ["load_average", "memory_available_bytes"];

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 150.0;
/// Left and right of the points.
const MARGIN: f64 = 70.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = HEIGHT - 26.0;

/// One panel for each benchmark, figure, settings and machine, with the runs in the order of their times. Returns
/// nothing if no selected line has a time and a number.
pub fn draw(lines: &[BenchLine], selection: &Selection) -> Option<Drawing> {
    let mut series = series_of(lines);
    series.retain(|(benchmark, figure, settings, machine), points| {
        let named = [benchmark, figure, settings, machine].iter().any(|text| text.contains(&selection.only));
        named && points.len() >= selection.runs_min
    });
    if series.is_empty() {
        return None;
    }
    let mut body = String::new();
    for (index, (name, points)) in series.iter().enumerate() {
        let down = index as f64 * HEIGHT;
        body.push_str(&format!("<g transform=\"translate(0,{down:.0})\">{}</g>\n", panel(name, points)));
    }
    let described: Vec<String> = series
        .iter()
        .filter_map(|((benchmark, figure, ..), points)| {
            let (first, last) = (points.first()?, points.last()?);
            Some(format!("{benchmark}, {figure}: {} to {}", amount(first.value), amount(last.value)))
        })
        .collect();
    Some(Drawing {
        title: "Benchmarks over time".to_owned(),
        description: described.join("; "),
        width: WIDTH,
        height: HEIGHT * series.len() as f64,
        data: String::new(),
        body,
    })
}

fn series_of(lines: &[BenchLine]) -> BTreeMap<Series, Vec<Point>> {
    let mut series: BTreeMap<Series, Vec<Point>> = BTreeMap::new();
    for line in lines {
        let Ok(time) = line.time.parse::<Timestamp>() else { continue };
        let commit = line.commit.as_deref().map(|commit| commit.chars().take(12).collect::<String>());
        let run = commit.unwrap_or_else(|| line.version.clone());
        for (figure, value) in &line.figures {
            let Some(value) = value.as_f64() else { continue };
            let key = (line.benchmark.clone(), figure.clone(), words(&line.settings), machine_of(&line.machine));
            series.entry(key).or_default().push(Point { time, run: run.clone(), value });
        }
    }
    series.values_mut().for_each(|points| points.sort_by_key(|point| point.time));
    series
}

/// The machine without its state, so that runs under different loads are one series.
fn machine_of(machine: &Value) -> String {
    let mut machine = machine.clone();
    if let Some(fields) = machine.as_object_mut() {
        fields.retain(|name, _| !STATE.contains(&name.as_str()));
    }
    words(&machine)
}

/// Settings or a machine in one line; nothing if they are missing or empty.
fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let said = |(key, value): (&String, &Value)| match value {
                Value::String(text) => format!("{key} {text}"),
                other => format!("{key} {other}"),
            };
            fields.iter().map(said).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn panel((benchmark, figure, settings, machine): &Series, points: &[Point]) -> String {
    let up = Scale::fit(points.iter().map(|point| point.value));
    // Runs stand at equal distances: a day without runs isn't news, a step between two runs is.
    let x = |index: usize| match points.len() {
        0 | 1 => WIDTH / 2.0,
        count => MARGIN + (WIDTH - 2.0 * MARGIN) * index as f64 / (count - 1) as f64,
    };
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * up.share(value);
    let under: Vec<&str> =
        [settings, machine].into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let mut body = format!(
        "<text class=\"head\" x=\"{MARGIN}\" y=\"18\">{}</text><text class=\"quiet\" x=\"{MARGIN}\" y=\"33\">{}</text>",
        text::escape(&format!("{benchmark}: {figure}")),
        text::escape(&text::short(&under.join(" · "), 110)),
    );
    for tick in up.ticks(4) {
        let (at, right) = (y(tick), WIDTH - MARGIN);
        body.push_str(&format!(
            "<path class=\"rule\" d=\"M{MARGIN} {at:.1}H{right}\"/><text class=\"quiet end\" x=\"{:.0}\" \
             y=\"{:.1}\">{}</text>",
            MARGIN - 6.0,
            at + 4.0,
            amount(tick),
        ));
    }
    let path: Vec<String> =
        points.iter().enumerate().map(|(index, point)| format!("{:.1} {:.1}", x(index), y(point.value))).collect();
    body.push_str(&format!("<g class=\"f-values\"><path class=\"line\" d=\"M{}\"/>", path.join("L")));
    for (index, point) in points.iter().enumerate() {
        let said = format!("{} at {}, {}", amount(point.value), point.run, point.time);
        body.push_str(&format!(
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}</title></circle>",
            x(index),
            y(point.value),
            text::escape(&said),
        ));
    }
    body.push_str("</g>");
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        let foot = |point: &Point| text::escape(&format!("{} {}", point.time.strftime("%Y-%m-%d"), point.run));
        body.push_str(&format!(
            "<text class=\"quiet\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>",
            BOTTOM + 16.0,
            foot(first)
        ));
        if points.len() > 1 {
            let (right, low) = (WIDTH - MARGIN, BOTTOM + 16.0);
            body.push_str(&format!("<text class=\"quiet end\" x=\"{right}\" y=\"{low:.0}\">{}</text>", foot(last)));
        }
    }
    body
}

/// A number with a prefix, in three digits.
fn amount(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        large if large >= 1e9 => (value / 1e9, " G"),
        large if large >= 1e6 => (value / 1e6, " M"),
        large if large >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        large if large >= 100.0 || scaled.fract() == 0.0 => 0,
        large if large >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(time: &str, commit: Value, settings: Value, figures: Value) -> BenchLine {
        let line = json!({
            "time": time, "commit": commit, "version": "0.1.0", "machine": {"cores": 2}, "benchmark": "write",
            "settings": settings, "figures": figures, "more": [1, 2],
        });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn runs_are_ordered_by_time_and_one_series_has_one_setting() {
        let lines = [
            line("2026-02-01T00:00:00Z", json!("b"), json!({"workers": 16}), json!({"records_per_s": 2_000_000})),
            line("2026-01-01T00:00:00+01:00", json!("a"), json!({"workers": 16}), json!({"records_per_s": 1.0e6})),
            line("2026-01-02T00:00:00Z", json!(null), json!({"workers": 1}), json!({"records_per_s": 5, "unit": "x"})),
            BenchLine { time: "yesterday".to_owned(), ..BenchLine::default() },
        ];
        let series = series_of(&lines);
        let points: Vec<Vec<(&str, f64)>> = series
            .values()
            .map(|points| points.iter().map(|point| (point.run.as_str(), point.value)).collect())
            .collect();
        assert_eq!(points, [vec![("0.1.0", 5.0)], vec![("a", 1.0e6), ("b", 2.0e6)]]);
        let drawing = draw(&lines, &Selection::default()).unwrap();
        assert_eq!(drawing.height, 2.0 * HEIGHT);
        assert!(drawing.description.ends_with("write, records_per_s: 1 M to 2 M"), "{}", drawing.description);
        assert!(drawing.body.contains("2 M at b, 2026-02-01T00:00:00Z"), "{}", drawing.body);
    }

    #[test]
    fn a_line_without_figures_draws_nothing() {
        let line = BenchLine { time: "2026-01-01T00:00:00Z".to_owned(), ..BenchLine::default() };
        assert!(draw(&[line], &Selection::default()).is_none());
    }

    #[test]
    fn runs_on_a_busy_and_on_an_idle_machine_are_one_series() {
        let mut lines = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]
            .map(|time| line(time, json!("a"), json!({}), json!({"records_per_s": 1})));
        for (line, load) in lines.iter_mut().zip([0.5, 7.0]) {
            line.machine = json!({"cores": 2, "load_average": load, "memory_available_bytes": 1e9 * load});
        }
        let series = series_of(&lines);
        assert_eq!(series.keys().map(|key| key.3.as_str()).collect::<Vec<_>>(), ["cores 2"]);
        assert_eq!(series.values().map(Vec::len).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_selection_leaves_out_other_names_and_single_runs() {
        let figures = json!({"records_per_s": 1, "p50_ms": 2});
        let mut lines: Vec<_> = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]
            .map(|time| line(time, json!("a"), json!({"workers": 16}), figures.clone()))
            .into();
        lines.push(line("2026-01-01T00:00:00Z", json!("a"), json!({"workers": 1}), figures));
        let panels = |only: &str, runs_min| {
            let selection = Selection { only: only.to_owned(), runs_min };
            draw(&lines, &selection).map_or(0.0, |drawing| drawing.height / HEIGHT)
        };
        let drawn = [panels("", 0), panels("", 2), panels("p50", 0), panels("workers 1", 2), panels("read", 0)];
        assert_eq!(drawn, [4.0, 2.0, 2.0, 2.0, 0.0]);
    }
}
