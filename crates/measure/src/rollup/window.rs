//! Windows of one length as columns, one row per series and window.

use crate::ExactSum;
use crate::counter::lost;
use crate::rollup::chunk::Sample;
use crate::sketch::SketchWriter;
use arrow_array::builder::{BinaryBuilder, Float64Builder, TimestampMillisecondBuilder};
use arrow_array::{ArrayRef, Float64Array, TimestampMillisecondArray, UInt32Array, UInt64Array};
use std::sync::Arc;

/// A summary of the samples of one window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub count: u64,
    pub sum: ExactSum,
    pub min: f64,
    pub max: f64,
    pub last: f64,
    pub last_time: i64,
    first: f64,
    first_time: i64,
    reset_sum: f64,
    /// The last value that is a number, and its time.
    last_number: f64,
    last_number_time: i64,
    has_nan: bool,
}

impl Group {
    /// Summarizes samples that are sorted by time.
    pub(crate) fn of(samples: &[Sample]) -> Group {
        let [first, ..] = samples else { return Group::default() };
        let last = samples.last().unwrap_or(first);
        let mut group = Group {
            count: samples.len() as u64,
            sum: ExactSum::default(),
            min: f64::NAN,
            max: f64::NAN,
            last: last.value,
            last_time: last.time_ms,
            first: first.value,
            first_time: first.time_ms,
            reset_sum: 0.0,
            last_number: f64::NAN,
            last_number_time: first.time_ms,
            has_nan: false,
        };
        for sample in samples {
            // Drop the sign of zero, which would depend on the order.
            let value = sample.value + 0.0;
            group.min = group.min.min(value);
            group.max = group.max.max(value);
            group.has_nan |= value.is_nan();
            group.sum.add(sample.value);
            if !value.is_nan() {
                if group.last_number.is_nan() {
                    (group.first, group.first_time) = (sample.value, sample.time_ms);
                }
                group.reset_sum += lost(group.last_number, sample.value);
                (group.last_number, group.last_number_time) = (sample.value, sample.time_ms);
            }
        }
        group
    }

    /// Adds a group whose samples all come later: at a later time, or at the same time with greater offsets.
    pub(crate) fn merge(&mut self, later: &Group) {
        if self.count == 0 {
            *self = later.clone();
            return;
        }
        assert!(later.first_time >= self.last_time, "a group begins before the end of the previous one");
        self.count += later.count;
        self.reset_sum += lost(self.last_number, later.first) + later.reset_sum;
        if self.last_number.is_nan() {
            (self.first, self.first_time) = (later.first, later.first_time);
        }
        if !later.last_number.is_nan() {
            (self.last_number, self.last_number_time) = (later.last_number, later.last_number_time);
        }
        self.sum.add_sum(&later.sum);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        (self.last, self.last_time) = (later.last, later.last_time);
        self.has_nan |= later.has_nan;
    }

    /// Whether the distribution is not determined by count and minimum. If all values are NaN, it is.
    pub(crate) fn needs_sketch(&self) -> bool {
        !self.min.is_nan() && (self.has_nan || self.min != self.max)
    }
}

/// Rows in the order of [`window_schema`](crate::layout::window_schema).
#[derive(Default)]
pub(crate) struct Windows {
    series: Vec<u32>,
    window: Vec<i64>,
    count: Vec<u64>,
    sum: Vec<f64>,
    sum_rest: BinaryBuilder,
    min: Vec<f64>,
    max: Vec<f64>,
    last: Vec<f64>,
    last_time: Vec<i64>,
    sketch: BinaryBuilder,
    first: Float64Builder,
    first_time: TimestampMillisecondBuilder,
    reset_sum: Float64Builder,
    last_number: Float64Builder,
    last_number_time: TimestampMillisecondBuilder,
    scratch: Vec<u8>,
}

