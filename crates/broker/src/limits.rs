//! Every limit of the broker, each with its reason. How they relate is asserted at the end, at compile time.

use rawline_journal::{CLOCK_BACK_US, index_bytes};
use std::time::Duration;

/// Soft limit of one commit: pending appends are gathered into one object until it holds this much. 10 MiB is where a
/// PUT's fixed cost no longer shows, and a tenth of a second of one S3 connection.
pub const COMMIT_BYTES: u64 = 10 << 20;

/// Time that a commit to a bucket waits for more appends, unless a setting says otherwise: at most 10 PUTs per second
/// and topic.
pub const S3_BATCH_WAIT: Duration = Duration::from_millis(100);

/// Maximum number of batches in one object, so that an object's index stays below 2 MiB and recovery reads it at once.
pub const OBJECT_BATCHES_MAX: usize = 65_536;

/// Maximum size of one object in bytes: positions inside it are `u32`, and a mapping of it must be cheap.
pub const OBJECT_BYTES_MAX: u64 = 1 << 30;

/// Maximum length of a topic's name in bytes: it is a file name and part of an S3 key (1,024 bytes at most).
pub const TOPIC_NAME_BYTES_MAX: usize = 200;

/// A segment is sealed when the next object would not fit. 256 MiB keeps the newest one, which recovery reads whole,
/// to a fraction of a second.
pub const SEGMENT_BYTES: u64 = 256 << 20;

/// A segment's file is preallocated in steps that double from this, so that a topic of ten records costs 1 MiB of disk.
pub const SEGMENT_STEP_BYTES_MIN: u64 = 1 << 20;

/// The largest such step.
pub const SEGMENT_STEP_BYTES_MAX: u64 = 64 << 20;

/// A step has room for so many more objects of the segment's average size, if that is less than double: a sync after
/// it takes longer, and a trickle of small objects needs no 64 MiB for that to be rare.
pub const SEGMENT_STEP_OBJECTS: u64 = 1024;

/// The newest segment is closed early, so that it can be deleted, when this part of a segment's length and half of the
/// segment are deleted. Without it, a topic that keeps a megabyte would take up two whole segments.
pub const SEGMENT_DELETED_PART_MIN: u64 = 64;

/// Requests and reads are buffered in blocks of this size: small enough that a lone record does not waste much, large
/// enough that a commit of 10 MiB is one `writev`.
pub const BLOCK_BYTES: usize = 64 << 10;

/// A journal on a directory keeps this much room in its segment for empty objects, which resolve the outcome
/// of objects for which the disk had no room.
pub const JOURNAL_RESERVE_BYTES: u64 = 4096;

/// A journal on a directory reserves this part of a segment's length on the disk for changes that free space when the
/// disk is full: the deletion of a topic, the snapshot after it, and a merge of the remaining records.
pub const ROOM_RESERVE_PART: u64 = 64;

/// Minimum size of the reserve in bytes: one small object and one snapshot, each in blocks and with its own name.
pub const ROOM_RESERVE_BYTES_MIN: u64 = 64 << 10;

/// At most so many, besides two snapshots: a merge of a few records that are left is smaller. Larger ones have the room
/// that files without any such records leave.
pub const ROOM_RESERVE_BYTES_MAX: u64 = 1 << 20;

/// Maximum size of an object that the journal's task writes and syncs itself if it runs on the commit
/// thread, which may block.
pub const DISK_INLINE_BYTES: u64 = 64 << 10;

/// Maximum size of an object that the journal's task writes itself if it isn't synced: a copy into the page
/// cache takes less time than waking a thread, and the received bytes are in this processor's cache.
pub const DISK_INLINE_COPY_BYTES: u64 = 256 << 10;

/// A journal on a directory writes so many bytes of zeros ahead of its objects: the disk writes them while a few dozen
/// objects of [`AHEAD_OBJECT_BYTES_MAX`] arrive.
pub const AHEAD_WINDOW_BYTES_MAX: u64 = 1 << 20;

/// As many of them at once: an object that arrives meanwhile waits for a copy into the page cache of this size, and a
/// sync for as many bytes more.
pub const AHEAD_PIECE_BYTES_MAX: u64 = 128 << 10;

/// Maximum size of objects for which zeros are written ahead. The disk takes longer for larger ones than for
/// the saved work, and it would write each byte two times.
pub const AHEAD_OBJECT_BYTES_MAX: u64 = 64 << 10;

