//! The result of a query.

use crate::layout::Tier;
use crate::query::agg::Agg;
use crate::query::scan::ReadCounts;
use crate::query::series::label;

/// The answer to a query: one line per series or group.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The query's selector.
    pub selector: String,
    /// The aggregation of each step.
    pub agg: Agg,
    /// Tags by which series are grouped; `None` if each series has its own line.
    pub by: Option<Vec<String>>,
    /// Start of the first step in milliseconds since 1970, a multiple of `step_ms`.
    pub from_ms: i64,
    /// End of the last step.
    pub to_ms: i64,
    /// Length of a step.
    pub step_ms: i64,
    /// The tier that was read.
    pub tier: Tier,
    /// Numbers of files and rows that were read.
    pub read: ReadCounts,
    /// Number of series that match the selector.
    pub series_count: usize,
    /// Lines with values, in the order of metric and tags.
    pub lines: Vec<Line>,
    /// A note for the reader, if part of the range is no longer kept.
    pub note: Option<String>,
}

/// A series, or a group of series.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The metric; empty for a group with several metrics.
    pub metric: String,
    /// All tags of a series, or the tags by which a group is formed.
    pub tags: Vec<(String, String)>,
    /// The start of each step with a value, in milliseconds since 1970, and the value; in order.
    pub points: Vec<(i64, f64)>,
}

impl Line {
    /// Its label: `metric{tag="value"}`.
    pub fn label(&self) -> String {
        label(&self.metric, &self.tags)
    }
}
