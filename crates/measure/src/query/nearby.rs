//! Suggestions for a selector without a match.

use crate::MeasureError;
use crate::layout::Layout;
use crate::query::select::Selector;
use crate::query::series::for_each;
use crate::snapshot::Snapshot;
use crate::store::Storage;
use std::collections::BTreeSet;

/// Suggestions for a selector that matches nothing: the metrics with the nearest names, or the values of a tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nearby {
    /// Number of all series.
    pub series: u64,
    /// Number of series with the selector's metric.
    pub with_metric: u64,
    /// Up to [`NEARBY_MAX`] metrics, the nearest first.
    pub metrics: Vec<String>,
    /// Number of metrics, counted up to [`METRICS_MAX`].
    pub metric_count: usize,
    /// The selector's first tag, and up to [`NEARBY_MAX`] of its values.
    pub tag_values: Option<(String, Vec<String>)>,
}

/// Maximum number of metrics and values in [`Nearby`].
pub const NEARBY_MAX: usize = 8;
/// Maximum number of metrics, and values of a tag, to compare.
pub const METRICS_MAX: usize = 10_000;

/// Finds suggestions for a selector that matches nothing.
pub(crate) async fn nearby(
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
        if selector.metric().is_none_or(|wanted| wanted == metric) {
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
    if let Some(wanted) = selector.metric() {
        let distance = |metric: &String| (strsim::jaro_winkler(wanted, metric) * -1000.0) as i64;
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
                let count = self.metric_count;
                let noun = if count == 1 { "metric" } else { "metrics" };
                let these = if count > self.metrics.len() { ", such as" } else { ":" };
                write!(f, "the topic has {count} {noun}{these} {}", names(&self.metrics))
            }
        }
    }
}