/// A journal on a directory takes a snapshot after this many objects: a start reads as many indexes from the page
/// cache, in less than a second, and a snapshot of 10,000 partitions takes milliseconds.
pub const DISK_SNAPSHOT_OBJECTS: u64 = 50_000;

/// A journal on a directory takes a snapshot after this time, if there is anything new, and looks for what it can
/// delete: trimmed records take up disk until then.
pub const DISK_SNAPSHOT_INTERVAL: Duration = Duration::from_secs(30);

/// Garbage is deleted as soon as it is a quarter of a segment and a part of this many of all records: a snapshot and a
/// listing cost less than the appends that became garbage meanwhile.
pub const GARBAGE_PARTS: u64 = 8;

/// When to look for garbage again that appeared while other garbage is being deleted.
pub const COLLECT_RETRY: Duration = Duration::from_millis(200);

/// How long shutdown waits for the deletion of garbage in flight.
pub const COLLECT_STOP_MAX: Duration = Duration::from_secs(5);

/// A large file on a directory is written and synced in parts of this size. The disk writes one in a few milliseconds,
/// for which syncs of appends wait.
pub const DISK_SYNC_BYTES: usize = 2 << 20;

/// A snapshot of up to this many topics, partitions and pieces is built by the journal's task, in less than half a
/// millisecond.
pub const SNAPSHOT_INLINE_ENTRIES_MAX: u64 = 4096;

/// A snapshot, or a part of one, of up to this many bytes is read by the journal's task, in less than half a
/// millisecond.
pub const COLLECT_INLINE_BYTES_MAX: u64 = 256 << 10;

/// A part of a snapshot ends after this many bytes. The memory that a snapshot takes while it is built and read is a
/// few of them, and each takes a bucket about as long as a request without bytes. 20,000 topics have one part.
pub const SNAPSHOT_PART_BYTES: usize = 4 << 20;

/// Maximum number of parts of a snapshot that are stored at the same time: appends share the connection to the bucket.
pub const SNAPSHOT_PUTS_MAX: usize = 4;

/// Maximum number of parts of a snapshot that are read at the same time. A start waits for them.
pub const SNAPSHOT_READS_MAX: usize = 8;

/// How often a part of a snapshot is stored or read until it counts as failed.
pub const SNAPSHOT_TRIES: u32 = 5;

/// How long a part that wasn't stored or read waits for the next attempt.
pub const SNAPSHOT_RETRY_AFTER: Duration = Duration::from_millis(200);

/// How often a directory is looked at again that a broker changes meanwhile.
pub const VIEW_TRIES_MAX: u32 = 10;
/// The time between two of these.
pub const VIEW_RETRY: Duration = Duration::from_millis(200);
/// Number of objects of which a check or a copy of a storage reads the indexes at the same time.
pub const VIEW_INDEXES_MAX: usize = 32;
/// Number of those of which it reads the batches.
pub const VIEW_READS_MAX: usize = 4;
/// How far an object's time may be ahead of this machine's before a check says so, and how far two clocks may differ.
pub const CLOCKS_DIFFER_MAX: Duration = Duration::from_secs(5);
/// Number of objects, and of pieces of one, that a check names.
pub const FINDINGS_MAX: usize = 20;
/// Size at which an object of a backup is stored.
pub const BACKUP_OBJECT_BYTES: u64 = 64 << 20;
/// Number of a backup's objects that are stored at the same time.
pub const BACKUP_PUTS_MAX: usize = 4;
/// How often one is tried.
pub const BACKUP_TRIES_MAX: u32 = 5;

/// An object of a journal on a directory is not merged if each of its pieces has this many bytes: reading a partition
/// then reads little of others, and a few busy partitions are written once.
pub const DISK_KEEP_PIECE_BYTES: u64 = 64 << 10;

/// A journal on a directory looks for objects to merge after so many new ones, and merges at most as many at once. A
/// merge's syncs delay the commits of some milliseconds; small objects can be read almost as fast as merged ones.
pub const DISK_MERGE_OBJECTS: usize = 8192;

/// While many appends arrive, a journal on a directory merges nothing before this many pieces are not merged. Each
/// takes about a hundred bytes of memory in the index. With fewer, a merge would join few pieces of each of 10,000 busy
/// partitions.
pub const DISK_MERGE_WAIT_PIECES: u64 = 98_304;

