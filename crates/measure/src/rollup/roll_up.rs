//! Rolls up a chunk of measurements into the files of a commit, on many threads.

use crate::layout::{Tier, raw_schema, window_schema};
use crate::rollup::chunk::{Chunk, Part, Sample};
use crate::rollup::file::{Built, FileBuilder, RowGroup};
use crate::rollup::window::{Group, Windows};
use crate::sketch::bin_of;
use arrow_array::{ArrayRef, Float64Array, TimestampMillisecondArray, UInt32Array};
use parquet::errors::ParquetError;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

/// Maximum number of rows of a row group: enough to make its overhead negligible, few enough that reading one series is
/// cheap.
const GROUP_ROWS: usize = 128 << 10;

/// The files of a chunk; `None` for a tier without rows.
pub(crate) struct RolledUp {
    pub files: [Option<TierFile>; 3],
}

/// A tier's file.
pub(crate) struct TierFile {
    pub built: Built,
    pub time_min: i64,
    pub time_max: i64,
}

/// Rolls up a chunk on `threads` threads. Blocks.
pub(crate) fn roll_up(mut chunk: Chunk, threads: usize) -> Result<RolledUp, ParquetError> {
    let mut builders =
        [FileBuilder::new(raw_schema())?, FileBuilder::new(window_schema())?, FileBuilder::new(window_schema())?];
    let rows = GROUP_ROWS.min(chunk.rows() / threads.max(1) + 1);
    let parts = chunk.parts(rows);
    let parts_count = parts.len();
    let parts = Mutex::new(parts.into_iter().enumerate());
    let work = || {
        let mut done = Vec::new();
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, mut part)) = part else { return Ok::<_, ParquetError>(done) };
            done.push((number, roll_up_part(&mut part, &builders)?));
        }
    };
    let mut done = Vec::with_capacity(parts_count);
    #[expect(
        clippy::disallowed_methods,
        reason = "runs on a thread that may block; the result doesn't depend on the order"
    )]
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads.min(parts_count)).map(|_| scope.spawn(work)).collect();
        done.extend(work()?);
        for helper in helpers {
            let ended = helper.join().unwrap_or_else(|_| Err(ParquetError::General("a thread panicked".to_owned())));
            done.extend(ended?);
        }
        Ok::<_, ParquetError>(())
    })?;
    drop(parts);
    drop(chunk);
    done.sort_unstable_by_key(|(number, _)| *number);
    let mut times = [(i64::MAX, i64::MIN); 3];
    for (_, groups) in done {
        for (((builder, group), times), (min, max)) in
            builders.iter_mut().zip(groups.groups).zip(&mut times).zip(groups.times)
        {
            builder.append(group)?;
            *times = (times.0.min(min), times.1.max(max));
        }
    }
    let mut files = [None, None, None];
    for ((file, builder), (time_min, time_max)) in files.iter_mut().zip(builders).zip(times) {
        *file = builder.finish()?.map(|built| TierFile { built, time_min, time_max });
    }
    Ok(RolledUp { files })
}

/// Rolls up columns and returns the lengths of the three files in bytes. For benchmarks.
#[doc(hidden)]
pub fn roll_up_columns(
    pieces: Vec<crate::rollup::chunk::Columns>,
    series_end: u32,
    threads: usize,
) -> Result<[u64; 3], String> {
    let rolled_up = roll_up(Chunk::sort(pieces, series_end), threads).map_err(|error| error.to_string())?;
    Ok(rolled_up.files.map(|file| file.map_or(0, |file| file.built.bytes.len() as u64)))
}

/// A part's row group of each tier, and the times in them.
struct PartGroups {
    groups: [RowGroup; 3],
    times: [(i64, i64); 3],
}

