//! When a writer commits, how much it has in flight, and when it gives up. Each driver sets its own limits.

use std::ops::Range;
use std::time::Duration;

/// Maximum number of PUTs in flight. Eight of 8 MiB keep a connection of 1 GB/s busy at 50 ms per request.
pub const PUTS_IN_FLIGHT_MAX: usize = 8;

/// Maximum number of appends in one object, so that its index stays below 4 MiB and a reader gets it at once.
pub const OBJECT_APPENDS_MAX: usize = 65_536;

/// Maximum size of the control records in one object in bytes, for the same reason.
pub const OBJECT_CONTROL_BYTES_MAX: u64 = 1 << 20;

/// Maximum number of pieces in a merged object, so that the control record that lists them takes half of an object's
/// control records.
pub const MERGED_PIECES_MAX: usize = 8000;

/// Maximum number of offsets of joined pieces: readers number the records of a piece with 32 bits.
pub const PIECE_OFFSETS_MAX: u64 = u32::MAX as u64;

/// Maximum size of an object in bytes.
pub const OBJECT_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of partitions of a topic.
pub const PARTITIONS_MAX: u32 = 1024;

/// Maximum length of a topic's or a producer's name in bytes.
pub const NAME_BYTES_MAX: usize = 200;

/// Maximum length of the name of a key that owns something, in bytes.
pub const OWNER_BYTES_MAX: usize = 64;

/// Maximum size of a topic's settings in bytes.
pub const SETTINGS_BYTES_MAX: usize = 4096;

/// Maximum number of producers that a partition remembers. Each takes about 200 bytes of memory while it is remembered.
pub const PRODUCERS_MAX: usize = 1000;

/// A look for producers that can be forgotten sees about so many partitions and producers. Appends wait for it, for
/// less than a tenth of a millisecond.
pub const FORGET_LOOKS_MAX: usize = 4096;

/// How long a producer is remembered after its newest append, in microseconds of the journal's age. Seven days, like
/// Kafka's transactional ids: longer than any retry, and than an outage over a holiday.
pub const PRODUCER_AGE_US: u64 = 7 * 24 * 3600 * 1_000_000;

/// How far the newest object's time may be ahead of a writer's clock before the journal's times go back to the clock,
/// in microseconds. Until then the next object is later by one microsecond. Thirty seconds: clocks that a time service
/// sets differ by milliseconds, and two brokers whose clocks the store's dates correct by two times the 10 s that they
/// allow.
pub const CLOCK_BACK_US: u64 = 30 * 1_000_000;

/// How much older an object makes the journal at most, in microseconds: a clock that is ahead by years for one object
/// must not make everything old. Without appends for longer than a day, entries are kept for longer.
pub const AGE_STEP_MAX_US: u64 = 24 * 3600 * 1_000_000;

const _: () = assert!(AGE_STEP_MAX_US * 2 < PRODUCER_AGE_US, "one wrong time and an idle day forget no producer");

/// Maximum number of producers' names. With names of 36 bytes they take 600 KB of a snapshot.
pub const PRODUCER_NAMES_MAX: usize = 10_000;

/// The greatest epoch of a named producer: the greatest that Kafka's protocol can express. Then its name gets a new id.
pub const PRODUCER_EPOCH_MAX: u16 = i16::MAX as u16;

/// The ids of named producers. Each is drawn at random from these, so that it can't be guessed; producers that choose
/// their ids choose others. Kafka's protocol can express them, and so can JSON numbers of every program, which have 53
/// bits.
pub const NAMED_IDS: Range<u64> = 1 << 52..1 << 53;

/// Maximum number of partitions that one transaction writes to. Each gets a marker in the object that ends it.
pub const TRANSACTION_PARTITIONS_MAX: usize = 10_000;

/// Maximum number of aborted transactions with stored records, each counted in every partition, and of those that
/// are open. Each takes 32 bytes of a snapshot, and 64 bytes of memory.
pub const TRANSACTIONS_NOTED_MAX: usize = 500_000;

/// Maximum number of offsets that groups have committed. Each takes about 100 bytes of memory and of a snapshot.
pub const COMMITTED_MAX: usize = 100_000;

/// Maximum number of offsets that the open transactions of one key's producers commit. They can't give way to others
/// before their transactions end; this many leave room for three other keys.
pub const PENDING_PER_OWNER_MAX: usize = COMMITTED_MAX / 4;

/// Maximum size of the metadata of all of them in bytes.
pub const COMMITTED_METADATA_BYTES_MAX: usize = 8 << 20;

/// Maximum size of the state of a group's members in bytes: a control record with it is not longer
/// than one that ends a merge, so an object takes several. With 300 bytes a member it is enough for 1,500.
pub const GROUP_STATE_BYTES_MAX: usize = 440 << 10;

/// Maximum number of groups whose members are known. Each takes about 200 bytes of memory in addition to its members.
pub const GROUPS_MAX: usize = 10_000;

/// Maximum size of what coordinators keep of all their members in bytes. It is a part of every snapshot.
pub const GROUPS_BYTES_MAX: usize = 16 << 20;

/// Limits of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Minimum time between the beginnings of two PUTs that aren't full. While small objects are in flight, the next
    /// small one begins after as many of these.
    pub batch_wait: Duration,
    /// An object of this many bytes is full.
    pub object_bytes: u64,
    /// Maximum number of PUTs in flight, from 1 to [`PUTS_IN_FLIGHT_MAX`].
    pub in_flight_max: usize,
    /// While a PUT is in flight, another begins only with at least this many bytes of appends. 0 where requests take
    /// their time side by side; where they wait for each other, as on a disk, small objects would only be more
    /// objects.
    pub concurrent_bytes: u64,
    /// How long to wait before a request whose outcome is unknown is sent again.
    pub retry_after: Duration,
    /// The same for a PUT that has failed for the first time. The pause grows with the time since then.
    pub first_retry_after: Duration,
    /// How long to send a PUT again before its number is settled with an empty object.
    pub give_up_after: Duration,
    /// How long requests wait while the chain's end isn't known, because the store doesn't respond. Then they fail, and
    /// so does every request until it is known again.
    pub wait_max: Duration,
    /// `D`: an object is deleted only when it and a snapshot that covers it are older than this by the store's clock.
    /// Seconds, like the store's dates.
    pub deletion_delay: u64,
}

impl Limits {
    /// The maximum age of a writer's view of the chain's end when it acknowledges an append.
    pub(crate) fn acknowledge_within(&self) -> u64 {
        self.deletion_delay / 2
    }

    /// The maximum age of a reader's view of the chain when it considers a number missing or new.
    pub(crate) fn believe_within(&self) -> u64 {
        self.deletion_delay / 4
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            batch_wait: Duration::from_millis(100),
            object_bytes: 8 << 20,
            in_flight_max: PUTS_IN_FLIGHT_MAX,
            concurrent_bytes: 0,
            retry_after: Duration::from_millis(200),
            first_retry_after: Duration::from_millis(25),
            give_up_after: Duration::from_secs(10),
            wait_max: Duration::from_secs(20),
            deletion_delay: 3600,
        }
    }
}

/// Whether a producer has been idle long enough to be forgotten.
pub(crate) fn is_old(used_us: u64, now_us: u64) -> bool {
    now_us.saturating_sub(used_us) > PRODUCER_AGE_US
}
