//! Rolls a topic up: what is fetched is decoded on all cores, and every chunk of records becomes a commit.
//!
//! ```text
//! fetch.rs   one task      reads ahead, and says where commits end
//! decode.rs  all threads   some reads at once, each to columns; put together in the order of offsets
//! commit.rs  all threads   sorts and sums up a chunk, writes its files, commits; meanwhile the next one is gathered
//! ```
//!
//! Memory is decided at the start: a chunk has as many records as two chunks fit into the budget, and no more reads are
//! held than there are buffers. When commits are slow, buffers stay in use, and reading waits.

use crate::MeasureError;
use crate::chunk::Columns;
use crate::clean::clean;
use crate::commit::{Committer, Gathered, json};
use crate::decode::{BadMessage, Decoder};
use crate::fetch::{Came, Fetch};
use crate::known::load_series;
use crate::layout::{Commit, Counts, Horizon, LAYOUT_VERSION, Layout, StartMark};
use crate::limits::{BAD_TOLD_MAX, CHUNK_RECORDS_MAX, CHUNK_RECORDS_MIN, MERGE_COMMITS, READS_AHEAD, RECORD_BYTES};
use crate::snapshot::Snapshot;
use crate::store::Storage;
use futures_util::future::BoxFuture;
use rawline_avro::{Framing, SchemaStore, WriterId};
use rawline_client::{Client, Fetched, Start, TopicInfo};
use rawline_series::{MeasurementReader, SeriesLimits, SeriesTable};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

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
    /// The time now, milliseconds since the Unix epoch.
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
    ) -> Options {
        Options {
            client,
            topic: topic.into(),
            storage,
            schemas,
            framing,
            refresh: None,
            start: Start::Earliest,
            follow: false,
            flush_after: Duration::from_secs(10),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: 512 << 20,
            series_max: 1_000_000,
            chunk_records: None,
            retention: Retention::default(),
            now_ms: || jiff::Timestamp::now().as_millisecond(),
        }
    }
}

/// How far a roll-up is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Offset of the next record to decode.
    pub offset: u64,
    /// Offset behind the last record that is committed.
    pub offset_committed: u64,
    /// Where it will end; none if it follows the topic.
    pub end_offset: Option<u64>,
    /// Series known.
    pub series: u32,
    /// Whether there is no room for further series.
    pub is_series_full: bool,
    /// Commits since it began.
    pub commits: u64,
    /// What became of records since it began.
    pub counts: Counts,
    /// The first bad messages since it began.
    pub bad: Vec<BadMessage>,
}

/// What a roll-up has done.
pub type Summary = Progress;

/// A roll-up that can begin.
pub struct Pipeline {
    options: Options,
    committer: Committer,
    fetch: Fetch,
    progress: Progress,
    first_offset: u64,
}

impl Pipeline {
    /// Finds out where to go on, and loads the series that are known. Nothing is rolled up yet.
    pub async fn open(options: Options) -> Result<Pipeline, MeasureError> {
        if options.framing == Framing::Bare
            && let Err(error) = options.schemas.schema(WriterId::Known)
        {
            return Err(MeasureError::Config { reason: error.to_string() });
        }
        let layout = Layout::new(&options.storage.prefix, &options.topic);
        let topic = options.client.topic(&options.topic).await?;
        let mut snapshot = Snapshot::load(&options.storage, &layout).await?;
        if snapshot.start.is_none() {
            mark_start(&options, &layout, &topic).await?;
            snapshot = Snapshot::load(&options.storage, &layout).await?;
        }
        let offset = snapshot.end_offset().unwrap_or(topic.first_offset);
        if offset > topic.next_offset && !snapshot.commits.is_empty() {
            return Err(MeasureError::OtherTopic {
                topic: options.topic.clone(),
                next_offset: topic.next_offset,
                end_offset: offset,
                folder: layout.root().to_string(),
            });
        }
        let table = SeriesTable::new(SeriesLimits::for_series(options.series_max), fastrand::u64(..));
        let table = table.map_err(|error| MeasureError::Config { reason: error.to_string() })?;
        load_series(&options.storage, &layout, &snapshot, &table).await?;
        keep_what_is_wanted(&options, &layout, &snapshot).await?;
        clean(&options.storage, &layout).await?;
        let committer = Committer {
            storage: options.storage.clone(),
            layout,
            topic: options.topic.clone(),
            table: Arc::new(table),
            threads: options.threads.max(1),
            sequence: snapshot.commits.last().map_or(0, |last| last.sequence_end),
            series_end: snapshot.series_end(),
            commits: snapshot.commits,
            rows_max: (options.memory_bytes / RECORD_BYTES).min(CHUNK_RECORDS_MAX),
        };
        let progress = Progress {
            offset: offset.max(topic.first_offset),
            offset_committed: offset,
            end_offset: (!options.follow).then_some(topic.next_offset),
            series: committer.table.len(),
            ..Progress::default()
        };
        let fetch = Fetch {
            client: options.client.clone(),
            topic: options.topic.clone(),
            offset: progress.offset,
            end_offset: progress.end_offset,
            chunk_records: chunk_records(&options)?,
            flush_after: options.flush_after,
        };
        Ok(Pipeline { options, committer, fetch, progress, first_offset: offset })
    }