/// The same in bytes: deleted records next to others take up disk until a merge.
pub const DISK_MERGE_WAIT_BYTES: u64 = 4 << 30;

/// How long a look at the appends takes before a merge.
pub const MERGE_PAUSE: Duration = Duration::from_millis(250);

/// Appends are many if this many objects are stored in that time, a thousand a second ...
pub const MERGE_BUSY_OBJECTS: u64 = 250;

/// ... or this many bytes, 16 MiB a second.
pub const MERGE_BUSY_BYTES: u64 = 4 << 20;

/// The same of a journal in memory, where deleted records take up memory until then. Most of it is spent on a snapshot,
/// a millisecond for 20,000 pieces.
pub const MEMORY_SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);

/// A merge in memory copies at most this fraction of the memory's limit, in addition to it.
pub const MEMORY_MERGE_PARTS: u64 = 16;

/// Default limit of records in memory in bytes.
pub const MEMORY_BYTES: u64 = 1 << 30;

/// How long the requests of a journal on a directory wait while nothing can be written.
pub const DISK_WAIT_MAX: Duration = Duration::from_secs(2);

/// Pieces of mapped files of at least this size are sent to a socket by `sendfile`, without being read. Shorter ones
/// are copied: a separate system call would cost more.
pub const SENDFILE_BYTES_MIN: usize = 32 << 10;

/// Short parts of objects of at least this size, such as their indexes, are copied from the file: in the mapping, each
/// would map 64 KiB. Objects that are smaller share these pages with those that are read next.
pub const COPIED_OBJECT_BYTES_MIN: u64 = 128 << 10;

/// Maximum size of mapped pages that this process has read and keeps mapped. They are page cache, but count as its
/// resident memory, and merges read much that is never read again. To release fewer at once costs as much for each
/// page: a call for each of 256 parts that the kernel maps at once.
pub const TOUCHED_BYTES_MAX: usize = 16 << 20;

/// Maximum memory for checksums of batches that reads have cut, in bytes: enough for 10 GB of batches of 256 KiB.
pub const CUT_CHECKSUMS_BYTES_MAX: usize = 8 << 20;

/// A batch with less data than this is read whole whenever it is cut, in about 2 microseconds: its checksums
/// would gain little for the memory they take.
pub const CUT_CHECKSUMS_DATA_MIN: usize = 48 << 10;

/// Maximum number of bytes that one read returns, whatever it asks for. They come from mappings, so this bounds time,
/// not memory.
pub const READ_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of objects that one read visits: each costs time of a worker thread, so a read of tiny objects must
/// end before other requests notice; and memory outside the pool for its metadata, 56 bytes while it is read and
/// 32 until the response is written. With 4,096 and 200 bytes, 800 clients that didn't read took a gigabyte. Below
/// 1,024, so that the list of pieces, with parts of the first and the last object, doesn't grow to twice that.
pub const READ_OBJECTS_MAX: usize = 1000;

/// A read yields to other tasks after this many objects that are read one by one, about a tenth of a millisecond.
pub const READ_OBJECTS_PER_YIELD: usize = 32;

/// Maximum number of objects that are read at once, before a read yields: about a tenth of a millisecond too, because
/// nothing is asked for each of them.
pub const READ_RUN_OBJECTS_MAX: usize = 512;

/// A read that has something to return stops after this time, even if it could return more: objects that have to be
/// downloaded first may take seconds, and a consumer would rather have the first ones now.
pub const READ_GATHER_MAX: Duration = Duration::from_millis(200);

/// Maximum number of objects that are fetched ahead of one reader: enough to hide an S3 request's latency when objects
/// are small.
pub const PREFETCH_OBJECTS_MAX: usize = 32;

/// How far ahead a reader is fetched when it reads on for the first time, or as much as its first read if that is more.
/// With each read that doesn't find everything at hand it is [`READ_AHEAD_GROWTH`] times that, so that a reader that
/// stops soon has wasted little.
pub const READ_AHEAD_BYTES_MIN: u64 = 1 << 20;

/// See [`READ_AHEAD_BYTES_MIN`]. Each growth waits for a round trip; with two, a scan of 2 GB took a tenth of its time
/// for that at 50 ms.
pub const READ_AHEAD_GROWTH: u64 = 4;

