//! Bounds of a roll-up's memory and work, each with its reason.

use std::time::Duration;

/// Memory that one measurement may take on its way: twice its three columns (20 bytes; one chunk is gathered while the
/// one before is rolled up), sorted (16), and its part of three files, if every one is a window of its own (about 100).
pub(crate) const RECORD_BYTES: u64 = 160;

/// Records of a commit where memory allows more: at five million a second that is most of a second's work, so that
/// what a commit costs (four files, each synced) no longer shows.
pub(crate) const CHUNK_RECORDS_MAX: u64 = 4 << 20;

/// Records of a commit where memory is short. Fewer would make files so small that readers suffer.
pub(crate) const CHUNK_RECORDS_MIN: u64 = 64 << 10;

/// Bytes asked for at once: some ten thousand measurements, enough to keep a core busy for milliseconds.
pub(crate) const READ_BYTES: u64 = 4 << 20;

/// Reads held at once beside one for each thread that decodes: one on its way, one waiting.
pub(crate) const READS_AHEAD: usize = 2;

/// How long the broker holds a read open when there is nothing. Only how often an idle roll-up asks depends on it.
pub(crate) const READ_WAIT: Duration = Duration::from_secs(20);

/// Bad messages that are told one by one; the others are counted.
pub(crate) const BAD_TOLD_MAX: usize = 16;

/// Commits that one commit replaces: few enough that readers never have many small files, enough that every measurement
/// is rewritten rarely.
pub(crate) const MERGE_COMMITS: u64 = 64;

/// Maximum length of the metric and tags of a series, in bytes as they are encoded. The texts of a series have 48 bytes of
/// memory on average; ordinary ones take some hundred. Without this, some ten records of 4 MB take the memory of all
/// other series; with it, it takes thousands of them.
pub(crate) const SERIES_BYTES_MAX: usize = 16 << 10;

/// Of 100 records, how many may be bad in a roll-up that has no measurement yet. With more, the framing or the schema is
/// nearly certainly another one, and committing would pass over records that are good.
pub(crate) const BAD_PERCENT_MAX: u64 = 90;

const _: () = assert!(CHUNK_RECORDS_MAX <= u32::MAX as u64, "a chunk counts its rows in 32 bits");
const _: () = assert!(CHUNK_RECORDS_MIN <= CHUNK_RECORDS_MAX);
const _: () = assert!(BAD_PERCENT_MAX < 100);
const _: () = assert!(READS_AHEAD >= 1, "a read is received while another is in flight");
