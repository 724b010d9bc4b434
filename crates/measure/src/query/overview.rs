//! Lists of what can be queried: the topics, the metrics of a topic, the tags of series with their values. Their size
//! is limited.

use crate::MeasureError;
use crate::layout::Layout;
use crate::query::error::QueryError;
use crate::query::run::{load, nothing_matches, retried};
use crate::query::select::Selector;
use crate::query::series::for_each;
use crate::snapshot::Snapshot;
use crate::store::{Storage, failed};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of metrics in a [`MetricList`].
pub const LISTED_METRICS_MAX: usize = 10_000;
/// Maximum number of tags in a [`TagList`].
pub const LISTED_TAGS_MAX: usize = 100;
/// Maximum number of values of a tag in a [`TagList`].
pub const LISTED_VALUES_MAX: usize = 1000;
/// Maximum length of all names and values in a list together, in bytes. A name may have thousands.
pub const LISTED_BYTES_MAX: usize = 1 << 20;

/// The metrics of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MetricList {
    /// Number of series of the metrics that were searched for, also of those that are not listed.
    pub series_count: u64,
    /// Whether all of these metrics are listed.
    pub is_complete: bool,
    /// The metrics, by name.
    pub metrics: Vec<Metric>,
}

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Its name.
    pub metric: String,
    /// Number of its series.
    pub series_count: u64,
}

/// The tags of a selector's series.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TagList {
    /// Number of series.
    pub series_count: u64,
    /// Whether all of their tags are listed.
    pub is_complete: bool,
    /// The tags, by name.
    pub tags: Vec<Tag>,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tag {
    /// Its name.
    pub tag: String,
    /// Whether all of its values are listed.
    pub is_complete: bool,
    /// Its values, in order.
    pub values: Vec<String>,
}

/// The topics that have roll-ups, by name.
pub async fn list_topics(storage: &Storage) -> Result<Vec<String>, MeasureError> {
    let folder = storage.prefix.clone().join(".measure");
    let listed = storage.store.list_with_delimiter(Some(&folder)).await;
    let listed = listed.map_err(|error| failed("list", &folder, &error))?;
    let mut topics: Vec<String> =
        listed.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned)).collect();
    topics.sort_unstable();
    Ok(topics)
}

/// Lists the metrics of a topic whose names contain `search`, in letters of any case.
pub async fn list_metrics(storage: &Storage, topic: &str, search: &str) -> Result<MetricList, QueryError> {
    let search = search.to_lowercase();
    retried(async || {
        let layout = Layout::new(&storage.prefix, topic);
        let snapshot = load(storage, &layout, topic).await?;
        Ok(metrics(storage, &layout, &snapshot, &search).await?)
    })
    .await
}

async fn metrics(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    search: &str,
) -> Result<MetricList, MeasureError> {
    let mut room = Room(LISTED_BYTES_MAX);
    let mut list = MetricList { is_complete: true, ..MetricList::default() };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for_each(storage, layout, snapshot, |_, metric, _| {
        if let Some(count) = counts.get_mut(metric) {
            list.series_count += 1;
            *count += 1;
        } else if search.is_empty() || metric.to_lowercase().contains(search) {
            list.series_count += 1;
            if counts.len() < LISTED_METRICS_MAX && room.take(metric) {
                counts.insert(metric.to_owned(), 1);
            } else {
                list.is_complete = false;
            }
        }
        Ok::<(), MeasureError>(())
    })
    .await?;
    list.metrics = counts.into_iter().map(|(metric, series_count)| Metric { metric, series_count }).collect();
    Ok(list)
}

/// Lists the tags of a selector's series with their values.
pub async fn list_tags(storage: &Storage, topic: &str, selector: &Selector) -> Result<TagList, QueryError> {
    retried(async || {
        let layout = Layout::new(&storage.prefix, topic);
        let snapshot = load(storage, &layout, topic).await?;
        let list = tags(storage, &layout, &snapshot, selector).await?;
        match list.series_count {
            0 => Err(nothing_matches(storage, &layout, &snapshot, selector).await),
            _ => Ok(list),
        }
    })
    .await
}

async fn tags(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    selector: &Selector,
) -> Result<TagList, MeasureError> {
    let mut room = Room(LISTED_BYTES_MAX);
    let mut list = TagList { is_complete: true, ..TagList::default() };
    let mut found: BTreeMap<String, (BTreeSet<String>, bool)> = BTreeMap::new();
    for_each(storage, layout, snapshot, |_, metric, tags| {
        if !selector.matches(metric, tags) {
            return Ok(());
        }
        list.series_count += 1;
        for &(tag, value) in tags {
            if !found.contains_key(tag) {
                if found.len() >= LISTED_TAGS_MAX || !room.take(tag) {
                    list.is_complete = false;
                    continue;
                }
                found.insert(tag.to_owned(), (BTreeSet::new(), true));
            }
            let Some((values, is_complete)) = found.get_mut(tag) else { unreachable!("{tag:?} was just added") };
            if !values.contains(value) {
                if values.len() < LISTED_VALUES_MAX && room.take(value) {
                    values.insert(value.to_owned());
                } else {
                    *is_complete = false;
                }
            }
        }
        Ok::<(), MeasureError>(())
    })
    .await?;
    let tag = |(tag, (values, is_complete)): (String, (BTreeSet<String>, bool))| Tag {
        tag,
        is_complete,
        values: values.into_iter().collect(),
    };
    list.tags = found.into_iter().map(tag).collect();
    Ok(list)
}

/// The remaining bytes of a list.
struct Room(usize);

impl Room {
    /// Takes the bytes of a text; false if they don't fit.
    fn take(&mut self, text: &str) -> bool {
        let left = self.0.checked_sub(text.len());
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_room_for_so_many_bytes() {
        let mut room = Room(5);
        assert_eq!(["abc", "abc", "ab", "", "a"].map(|text| room.take(text)), [true, false, true, true, false]);
    }
}
