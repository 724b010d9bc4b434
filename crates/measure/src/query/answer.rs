//! The answer to a query, and its forms for programs: JSON and CSV.

use crate::layout::Tier;
use crate::query::agg::Agg;
use crate::query::scan::ReadCounts;
use crate::query::series::label;

/// The answer to a query: a line for each series or group.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The selector as it was asked.
    pub selector: String,
    /// What was asked of the values in a step.
    pub agg: Agg,
    /// Tags by which series were put together; none: every series has its line.
    pub by: Option<Vec<String>>,
    /// Where the first step begins, milliseconds since 1970: a multiple of `step_ms`.
    pub from_ms: i64,
    /// Where the last step ends, as `from_ms`.
    pub to_ms: i64,
    /// Length of a step.
    pub step_ms: i64,
    /// What was read.
    pub tier: Tier,
    /// How much was read.
    pub read: ReadCounts,
    /// Number of series that the selector has.
    pub series_count: usize,
    /// Those that have values, by metric and tags.
    pub lines: Vec<Line>,
    /// What the reader should know beside: that old values are no longer kept.
    pub note: Option<String>,
}

/// A series, or a group of series.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The metric; empty for a group of several.
    pub metric: String,
    /// All tags of a series; of a group those that all in it share because they are asked for.
    pub tags: Vec<(String, String)>,
    /// Where a step begins, milliseconds since 1970, and its value. Only steps that have one; times rise.
    pub points: Vec<(i64, f64)>,
}

impl Line {
    /// What it is called: `metric{tag="value"}`.
    pub fn label(&self) -> String {
        label(&self.metric, &self.tags)
    }
}