    /// How far it is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Memory of the table of series, in bytes; used only as it fills.
    pub fn series_bytes(&self) -> usize {
        self.committer.table.memory_bytes()
    }

    /// Rolls up until the topic's end, or until `stop` is there: what was decoded by then is committed. `tell` is called
    /// whenever something was decoded or committed.
    ///
    /// If this fails or is dropped, what was committed stays; the next roll-up goes on from there, and records are
    /// neither lost nor counted twice.
    pub async fn run(
        self,
        mut tell: impl FnMut(&Progress),
        stop: impl Future<Output = ()>,
    ) -> Result<Summary, MeasureError> {
        let threads = self.committer.threads;
        let reads_max = threads + READS_AHEAD;
        let (free, free_buffers) = mpsc::unbounded_channel();
        for _ in 0..reads_max {
            // The receiver is below.
            let _ = free.send(Fetched::default());
        }
        let (came_in, mut came) = mpsc::channel(READS_AHEAD);
        let (stopping, stopped) = watch::channel(false);
        let _fetching = AbortOnDrop(tokio::spawn(self.fetch.run(free_buffers, came_in, stopped)));
        let workers = Arc::new(Workers {
            topic: self.options.topic.clone(),
            schemas: self.options.schemas.clone(),
            framing: self.options.framing,
            refresh: self.options.refresh.clone(),
            table: self.committer.table.clone(),
            idle: Mutex::default(),
        });
        let mut run = Run {
            options: self.options,
            free,
            queue: VecDeque::new(),
            gathered: Gathered {
                offsets: self.first_offset..self.first_offset,
                pieces: Vec::new(),
                counts: Counts { missing: self.progress.offset - self.first_offset, ..Counts::default() },
            },
            committer: Some(self.committer),
            committing: None,
            progress: self.progress,
        };
        let mut stop = std::pin::pin!(stop);
        let mut is_stopping = false;
        let mut has_ended = false;
        let mut failed = None;
        loop {
            if run.take_decoded_cut() {
                run.begin_commit().await?;
                continue;
            }
            if has_ended && run.queue.is_empty() && run.committing.is_none() {
                return failed.map_or(Ok(run.progress), Err);
            }
            let wants_more = !has_ended && run.queue.len() < reads_max + READS_AHEAD;
            tokio::select! {
                item = came.recv(), if wants_more => match item {
                    Some(Came::Records(fetched, wanted)) => {
                        let end_offset = wanted.end;
                        let decoding = tokio::spawn(workers.clone().decode(fetched, wanted));
                        run.queue.push_back(Next::Decoded(decoding, end_offset));
                    }
                    Some(Came::Cut(end_offset)) => run.queue.push_back(Next::Cut(end_offset)),
                    Some(Came::Failed(error)) => failed = Some(error),
                    None => has_ended = true,
                },
                decoded = next_decoded(&mut run.queue) => {
                    run.gather(decoded?);
                    tell(&run.progress);
                }
                committed = next_committed(&mut run.committing) => {
                    run.end_commit(committed)?;
                    tell(&run.progress);
                }
                () = &mut stop, if !is_stopping => {
                    is_stopping = true;
                    stopping.send_replace(true);
                }
            }
        }
    }
}

