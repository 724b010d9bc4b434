//! Errors of queries.

use crate::MeasureError;
use crate::layout::Tier;
use crate::query::nearby::Nearby;
use crate::time::format_time;
use rawline_time::format_length;

/// Reasons why a query has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum QueryError {
    /// The selector matches no series.
    #[error("no series matches {selector}; {nearby}")]
    NoSeries {
        /// The selector.
        selector: String,
        /// The series that exist.
        nearby: Box<Nearby>,
    },
    /// The series have no measurements in the range.
    #[error(
        "the {series_count} series of {selector} have no measurements from {} to {}{}",
        format_time(*.from_ms),
        format_time(*.to_ms),
        extent(*.span_ms)
    )]
    NoPoints {
        /// The selector.
        selector: String,
        /// Number of its series.
        series_count: usize,
        /// Start of the range, milliseconds since 1970.
        from_ms: i64,
        /// End of the range.
        to_ms: i64,
        /// First and last time of the series' measurements, if they have any.
        span_ms: Option<(i64, i64)>,
    },
    /// A rate needs values in two steps that are near each other, and no series has them.
    #[error(
        "cannot compute a rate for {selector}: no series has values in two steps of {} that are at most {} apart",
        format_length(*.step_ms),
        format_length(*.reach_ms)
    )]
    NoRate {
        /// The selector.
        selector: String,
        /// Length of a step.
        step_ms: i64,
        /// Maximum distance of the steps.
        reach_ms: i64,
    },
    /// The range is empty.
    #[error("the range starts at {} and ends at {}", format_time(*.from_ms), format_time(*.to_ms))]
    Range {
        /// Its start, milliseconds since 1970.
        from_ms: i64,
        /// Its end.
        to_ms: i64,
    },
    /// The steps are not multiples of the tier's windows.
    #[error(
        "a step of {} is not a multiple of the {} tier's {}",
        format_length(*.step_ms),
        .tier.name(),
        format_length(.tier.window_ms().unwrap_or(0))
    )]
    Tier {
        /// The requested tier.
        tier: Tier,
        /// Length of a step.
        step_ms: i64,
    },
    /// More lines than [`QueryLimits::lines_max`](crate::query::QueryLimits::lines_max).
    #[error("the result would have more than {lines_max} lines; narrow the selector or group series by tags")]
    TooManyLines {
        /// The limit.
        lines_max: usize,
    },
    /// More values than [`QueryLimits::points_max`](crate::query::QueryLimits::points_max).
    #[error(
        "the result would have more than {points_max} values; narrow the selector or the range, use steps longer than \
         {}, or group series by tags",
        format_length(*.step_ms)
    )]
    TooManyPoints {
        /// The limit.
        points_max: usize,
        /// Length of a step.
        step_ms: i64,
        /// Whether the limit is a tenth of the configured one, because quantiles need more memory.
        sketched: bool,
    },
    /// The storage has no roll-ups of the topic.
    #[error("topic {topic} has no roll-ups in this storage{}", listed(.others))]
    NoTopic {
        /// The topic.
        topic: String,
        /// The topics that have roll-ups.
        others: Vec<String>,
    },
    /// The roll-ups can't be read.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

fn extent(span_ms: Option<(i64, i64)>) -> String {
    match span_ms {
        Some((first, last)) => format!("; they have some from {} to {}", format_time(first), format_time(last)),
        None => String::new(),
    }
}

fn listed(topics: &[String]) -> String {
    if topics.is_empty() { String::new() } else { format!(", which has those of {}", topics.join(", ")) }
}
