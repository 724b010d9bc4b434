//! Aggregations of the values in a step: average, quantile, rate and others.

use crate::sketch::{SketchWriter, bin_of};
use crate::{ExactSum, Sketch, Stretch};
use std::str::FromStr;

/// An aggregation of the values in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Agg {
    /// Sum divided by number of values.
    Avg,
    /// Their sum.
    Sum,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The value with the latest time.
    Last,
    /// The number of values.
    Count,
    /// A quantile, from 0 to 1, within [`crate::RELATIVE_ERROR`].
    Quantile(f64),
    /// Growth of a counter per second, from the last value of the previous step to the last value of this one. If a
    /// counter falls, it has restarted at zero; its growth before each fall counts.
    Rate,
}

impl FromStr for Agg {
    type Err = String;

    fn from_str(text: &str) -> Result<Agg, String> {
        Ok(match text {
            "avg" => Agg::Avg,
            "sum" => Agg::Sum,
            "min" => Agg::Min,
            "max" => Agg::Max,
            "last" => Agg::Last,
            "count" => Agg::Count,
            "rate" => Agg::Rate,
            "median" => Agg::Quantile(0.5),
            _ => {
                let percent = text.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| {
                    format!(
                        "{text:?} is not an aggregation; use avg, sum, min, max, last, count, rate, p50 or another pNN"
                    )
                })?;
                Agg::Quantile(percent / 100.0)
            }
        })
    }
}

impl std::fmt::Display for Agg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Agg::Avg => f.write_str("avg"),
            Agg::Sum => f.write_str("sum"),
            Agg::Min => f.write_str("min"),
            Agg::Max => f.write_str("max"),
            Agg::Last => f.write_str("last"),
            Agg::Count => f.write_str("count"),
            Agg::Rate => f.write_str("rate"),
            // 0.999 × 100 is 99.9 only after rounding.
            Agg::Quantile(q) => write!(f, "p{}", (q * 1e11).round() / 1e9),
        }
    }
}

/// Values gathered before they are added to a sketch: adding many costs little more than adding one.
const PENDING_MAX: usize = 64;

/// A summary of a line's values in one step.
///
/// Like [`crate::Aggregate`], but only with the fields that the aggregation needs.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    count: u64,
    sum: ExactSum,
    min: f64,
    max: f64,
    last: Last,
    sketch: Option<Box<(Sketch, Vec<f64>)>>,
    counter: Option<Box<Counter>>,
}

/// The growth of a counter in one step.
#[derive(Debug, Clone, Default)]
struct Counter {
    /// The values before `run`.
    all: Option<Stretch>,
    /// Values in the order of time, from one file or several consecutive ones. Late values form a separate run before
    /// they are joined, so that restarts between them are not lost.
    run: Option<Stretch>,
}

impl Counter {
    fn add(&mut self, next: Stretch) {
        match &mut self.run {
            Some(run) if next.first_time >= run.last_time => run.join(&next),
            _ => {
                self.all = self.whole();
                self.run = Some(next);
            }
        }
    }

    fn whole(&self) -> Option<Stretch> {
        match (self.all, self.run) {
            (Some(mut all), Some(run)) => {
                all.join(&run);
                Some(all)
            }
            (all, run) => run.or(all),
        }
    }
}

/// The latest value; if several series have that time, the value of the one with the greatest id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    pub(crate) value: f64,
    pub(crate) time_ms: i64,
    pub(crate) series: u32,
}

impl Cell {
    pub(crate) fn new(agg: Agg) -> Cell {
        let last = Last { value: f64::NAN, time_ms: i64::MIN, series: 0 };
        let sketch = matches!(agg, Agg::Quantile(_)).then(Box::default);
        let counter = matches!(agg, Agg::Rate).then(Box::default);
        Cell { count: 0, sum: ExactSum::default(), min: f64::NAN, max: f64::NAN, last, sketch, counter }
    }