/// Writes down where the topic's roll-ups begin, unless somebody else just did.
async fn mark_start(options: &Options, layout: &Layout, topic: &TopicInfo) -> Result<(), MeasureError> {
    let first_offset = match options.start {
        Start::Earliest => topic.first_offset,
        Start::Latest => topic.next_offset,
        Start::Offset(offset) => offset,
        Start::Time(time) => options.client.offset_at(&options.topic, time).await?,
    };
    let mark = StartMark { version: LAYOUT_VERSION, first_offset };
    // Whoever was first decides.
    options.storage.create(&layout.start(), json(&mark)?).await.map(|_| ())
}

/// Moves the horizon on. What lies behind is no longer read from now on, and deleted afterwards.
async fn keep_what_is_wanted(options: &Options, layout: &Layout, before: &Snapshot) -> Result<(), MeasureError> {
    let Retention { raw, minute, hour } = options.retention;
    let now_ms = (options.now_ms)();
    let since = |kept: Option<Duration>, before: Option<i64>| {
        let since = kept.map(|kept| now_ms.saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX)));
        // It never moves back: what lay behind it is gone.
        since.max(before)
    };
    let horizon = Horizon {
        raw_ms: since(raw, before.horizon.raw_ms),
        minute_ms: since(minute, before.horizon.minute_ms),
        hour_ms: since(hour, before.horizon.hour_ms),
    };
    if horizon == before.horizon {
        return Ok(());
    }
    options.storage.put(&layout.horizon(), json(&horizon)?.into()).await
}

fn chunk_records(options: &Options) -> Result<u64, MeasureError> {
    let fitting = options.memory_bytes / RECORD_BYTES;
    if fitting < CHUNK_RECORDS_MIN && options.chunk_records.is_none() {
        return Err(MeasureError::Config {
            reason: format!(
                "{} bytes of memory are too few for a roll-up; give at least {}",
                options.memory_bytes,
                CHUNK_RECORDS_MIN * RECORD_BYTES
            ),
        });
    }
    Ok(options.chunk_records.unwrap_or(fitting).clamp(1, CHUNK_RECORDS_MAX))
}

/// Decoders for any number of threads.
struct Workers {
    topic: String,
    schemas: Arc<SchemaStore>,
    framing: Framing,
    refresh: Option<Refresh>,
    table: Arc<SeriesTable>,
    idle: Mutex<Vec<Decoder>>,
}

/// What a read's records became, and the read's memory.
struct Decoded {
    fetched: Fetched,
    columns: Columns,
    counts: Counts,
    bad: Vec<BadMessage>,
    missing_schema: bool,
}

impl Workers {
    /// Decodes a read; once more after a refresh, if it has messages of unknown schemas.
    async fn decode(self: Arc<Self>, fetched: Fetched, wanted: Range<u64>) -> Result<Decoded, MeasureError> {
        let decoded = self.clone().decode_blocking(fetched, wanted.clone()).await?;
        let Some(refresh) = self.refresh.as_ref().filter(|_| decoded.missing_schema) else { return Ok(decoded) };
        refresh().await.map_err(|reason| MeasureError::Schemas {
            topic: self.topic.clone(),
            first_offset: wanted.start,
            end_offset: wanted.end,
            reason,
        })?;
        let Decoded { fetched, columns, .. } = decoded;
        drop(columns);
        self.clone().decode_blocking(fetched, wanted).await
    }

    async fn decode_blocking(self: Arc<Self>, fetched: Fetched, wanted: Range<u64>) -> Result<Decoded, MeasureError> {
        let decoding = tokio::task::spawn_blocking(move || self.decode_once(fetched, &wanted));
        decoding.await.map_err(|error| MeasureError::BrokeOff { reason: error.to_string() })
    }

