//! Which series there are: those of a selector, with what is known of their measurements.

use crate::MeasureError;
use crate::layout::{Layout, Tier};
use crate::query::QueryError;
use crate::scan::{ReadCounts, Scan, SeriesSet, open, parquet_failed};
use crate::select::Selector;
use crate::snapshot::Snapshot;
use crate::store::Storage;
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMillisecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use futures_util::StreamExt;
use std::collections::BTreeSet;

/// Rows of the hour tier that are read at most to tell what is known of series; beyond, only the series are listed.
pub const SPAN_ROWS_MAX: u64 = 50_000_000;

/// A series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// The metric.
    pub metric: String,
    /// Its tags, by name.
    pub tags: Vec<(String, String)>,
    /// Its id in the files of this topic.
    pub id: u32,
}

impl std::fmt::Display for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::answer::label(&self.metric, &self.tags))
    }
}

/// What is known of a series' measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// How many there are.
    pub count: u64,
    /// The hour of the first, milliseconds since 1970.
    pub first_hour_ms: i64,
    /// The time of the last, milliseconds since 1970.
    pub last_ms: i64,
}

/// The series of a selector.
#[derive(Debug, Clone, Default)]
pub struct SeriesList {
    /// How many there are.
    pub count: u64,
    /// The first of them, by metric and tags: as many as were asked for.
    pub series: Vec<Series>,
    /// What is known of each of `series`; none where nothing is, or where it would be too much to read.
    pub spans: Vec<Option<Span>>,
    /// Whether `spans` were looked for.
    pub has_spans: bool,
}

/// Lists the series of a selector, the first `limit` by metric and tags.
pub async fn list(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    selector: &Selector,
    limit: usize,
) -> Result<SeriesList, MeasureError> {
    let mut list = SeriesList::default();
    for_each(storage, layout, snapshot, |id, metric, tags| {
        if selector.matches(metric, tags) {
            list.count += 1;
            let tags = tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            list.series.push(Series { metric: metric.to_owned(), tags, id });
            // Twice the limit, so that sorting is rare.
            if list.series.len() / 2 >= limit.max(1) {
                list.series.sort_unstable();
                list.series.truncate(limit);
            }
        }
        Ok::<(), MeasureError>(())
    })
    .await?;
    list.series.sort_unstable();
    list.series.truncate(limit);
    let mut ids: Vec<u32> = list.series.iter().map(|series| series.id).collect();
    ids.sort_unstable();
    list.has_spans = hour_rows(snapshot) <= SPAN_ROWS_MAX;
    if list.has_spans {
        let set = SeriesSet::new(ids);
        let (spans, _) = spans(storage, layout, snapshot, &set).await?;
        list.spans = list.series.iter().map(|series| spans.get(set.place(series.id)?).copied().flatten()).collect();
    } else {
        list.spans = vec![None; list.series.len()];
    }
    Ok(list)
}

fn hour_rows(snapshot: &Snapshot) -> u64 {
    snapshot.files(Tier::Hour, i64::MIN, i64::MAX).map(|file| file.rows).sum()
}

/// What is known of the series of a set, in its order.
pub(crate) async fn spans(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    series: &SeriesSet,
) -> Result<(Vec<Option<Span>>, ReadCounts), MeasureError> {
    let columns = ["series", "window", "count", "last_time"];
    let scan = Scan {
        storage,
        layout,
        snapshot,
        tier: Tier::Hour,
        series,
        from_ms: i64::MIN,
        to_ms: i64::MAX,
        columns: &columns,
    };
    let mut spans: Vec<Option<Span>> = vec![None; series.len()];
    let counts = scan
        .run(|batch| {
            let [ids, windows, rows, last] = batch.columns() else { return Ok(()) };
            let times = |column: &dyn Array| column.as_primitive::<TimestampMillisecondType>().values().to_vec();
            let ids = ids.as_primitive::<UInt32Type>().values();
            let rows = rows.as_primitive::<UInt64Type>().values();
            for (((&id, window), &count), last_ms) in ids.iter().zip(times(windows)).zip(rows).zip(times(last)) {
                let Some(span) = series.place(id).and_then(|place| spans.get_mut(place)) else { continue };
                let known = span.get_or_insert(Span { count: 0, first_hour_ms: window, last_ms });
                known.count += count;
                known.first_hour_ms = known.first_hour_ms.min(window);
                known.last_ms = known.last_ms.max(last_ms);
            }
            Ok::<(), MeasureError>(())
        })
        .await?;
    Ok((spans, counts))
}

/// Hands every series to `visit`: id, metric, tags by name. Ids rise.
pub(crate) async fn for_each<E: From<MeasureError>>(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    mut visit: impl FnMut(u32, &str, &[(&str, &str)]) -> Result<(), E>,
) -> Result<(), E> {
    for file in snapshot.series() {
        let path = layout.file(file);
        let builder = open(storage, layout, file, &path).await?;
        let mut batches = builder.build().map_err(|error| parquet_failed(layout, &path, error))?;
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(|error| parquet_failed(layout, &path, error))?;
            visit_batch(&batch, &mut visit).map_err(|error| match error {
                Fault::Visit(error) => error,
                Fault::Columns => E::from(MeasureError::Damaged {
                    path: path.to_string(),
                    reason: "it has other columns than series, metric and tags".to_owned(),
                    folder: layout.root().to_string(),
                }),
            })?;
        }
    }
    Ok(())
}

