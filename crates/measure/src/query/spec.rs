//! A query and its limits.

use crate::layout::Tier;
use crate::query::agg::Agg;
use crate::query::select::Selector;

/// A query.
#[derive(Debug, Clone)]
pub struct Query {
    /// The series.
    pub selector: Selector,
    /// Start of the range in milliseconds since 1970; default: the first measurement.
    pub from_ms: Option<i64>,
    /// End of the range, exclusive; default: the last measurement.
    pub to_ms: Option<i64>,
    /// Length of a step; by default, one that gives up to 200 steps.
    pub step_ms: Option<i64>,
    /// The aggregation of each step.
    pub agg: Agg,
    /// Tags by which to group series, `__name__` for the metric; `None` for no grouping.
    pub by: Option<Vec<String>>,
    /// The tier to read; default: the coarsest one whose windows divide the step.
    pub tier: Option<Tier>,
    /// Limits of the answer.
    pub limits: QueryLimits,
}

impl Query {
    /// The average of all measurements of a selector's series.
    pub fn new(selector: Selector) -> Query {
        let limits = QueryLimits::default();
        Query { selector, from_ms: None, to_ms: None, step_ms: None, agg: Agg::Avg, by: None, tier: None, limits }
    }
}

/// Limits of an answer. A query that exceeds them fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum number of lines: series or groups.
    pub lines_max: usize,
    /// Maximum number of values in all lines together; a tenth of this for quantiles, because each needs a sketch.
    pub points_max: usize,
}

impl Default for QueryLimits {
    /// Up to about 300 MB.
    fn default() -> Self {
        QueryLimits { lines_max: 50_000, points_max: 1_000_000 }
    }
}
