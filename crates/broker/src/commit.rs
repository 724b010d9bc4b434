//! Group commit: one task owns a topic's end and stores what waits as one object.
//!
//! What arrives while a commit is on its way to the store is the next commit, so a lone append never waits for
//! company unless `batch_wait` says so (on S3, where every PUT costs).

use crate::index::Index;
use crate::limits::{COMMITS_CONFIRMING_MAX, OBJECT_BATCHES_MAX};
use crate::object::{Header, Object, Stamp};
use crate::received::Received;
use crate::store::{Begun, CommitError, Known, Location, Store, StoreError};
use crate::{Clock, Config, Kind};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use rawline_batch::BatchMeta;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

/// The offsets that an append's records got: `first_offset..next_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record.
    pub first_offset: u64,
    /// The offset behind the last.
    pub next_offset: u64,
}

/// Why nothing was appended, or it is not known whether it was.
#[derive(Debug, Clone, Error)]
pub enum AppendError {
    /// More than one object may hold.
    #[error("{bytes} bytes in {batches} batches are too much for one request; send fewer batches at once")]
    TooLarge {
        /// Bytes sent.
        bytes: u64,
        /// Batches sent.
        batches: usize,
    },
    /// Too many requests wait for this topic's next commit.
    #[error("too many appends wait for this topic; wait and send the request again")]
    Busy,
    /// The topic's task has ended, because the broker is shutting down.
    #[error("the broker is shutting down; send the request to it again when it is back")]
    Closed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AppendError {
    /// What a caller can do.
    pub fn kind(&self) -> Kind {
        match self {
            AppendError::TooLarge { .. } => Kind::FixRequest,
            AppendError::Busy | AppendError::Closed => Kind::Wait,
            AppendError::Store(error) => error.kind,
        }
    }
}

/// An append that waits for its commit.
pub(crate) struct Append {
    pub received: Received,
    pub answer: oneshot::Sender<Result<Appended, AppendError>>,
}

/// Appends that will be one object.
#[derive(Default)]
struct Group {
    appends: Vec<Append>,
    bytes: u64,
    batches: usize,
    /// Since when the first of them waits.
    since: Option<Instant>,
    /// One that did not fit any more.
    next: Option<Append>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.appends.is_empty()
    }

    fn push(&mut self, append: Append, object_bytes_max: u64) {
        let bytes = self.bytes + append.received.bytes();
        let batches = self.batches + append.received.batches.len();
        if !self.is_empty() && (bytes > object_bytes_max || batches > OBJECT_BATCHES_MAX) {
            self.next = Some(append);
            return;
        }
        (self.bytes, self.batches) = (bytes, batches);
        self.since.get_or_insert_with(Instant::now);
        self.appends.push(append);
    }

    /// Takes the appends; what did not fit begins the next group.
    fn take(&mut self, object_bytes_max: u64) -> Vec<Append> {
        let Group { appends, next, .. } = std::mem::take(self);
        if let Some(next) = next {
            self.push(next, object_bytes_max);
        }
        appends
    }
}

/// Who waits for an append, and its number of records.
type Caller = (u64, oneshot::Sender<Result<Appended, AppendError>>);

/// A commit that was begun.
struct Commit {
    header: Header,
    begun: Begun,
    callers: Vec<Caller>,
    started: Instant,
}

/// A commit that has ended.
struct Settled {
    header: Header,
    location: Location,
    callers: Vec<Caller>,
    started: Instant,
}

type Confirmed = (Settled, Result<(), StoreError>);
type Confirming = FuturesOrdered<BoxFuture<'static, Confirmed>>;

impl Commit {
    fn confirm(self) -> BoxFuture<'static, Confirmed> {
        let Commit { header, begun: Begun { location, confirmed }, callers, started } = self;
        Box::pin(async move { (Settled { header, location, callers, started }, confirmed.await) })
    }
}

