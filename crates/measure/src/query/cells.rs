//! Aggregates rows into the values of all lines and steps, in bounded memory.

use crate::layout::Tier;
use crate::query::agg::{Agg, Cell, Last};
use crate::query::answer::Line;
use crate::query::error::QueryError;
use crate::query::groups::Groups;
use crate::query::spec::Query;
use crate::{Kind, MeasureError, Stretch, WindowRow};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMillisecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use std::collections::BTreeMap;

/// The columns that an aggregation needs.
pub(crate) fn columns(tier: Tier, agg: Agg) -> &'static [&'static str] {
    match (tier, agg) {
        (Tier::Raw, _) => &["series", "time", "value"],
        (_, Agg::Quantile(_)) => &["series", "window", "count", "sum", "min", "max", "last", "last_time", "sketch"],
        (_, Agg::Avg | Agg::Sum) => {
            &["series", "window", "count", "sum", "sum_rest", "min", "max", "last", "last_time"]
        }
        (_, Agg::Rate) => {
            const COLUMNS: &[&str] = &[
                "series",
                "window",
                "count",
                "sum",
                "min",
                "max",
                "last",
                "last_time",
                "first",
                "first_time",
                "reset_sum",
                "last_number",
                "last_number_time",
            ];
            COLUMNS
        }
        _ => &["series", "window", "count", "sum", "min", "max", "last", "last_time"],
    }
}

/// The values of all lines in all steps.
pub(crate) struct Cells<'a> {
    groups: &'a Groups,
    agg: Agg,
    step_ms: i64,
    /// Start of the first step of the answer.
    from_ms: i64,
    points_max: usize,
    /// Whether a row of the answer's steps was added.
    has_rows: bool,
    /// The steps of each line (for a rate, of each series) by their start.
    steps: Vec<BTreeMap<i64, Cell>>,
    count: usize,
}