impl Windows {
    /// Adds a row. `bins` are the sorted bins of its values; ignored if the row needs no sketch.
    pub(crate) fn push(&mut self, series: u32, window: i64, group: &Group, bins: &[i32]) {
        self.series.push(series);
        self.window.push(window);
        self.count.push(group.count);
        self.sum.push(group.sum.value());
        self.min.push(group.min);
        self.max.push(group.max);
        self.last.push(group.last);
        self.last_time.push(group.last_time);
        self.scratch.clear();
        group.sum.rest_into(&mut self.scratch);
        append(&mut self.sum_rest, &self.scratch);
        self.scratch.clear();
        if group.needs_sketch() {
            let mut writer = SketchWriter::new(&mut self.scratch);
            for same in bins.chunk_by(|a, b| a == b) {
                if let Some(&bin) = same.first() {
                    writer.bin(bin, same.len() as u64);
                }
            }
        }
        append(&mut self.sketch, &self.scratch);
        let has_several = group.count > 1;
        self.first.append_option(has_several.then_some(group.first));
        self.first_time.append_option(has_several.then_some(group.first_time));
        self.reset_sum.append_option((group.reset_sum != 0.0).then_some(group.reset_sum));
        let is_other = group.last.is_nan() && !group.last_number.is_nan();
        self.last_number.append_option(is_other.then_some(group.last_number));
        self.last_number_time.append_option(is_other.then_some(group.last_number_time));
    }

    /// The earliest and the latest window.
    pub(crate) fn times(&self) -> (i64, i64) {
        self.window.iter().fold((i64::MAX, i64::MIN), |(min, max), &window| (min.min(window), max.max(window)))
    }

    /// The columns in the schema's order.
    pub(crate) fn into_columns(mut self) -> [ArrayRef; 15] {
        [
            Arc::new(UInt32Array::from(self.series)),
            Arc::new(TimestampMillisecondArray::from(self.window).with_timezone("UTC")),
            Arc::new(UInt64Array::from(self.count)),
            Arc::new(Float64Array::from(self.sum)),
            Arc::new(self.sum_rest.finish()),
            Arc::new(Float64Array::from(self.min)),
            Arc::new(Float64Array::from(self.max)),
            Arc::new(Float64Array::from(self.last)),
            Arc::new(TimestampMillisecondArray::from(self.last_time).with_timezone("UTC")),
            Arc::new(self.sketch.finish()),
            Arc::new(self.first.finish()),
            Arc::new(self.first_time.finish().with_timezone("UTC")),
            Arc::new(self.reset_sum.finish()),
            Arc::new(self.last_number.finish()),
            Arc::new(self.last_number_time.finish().with_timezone("UTC")),
        ]
    }
}

/// Appends bytes; null if there are none.
fn append(column: &mut BinaryBuilder, bytes: &[u8]) {
    if bytes.is_empty() { column.append_null() } else { column.append_value(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aggregate, WindowRow};
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, TimestampMillisecondType};
    use arrow_array::{Array, RecordBatch};

    /// The one row of these windows.
    fn row_of(batch: &RecordBatch) -> WindowRow<'_> {
        let optional = |name: &str| {
            let column = batch.column_by_name(name).unwrap().as_primitive::<Float64Type>();
            column.is_valid(0).then(|| column.value(0))
        };
        let time = |name: &str| {
            let column = batch.column_by_name(name).unwrap().as_primitive::<TimestampMillisecondType>();
            column.is_valid(0).then(|| column.value(0))
        };
        WindowRow {
            count: 1,
            sum: 0.0,
            sum_rest: None,
            min: 0.0,
            max: 0.0,
            last: optional("last").unwrap(),
            last_time: time("last_time").unwrap(),
            sketch: None,
            first: optional("first").zip(time("first_time")),
            reset_sum: optional("reset_sum"),
            last_number: optional("last_number").zip(time("last_number_time")),
        }
    }

    #[test]
    fn a_row_has_the_growth_of_its_numbers_wherever_nan_is() {
        let mut random = fastrand::Rng::with_seed(20);
        for _ in 0..2_000 {
            let mut samples = Vec::new();
            let mut aggregate = Aggregate::default();
            for time_ms in 0..random.i64(1..12) {
                let value = if random.u8(..3) == 0 { f64::NAN } else { f64::from(random.u8(..)) };
                samples.push(Sample { time_ms, value });
                aggregate.add(time_ms, value);
            }
            // Hours are made of minutes.
            let (early, late) = samples.split_at(random.usize(..=samples.len()));
            let mut group = Group::of(early);
            if !late.is_empty() {
                group.merge(&Group::of(late));
            }
            let mut windows = Windows::default();
            windows.push(0, 0, &group, &[]);
            let batch = RecordBatch::try_new(crate::layout::window_schema(), windows.into_columns().into()).unwrap();
            let (got, want) = (row_of(&batch).counter(), aggregate.counter.unwrap());
            match want.last.is_nan() {
                true => assert!(got.last.is_nan(), "{got:?}"),
                false => assert_eq!(got, want, "{:?}", samples.iter().map(|sample| sample.value).collect::<Vec<_>>()),
            }
        }
    }
}
