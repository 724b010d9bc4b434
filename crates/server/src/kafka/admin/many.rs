//! What requests with many topics share: each topic is named once, changes are carried out at once, each has a result.

use crate::kafka::error::{ConnectionError, Refusal};
use futures_util::stream::{self, StreamExt};
use rawline_kafka::ErrorCode;
use std::collections::BTreeSet;

/// Maximum number of topics in a request whose response has kilobytes for each.
pub(super) const TOPICS_MAX: usize = 10_000;

/// Changes of one request that are in flight at once: the journal stores them together. In a bucket, those that wait
/// for others take another PUT and another `--batch-wait`: a request for a thousand topics one instead of sixteen.
const CHANGES_MAX: usize = 1_024;

/// The resources that a request names: topics, or others with settings.
pub(super) struct Subjects<T> {
    repeated: BTreeSet<T>,
}

impl<T: Ord> Subjects<T> {
    /// Fails if the response would be too large.
    pub fn of(all: impl ExactSizeIterator<Item = T>) -> Result<Subjects<T>, ConnectionError> {
        if all.len() > TOPICS_MAX {
            return Err(ConnectionError::Topics { limit: TOPICS_MAX });
        }
        let (mut seen, mut repeated) = (BTreeSet::new(), BTreeSet::new());
        for one in all {
            repeated.extend(seen.replace(one));
        }
        Ok(Subjects { repeated })
    }

    /// Fails if the request has it more than once: which one is meant can't be known.
    pub fn check(&self, one: &T) -> Result<(), Refusal> {
        if self.repeated.contains(one) {
            return Err(Refusal::new(ErrorCode::InvalidRequest, "the request has it more than once; send it once"));
        }
        Ok(())
    }
}

/// Carries out a request's changes, some at once. The results have the order of the changes.
pub(super) async fn each<T, F: Future>(changes: Vec<T>, carry_out: impl FnMut(T) -> F) -> Vec<F::Output> {
    stream::iter(changes.into_iter().map(carry_out)).buffered(CHANGES_MAX).collect().await
}

/// The result of a change in a response: the error's number and its message.
pub(super) fn outcome(changed: Result<(), Refusal>) -> (i16, Option<String>) {
    match changed {
        Ok(()) => (ErrorCode::None.into(), None),
        Err(Refusal { code, message }) => {
            let code = i16::from(code);
            tracing::debug!(code, message, "refused a Kafka client's request");
            (code, Some(message))
        }
    }
}
