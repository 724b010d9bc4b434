//! Why a query has no answer, and what to do about it.

use crate::MeasureError;
use crate::layout::Tier;
use crate::query::nearby::Nearby;
use crate::time::{format_length, format_time};

/// Why there is no answer. Every message says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum QueryError {
    /// No series is like this.
    #[error("no series matches {selector}; {nearby}")]
    NoSeries {
        /// The selector.
        selector: String,
        /// What there is.
        nearby: Box<Nearby>,
    },
    /// The series have nothing in this range.
    #[error(
        "the {series_count} series of {selector} have no measurements from {} to {}{}",
        format_time(*.from_ms),
        format_time(*.to_ms),
        reach(*.span_ms)
    )]
    NoPoints {
        /// The selector.
        selector: String,
        /// Number of its series.
        series_count: usize,
        /// From when was asked, milliseconds since 1970.
        from_ms: i64,
        /// To when was asked.
        to_ms: i64,
        /// From when to when there are some, if there are.
        span_ms: Option<(i64, i64)>,
    },
    /// A rate was asked for, and no series has values in two steps.
    #[error(
        "no rate can be told of {selector}, since no series has values in two steps of {}; take a shorter --step or a \
         longer range",
        format_length(*.step_ms)
    )]
    NoRate {
        /// The selector.
        selector: String,
        /// Length of a step.
        step_ms: i64,
    },
    /// The range has no length.
    #[error(
        "the range ends at {}, and begins at {}; see to --from and --to",
        format_time(*.to_ms),
        format_time(*.from_ms)
    )]
    Range {
        /// Its beginning, milliseconds since 1970.
        from_ms: i64,
        /// Its end.
        to_ms: i64,
    },
    /// The tier's windows are longer than the steps, or lie across them.
    #[error(
        "a step of {} is no multiple of the {} tier's {}; take a longer --step, or --tier auto",
        format_length(*.step_ms),
        .tier.name(),
        format_length(.tier.window_ms().unwrap_or(0))
    )]
    Tier {
        /// The tier that was asked for.
        tier: Tier,
        /// Length of a step.
        step_ms: i64,
    },
    /// More lines than [`QueryLimits::lines_max`].
    #[error(
        "the answer would have more than {lines_max} lines; narrow the selector, or put series together with --by TAG \
         (the limit is --series-max)"
    )]
    TooManyLines {
        /// The limit.
        lines_max: usize,
    },
    /// More values than [`QueryLimits::points_max`].
    #[error(
        "the answer would have more than {points_max} values; narrow the selector or the range, take a longer --step than \
         {}, or put series together with --by TAG (the limit is --points-max{})",
        format_length(*.step_ms),
        if *.sketched { ", of which quantiles get a tenth" } else { "" }
    )]
    TooManyPoints {
        /// The limit.
        points_max: usize,
        /// Length of a step.
        step_ms: i64,
        /// Whether it is so low because of quantiles.
        sketched: bool,
    },
    /// The topic has no roll-ups here.
    #[error("topic {topic} has no measurements here; see to --storage, or run `rawline measure {topic}` first{others}")]
    NoTopic {
        /// The topic.
        topic: String,
        /// The topics that have.
        others: String,
    },
    /// The roll-ups can't be read.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

fn reach(span_ms: Option<(i64, i64)>) -> String {
    match span_ms {
        Some((first, last)) => format!("; they have some from {} to {}", format_time(first), format_time(last)),
        None => String::new(),
    }
}
