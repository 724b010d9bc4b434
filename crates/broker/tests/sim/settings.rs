//! A journal's settings in a world: limits so small that a few minutes reach all of them.

use crate::store::DELETION_DELAY;
use rawline_broker::journal::{JournalConfig, MergeConfig};
use rawline_journal::{Limits, MergeLimits};
use std::time::Duration;

/// The only journal of a world.
pub const JOURNAL: u32 = 0;

/// These settings with small limits.
pub fn small(settings: JournalConfig) -> JournalConfig {
    JournalConfig {
        limits: Limits {
            batch_wait: Duration::from_millis(30),
            object_bytes: 600,
            in_flight_max: 4,
            concurrent_bytes: 0,
            retry_after: Duration::from_millis(200),
            // Without it, the few worlds that find rare bugs would be others.
            first_retry_after: Duration::from_millis(200),
            give_up_after: Duration::from_secs(5),
            wait_max: Duration::from_secs(10),
            deletion_delay: DELETION_DELAY,
        },
        snapshot_objects: 20,
        snapshot_interval: Duration::from_secs(20),
        garbage_interval: Duration::from_secs(15),
        check_interval: Duration::from_secs(10),
        merge: Some(MergeConfig {
            limits: MergeLimits {
                shares_files: false,
                target_bytes: 6_000,
                keep_bytes: 1_500,
                keep_piece_bytes: u64::MAX,
                objects_max: 12,
                piece_bytes: 1_500,
                piece_span_us: 3_600_000_000,
            },
            look_objects: 5,
            abandon_after: Duration::from_secs(20),
            ..MergeConfig::default()
        }),
        ..settings
    }
}
