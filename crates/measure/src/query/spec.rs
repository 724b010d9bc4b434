//! A query: what is asked, and what the answer may take.

use crate::layout::Tier;
use crate::query::agg::Agg;
use crate::query::select::Selector;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Query {
    /// Which series.
    pub selector: Selector,
    /// From when, milliseconds since 1970; none: from the first measurement.
    pub from_ms: Option<i64>,
    /// To when, not included; none: to the last measurement.
    pub to_ms: Option<i64>,
    /// Length of a step; none: one that makes up to 200 of the range.
    pub step_ms: Option<i64>,
    /// What of the values in a step.
    pub agg: Agg,
    /// Tags by which series are put together, `__name__` for the metric; none: every series is for itself.
    pub by: Option<Vec<String>>,
    /// What to read; none: the coarsest that has the answer.
    pub tier: Option<Tier>,
    /// What an answer may take.
    pub limits: QueryLimits,
}

impl Query {
    /// All measurements of a selector's series, averaged.
    pub fn new(selector: Selector) -> Query {
        let limits = QueryLimits::default();
        Query { selector, from_ms: None, to_ms: None, step_ms: None, agg: Agg::Avg, by: None, tier: None, limits }
    }
}

/// What an answer may take. Beyond, the query fails and says what to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// Most lines: series, or groups of them.
    pub lines_max: usize,
    /// Most values in all lines together; a tenth of it where quantiles are asked for, since each needs a sketch.
    pub points_max: usize,
}

impl Default for QueryLimits {
    /// Some 300 MB at most.
    fn default() -> Self {
        QueryLimits { lines_max: 50_000, points_max: 1_000_000 }
    }
}