/// Maximum size of what is fetched ahead of a reader: eight GETs of [`CACHE_GET_BYTES_MAX`] in flight have the
/// throughput of a network of several Gbit/s, and as much as four more waits for the reader.
pub const READ_AHEAD_BYTES_MAX: u64 = 96 << 20;

/// The part of the cache that may be fetched ahead of one reader, as a divisor: what is fetched must not be evicted
/// before it is read.
pub const READ_AHEAD_CACHE_PART: u64 = 8;

/// Maximum number of readers of a partition whose ends are remembered: more read at other positions seldom.
pub const READERS_REMEMBERED_MAX: usize = 16;

/// Maximum number of segment files that a directory keeps open, and mapped: three eighths of the 65,530 mappings
/// that Linux gives a process by default.
pub const OPEN_SEGMENTS_MAX: usize = 24_576;

const _: () =
    assert!(OPEN_SEGMENTS_MAX + CACHE_MAPPINGS_MAX < 65_530 / 2, "the rest is the allocator's and the threads'");

/// Maximum number of requests that wait for one topic's next commit. The pool is the real limit; this bounds the
/// queue's own memory.
pub const APPEND_QUEUE_MAX: usize = 16_384;

/// Maximum size of a topic's settings in bytes: a few words, read when the topic is opened.
pub const SETTINGS_BYTES_MAX: usize = 4096;

/// How much later than its append a record of a Kafka batch may be by its producer's clock: Kafka's own limit
/// (`message.timestamp.after.max.ms`). A search by the times of records begins this long before the time that it looks
/// for.
pub const RECORD_AHEAD_MAX: Duration = Duration::from_secs(3600);

/// How far this machine's clock may differ from the store's dates before objects get the store's time. Ten seconds:
/// dates are whole seconds and arrive late by a request's duration, and a clock that a time service sets is right to
/// some milliseconds.
pub const CLOCK_AHEAD_MAX: Duration = Duration::from_secs(10);

/// How much later than its moment a response's date may arrive: longer than any request takes. A date that is older
/// than that says that the store's clock was set back.
pub const STORE_DATE_LATE_MAX: Duration = Duration::from_secs(60);

/// A clock that moves by more than this in a moment has jumped. Time services correct by less, or slowly.
pub const CLOCK_JUMP_MAX: Duration = Duration::from_secs(10);

/// How long a broker continues as if its clock hadn't jumped. Five minutes: a mistake that an operator notices at once
/// leaves no trace, and the records of a machine that begins with a wrong clock get right times soon after it is set.
pub const CLOCK_JUMP_HOLD: Duration = Duration::from_secs(300);

/// Maximum number of partitions of a topic.
pub const TOPIC_PARTITIONS_MAX: u32 = rawline_journal::PARTITIONS_MAX;

/// Maximum number of topics of all journals: each takes about 800 bytes of memory, and [`HANDLES_KEPT`] of them another
/// kilobyte once they are used.
pub const JOURNAL_TOPICS_MAX: usize = 1_000_000;

/// Maximum number of partitions of all journals, the first of each topic included: each takes about 500 bytes of
/// memory, and 300 more once it was asked for.
pub const JOURNAL_PARTITIONS_MAX: usize = 1_250_000;

/// Handles of topics that are kept whether or not they are used: each takes a kilobyte, and read-ahead begins again
/// without it.
pub const HANDLES_KEPT: usize = 65_536;

/// How many handles are looked at for each one that is made beyond that: they become fewer while more than half of them
/// aren't used.
pub const HANDLES_LOOKED_AT: usize = 4;

/// How long a start waits for the journal's next object, while the store may be unavailable.
pub const JOURNAL_START_MAX: Duration = Duration::from_secs(60);

/// How often a broker stores its card, and reads those of the others: PUTs for 14 cents a day at S3's list price.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);

/// How long a broker that starts repeats what fails while it joins the others: as long as the other requests of a start
/// are retried.
pub const JOIN_RETRY_MAX: Duration = Duration::from_secs(60);

/// Pause before a step of that is repeated.
pub const JOIN_RETRY_AFTER: Duration = Duration::from_millis(200);

/// How long a broker counts as live after it has stored its card: as long as three heartbeats that fail, and the age of
/// the last one, which the store counts in whole seconds.
pub const LEASE: Duration = Duration::from_secs(10);

/// A listing finds brokers that are new; a new broker finds the others, and tells them, when it starts.
pub const HEARTBEATS_PER_LISTING: u32 = 5;

