//! Every limit of the broker, each with its reason.

/// Soft limit of one commit: what waits is gathered into one object until it holds this much. 10 MiB is where a PUT's
/// fixed cost no longer shows, and a tenth of a second of one S3 connection.
pub const COMMIT_BYTES: u64 = 10 << 20;

/// Most batches in one object, so that an object's index stays below 1.5 MiB and recovery reads it in one go.
pub const OBJECT_BATCHES_MAX: usize = 65_536;

/// Most bytes in one object: positions inside it are `u32`, and a mapping of it must be cheap.
pub const OBJECT_BYTES_MAX: u64 = 1 << 30;

/// Length of a topic's name in bytes: it is a file name and part of an S3 key (1,024 bytes at most).
pub const TOPIC_NAME_BYTES_MAX: usize = 200;

/// A segment is sealed when the next object would not fit. 256 MiB keeps the newest one, which recovery reads whole,
/// to a fraction of a second.
pub const SEGMENT_BYTES: u64 = 256 << 20;

/// A segment's file is preallocated in steps that double from this, so that a topic of ten records costs 1 MiB of disk.
pub const SEGMENT_STEP_BYTES_MIN: u64 = 1 << 20;

/// The largest such step.
pub const SEGMENT_STEP_BYTES_MAX: u64 = 64 << 20;

/// Requests and reads are buffered in blocks of this size: small enough that a lone record does not waste much, large
/// enough that a commit of 10 MiB is one `writev`.
pub const BLOCK_BYTES: usize = 64 << 10;

/// Most bytes one read answers with, whatever it asks for. It is served from mappings, so this bounds time, not memory.
pub const READ_BYTES_MAX: u64 = 64 << 20;

/// Commits of one topic that are begun and not yet confirmed: while the disk is at one, the next is written. More would
/// only cut what waits into smaller objects.
pub const COMMITS_CONFIRMING_MAX: usize = 2;

/// Requests waiting for one topic's next commit; the pool is the real limit, this bounds the queue's own memory.
pub const APPEND_QUEUE_MAX: usize = 16_384;

/// A topic's settings: a few words, read when the topic is opened.
pub const SETTINGS_BYTES_MAX: usize = 4096;

/// Topics in one broker: each has a task, a queue and an index, and names come from outside.
pub const TOPICS_MAX: usize = 10_000;

/// Topics that are recovered at the same time at start: enough to hide an S3 request's latency.
pub const TOPICS_RECOVERING_MAX: usize = 16;

/// Mappings of cached objects kept open: a sixteenth of the 65,530 that Linux gives a process by default.
pub const CACHE_MAPPINGS_MAX: usize = 4096;

/// Pieces of a download that wait for the disk: with a connection's read buffer of 400 KiB at most, some megabytes.
pub const CACHE_PIECES_QUEUED_MAX: usize = 16;

/// Keys that are not ours and that the log is told of: somebody may have put a million into the bucket.
pub const FOREIGN_KEYS_TOLD_MAX: usize = 1000;

/// A front of an object that holds the index of up to 168 batches: so much is asked for to see an index.
pub const INDEX_BYTES_GUESS: u64 = 4096;