    /// Adds a raw value.
    pub(crate) fn add(&mut self, last: Last) {
        self.sum.add(last.value);
        // Stored minima and maxima have no negative zero either.
        self.take(1, last.value + 0.0, last.value + 0.0, last);
        if let Some((sketch, pending)) = self.sketch.as_deref_mut() {
            pending.push(last.value);
            if pending.len() >= PENDING_MAX {
                flush(sketch, pending);
            }
        }
        if let Some(counter) = &mut self.counter {
            counter.add(Stretch::of(last.value, last.time_ms));
        }
    }

    /// Adds the row of a window. Returns false if its sketch is invalid.
    #[must_use]
    pub(crate) fn add_row(&mut self, row: &crate::WindowRow<'_>, series: u32) -> bool {
        self.sum.add_stored(row.sum, row.sum_rest);
        self.take(row.count, row.min, row.max, Last { value: row.last, time_ms: row.last_time, series });
        if let Some((sketch, _)) = self.sketch.as_deref_mut() {
            match row.sketch.map(Sketch::from_bytes) {
                Some(None) => return false,
                Some(Some(other)) => sketch.merge(&other),
                None => sketch.add(row.min, row.count),
            }
        }
        if let Some(counter) = &mut self.counter {
            counter.add(row.counter());
        }
        true
    }

    fn take(&mut self, count: u64, min: f64, max: f64, last: Last) {
        self.count += count;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        // Rows of a series arrive in the order of their offsets.
        if (last.time_ms, last.series) >= (self.last.time_ms, self.last.series) {
            self.last = last;
        }
    }

    /// The growth of the values, to compute a rate.
    pub(crate) fn counter(&self) -> Option<Stretch> {
        self.counter.as_ref()?.whole()
    }

    /// The result; NaN if no value is a number. For a rate, see [`Cell::counter`].
    pub(crate) fn value(mut self, agg: Agg) -> f64 {
        match agg {
            Agg::Avg => self.sum.value() / self.count as f64,
            Agg::Sum => self.sum.value(),
            Agg::Min | Agg::Quantile(..=0.0) => self.min,
            Agg::Max | Agg::Quantile(1.0..) => self.max,
            Agg::Last | Agg::Rate => self.last.value,
            Agg::Count => self.count as f64,
            Agg::Quantile(q) => {
                let Some((sketch, pending)) = self.sketch.as_deref_mut() else { return f64::NAN };
                flush(sketch, pending);
                // Clamped to the range of the values. `min` is not NaN if there is a quantile.
                sketch.quantile(q).map_or(f64::NAN, |value| value.max(self.min).min(self.max))
            }
        }
    }
}

/// Adds all values to the sketch at once, because adding one value costs as much.
fn flush(sketch: &mut Sketch, pending: &mut Vec<f64>) {
    let mut bins: Vec<i32> = pending.drain(..).filter_map(bin_of).collect();
    bins.sort_unstable();
    let mut bytes = Vec::new();
    let mut writer = SketchWriter::new(&mut bytes);
    for same in bins.chunk_by(|a, b| a == b) {
        if let Some(&bin) = same.first() {
            writer.bin(bin, same.len() as u64);
        }
    }
    let gathered = Sketch::from_bytes(&bytes);
    debug_assert!(gathered.is_some(), "a sketch that was just written can be read");
    sketch.merge(&gathered.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["avg", "sum", "min", "max", "last", "count", "rate", "p50", "p90", "p99", "p99.9", "p0", "p100"] {
            assert_eq!(name.parse::<Agg>().unwrap().to_string(), name);
        }
        assert_eq!("median".parse(), Ok(Agg::Quantile(0.5)));
        for name in ["", "p", "p101", "p-1", "pNaN", "mean", "P99", "99"] {
            assert!(name.parse::<Agg>().unwrap_err().contains("avg, sum"), "{name}");
        }
    }

    #[test]
    fn a_quantile_of_many_values_is_the_quantile_of_their_sketch() {
        let mut cell = Cell::new(Agg::Quantile(0.9));
        let mut sketch = Sketch::new();
        for i in 0..10_000_u32 {
            let value = f64::from(i * 7919 % 10_007);
            cell.add(Last { value, time_ms: i64::from(i), series: 0 });
            sketch.add(value, 1);
        }
        assert_eq!(Some(cell.value(Agg::Quantile(0.9))), sketch.quantile(0.9));
    }
}