impl<'a> Cells<'a> {
    /// The answer's steps begin at `from_ms`. Of earlier rows, a rate needs the newest step of each series.
    pub(crate) fn new(query: &Query, groups: &'a Groups, step_ms: i64, from_ms: i64) -> Cells<'a> {
        let sketched = matches!(query.agg, Agg::Quantile(_));
        let points_max = if sketched { query.limits.points_max / 10 } else { query.limits.points_max };
        // Each counter is evaluated separately; only the rates can be added up.
        let rows = if query.agg == Agg::Rate { groups.set.len() } else { groups.lines.len() };
        let steps = vec![BTreeMap::new(); rows];
        Cells { groups, agg: query.agg, step_ms, from_ms, points_max, has_rows: false, steps, count: 0 }
    }

    /// Whether a row of the answer's steps was added.
    pub(crate) fn has_rows(&self) -> bool {
        self.has_rows
    }

    /// Adds rows of a tier.
    pub(crate) fn add(&mut self, tier: Tier, batch: &RecordBatch) -> Result<(), QueryError> {
        let ids = primitive::<UInt32Type>(batch, "series")?;
        if tier == Tier::Raw {
            let times = primitive::<TimestampMillisecondType>(batch, "time")?;
            let values = primitive::<Float64Type>(batch, "value")?;
            for ((&series, &time_ms), &value) in ids.iter().zip(times).zip(values) {
                self.has_rows |= time_ms >= self.from_ms;
                if self.agg == Agg::Rate && value.is_nan() {
                    continue;
                }
                if let Some(cell) = self.cell(series, time_ms)? {
                    cell.add(Last { value, time_ms, series });
                }
            }
            return Ok(());
        }
        let windows = primitive::<TimestampMillisecondType>(batch, "window")?;
        let counts = primitive::<UInt64Type>(batch, "count")?;
        let floats = |name| primitive::<Float64Type>(batch, name);
        let (sums, mins, maxes, lasts) = (floats("sum")?, floats("min")?, floats("max")?, floats("last")?);
        let last_times = primitive::<TimestampMillisecondType>(batch, "last_time")?;
        let [rests, sketches] = ["sum_rest", "sketch"].map(|name| batch.column_by_name(name)?.as_binary_opt::<i32>());
        let optional = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Float64Type>();
        let resets = optional("reset_sum");
        // A value and its time; without them if the aggregation doesn't need them, or if they are null.
        let timed = |name: &str, time_name: &str| {
            let times = batch.column_by_name(time_name)?.as_primitive_opt::<TimestampMillisecondType>()?;
            let values = optional(name)?;
            Some(move |i| (values.is_valid(i) && times.is_valid(i)).then(|| (values.value(i), times.value(i))))
        };
        let (firsts, last_numbers) = (timed("first", "first_time"), timed("last_number", "last_number_time"));
        let ends = maxes.iter().zip(lasts).zip(last_times);
        let numbers = ids.iter().zip(windows).zip(counts).zip(sums).zip(mins).zip(ends);
        for (i, (((((&series, &window_ms), &count), &sum), &min), ((&max, &last), &last_time))) in numbers.enumerate() {
            let sum_rest = rests.filter(|column| column.is_valid(i)).map(|column| column.value(i));
            let sketch = sketches.filter(|column| column.is_valid(i)).map(|column| column.value(i));
            let first = firsts.as_ref().and_then(|first| first(i));
            let last_number = last_numbers.as_ref().and_then(|last| last(i));
            let reset_sum = resets.filter(|column| column.is_valid(i)).map(|column| column.value(i));
            let row =
                WindowRow { count, sum, sum_rest, min, max, last, last_time, sketch, first, reset_sum, last_number };
            self.has_rows |= window_ms >= self.from_ms;
            if self.agg == Agg::Rate && row.counter().last.is_nan() {
                continue;
            }
            let Some(cell) = self.cell(series, window_ms)? else { continue };
            if !cell.add_row(&row, series) {
                return Err(unreadable("a sketch has an unknown format"));
            }
        }
        Ok(())
    }

    fn cell(&mut self, series: u32, time_ms: i64) -> Result<Option<&mut Cell>, QueryError> {
        let Some(place) = self.groups.set.place(series) else { return Ok(None) };
        let row = match self.agg {
            Agg::Rate => place,
            _ => self.groups.line_of.get(place).map_or(usize::MAX, |&line| line as usize),
        };
        let Some(steps) = self.steps.get_mut(row) else { return Ok(None) };
        let begin_ms = time_ms.div_euclid(self.step_ms).saturating_mul(self.step_ms);
        let agg = self.agg;
        if begin_ms < self.from_ms {
            // Of the steps before the answer's, only the newest is needed.
            match steps.range(..self.from_ms).next_back().map(|(&known_ms, _)| known_ms) {
                Some(known_ms) if known_ms > begin_ms => return Ok(None),
                Some(known_ms) if known_ms < begin_ms => {
                    steps.remove(&known_ms);
                    self.count -= 1;
                }
                _ => {}
            }
        }
        let cell = steps.entry(begin_ms).or_insert_with(|| {
            self.count += 1;
            Cell::new(agg)
        });
        if self.count > self.points_max {
            let (points_max, step_ms) = (self.points_max, self.step_ms);
            return Err(QueryError::TooManyPoints { points_max, step_ms, sketched: matches!(agg, Agg::Quantile(_)) });
        }
        Ok(Some(cell))
    }

    /// The lines with values, in the order of metric and tags. The growth of a step of a rate begins at most `reach_ms`
    /// before it.
    pub(crate) fn lines(self, reach_ms: i64) -> Vec<Line> {
        let (groups, agg, from_ms) = (self.groups, self.agg, self.from_ms);
        let mut points: Vec<BTreeMap<i64, f64>> = vec![BTreeMap::new(); groups.lines.len()];
        for (row, steps) in self.steps.into_iter().enumerate() {
            let line = match agg {
                Agg::Rate => groups.line_of.get(row).map_or(usize::MAX, |&line| line as usize),
                _ => row,
            };
            let Some(points) = points.get_mut(line) else { continue };
            if agg != Agg::Rate {
                points.extend(steps.into_iter().map(|(begin_ms, cell)| (begin_ms, cell.value(agg))));
                continue;
            }
            let mut before: Option<(i64, Stretch)> = None;
            for (begin_ms, cell) in steps {
                let Some(now) = cell.counter() else { unreachable!("a cell of a rate without a value at {begin_ms}") };
                let reached = before.filter(|(before_ms, _)| begin_ms.saturating_sub(*before_ms) <= reach_ms);
                if begin_ms >= from_ms
                    && let Some(rate) = reached.and_then(|(_, before)| now.rate_since(&before))
                {
                    *points.entry(begin_ms).or_insert(0.0) += rate;
                }
                before = Some((begin_ms, now));
            }
        }
        let named = groups.lines.iter().zip(points).filter(|(_, points)| !points.is_empty());
        let mut lines: Vec<Line> = named
            .map(|((metric, tags), points)| Line {
                metric: metric.clone(),
                tags: tags.clone(),
                points: points.into_iter().collect(),
            })
            .collect();
        lines.sort_by(|a, b| (&a.metric, &a.tags).cmp(&(&b.metric, &b.tags)));
        lines
    }
}

fn primitive<'a, T: arrow_array::ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a [T::Native], QueryError> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
    Ok(column.ok_or_else(|| unreadable("a column is missing"))?.values())
}

fn unreadable(reason: &str) -> QueryError {
    QueryError::Measure(MeasureError::Store {
        kind: Kind::TellHuman,
        reason: format!(
            "cannot read a file of the roll-ups: {reason}; use a newer Rawline, or roll up the topic again"
        ),
    })
}
