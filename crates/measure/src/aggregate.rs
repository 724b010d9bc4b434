//! Combines the rows of a window, which may come from any number of commits.

use crate::{ExactSum, Sketch, Stretch};

/// A summary of a window's measurements.
#[derive(Debug, Clone, Default)]
pub struct Aggregate {
    /// Number of values, including NaN.
    pub count: u64,
    /// Their sum.
    pub sum: ExactSum,
    /// The minimum; NaN if no value is a number.
    pub min: f64,
    /// The maximum; NaN if no value is a number.
    pub max: f64,
    /// The value with the latest time; if several have that time, the one with the greatest offset.
    pub last: f64,
    /// Its time, milliseconds since the Unix epoch.
    pub last_time: i64,
    /// The distribution of the values that are numbers.
    pub sketch: Sketch,
    /// The growth of the values if they are a counter's; `None` without values.
    pub counter: Option<Stretch>,
}

/// A row of a file of windows, without the columns of series and window.
#[derive(Debug, Clone, Copy)]
pub struct WindowRow<'a> {
    /// Column `count`.
    pub count: u64,
    /// Column `sum`.
    pub sum: f64,
    /// Column `sum_rest`.
    pub sum_rest: Option<&'a [u8]>,
    /// Column `min`.
    pub min: f64,
    /// Column `max`.
    pub max: f64,
    /// Column `last`.
    pub last: f64,
    /// Column `last_time`.
    pub last_time: i64,
    /// Column `sketch`.
    pub sketch: Option<&'a [u8]>,
    /// Columns `first` and `first_time`.
    pub first: Option<(f64, i64)>,
    /// Column `reset_sum`.
    pub reset_sum: Option<f64>,
    /// Columns `last_number` and `last_number_time`.
    pub last_number: Option<(f64, i64)>,
}

impl WindowRow<'_> {
    /// The growth of the values if they are a counter's, which counts numbers only.
    pub fn counter(&self) -> Stretch {
        let (last, last_time) = self.last_number.unwrap_or((self.last, self.last_time));
        let (first, first_time) = self.first.unwrap_or((last, last_time));
        Stretch { first, first_time, last, last_time, reset_sum: self.reset_sum.unwrap_or(0.0) }
    }
}

impl Aggregate {
    /// Adds a measurement. Offsets must not decrease from one to the next.
    pub fn add(&mut self, time_ms: i64, value: f64) {
        let value_shown = value + 0.0; // Drop the sign of zero, which would depend on the order.
        self.take(1, value_shown, value_shown, value, time_ms);
        self.sum.add(value);
        self.sketch.add(value, 1);
        self.join(&Stretch::of(value, time_ms));
    }

    /// Adds a row. Rows must come in the order of their commits' offsets. Returns false, and adds nothing, if the row's
    /// sketch has an unknown format.
    #[must_use]
    pub fn add_row(&mut self, row: &WindowRow<'_>) -> bool {
        match row.sketch.map(Sketch::from_bytes) {
            Some(None) => return false,
            Some(Some(sketch)) => self.sketch.merge(&sketch),
            None => self.sketch.add(row.min, row.count),
        }
        self.sum.add_stored(row.sum, row.sum_rest);
        self.take(row.count, row.min, row.max, row.last, row.last_time);
        self.join(&row.counter());
        true
    }

    /// Adds an aggregate whose measurements all have greater offsets.
    pub fn merge(&mut self, later: &Aggregate) {
        self.sum.add_sum(&later.sum);
        self.sketch.merge(&later.sketch);
        self.take(later.count, later.min, later.max, later.last, later.last_time);
        later.counter.iter().for_each(|counter| self.join(counter));
    }

    fn join(&mut self, counter: &Stretch) {
        match &mut self.counter {
            Some(known) => known.join(counter),
            None => self.counter = Some(*counter),
        }
    }

    /// Sum divided by number of values; NaN without values.
    pub fn mean(&self) -> f64 {
        self.sum.value() / self.count as f64
    }

    /// See [`Sketch::quantile`]. The result lies between minimum and maximum, and is exact for 0 and 1.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let value = match q {
            ..=0.0 => self.min,
            1.0.. => self.max,
            _ => self.sketch.quantile(q)?,
        };
        (!self.min.is_nan()).then(|| value.clamp(self.min, self.max))
    }

    fn take(&mut self, count: u64, min: f64, max: f64, last: f64, last_time: i64) {
        if count == 0 {
            return;
        }
        let is_first = self.count == 0;
        if is_first || last_time >= self.last_time {
            (self.last, self.last_time) = (last, last_time);
        }
        self.min = if is_first { min } else { self.min.min(min) };
        self.max = if is_first { max } else { self.max.max(max) };
        self.count += count;
    }
}
