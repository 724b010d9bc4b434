//! What the cache of a bucket fetches.

use super::families;
use super::kinds::Counter;
use super::text::Text;

/// What the cache of a bucket fetches.
pub(crate) struct CacheMetrics {
    /// Ranges of objects.
    pub fetches: Counter,
    pub fetched_bytes: Counter,
}

impl CacheMetrics {
    pub(super) const fn new() -> Self {
        CacheMetrics { fetches: Counter::new(), fetched_bytes: Counter::new() }
    }

    pub(super) fn render(&self, text: &mut Text) {
        let CacheMetrics { fetches, fetched_bytes } = self;
        text.counter(&families::CACHE_FETCHES, fetches.get());
        text.counter(&families::CACHE_FETCHED, fetched_bytes.get());
    }
}