    fn decode_once(&self, fetched: Fetched, wanted: &Range<u64>) -> Decoded {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let new = || Decoder::new(MeasurementReader::new(self.schemas.clone(), self.framing, self.table.clone()));
        let mut decoder = idle.unwrap_or_else(new);
        let rows = usize::try_from(wanted.end.saturating_sub(wanted.start)).unwrap_or(0);
        let (series, time_ms, value) = (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut columns = Columns { series, time_ms, value };
        let mut bad = Vec::new();
        let counts = decoder.decode(&fetched, wanted, &mut columns, &mut bad);
        let missing_schema = decoder.missing_schema();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        Decoded { fetched, columns, counts, bad, missing_schema }
    }
}

/// Something that comes in its turn.
enum Next {
    /// What a read becomes, and the offset behind it.
    Decoded(JoinHandle<Result<Decoded, MeasureError>>, u64),
    /// The end of a commit.
    Cut(u64),
}

type Committed = (Committer, Result<Commit, MeasureError>);

/// A roll-up while it runs.
struct Run {
    options: Options,
    free: mpsc::UnboundedSender<Fetched>,
    /// In the order of offsets.
    queue: VecDeque<Next>,
    gathered: Gathered,
    /// Away while it commits.
    committer: Option<Committer>,
    committing: Option<BoxFuture<'static, Committed>>,
    progress: Progress,
}

impl Run {
    /// Whether a chunk is whole; its end is then taken from the queue.
    fn take_decoded_cut(&mut self) -> bool {
        let Some(Next::Cut(end_offset)) = self.queue.front() else { return false };
        self.gathered.offsets.end = *end_offset;
        self.queue.pop_front();
        true
    }

    fn gather(&mut self, (decoded, end_offset): (Decoded, u64)) {
        self.gathered.pieces.push(decoded.columns);
        self.gathered.counts += decoded.counts;
        // The reader is gone when it has ended.
        let _ = self.free.send(decoded.fetched);
        let progress = &mut self.progress;
        progress.offset = end_offset;
        progress.counts += decoded.counts;
        progress.is_series_full |= decoded.counts.dropped > 0;
        progress.bad.extend(decoded.bad);
        progress.bad.truncate(BAD_TOLD_MAX);
        if let Some(committer) = &self.committer {
            progress.series = committer.table.len();
        }
    }

    /// Commits what was gathered, once the commit before is done.
    async fn begin_commit(&mut self) -> Result<(), MeasureError> {
        if self.committing.is_some() {
            let committed = next_committed(&mut self.committing).await;
            self.end_commit(committed)?;
        }
        let next = self.gathered.offsets.end;
        let empty = Gathered { offsets: next..next, pieces: Vec::new(), counts: Counts::default() };
        let gathered = std::mem::replace(&mut self.gathered, empty);
        if let Some(mut committer) = self.committer.take() {
            let options = self.options.clone();
            self.committing = Some(Box::pin(async move {
                let committed = commit_and_merge(&options, &mut committer, gathered).await;
                (committer, committed)
            }));
        }
        Ok(())
    }

    fn end_commit(&mut self, (committer, committed): Committed) -> Result<(), MeasureError> {
        let commit = committed?;
        self.progress.commits += 1;
        self.progress.offset_committed = commit.end_offset;
        self.progress.counts.missing += commit.counts.missing;
        self.progress.series = committer.table.len();
        self.committer = Some(committer);
        Ok(())
    }
}

/// Commits; where that makes a run whole, merges it, after what was merged before and is now read by nobody is deleted.
async fn commit_and_merge(
    options: &Options,
    committer: &mut Committer,
    gathered: Gathered,
) -> Result<Commit, MeasureError> {
    let commit = committer.commit(gathered).await?;
    if commit.sequence_end.is_multiple_of(MERGE_COMMITS) {
        let snapshot = Snapshot::load(&committer.storage, &committer.layout).await?;
        keep_what_is_wanted(options, &committer.layout, &snapshot).await?;
        clean(&committer.storage, &committer.layout).await?;
        committer.merge().await?;
    }
    Ok(commit)
}

/// What was decoded next. Waits for ever if the next thing is something else. May be dropped while it waits.
async fn next_decoded(queue: &mut VecDeque<Next>) -> Result<(Decoded, u64), MeasureError> {
    let Some(Next::Decoded(decoding, end_offset)) = queue.front_mut() else {
        return std::future::pending().await;
    };
    let end_offset = *end_offset;
    let decoded = decoding.await;
    queue.pop_front();
    let decoded = decoded.map_err(|error| MeasureError::BrokeOff { reason: error.to_string() })?;
    Ok((decoded?, end_offset))
}

/// What became of the commit that is on its way. Waits for ever if there is none. May be dropped while it waits.
async fn next_committed(committing: &mut Option<BoxFuture<'static, Committed>>) -> Committed {
    let Some(commit) = committing else { return std::future::pending().await };
    let committed = commit.await;
    *committing = None;
    committed
}

/// A task that ends with whoever began it.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
