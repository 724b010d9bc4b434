//! What is rolled up, and how.

use crate::store::Storage;
use futures_util::future::BoxFuture;
use rawline_avro::{Framing, SchemaStore};
use rawline_client::{Client, Start};
use std::sync::Arc;
use std::time::Duration;

/// Adds to [`Options::schemas`] those that have come since, or says why it can't. It is awaited when a message has an
/// unknown schema, at times by several threads at once; the messages that were read with it are then decoded once more.
/// What is unknown after that is counted as bad. If it fails, the roll-up ends: no message is given up because schemas
/// could not be read.
pub type Refresh = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// What is rolled up, and how.
#[derive(Clone)]
pub struct Options {
    /// The broker that has the topic.
    pub client: Client,
    /// The topic.
    pub topic: String,
    /// Where the roll-ups go; begin with the place where the broker's topics are.
    pub storage: Storage,
    /// The schemas that wrote the messages; that of bare messages as [`WriterId::Known`].
    pub schemas: Arc<SchemaStore>,
    /// How a message says which schema it has.
    pub framing: Framing,
    /// Reads schemas that have come since; none if all are there from the beginning.
    pub refresh: Option<Refresh>,
    /// Where to begin, if nothing was rolled up yet; else it goes on at the last commit.
    pub start: Start,
    /// Whether to delete the roll-ups of this topic first, and begin anew at `start`. No other process may roll up the
    /// topic meanwhile.
    pub start_over: bool,
    /// Whether to commit even if nearly all records are bad and no measurement is known yet. Usually that is an error,
    /// since it is the framing or the schema that is wrong then, not the records.
    pub accept_bad: bool,
    /// Whether to go on when the topic's end is reached, as it is when the roll-up begins.
    pub follow: bool,
    /// How long a measurement waits for others before it is committed, where the topic's end is followed.
    pub flush_after: Duration,
    /// Threads that decode and roll up.
    pub threads: usize,
    /// Memory for measurements on their way, in bytes. Reads (8 MiB a thread, more if batches are larger) and the table
    /// of series (see [`Pipeline::series_bytes`]) come on top.
    pub memory_bytes: u64,
    /// Most series; measurements of further ones are dropped and counted.
    pub series_max: u32,
    /// Records of a commit; as many as memory allows if none is given.
    pub chunk_records: Option<u64>,
    /// How long each tier is kept.
    pub retention: Retention,
    /// Gives the time now, in milliseconds since the Unix epoch.
    pub now_ms: fn() -> i64,
}

/// How long measurements and windows are kept, by their own times; none for ever. Whole files go, when all in them is
/// older.
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
    /// The usual settings: from the oldest record to the topic's end, on all cores, 512 MiB, a million series.
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
