//! A caller that waits for the response to its request on a shared connection.

use super::shared::Shared;
use super::slot::{Outcome, Slot};
use crate::limits::RESPONSE_PATIENCE;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::Instant;

/// Resolves to the result of a request that has joined a connection. May be dropped.
pub(crate) struct Ticket {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    is_resolved: bool,
}

impl Ticket {
    pub(super) fn new(shared: Arc<Shared>, slot: Arc<Slot>) -> Ticket {
        Ticket { shared, slot, is_resolved: false }
    }
}

impl Ticket {
    /// Resolves like the ticket. If the broker has been found silent first, the connection ends.
    pub(crate) async fn unless_silent(mut self) -> Outcome {
        let shared = self.shared.clone();
        tokio::select! {
            biased;
            outcome = &mut self => return outcome,
            () = shared.silence(Instant::now() + RESPONSE_PATIENCE) => shared.close_silent(),
        }
        self.await
    }
}

impl Future for Ticket {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        assert!(!self.is_resolved, "a result is taken twice");
        let outcome = self.slot.take().or_else(|| {
            self.shared.drive_alone(&self.slot, context);
            self.slot.take_or_wait(context)
        });
        let Some(outcome) = outcome else { return Poll::Pending };
        self.is_resolved = true;
        self.shared.leave_alone(&self.slot);
        Poll::Ready(outcome)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_resolved {
            self.shared.abandon(&self.slot);
        }
    }
}
