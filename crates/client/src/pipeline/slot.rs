//! The slot in which a caller finds the result of its request.

use super::response::Response;
use crate::error::ClientError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// The result of a request on a shared connection.
#[derive(Debug)]
pub(crate) enum Outcome {
    Answered(Response),
    /// The request was not carried out, and can be sent on another connection.
    Unsent,
    Failed(ClientError),
}

/// Gets one result, which its caller takes. A caller that doesn't wait any more leaves it here.
#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    outcome: Option<Outcome>,
    /// Wakes the caller.
    waker: Option<Waker>,
}

impl Slot {
    pub(super) fn set(&self, outcome: Outcome) {
        let mut state = self.lock();
        assert!(state.outcome.is_none(), "a request got {:?} and then {outcome:?}", state.outcome);
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The result. The caller isn't woken, since it looks here itself.
    pub(super) fn take(&self) -> Option<Outcome> {
        let mut state = self.lock();
        state.waker = None;
        state.outcome.take()
    }

    /// The result, or wakes the caller when there is one.
    pub(super) fn take_or_wait(&self, context: &Context<'_>) -> Option<Outcome> {
        let mut state = self.lock();
        if state.outcome.is_none() {
            state.waker = Some(context.waker().clone());
        }
        state.outcome.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
