//! Limits of a roll-up's memory and work, each with its reason.

use std::time::Duration;

/// Maximum memory of one measurement in flight: twice its three columns (20 bytes each; one chunk is gathered while the
/// previous one is rolled up), its sorted copy (16), and its share of three files if every measurement has a separate
/// window (about 100).
pub(crate) const RECORD_BYTES: u64 = 160;

/// Maximum number of records of a commit: nearly a second's work at five million per second, so the cost of a commit (a
/// few files, each synced) is negligible.
pub(crate) const CHUNK_RECORDS_MAX: u64 = 4 << 20;

/// Minimum number of records of a full commit. Fewer would give files so small that queries become slow.
pub(crate) const CHUNK_RECORDS_MIN: u64 = 64 << 10;

/// Maximum size of a read in bytes: tens of thousands of measurements, enough to keep a core busy for milliseconds.
pub(crate) const READ_BYTES: u64 = 4 << 20;

/// Reads held in addition to one per decoding thread: one in flight, one waiting to be decoded.
pub(crate) const READS_AHEAD: usize = 2;

/// How long the broker holds a read open when it has no data. Determines only how often an idle roll-up polls.
pub(crate) const READ_WAIT: Duration = Duration::from_secs(20);

/// Maximum number of bad messages reported one by one; the others are counted.
pub(crate) const BAD_REPORTED_MAX: usize = 16;

/// Number of commits that are merged into one: few enough that readers never have many small files, enough that
/// measurements are rarely rewritten.
pub(crate) const MERGE_COMMITS: u64 = 64;

/// Maximum length of a series' metric and tags in encoded bytes. Texts have 48 bytes of memory per series on average,
/// and most texts are shared by several series. Without this limit, 14 records of 4 MB would fill the memory for a
/// million series; with it, that takes thousands of records.
pub(crate) const SERIES_BYTES_MAX: usize = 16 << 10;

/// Maximum percentage of bad records in a roll-up without measurements. If more are bad, the framing or the schema is
/// almost certainly wrong, and a commit would skip good records.
pub(crate) const BAD_PERCENT_MAX: u64 = 90;

const _: () = assert!(CHUNK_RECORDS_MAX <= u32::MAX as u64, "a chunk counts its rows in 32 bits");
const _: () = assert!(CHUNK_RECORDS_MIN <= CHUNK_RECORDS_MAX);
const _: () = assert!(BAD_PERCENT_MAX < 100);
const _: () = assert!(READS_AHEAD >= 1, "a read is received while another is in flight");