fn roll_up_part(part: &mut Part<'_>, builders: &[FileBuilder; 3]) -> Result<PartGroups, ParquetError> {
    let rows = part.samples.len();
    let mut series_column = Vec::with_capacity(rows);
    let mut minutes = Windows::default();
    let mut hours = Windows::default();
    let mut bins = Vec::new();
    let mut sorted = Vec::new();
    let (mut time_min, mut time_max) = (i64::MAX, i64::MIN);
    part.each_series(|series, samples| {
        series_column.resize(series_column.len() + samples.len(), series);
        if let [first, .., last] | [first @ last] = samples {
            time_min = time_min.min(first.time_ms);
            time_max = time_max.max(last.time_ms);
        }
        roll_up_series(series, samples, &mut minutes, &mut hours, &mut bins, &mut sorted);
    });
    let times = [(time_min, time_max), minutes.times(), hours.times()];
    let time = TimestampMillisecondArray::from_iter_values(part.samples.iter().map(|sample| sample.time_ms));
    let columns: [ArrayRef; 3] = [
        Arc::new(UInt32Array::from(series_column)),
        Arc::new(time.with_timezone("UTC")),
        Arc::new(Float64Array::from_iter_values(part.samples.iter().map(|sample| sample.value))),
    ];
    let [raw, minute, hour] = builders;
    let groups = [raw.encode(&columns)?, minute.encode(&minutes.into_columns())?, hour.encode(&hours.into_columns())?];
    Ok(PartGroups { groups, times })
}

/// Rolls up the samples of one series, sorted by time. `bins` and `sorted` are reused buffers.
pub(crate) fn roll_up_series(
    series: u32,
    samples: &[Sample],
    minutes: &mut Windows,
    hours: &mut Windows,
    bins: &mut Vec<i32>,
    sorted: &mut Vec<i32>,
) {
    for hour in samples.chunk_by(|a, b| same_window(Tier::Hour, a, b)) {
        let mut whole = Group::default();
        let mut bins_begin = 0;
        bins.clear();
        for minute in hour.chunk_by(|a, b| same_window(Tier::Minute, a, b)) {
            let group = Group::of(minute);
            // NaN has no bin.
            bins.extend(minute.iter().filter_map(|sample| bin_of(sample.value)));
            sorted.clear();
            if group.needs_sketch() {
                sorted.extend_from_slice(bins.get(bins_begin..).unwrap_or_default());
                sorted.sort_unstable();
            }
            bins_begin = bins.len();
            minutes.push(series, window_of(Tier::Minute, minute), &group, sorted);
            whole.merge(&group);
        }
        if whole.needs_sketch() {
            bins.sort_unstable();
        } else {
            bins.clear();
        }
        hours.push(series, window_of(Tier::Hour, hour), &whole, bins);
    }
}

fn same_window(tier: Tier, a: &Sample, b: &Sample) -> bool {
    window_begin(tier, a.time_ms) == window_begin(tier, b.time_ms)
}

fn window_of(tier: Tier, samples: &[Sample]) -> i64 {
    samples.first().map_or(0, |sample| window_begin(tier, sample.time_ms))
}

/// Start of the window that contains a time.
#[inline]
pub(crate) fn window_begin(tier: Tier, time_ms: i64) -> i64 {
    // The window of the earliest times would begin before the minimum of i64.
    match tier {
        Tier::Raw => time_ms,
        Tier::Minute => time_ms.div_euclid(60_000).saturating_mul(60_000),
        Tier::Hour => time_ms.div_euclid(3_600_000).saturating_mul(3_600_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollup::chunk::Columns;

    #[test]
    fn times_at_the_ends_of_time_have_windows() {
        for time_ms in [i64::MIN, i64::MIN + 1, -1, 0, 59_999, i64::MAX] {
            for tier in [Tier::Minute, Tier::Hour] {
                let begin = window_begin(tier, time_ms);
                let length = tier.window_ms().unwrap();
                assert!(begin <= time_ms && (begin == i64::MIN || begin % length == 0));
                assert!(i128::from(time_ms) - i128::from(begin) < i128::from(length));
            }
        }
        let times = vec![i64::MIN, i64::MAX, 0, i64::MIN];
        let columns = Columns { series: vec![3; 4], time_ms: times, value: vec![f64::NAN, 1.0, -0.0, 1e300] };
        let rolled_up = roll_up(Chunk::sort(vec![columns], 4), 3).unwrap();
        let [raw, minute, hour] = rolled_up.files.map(Option::unwrap);
        assert_eq!((raw.built.rows, minute.built.rows, hour.built.rows), (4, 3, 3));
        assert_eq!((raw.time_min, raw.time_max, hour.time_min), (i64::MIN, i64::MAX, i64::MIN));
        let nothing = roll_up(Chunk::sort(Vec::new(), 0), 3).unwrap();
        assert!(nothing.files.iter().all(Option::is_none));
    }
}
