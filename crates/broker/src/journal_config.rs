//! A journal's settings, which its store adapts to what it is.

use crate::limits::{
    COMPACT_DIRTY_BYTES_MIN, COMPACT_KEYS_MAX, DELETION_DELAY_MIN, GARBAGE_INTERVAL, MERGE_ABANDON_AFTER,
    MERGE_LOOK_OBJECTS, SNAPSHOT_INTERVAL, SNAPSHOT_OBJECTS, SNAPSHOT_PART_BYTES, SNAPSHOT_PUTS_MAX,
    STORAGE_CHECK_INTERVAL,
};
use crate::producer_ids::ProducerIds;
use rawline_journal::{Limits, MergeLimits};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longer than a broker runs.
const NEVER: Duration = Duration::from_secs(100 * 365 * 86400);

/// A journal's settings.
#[derive(Debug, Clone)]
pub struct JournalConfig {
    /// When objects are put, and when the writer gives up.
    pub limits: Limits,
    /// A snapshot is taken after this many objects.
    pub snapshot_objects: u64,
    /// A snapshot is taken after this time, if there is anything new.
    pub snapshot_interval: Duration,
    /// A part of a snapshot ends after this many bytes. A snapshot of one part is one object.
    pub snapshot_part_bytes: usize,
    /// Maximum number of a snapshot's parts that are stored at the same time.
    pub snapshot_puts_max: usize,
    /// A snapshot is taken when this many bytes are not needed any more, and an eighth of all: without it they can't be
    /// deleted.
    pub garbage_bytes: u64,
    /// How often objects that can be deleted are looked for.
    pub garbage_interval: Duration,
    /// How often to look whether the storage was changed by others.
    pub check_interval: Duration,
    /// When objects are merged; never if this is `None`.
    pub merge: Option<MergeConfig>,
    /// Draws the ids of named producers.
    pub producer_ids: ProducerIds,
    /// Random, other than 0: distinguishes the objects of this run from those of other runs and brokers.
    pub run: u64,
    /// Whether this broker merges objects and ends transactions that take too long. Every broker may at any time; that
    /// one of them does is enough.
    pub tidies: Arc<AtomicBool>,
}

impl JournalConfig {
    /// The defaults. Random values follow from `run`.
    pub fn new(run: u64) -> Self {
        JournalConfig {
            limits: Limits::default(),
            snapshot_objects: SNAPSHOT_OBJECTS,
            snapshot_interval: SNAPSHOT_INTERVAL,
            snapshot_part_bytes: SNAPSHOT_PART_BYTES,
            snapshot_puts_max: SNAPSHOT_PUTS_MAX,
            // They have to be kept for much longer than the interval.
            garbage_bytes: u64::MAX,
            garbage_interval: GARBAGE_INTERVAL,
            check_interval: STORAGE_CHECK_INTERVAL,
            merge: Some(MergeConfig::default()),
            producer_ids: ProducerIds::of_seed(run),
            run,
            tidies: Arc::new(AtomicBool::new(true)),
        }
    }

    /// These settings for a broker that follows other brokers: without merged objects and snapshots, and without
    /// deletions. See [`Journal::refusing_changes`].
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.merge = None;
        (self.snapshot_objects, self.snapshot_interval, self.garbage_interval) = (u64::MAX, NEVER, NEVER);
        self.check_interval = NEVER;
        self.tidies.store(false, Ordering::Relaxed);
        self
    }

    /// These settings for objects that are deleted after `delay`: the shorter it is, the more often snapshots are
    /// taken, without which nothing can be deleted, and the more often old objects are looked for.
    #[must_use]
    pub fn deleting_after(mut self, delay: Duration) -> Self {
        assert!(delay >= DELETION_DELAY_MIN && delay.subsec_nanos() == 0, "a deletion delay of {delay:?}");
        self.limits.deletion_delay = delay.as_secs();
        self.snapshot_interval = self.snapshot_interval.min(delay / 2);
        self.garbage_interval = self.garbage_interval.min(delay / 4);
        self
    }
}

/// When a journal's objects are merged.
#[derive(Debug, Clone)]
pub struct MergeConfig {
    /// How large merged objects become.
    pub limits: MergeLimits,
    /// Number of new objects after which a broker looks for objects to merge, or half a merge's bytes.
    pub look_objects: u64,
    /// Age at which any broker abandons an open merge.
    pub abandon_after: Duration,
    /// When topics are compacted.
    pub compact: CompactLimits,
    /// Merges wait for a pause in the appends, up to these limits; `None` where they don't need the same processors and
    /// the same disk.
    pub wait: Option<MergeWait>,
}

/// When a compacted topic's partitions are compacted, and in how much memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactLimits {
    /// A partition is compacted once this many bytes, and half of it, are not compacted.
    pub dirty_bytes_min: u64,
    /// So many keys are looked at in one pass.
    pub keys_max: usize,
}

/// How much is appended, at most, before a merge that is due no longer waits for a pause in the appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeWait {
    /// Number of pieces that are not merged.
    pub pieces_max: u64,
    /// Their bytes: what only a merge's end makes room for, such as deleted records, waits too.
    pub bytes_max: u64,
}

impl Default for MergeConfig {
    fn default() -> Self {
        MergeConfig {
            limits: MergeLimits::default(),
            look_objects: MERGE_LOOK_OBJECTS,
            abandon_after: MERGE_ABANDON_AFTER,
            compact: CompactLimits { dirty_bytes_min: COMPACT_DIRTY_BYTES_MIN, keys_max: COMPACT_KEYS_MAX },
            wait: None,
        }
    }
}
