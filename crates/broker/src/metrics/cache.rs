//! What the cache of a bucket has, and what it fetches.

use super::families;
use super::kinds::Counter;
use super::text::Text;

/// What the cache of a bucket has, and what it fetches.
pub(crate) struct CacheMetrics {
    /// Reads of which all bytes were there, and others.
    hits: Counter,
    misses: Counter,
    /// Ranges of objects.
    pub fetches: Counter,
    pub fetched_bytes: Counter,
}

impl CacheMetrics {
    pub(super) const fn new() -> Self {
        let new = Counter::new;
        CacheMetrics { hits: new(), misses: new(), fetches: new(), fetched_bytes: new() }
    }

    /// Bytes of an object are read, and are there or not.
    pub fn read(&self, is_hit: bool) {
        if is_hit { &self.hits } else { &self.misses }.add(1);
    }

    pub(super) fn render(&self, text: &mut Text) {
        let CacheMetrics { hits, misses, fetches, fetched_bytes } = self;
        text.counters(&families::CACHE_READS, [(["hit"], hits.get()), (["miss"], misses.get())]);
        text.counter(&families::CACHE_FETCHES, fetches.get());
        text.counter(&families::CACHE_FETCHED, fetched_bytes.get());
    }
}