/// Owns a topic's end.
pub(crate) struct Appender {
    name: String,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    batch_wait: Duration,
    commit_bytes: u64,
    object_bytes_max: u64,
    writer_id: u64,
    commit: u64,
    appended_us: u64,
    /// The offset behind what was begun; ahead of `next_offset` while commits are being confirmed.
    begun_next: u64,
    index: Arc<RwLock<Index>>,
    next_offset: watch::Sender<u64>,
    metrics: crate::metrics::TopicMetrics,
}

impl Appender {
    pub fn new(
        name: String,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: &Config,
        index: Arc<RwLock<Index>>,
        next_offset: watch::Sender<u64>,
    ) -> Self {
        let metrics = crate::metrics::TopicMetrics::new(&name);
        let appended_us = index.read().unwrap_or_else(PoisonError::into_inner).appended_us().unwrap_or(0);
        Appender {
            name,
            store,
            clock,
            batch_wait: config.batch_wait,
            commit_bytes: config.commit_bytes,
            object_bytes_max: config.object_bytes_max(),
            writer_id: config.writer_id,
            commit: 0,
            appended_us,
            begun_next: 0,
            index,
            next_offset,
            metrics,
        }
    }

    /// Commits what arrives, until every handle of the topic is gone. While one commit is being confirmed, the next is
    /// gathered and written.
    pub async fn run(mut self, mut waiting: mpsc::Receiver<Append>) {
        let mut group = Group::default();
        let mut confirming = Confirming::new();
        let mut is_open = true;
        while is_open || !group.is_empty() || !confirming.is_empty() {
            while is_open && group.bytes < self.commit_bytes && group.next.is_none() {
                match waiting.try_recv() {
                    Ok(append) => group.push(append, self.object_bytes_max),
                    Err(mpsc::error::TryRecvError::Empty) => break,
                    Err(mpsc::error::TryRecvError::Disconnected) => is_open = false,
                }
            }
            let now = Instant::now();
            if self.is_due(&group, confirming.len(), is_open, now) {
                let appends = group.take(self.object_bytes_max);
                if let Some(commit) = self.begin(appends, &mut confirming).await {
                    confirming.push_back(commit.confirm());
                }
                continue;
            }
            // Behind that time the group waits for a commit to be confirmed, and no longer for the clock.
            let due_at = group.since.map(|since| since + self.batch_wait).filter(|&due_at| due_at > now);
            tokio::select! {
                biased;
                Some(confirmed) = confirming.next() => self.settle(confirmed),
                append = waiting.recv(), if is_open && group.bytes < self.commit_bytes && group.next.is_none() => {
                    match append {
                        Some(append) => group.push(append, self.object_bytes_max),
                        None => is_open = false,
                    }
                }
                () = sleep_until(due_at.unwrap_or(now)), if due_at.is_some() => {}
                else => {}
            }
        }
    }

    /// Whether the group should be stored now: it is full, or has waited long enough, and the store is free for it or
    /// it is worth writing while the store confirms the one before.
    fn is_due(&self, group: &Group, confirming: usize, is_open: bool, now: Instant) -> bool {
        let Some(since) = group.since else { return false };
        let is_full = group.bytes >= self.commit_bytes || group.next.is_some();
        let has_waited = !is_open || now >= since + self.batch_wait;
        let is_free = confirming == 0 || group.bytes >= self.commit_bytes / 2;
        confirming < COMMITS_CONFIRMING_MAX && (is_full || has_waited && is_free)
    }

    /// Begins to store a group as one object; if that fails, its callers are told.
    async fn begin(&mut self, group: Vec<Append>, confirming: &mut Confirming) -> Option<Commit> {
        let started = Instant::now();
        let mut parts = Vec::with_capacity(group.iter().map(|append| append.received.parts.len()).sum());
        let mut batches = Vec::with_capacity(group.iter().map(|append| append.received.batches.len()).sum());
        let mut callers = Vec::with_capacity(group.len());
        for append in group {
            callers.push((append.received.records(), append.answer));
            parts.extend(append.received.parts);
            batches.extend(append.received.batches);
        }
        match self.store_object(&parts, &batches, confirming).await {
            Ok((header, begun)) => Some(Commit { header, begun, callers, started }),
            Err(error) => {
                self.fail(callers, &error);
                None
            }
        }
    }

