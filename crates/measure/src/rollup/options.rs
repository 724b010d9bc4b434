//! Settings of a roll-up.

use crate::store::Storage;
use futures_util::future::BoxFuture;
use rawline_avro::{Framing, SchemaStore};
use rawline_client::{Client, Start};
use std::sync::Arc;
use std::time::Duration;

/// Adds new schemas to [`Options::schemas`], or returns the reason why that failed. Called when a message has an
/// unknown schema, possibly concurrently; the read with that message is then decoded again. Messages whose schema is
/// still unknown count as bad. If reading schemas fails, the roll-up fails too, so no message is skipped for that
/// reason.
pub type Refresh = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Settings of a roll-up.
#[derive(Clone)]
pub struct Options {
    /// A client of the topic's broker.
    pub client: Client,
    /// The topic.
    pub topic: String,
    /// The store of the roll-ups, usually the broker's.
    pub storage: Storage,
    /// The writers' schemas; the schema of bare messages is `WriterId::Known`.
    pub schemas: Arc<SchemaStore>,
    /// How messages identify their schema.
    pub framing: Framing,
    /// Reads new schemas; `None` if all are known at the start.
    pub refresh: Option<Refresh>,
    /// Where the first run starts. Later runs continue at the last commit.
    pub start: Start,
    /// Whether to delete the topic's roll-ups and start over at `start`. Stop other processes that roll up the topic
    /// first.
    pub start_over: bool,
    /// Whether to commit even if nearly all of the first records are bad. By default this is an error, because it
    /// usually means that the framing or the schema is wrong.
    pub accept_bad: bool,
    /// Whether to continue at the topic's end. Otherwise the roll-up ends at the offset that was the topic's end at its
    /// start.
    pub follow: bool,
    /// With `follow`, the maximum time until a measurement is committed.
    pub flush_after: Duration,
    /// Number of threads that decode and roll up.
    pub threads: usize,
    /// Memory for measurements in flight, in bytes. It doesn't include reads (4 MiB per thread, more if batches are
    /// larger) and the table of series.
    pub memory_bytes: u64,
    /// Maximum number of series. Measurements of additional series are dropped and counted.
    pub series_max: u32,
    /// Number of records of a commit; by default as many as memory allows.
    pub chunk_records: Option<u64>,
    /// Retention of each tier.
    pub retention: Retention,
    /// The clock: milliseconds since the Unix epoch.
    pub now_ms: fn() -> i64,
}

/// How long to keep measurements and windows, according to their own times; `None` keeps them forever. A file is
/// deleted when all its times are older.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Measurements.
    pub raw: Option<Duration>,
    /// Windows of one minute.
    pub minute: Option<Duration>,
    /// Windows of one hour.
    pub hour: Option<Duration>,
}

impl Options {
    /// Default settings: from the oldest record to the topic's end, on all cores, 512 MiB, a million series.
    pub fn new(
        client: Client,
        topic: impl Into<String>,
        storage: Storage,
        schemas: Arc<SchemaStore>,
        framing: Framing,
        now_ms: fn() -> i64,
    ) -> Options {
        Options {
            client,
            topic: topic.into(),
            storage,
            schemas,
            framing,
            refresh: None,
            start: Start::Earliest,
            start_over: false,
            accept_bad: false,
            follow: false,
            flush_after: Duration::from_secs(10),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: 512 << 20,
            series_max: 1_000_000,
            chunk_records: None,
            retention: Retention::default(),
            now_ms,
        }
    }
}