/// The card of a broker that was killed is deleted after this time.
pub const CARD_FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// How often a broker that starts reads the card of one that had its address, until it is clear whether that one runs.
pub const SUSPECT_INTERVAL: Duration = Duration::from_secs(1);

/// How often a broker looks into the storage for the card of a broker that it doesn't know, on average: GETs for 4
/// cents a day at most, if a program connects again and again under new names. A listing finds new brokers in any case.
pub const STRANGERS_EVERY: Duration = Duration::from_secs(1);

/// Brokers that start at the same time, and are known at once.
pub const STRANGERS_AT_ONCE: u32 = 32;

/// How often a broker looks whether others have stored something, whether they say so or not.
pub const FOLLOW_INTERVAL: Duration = Duration::from_secs(2);

/// How old a broker's knowledge of a journal's end may be while it says to members of groups that they still are: it
/// looks every 2 s, and a look may take a while. Shorter than a lease: before another broker may take this one for
/// gone, it says no more.
pub const CONFIRMED_WITHIN: Duration = Duration::from_secs(6);
const _: () = assert!(CONFIRMED_WITHIN.as_secs() < LEASE.as_secs());
const _: () = assert!(CONFIRMED_WITHIN.as_secs() > 2 * FOLLOW_INTERVAL.as_secs());

/// How often a broker looks whether it coordinates groups that it doesn't know yet: sessions are 6 s and longer.
pub const GROUPS_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a broker waits for a change that another one has requested.
pub const CHANGE_WAIT: Duration = Duration::from_secs(2);

/// How long its answer may take: a broker that is stopped or disconnected misses it.
pub const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// The pause after a broker didn't respond.
pub const ASK_RETRY_WAIT: Duration = Duration::from_millis(500);

/// How long another broker may take to notice that this one leaves, and to take over: it is asking for changes.
pub const HANDOVER_WAIT: Duration = Duration::from_millis(500);

/// How long requests to the owner wait while it reads the objects stored before it took over.
pub const OWNER_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often old records are deleted: soon enough for a limit in hours, and on S3 about five requests a minute for a
/// topic that deletes something.
pub const RETENTION_INTERVAL: Duration = Duration::from_secs(60);

/// Limits in bytes are applied as soon as a part of this many of the smallest is stored, at any rate of appends.
pub const RETENTION_PARTS: u64 = 16;

/// ... but at least this many bytes.
pub const RETENTION_STEP_MIN: u64 = 1 << 20;

/// ... and so seldom that looking at all topics takes a part of this many of the time.
pub const RETENTION_PAUSE: u32 = 20;

/// How long shutdown waits for deletions in flight. The rest is deleted after the next start.
pub const RETENTION_STOP_MAX: Duration = Duration::from_secs(5);

/// Topics from which old records are deleted at the same time: enough to hide an S3 request's latency.
pub const TOPICS_TRIMMING_MAX: usize = 16;

/// Mappings of cached objects kept open: a sixteenth of the 65,530 that Linux gives a process by default.
pub const CACHE_MAPPINGS_MAX: usize = 4096;

/// The cache fetches and keeps objects in blocks of this size: what file systems allocate, so that they know which are
/// there, and small next to a piece of 1 MiB, as a hundred partitions have in a merged object: its entries and its
/// batches have four edges inside of blocks, and it needs the object's first block.
pub const CACHE_BLOCK_BYTES: u64 = 4 << 10;

/// Two ranges of an object that a read needs are fetched at once if not more than this lies between them: it takes less
/// time than another request.
pub const CACHE_GAP_BYTES_MAX: u64 = 32 << 10;

/// Objects up to this size are fetched whole, in one round trip: entries and batches would take two, each more time
/// than this takes.
pub const CACHE_WHOLE_BYTES_MAX: u64 = 1 << 20;

/// Maximum size of one GET. S3 sends about 90 MB/s on a connection, so that this takes twice its latency.
pub const CACHE_GET_BYTES_MAX: u64 = 8 << 20;

/// Maximum memory for the entries that searches have read of objects without copies: 200,000 of them.
pub const CACHE_ENTRIES_BYTES_MAX: usize = 8 << 20;

/// Maximum number of GETs in flight ahead of their readers, of all readers: eight of each of four.
pub const CACHE_AHEAD_GETS_MAX: usize = 32;