enum Fault<E> {
    Columns,
    Visit(E),
}

fn visit_batch<E>(
    batch: &RecordBatch,
    visit: &mut impl FnMut(u32, &str, &[(&str, &str)]) -> Result<(), E>,
) -> Result<(), Fault<E>> {
    let [ids, metrics, tags] = batch.columns() else { return Err(Fault::Columns) };
    let ids = ids.as_primitive_opt::<UInt32Type>().ok_or(Fault::Columns)?;
    let metrics = metrics.as_string_opt::<i32>().ok_or(Fault::Columns)?;
    let tags = tags.as_map_opt().ok_or(Fault::Columns)?;
    let keys = tags.keys().as_string_opt::<i32>().ok_or(Fault::Columns)?;
    let values = tags.values().as_string_opt::<i32>().ok_or(Fault::Columns)?;
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let ranges = tags.offsets().windows(2);
    for ((&id, metric), range) in ids.values().iter().zip(metrics.iter()).zip(ranges) {
        let &[begin, end] = range else { return Err(Fault::Columns) };
        pairs.clear();
        let places = usize::try_from(begin).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        pairs.extend(places.filter(|&i| i < keys.len()).map(|i| (keys.value(i), values.value(i))));
        visit(id, metric.unwrap_or_default(), &pairs).map_err(Fault::Visit)?;
    }
    Ok(())
}

/// What to try where nothing matched: the metrics there are, those nearest to the one asked for first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nearby {
    /// Number of series there are.
    pub series: u64,
    /// How many of them have the metric that was asked for.
    pub with_metric: u64,
    /// Metrics, the nearest first, at most [`NEARBY_MAX`].
    pub metrics: Vec<String>,
    /// Number of metrics there are; [`METRICS_MAX`] and more are told as this.
    pub metric_count: usize,
    /// Values of the first tag that no series of the metric has as asked for, with its name.
    pub tag_values: Option<(String, Vec<String>)>,
}

/// Most metrics and values that [`Nearby`] tells.
pub const NEARBY_MAX: usize = 8;
/// Most metrics, and values of a tag, that are compared.
pub const METRICS_MAX: usize = 10_000;

/// The error for a selector that nothing matches, with what might have been meant.
pub async fn nothing_matches(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    selector: &Selector,
) -> QueryError {
    match nearby(storage, layout, snapshot, selector).await {
        Ok(nearby) => QueryError::NoSeries { selector: selector.to_string(), nearby: Box::new(nearby) },
        Err(error) => error.into(),
    }
}

/// Looks for what might have been meant by a selector that nothing matched.
async fn nearby(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    selector: &Selector,
) -> Result<Nearby, MeasureError> {
    let mut nearby = Nearby::default();
    let mut metrics = BTreeSet::new();
    let asked_tag = selector.tags().next().map(str::to_owned);
    let mut values = BTreeSet::new();
    for_each(storage, layout, snapshot, |_, metric, tags| {
        nearby.series += 1;
        if metrics.len() < METRICS_MAX && !metrics.contains(metric) {
            metrics.insert(metric.to_owned());
        }
        if selector.metric().is_none_or(|asked| asked == metric) {
            nearby.with_metric += 1;
            let value = tags.iter().find(|(key, _)| Some(*key) == asked_tag.as_deref()).map(|(_, value)| *value);
            if let Some(value) = value
                && values.len() < METRICS_MAX
                && !values.contains(value)
            {
                values.insert(value.to_owned());
            }
        }
        Ok::<(), MeasureError>(())
    })
    .await?;
    nearby.metric_count = metrics.len();
    let mut metrics: Vec<String> = metrics.into_iter().collect();
    if let Some(asked) = selector.metric() {
        let distance = |metric: &String| (strsim::jaro_winkler(asked, metric) * -1000.0) as i64;
        metrics.sort_by_cached_key(distance);
    }
    metrics.truncate(NEARBY_MAX);
    nearby.metrics = metrics;
    nearby.tag_values = asked_tag.map(|tag| (tag, values.into_iter().take(NEARBY_MAX).collect()));
    Ok(nearby)
}

impl std::fmt::Display for Nearby {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names =
            |names: &[String]| names.iter().map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
        match (&self.tag_values, self.with_metric) {
            _ if self.series == 0 => write!(f, "there are no series yet"),
            (Some((tag, values)), 1..) if values.is_empty() => {
                write!(f, "none of the {} series of this metric has the tag {}", self.with_metric, tag.escape_debug())
            }
            (Some((tag, values)), 1..) => {
                let more = if values.len() < NEARBY_MAX { "" } else { ", …" };
                write!(f, "{} is one of: {}{more}", tag.escape_debug(), names(values))
            }
            _ => {
                let more = if self.metric_count > self.metrics.len() { ", …" } else { "" };
                write!(f, "there are these metrics, of {}: {}{more}", self.metric_count, names(&self.metrics))
            }
        }
    }
}
