//! The task that owns a topic's end: carries out what the log (`log.rs`) decides, with the store, the clock and the
//! callers.
//!
//! The task never waits for the store alone: while an object is being stored it takes appends and confirmations.

use crate::append::{Append, AppendError, Message};
use crate::index::TopicIndex;
use crate::limits::COMMITS_CONFIRMING_MAX;
use crate::log::{Commit, GroupLimits, Log, Resolved, Step};
use crate::metrics::TopicMetrics;
use crate::object::{HEADER_BYTES, Header, Object, Stamp};
use crate::own::VisibleEnd;
use crate::received::Checked;
use crate::store::{Begun, CommitError, Known, Listed, Location, ObjectAt, Store, StoreError};
use crate::{Clock, Config, Kind};
use bytes::Bytes;
use futures_util::future::{BoxFuture, OptionFuture};
use rawline_batch::BatchMeta;
use rawline_journal::next_time;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Owns a topic's end.
pub(crate) struct Appender {
    name: String,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    writer_id: u64,
    /// Number of the newest commit of this run.
    commit: u64,
    /// Time of the newest object: times never go back.
    appended_us: u64,
    log: Log<Append>,
    /// The batches of the commit that is being stored, until the store has taken them.
    batches: Vec<BatchMeta>,
    parts: Vec<Bytes>,
    index: Arc<RwLock<TopicIndex>>,
    next_offset: VisibleEnd,
    metrics: TopicMetrics,
    /// When the log's time began.
    epoch: Instant,
}

/// An object that the store was asked to store.
struct Storing<'a> {
    header: Header,
    started: Instant,
    begun: BoxFuture<'a, Result<Begun, CommitError>>,
}

/// An object that the store has begun to store.
struct Confirming {
    header: Header,
    started: Instant,
    location: Location,
    confirmed: BoxFuture<'static, Result<(), StoreError>>,
}

/// What a store has from an offset on, and the header of the object that begins there.
type Seen = Result<(Vec<Listed>, Option<Header>), StoreError>;

impl Appender {
    pub fn new(
        name: String,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: &Config,
        index: Arc<RwLock<TopicIndex>>,
        next_offset: VisibleEnd,
        metrics: TopicMetrics,
    ) -> Self {
        let object_bytes_max = config.object_bytes_max();
        let commit_bytes = config.commit_bytes.min(object_bytes_max);
        let limits = GroupLimits { batch_wait: config.batch_wait, commit_bytes, object_bytes_max };
        let (end_offset, appended_us) = {
            let index = index.read().unwrap_or_else(PoisonError::into_inner);
            (index.next_offset(), index.appended_us().unwrap_or(0))
        };
        let visible = next_offset.get();
        assert_eq!(visible, end_offset, "topic {name}: readers see another end than the index has");
        Appender {
            name,
            store,
            clock,
            writer_id: config.writer_id,
            commit: 0,
            appended_us,
            log: Log::new(end_offset, limits),
            batches: Vec::new(),
            parts: Vec::new(),
            index,
            next_offset,
            metrics,
            epoch: Instant::now(),
        }
    }