/// Maximum size of freed memory that one of the allocator's heaps keeps: the buffers of the GETs that are in flight for
/// one reader fit.
pub const FREED_BYTES_MAX: i32 = 16 << 20;

/// Allocations up to this size come from a heap; larger ones are mapped, and returned to the system when they are
/// freed.
pub const HEAP_BYTES_MAX: i32 = 4 << 20;

/// Minimum size of a write to a copy, except at the end of a GET: over TLS, pieces have 16 KiB. Larger ones are written
/// one by one, while the processor's cache has them. They have at most the 400 KiB of a connection's read buffer.
pub const CACHE_WRITE_BYTES_MIN: u64 = 128 << 10;

/// One thread receives more than 1 GB/s of a bucket's objects and writes them to the cache; the other processor sends
/// them to readers.
pub const PROCESSORS_PER_FETCH_THREAD: usize = 2;

/// Maximum number of threads that fetch: more than any network needs.
pub const FETCH_THREADS_MAX: usize = 8;

/// A piece of this size is fetched as fast as it is read: an object without smaller ones is copied into the cache only
/// for readers.
pub const COPIED_PIECE_BYTES: u64 = 1 << 20;

/// How long a partition that was read counts as one with readers: what is stored in a bucket for it is kept in the
/// cache. A job that reads once a day has one, whatever time it takes.
pub const READERS_KNOWN_FOR: Duration = Duration::from_hours(48);

/// Maximum number of such partitions of a journal, those read last, of 100 bytes each. If more are read, their records
/// are in small pieces of objects that are merged, and have a copy in any case.
pub const READERS_KNOWN_MAX: usize = 16_384;

/// Maximum memory for bytes that are read while the cache's disk is full: one commit with a large request fits.
pub const CACHE_MEMORY_BYTES_MAX: u64 = 128 << 20;

/// The first bytes of an object that are read to see its index: they hold the index of up to 168 batches.
pub const INDEX_BYTES_GUESS: u64 = 4096;

/// How long a request to a bucket may take before it is slow, while too few have ended to compare it with: longer than
/// any service takes for most.
pub const HEDGE_AFTER: Duration = Duration::from_secs(1);

/// A request is not slow before this time, even if its peers are fast: no producer notices a second request's gain.
pub const HEDGE_AFTER_MIN: Duration = Duration::from_millis(40);

/// Requests that may be sent a second time, for each that is sent: a twentieth more costs a twentieth more.
pub const HEDGES_PER_REQUEST: f64 = 0.05;

/// Maximum number of such requests saved up, and their number at the start: a bucket that is slow for all requests gets
/// few more of them.
pub const HEDGES_SAVED_MAX: f64 = 20.0;

/// Maximum number of second requests saved up that take the place of PUTs that a journal has spared: one for each PUT
/// that it has in flight. More would be sent when the bucket has become fast again.
pub const HEDGES_SPARED_MAX: u32 = 8;

/// The part of them that is kept for requests that are very slow.
pub const HEDGES_RESERVED: f64 = 3.0;

/// How often a request is sent again because it is slow: of a thousand, three are slow twice.
pub const HEDGES_MAX: u32 = 2;

/// Pause before one of these requests that failed is sent again: a busy bucket refuses every other one for seconds.
pub const RESEND_AFTER: Duration = Duration::from_millis(25);

/// How often the id of an object that exists is read before the outcome of its PUT counts as unknown: a bucket that
/// refuses every other request refuses all of these for one PUT in 256.
pub const ID_READS_MAX: usize = 8;

/// Minimum time to keep unreferenced objects of a journal, unless the storage was created with another
/// delay. A broker may be paused for half of it without having to look again before it acknowledges.
pub const DELETION_DELAY: Duration = Duration::from_secs(3600);

/// Minimum of that delay: a quarter of it must be at least a second, the unit of a store's dates.
pub const DELETION_DELAY_MIN: Duration = Duration::from_secs(4);

/// How often a broker looks for journal objects that can be deleted: one or a few LIST requests, seldom enough to cost
/// less than a dollar a year.
pub const GARBAGE_INTERVAL: Duration = Duration::from_secs(600);

/// A broker looks for objects of the journal to merge after so many new ones: in the smallest of them, a merge of
/// `MergeLimits::objects_max` is found soon enough, and the walk over all pieces costs little for each object.
pub const MERGE_LOOK_OBJECTS: u64 = 64;

