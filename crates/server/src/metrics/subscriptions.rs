//! What is counted of subscriptions.

use rawline_broker::metrics::{Counter, Gauge, Text, families};
use std::sync::Arc;

/// The metrics of subscriptions.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionMetrics {
    open: Arc<Gauge>,
    skipped: Counter,
    disconnected: Counter,
}

/// A subscription that is open until this is dropped.
pub(crate) struct SubscriberGuard(Arc<Gauge>);

impl SubscriptionMetrics {
    /// A subscription begins.
    pub fn begin(&self) -> SubscriberGuard {
        self.open.increment();
        SubscriberGuard(self.open.clone())
    }

    pub fn skipped(&self, records: u64) {
        self.skipped.add(records);
    }

    /// A subscription ends because its subscriber is too slow.
    pub fn disconnected(&self) {
        self.disconnected.add(1);
    }

    pub(super) fn render(&self, text: &mut Text) {
        text.gauge(&families::SUBSCRIPTIONS, self.open.get());
        text.counter(&families::SUBSCRIPTION_SKIPPED, self.skipped.get());
        text.counter(&families::SUBSCRIPTION_SLOW, self.disconnected.get());
    }
}

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.0.decrement();
    }
}