    /// Commits what arrives, until every handle of the topic is dropped or the topic is deleted, and everything is
    /// stored.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        let (store, name) = (self.store.clone(), self.name.clone());
        let mut storing: Option<Storing<'_>> = None;
        let mut looking: Option<BoxFuture<'_, Seen>> = None;
        let mut confirming: VecDeque<Confirming> = VecDeque::with_capacity(COMMITS_CONFIRMING_MAX);
        loop {
            while self.log.awaits_appends() {
                match inbox.try_recv() {
                    Ok(Message::Append(append)) => self.push(append),
                    Err(mpsc::error::TryRecvError::Empty) => break,
                    // What follows a stop is dropped with the inbox.
                    Ok(Message::Stop) | Err(mpsc::error::TryRecvError::Disconnected) => self.log.close(),
                }
            }
            assert_eq!(confirming.len(), self.log.confirming(), "commits that the store and the log are confirming");
            let mut wait_until = None;
            match self.log.next(self.epoch.elapsed()) {
                Step::Store { first_offset } => {
                    assert!(storing.is_none() && looking.is_none(), "the commit at {first_offset} overtakes another");
                    let object = self.build(first_offset);
                    let (header, started) = (object.header, Instant::now());
                    storing = Some(Storing { header, started, begun: store.begin(&name, object) });
                }
                Step::CatchUp { from } => {
                    assert!(storing.is_none() && looking.is_none(), "two steps at offset {from} at once");
                    looking = Some(Box::pin(look(&*store, &name, from)));
                }
                Step::Wait { until } => wait_until = until,
                Step::Done => {
                    let is_idle = storing.is_none() && looking.is_none() && self.batches.is_empty();
                    assert!(is_idle, "topic {name} ends while {} batches are being stored", self.batches.len());
                    break;
                }
            }
            tokio::select! {
                biased;
                Some(begun) = OptionFuture::from(storing.as_mut().map(|storing| &mut storing.begun)) => {
                    let commit = storing.take().map(|storing| (storing.header, storing.started));
                    confirming.extend(commit.and_then(|(header, started)| self.begun(header, started, begun)));
                }
                Some(confirmed) = OptionFuture::from(confirming.front_mut().map(|oldest| &mut oldest.confirmed)) => {
                    if let Some(oldest) = confirming.pop_front() {
                        self.confirmed(&oldest, confirmed);
                    }
                }
                Some(seen) = OptionFuture::from(looking.as_mut()) => {
                    looking = None;
                    self.seen(seen);
                }
                message = inbox.recv(), if self.log.awaits_appends() => match message {
                    Some(Message::Append(append)) => self.push(append),
                    Some(Message::Stop) | None => self.log.close(),
                },
                () = sleep_until(self.epoch + wait_until.unwrap_or_default()), if wait_until.is_some() => {}
            }
        }
    }

    fn push(&mut self, append: Append) {
        let size = append.received.size();
        self.log.push(append, size, self.epoch.elapsed());
    }

    /// The object to store at `first_offset`, out of the log's newest commit.
    fn build(&mut self, first_offset: u64) -> Object {
        // A commit that lost a race is built again, at another offset.
        if self.batches.is_empty() {
            let (parts, batches) = self.log.storing().fold((0, 0), |(parts, batches), append| {
                (parts + append.received.parts.len(), batches + append.received.batches.len())
            });
            self.parts.reserve_exact(parts);
            self.batches.reserve_exact(batches);
            for append in self.log.storing() {
                self.parts.append(&mut append.received.parts);
                let Checked::Rawline(batches) = &mut append.received.batches else {
                    unreachable!("Kafka's batches were accepted without a journal")
                };
                self.batches.append(batches);
            }
        }
        self.commit += 1;
        self.appended_us = next_time(self.appended_us, self.clock.now_us());
        let stamp = Stamp {
            first_offset,
            appended_us: self.appended_us,
            writer_id: self.writer_id,
            commit: self.commit,
            confirmed_next_offset: Some(self.next_offset.get()),
        };
        let object = Object::build(stamp, self.batches.iter().copied(), &self.parts);
        let records: u64 = self.log.storing().map(|append| append.received.records()).sum();
        assert_eq!(u64::from(object.header.records), records, "records of the object and of its appends");
        object
    }

    /// The store needs the newest commit's batches no longer; the pool does.
    fn release_batches(&mut self) {
        (self.batches, self.parts) = (Vec::new(), Vec::new());
    }

    fn begun(&mut self, header: Header, started: Instant, begun: Result<Begun, CommitError>) -> Option<Confirming> {
        match begun {
            Ok(Begun { location, confirmed }) => {
                self.release_batches();
                self.log.begun();
                return Some(Confirming { header, started, location, confirmed });
            }
            Err(CommitError::Exists) => self.log.lost_race(),
            Err(CommitError::Store(error)) => {
                self.release_batches();
                let commit = self.log.not_stored();
                self.fail(commit, &error);
            }
        }
        None
    }

    /// The oldest commit is stored, or not.
    fn confirmed(&mut self, oldest: &Confirming, confirmed: Result<(), StoreError>) {
        let header = &oldest.header;
        match (self.log.confirmed(confirmed.is_ok()), confirmed) {
            (Resolved::Stored(commit), _) => {
                assert_eq!(header.first_offset, commit.first_offset, "confirmations in another order than commits");
                assert_eq!(header.next_offset(), commit.next_offset(), "an object holds other records than its commit");
                let known = Known { next_offset: header.next_offset(), appended_us: header.appended_us };
                let pushed = self.index_mut(|index| {
                    index.push(
                        header.first_offset,
                        known.next_offset,
                        oldest.location,
                        header.object_bytes,
                        Some(known),
                    )
                });
                match pushed {
                    Ok(()) => self.acknowledge(commit, header.object_bytes, oldest.started.elapsed()),
                    Err(error) => self.fail(commit, &error),
                }
            }
            (Resolved::Failed(commit), Err(error)) => self.fail(commit, &error),
            (Resolved::Failed(_), Ok(())) => unreachable!("a commit failed that was confirmed"),
            (Resolved::Orphaned { commit, next_offset }, _) => {
                let error = StoreError::human(format!(
                    "topic {}: records were stored at offset {}, but not those from {next_offset} on, which come \
                     before them; check the store, then restart the broker",
                    self.name, commit.first_offset
                ));
                self.fail(commit, &error);
            }
        }
    }

    /// Another writer may have an object where the newest commit should go.
    fn seen(&mut self, seen: Seen) {
        let caught_up = seen.and_then(|(listed, header)| {
            self.index_mut(|index| index.extend(&listed))?;
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            Ok((index.next_offset(), index.appended_us(), header))
        });
        let from = self.next_offset.get();
        let error = match caught_up {
            Ok((next_offset, appended_us, header)) if next_offset > from => {
                self.appended_us = self.appended_us.max(appended_us.unwrap_or(0));
                // The response to an earlier request may have been lost, and with it the news that it had succeeded.
                let is_own = |header: &Header| (header.writer_id, header.commit) == (self.writer_id, self.commit);
                if let Some(header) = header.filter(is_own) {
                    self.release_batches();
                    let commit = self.log.found_own(next_offset);
                    assert_eq!(header.next_offset(), commit.next_offset(), "our own object holds other records");
                    self.next_offset.advance(next_offset);
                    self.acknowledge(commit, header.object_bytes, Duration::ZERO);
                } else {
                    let name = &self.name;
                    tracing::info!(
                        topic = name,
                        from,
                        next_offset,
                        "another broker writes to this topic; continuing after it"
                    );
                    self.log.caught_up(next_offset);
                    self.next_offset.advance(next_offset);
                }
                return;
            }
            Ok(_) => StoreError::wait(format!(
                "topic {}: an object is at offset {from} but the store does not list it yet; retry",
                self.name
            )),
            Err(error) => error,
        };
        self.release_batches();
        let commit = self.log.not_stored();
        self.fail(commit, &error);
    }

    fn index_mut<T>(
        &self,
        change: impl FnOnce(&mut TopicIndex) -> Result<T, crate::index::Gap>,
    ) -> Result<T, StoreError> {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut index).map_err(|gap| StoreError::human(format!("topic {}: {gap}", self.name)))
    }

    /// Makes a stored commit's records visible and responds to its callers.
    fn acknowledge(&mut self, commit: Commit<Append>, object_bytes: u64, took: Duration) {
        let next_offset = commit.next_offset();
        let indexed = self.index.read().unwrap_or_else(PoisonError::into_inner).next_offset();
        assert!(next_offset <= indexed, "acknowledging records up to {next_offset} of {indexed} in the index");
        let visible = self.next_offset.get().max(next_offset);
        self.next_offset.advance(visible);
        self.metrics.appended(commit.records(), object_bytes);
        crate::metrics::METRICS.commits.committed(object_bytes, took);
        for (append, appended) in commit.into_appended() {
            // The caller may have gone away; its records are stored all the same.
            let _ = append.answer.send(Ok(appended));
        }
    }

    fn fail(&self, commit: Commit<Append>, error: &StoreError) {
        tracing::error!(topic = self.name, %error, "commit failed");
        self.metrics.failed();
        for append in commit.into_appends() {
            let _ = append.answer.send(Err(AppendError::Store(error.clone())));
        }
    }
}

/// Lists a topic's objects from an offset on, and reads the header of the one that begins there.
async fn look(store: &dyn Store, topic: &str, from: u64) -> Seen {
    let listed = store.list(topic, from).await?;
    let Some(first) = listed.first().filter(|first| first.first_offset == from) else { return Ok((listed, None)) };
    let at = ObjectAt { first_offset: from, location: first.location, bytes: first.bytes };
    let header = match store.get(topic, at, 0..HEADER_BYTES as u64).await {
        Ok(bytes) => Header::parse(&bytes).ok(),
        // Without its header nobody knows whose object it is.
        Err(error) if error.kind == Kind::Wait => return Err(error),
        // Damaged or deleted meanwhile: not ours.
        Err(_) => None,
    };
    Ok((listed, header))
}
