//! Finds the series of a query and groups them into lines.

use crate::layout::Layout;
use crate::query::error::QueryError;
use crate::query::scan::SeriesSet;
use crate::query::series::for_each;
use crate::query::spec::Query;
use crate::snapshot::Snapshot;
use crate::store::Storage;
use std::collections::HashMap;

/// The series of a query and their lines.
pub(crate) struct Groups {
    pub(crate) set: SeriesSet,
    /// The line of each series of the set.
    pub(crate) line_of: Vec<u32>,
    /// Metric and tags of each line.
    pub(crate) lines: Vec<(String, Vec<(String, String)>)>,
}

impl Groups {
    pub(crate) async fn find(
        storage: &Storage,
        layout: &Layout,
        snapshot: &Snapshot,
        query: &Query,
    ) -> Result<Groups, QueryError> {
        let mut found = Found::default();
        for_each(storage, layout, snapshot, |id, metric, tags| {
            if !query.selector.matches(metric, tags) {
                return Ok(());
            }
            let line = found.line(metric, tags, query.by.as_deref());
            if found.lines.len() > query.limits.lines_max {
                return Err(QueryError::TooManyLines { lines_max: query.limits.lines_max });
            }
            found.ids.push(id);
            found.line_of.push(line);
            Ok(())
        })
        .await?;
        Ok(Groups { set: SeriesSet::new(found.ids), line_of: found.line_of, lines: found.lines })
    }
}

#[derive(Default)]
struct Found {
    ids: Vec<u32>,
    line_of: Vec<u32>,
    lines: Vec<(String, Vec<(String, String)>)>,
    /// The line of each combination of the grouping tags.
    by_tags: HashMap<Vec<Option<String>>, u32>,
}

impl Found {
    /// The line of a series.
    fn line(&mut self, metric: &str, tags: &[(&str, &str)], by: Option<&[String]>) -> u32 {
        let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        let Some(by) = by else {
            let tags = tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
            self.lines.push((metric.to_owned(), tags.collect()));
            return next;
        };
        let value = |tag: &String| match tag.as_str() {
            "__name__" => Some(metric.to_owned()),
            tag => tags.iter().find(|(key, _)| *key == tag).map(|(_, value)| (*value).to_owned()),
        };
        // As in PromQL, a missing tag and an empty one are the same.
        let value = |tag| value(tag).filter(|value| !value.is_empty());
        let values: Vec<Option<String>> = by.iter().map(value).collect();
        if let Some(&line) = self.by_tags.get(&values) {
            // A line with several metrics has no metric.
            if let Some((name, _)) = self.lines.get_mut(line as usize).filter(|(name, _)| name != metric) {
                name.clear();
            }
            return line;
        }
        let tags = by.iter().zip(&values).filter(|(key, _)| *key != "__name__");
        let tags = tags.filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect();
        self.lines.push((metric.to_owned(), tags));
        self.by_tags.insert(values, next);
        next
    }
}