/// ... or after so many new pieces, if that is sooner: many partitions have records in each object.
pub const MERGE_LOOK_PIECES: u64 = 65_536;

/// Age at which an open merge is abandoned: its broker has died. A merge takes seconds; one that is
/// abandoned too early costs its bytes and nothing else.
pub const MERGE_ABANDON_AFTER: Duration = Duration::from_secs(600);

/// After each merge that had to be abandoned, a broker waits for twice as many new objects before the next, up to this
/// power of two: 64 times as many.
pub const MERGE_FAILURES_MAX: u32 = 6;

/// How often a merged object is put when the outcome is unknown, before the merge is abandoned.
pub const MERGE_PUTS_MAX: usize = 3;

/// How often bytes are read for a merge when the store fails, before the merge is abandoned.
pub const MERGE_READS_MAX: usize = 4;

/// Time between these reads.
pub const MERGE_READ_RETRY: Duration = Duration::from_secs(1);

/// The merger is woken this many times before there are enough new objects or bytes to look for a merge.
pub const MERGE_NEWS_PARTS: u64 = 16;

/// A broker looks for objects to merge after one new object for each so many pieces at least: the walk over all pieces
/// takes about 10 ns for each.
pub const MERGE_PIECES_PER_OBJECT: u64 = 1024;

/// A walk over the pieces of a partition holds its lock for this many at a time, less than a tenth of a millisecond.
pub const PIECES_PER_VISIT: usize = 4096;

/// A walk over all pieces of a journal yields to other tasks after this many pieces, about a tenth of a millisecond.
pub const MERGE_PIECES_PER_YIELD: usize = 4096;

/// A topic takes as long as this many pieces. Of a million topics with one piece each, a walk that yielded more often
/// would spend a third of its time on that.
pub const MERGE_TOPIC_PIECES: usize = 16;

/// A compaction of a partition keeps the newest offsets of this many keys at once, in 13 MiB. A partition with more
/// keys takes several passes, each of which rereads all before it.
pub const COMPACT_KEYS_MAX: usize = 7 << 16;

/// A partition is compacted once this many bytes are not. A small one costs its readers little.
pub const COMPACT_DIRTY_BYTES_MIN: u64 = 1 << 20;

/// A compaction stores its result once it has this many bytes in memory.
pub const COMPACT_HELD_BYTES: u64 = 8 << 20;

/// Uncompressed size of the batches that a compaction makes, in bytes. A consumer gets several at a time by default.
pub const COMPACT_BATCH_BYTES: u64 = 256 << 10;

/// Maximum size of one batch that a compaction decompresses: four times what producers may send by default.
pub const COMPACT_RAW_BYTES_MAX: u32 = 256 << 20;

/// How long a tombstone stays in a compacted topic by default, once it is compacted: as in Kafka.
pub const TOMBSTONE_AGE: Duration = Duration::from_secs(24 * 3600);

/// Batches of a piece with at most so many bytes are checked by the task that copies them, longer ones on a thread that
/// may block.
pub const MERGED_BATCHES_INLINE_BYTES_MAX: usize = 256 << 10;

/// Maximum number of journal objects whose indexes are read at once, by a broker that has much to catch up with. At
/// 50 ms per request, it reads 5,000 of them in between one and two seconds.
pub const JOURNAL_READS_MAX: u64 = 256;

/// Number of journal objects whose indexes are read at once after a snapshot was loaded, before it is known how many
/// follow it. From there on the number doubles with each round trip. More would cost an idle start more connections.
pub const JOURNAL_READS_FIRST: u64 = 64;

/// Maximum size of the indexes that are read ahead, by that of the newest: [`JOURNAL_READS_MAX`] of them are read at
/// once if each has up to 700 batches. They are larger in memory, at most three times.
pub const JOURNAL_READ_AHEAD_BYTES: u64 = 32 << 20;

/// While an object's index arrives late, those after it are read on, up to so many times the number that is read at
/// once.
pub const JOURNAL_READ_AHEAD_WINDOWS: u64 = 4;

/// A snapshot of the journal is taken after this many objects, so that a broker that starts reads at most as many
/// indexes, and some more.
pub const SNAPSHOT_OBJECTS: u64 = 1000;

/// A snapshot names every topic, partition and piece in 40 to 90 bytes, so a large one waits for more objects: one for
/// this many of them.
pub const SNAPSHOT_ENTRIES_PER_OBJECT: u64 = 128;

