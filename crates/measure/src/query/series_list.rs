//! Lists the series of a selector, with the number and times of their measurements.

use crate::MeasureError;
use crate::layout::{Layout, Tier};
use crate::query::scan::{ReadCounts, Scan, SeriesSet};
use crate::query::select::Selector;
use crate::query::series::{Series, for_each};
use crate::snapshot::Snapshot;
use crate::store::Storage;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMillisecondType, UInt32Type, UInt64Type};

/// Maximum number of rows of the hour tier to read for [`Span`]s. If there are more, only the series are listed.
pub const SPAN_ROWS_MAX: u64 = 50_000_000;

/// Number and times of a series' measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Number of measurements.
    pub count: u64,
    /// The hour of the first one, in milliseconds since 1970.
    pub first_hour_ms: i64,
    /// The time of the last one, in milliseconds since 1970.
    pub last_ms: i64,
}

/// The series of a selector.
#[derive(Debug, Clone, Default)]
pub struct SeriesList {
    /// Number of matching series.
    pub count: u64,
    /// The first of them by metric and tags, up to the limit.
    pub series: Vec<Series>,
    /// The span of each of `series`; `None` without measurements, or if it was not read.
    pub spans: Vec<Option<Span>>,
    /// Whether `spans` were read.
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
            // Sorts at twice the limit, so that sorting is rare.
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

/// The spans of the series of a set, in its order.
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