    /// Ends a commit, in the order in which they were begun.
    fn settle(&mut self, (commit, confirmed): Confirmed) {
        let Settled { header, location, callers, started } = commit;
        if let Err(error) = confirmed.and_then(|()| self.take_in(&header, location)) {
            self.fail(callers, &error);
            return;
        }
        self.metrics.committed(header.records, header.object_bytes, started.elapsed());
        let mut first_offset = header.first_offset;
        for (records, answer) in callers {
            let appended = Appended { first_offset, next_offset: first_offset + records };
            first_offset = appended.next_offset;
            // A caller that went away is no reason to fail: its records are stored.
            let _ = answer.send(Ok(appended));
        }
    }

    fn fail(&self, callers: Vec<Caller>, error: &StoreError) {
        tracing::error!(topic = self.name, %error, "commit failed");
        self.metrics.failed();
        for (_, answer) in callers {
            let _ = answer.send(Err(AppendError::Store(error.clone())));
        }
    }

    /// Begins to store one object at the topic's end, wherever that turns out to be.
    async fn store_object(
        &mut self,
        parts: &[Bytes],
        batches: &[BatchMeta],
        confirming: &mut Confirming,
    ) -> Result<(Header, Begun), StoreError> {
        loop {
            if confirming.is_empty() {
                // What was begun has ended, well or not: the index says what is stored.
                self.begun_next = *self.next_offset.borrow();
            }
            self.commit += 1;
            self.appended_us = self.appended_us.max(self.clock.now_us());
            let stamp = Stamp {
                first_offset: self.begun_next,
                appended_us: self.appended_us,
                writer_id: self.writer_id,
                commit: self.commit,
                confirmed_next_offset: Some(*self.next_offset.borrow()),
            };
            let object = Object::build(stamp, batches.iter().copied(), parts);
            let header = object.header;
            match self.store.begin(&self.name, object).await {
                Ok(begun) => {
                    self.begun_next = header.next_offset();
                    return Ok((header, begun));
                }
                Err(CommitError::Exists) => {
                    while let Some(confirmed) = confirming.next().await {
                        self.settle(confirmed);
                    }
                    if *self.next_offset.borrow() == stamp.first_offset {
                        self.catch_up(stamp.first_offset).await?;
                    }
                }
                Err(CommitError::Store(error)) => return Err(error),
            }
        }
    }

    fn take_in(&self, header: &Header, location: Location) -> Result<(), StoreError> {
        let known = Known { next_offset: header.next_offset(), appended_us: header.appended_us };
        self.index
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(header.first_offset, header.next_offset(), location, header.object_bytes, Some(known))
            .map_err(|gap| StoreError::human(format!("topic {}: {gap}", self.name)))?;
        self.next_offset.send_replace(header.next_offset());
        Ok(())
    }

    /// Another writer was first at this offset: takes in what it stored.
    async fn catch_up(&mut self, offset: u64) -> Result<(), StoreError> {
        tracing::info!(topic = self.name, offset, "another broker writes to this topic; going on behind it");
        let listed = self.store.list(&self.name, offset).await?;
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.extend(&listed).map_err(|gap| StoreError::human(format!("topic {}: {gap}", self.name)))?;
        let next_offset = index.next_offset();
        self.appended_us = self.appended_us.max(index.appended_us().unwrap_or(0));
        drop(index);
        if next_offset <= offset {
            return Err(StoreError::wait(format!(
                "topic {}: an object is at offset {offset} but the store does not list it yet; try again",
                self.name
            )));
        }
        self.next_offset.send_replace(next_offset);
        Ok(())
    }
}