/// A snapshot waits once more for the interval for each so many topics, partitions and pieces, 10 MB.
pub const SNAPSHOT_ENTRIES_PER_INTERVAL: u64 = 200_000;

/// While a broker that starts reads the journal, it takes one snapshot instead of so many, lest the next start reads
/// everything again if this one fails. Each costs some milliseconds for 10,000 topics.
pub const SNAPSHOTS_SKIPPED_AT_START: u64 = 10;

/// A snapshot of the journal is taken after this time, if there is anything new.
pub const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(300);

/// A broker looks this often whether its storage was changed under it: within a minute, with the time that a request
/// may take. In a bucket it is two GETs.
pub const STORAGE_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Maximum number of adjacent lost objects that can be given up: each gets an object in its place. What is missing in
/// between two snapshots is fewer.
pub const LOST_OBJECTS_MAX: u64 = 100_000;

const _: () = assert!(JOURNAL_PARTITIONS_MAX > JOURNAL_TOPICS_MAX, "a topic has at least one partition");
const _: () = assert!(COMMIT_BYTES <= OBJECT_BYTES_MAX / 2, "a full commit and one large request make an object");
const _: () = assert!(
    index_bytes(1, OBJECT_BATCHES_MAX as u32, 0) <= OBJECT_BYTES_MAX / 8,
    "one request's index fits, see `Config::object_bytes_max`"
);
const _: () = assert!(OBJECT_BYTES_MAX <= u32::MAX as u64, "positions in an object are u32");
const _: () = assert!(OBJECT_BYTES_MAX / 4 <= u32::MAX as u64, "each record has a u32 size, so u32 counts records");
const _: () = assert!(TOPIC_NAME_BYTES_MAX <= 255 - ".tmp".len(), "a name is a file name");
const _: () = assert!(SEGMENT_BYTES <= u32::MAX as u64, "positions in a segment are u32");
const _: () = assert!(SEGMENT_STEP_BYTES_MIN <= SEGMENT_STEP_BYTES_MAX && SEGMENT_STEP_BYTES_MAX <= SEGMENT_BYTES);
const _: () = assert!(COMMIT_BYTES <= READ_BYTES_MAX, "one read returns a whole commit");
const _: () = assert!(READ_RUN_OBJECTS_MAX <= READ_OBJECTS_MAX);
const _: () = assert!(READ_OBJECTS_PER_YIELD <= READ_OBJECTS_MAX && PREFETCH_OBJECTS_MAX <= READ_OBJECTS_MAX);
const _: () = assert!(1 <= JOURNAL_READS_FIRST && JOURNAL_READS_FIRST <= JOURNAL_READS_MAX);
const _: () = assert!(JOURNAL_READ_AHEAD_BYTES >= 4 << 20, "a few of the largest indexes, see `OBJECT_BATCHES_MAX`");
const _: () = assert!(INDEX_BYTES_GUESS >= index_bytes(1, 1, 0), "the guess holds a header");
const _: () = assert!(
    CLOCK_BACK_US as u128 >= 3 * CLOCK_AHEAD_MAX.as_micros(),
    "two brokers that differ from the store in opposite ways share one order of times"
);

const _: () = assert!(CACHE_GET_BYTES_MAX.is_multiple_of(CACHE_BLOCK_BYTES) && CACHE_BLOCK_BYTES.is_multiple_of(4096));
const _: () = assert!(READ_AHEAD_BYTES_MIN <= READ_AHEAD_BYTES_MAX);
const _: () = assert!(READ_AHEAD_BYTES_MAX.is_multiple_of(CACHE_GET_BYTES_MAX));
const _: () = assert!(CACHE_BLOCK_BYTES >= index_bytes(1, 1, 0), "the front holds a header");
const _: () = assert!(CACHE_WRITE_BYTES_MIN >= CACHE_BLOCK_BYTES, "a write has a whole block");
const _: () = assert!(CACHE_MEMORY_BYTES_MAX >= COMMIT_BYTES + (64 << 20), "a commit and the largest default request");
const _: () = assert!(CACHE_MEMORY_BYTES_MAX <= u32::MAX as u64, "a semaphore counts these bytes");

/// How often transactions are looked for that take too long, while any is open. Kafka looks every ten seconds.
pub const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time that a transaction may take, Kafka's default.
pub const TRANSACTION_TIMEOUT_MAX: Duration = Duration::from_secs(15 * 60);
