//! The server's interface to queries of measurements. The server is independent of their storage and queries: the
//! binary passes an implementation at start, if it has one.

use futures_util::future::LocalBoxFuture;
use rawline_contract::Kind;
use std::fmt;

/// The measurements of topics, rolled up in the broker's storage.
pub trait Measurements: fmt::Debug + Send + Sync {
    /// The topics that have measurements, by name.
    fn topics(&self) -> Answering<'_, Vec<String>>;

    /// The answer to a question, as JSON. It is polled on a thread that may block, and yields from time to time, so
    /// that it can be abandoned.
    fn answer<'a>(&'a self, question: &'a Question) -> Answering<'a, String>;
}

/// An answer that is being read, on one thread.
pub type Answering<'a, T> = LocalBoxFuture<'a, Result<T, MeasurementsError>>;

/// A question about the measurements of one topic. Texts are as the client sent them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Lists the metrics with this text in their names.
    Metrics {
        /// The topic.
        topic: String,
        /// The text; empty for all metrics.
        search: String,
    },
    /// Which tags do the series of a selector have, with which values?
    Tags {
        /// The topic.
        topic: String,
        /// The selector.
        selector: String,
    },
    /// Queries the values of a selector's series over time.
    Query {
        /// The topic.
        topic: String,
        /// The selector.
        selector: String,
        /// Start of the range; by default the first measurement.
        from: Option<String>,
        /// End of the range; by default the last measurement.
        to: Option<String>,
        /// Length of a step.
        step: Option<String>,
        /// The aggregation of each step.
        agg: Option<String>,
        /// Tags by which series are grouped: an empty list is one group, `None` is no grouping.
        by: Option<Vec<String>>,
    },
}

/// Why a query failed. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasurementsError {
    /// The question is wrong.
    #[error("{0}")]
    Wrong(String),
    /// No measurements match.
    #[error("{0}")]
    NotFound(String),
    /// The answer would exceed its limits.
    #[error("{0}")]
    TooMany(String),
    /// They can't be read.
    #[error("{reason}")]
    Store {
        /// How a caller can handle it.
        kind: Kind,
        /// The reason.
        reason: String,
    },
}
