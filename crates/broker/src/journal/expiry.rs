//! Which transactions have timed out: those that this broker has seen open for their timeout, independent of clocks.

use rawline_journal::{Expired, State};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Since when this broker has seen each open transaction.
#[derive(Default)]
pub(super) struct Expiry {
    /// By the producer's id and the journal's age when it began.
    seen: HashMap<(u64, u64), Instant>,
}

impl Expiry {
    /// Looks at the open transactions, and returns those that take too long.
    pub fn look(&mut self, state: &State, now: Instant) -> Vec<Expired> {
        let seen = state.open_transactions().map(|open| (open, self.seen.get(&open).copied().unwrap_or(now)));
        self.seen = seen.collect();
        state.expired(|id, began_us| {
            let since = self.seen.get(&(id, began_us));
            since.map_or(Duration::ZERO, |since| now.saturating_duration_since(*since))
        })
    }
}
