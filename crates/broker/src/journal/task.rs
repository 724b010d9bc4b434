//! The task that extends a journal: it reports events to the rules and executes their requests.
//!
//! It never waits for one request alone: PUTs, a read, appends and time are all events.

use crate::clock::Clock;
use crate::journal::alarm::Alarm;
use crate::journal::build::build;
use crate::journal::catalog::Catalog;
use crate::journal::catch_ups::CatchUps;
use crate::journal::collect::collect;
use crate::journal::error::JournalError;
use crate::journal::expiry::Expiry;
use crate::journal::load::{self, Loaded};
use crate::journal::merge::{Dead, Published};
use crate::journal::reads::{Missed, Read, Reads};
use crate::journal::request::{Appended, ProducerInstance, Progress, Request};
use crate::journal::snapshots::Snapshots;
use crate::journal::watch::Watch;
use crate::journal_config::JournalConfig;
use crate::limits::{APPEND_QUEUE_MAX, COLLECT_RETRY, COLLECT_STOP_MAX, EXPIRY_INTERVAL};
use crate::metrics::METRICS;
use crate::received::Received;
use crate::store::{Dated, Store, StoredIndex};
use crate::store_error::StoreError;
use crate::{stage, tasks};
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_journal::{
    Action, Append, Changes, Control, Event, Expired, Id, Index, Link, Outcome, PutResult, ReadResult, Size, Source,
    TransactionEnd, Writer,
};
use slab::Slab;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

mod snapshots;

#[cfg(test)]
pub(crate) use snapshots::FORGETS_END;

/// A request without an answer.
enum Waiting {
    Append {
        received: Received,
        answer: oneshot::Sender<Result<Appended, JournalError>>,
    },
    Change {
        answer: oneshot::Sender<Result<u64, JournalError>>,
    },
    Producer {
        answer: oneshot::Sender<Result<ProducerInstance, JournalError>>,
    },
    /// The end of a transaction that takes too long: no caller waits for it.
    Expiry {
        name: Arc<str>,
    },
    /// A change that the rules refuse, but only after they have read the journal's end: those who have asked by then
    /// have caught up.
    ReadsEnd {
        asked: u64,
    },
}

/// No topic has this id.
const NO_TOPIC: u64 = 0;

type Load = Result<Dated<Option<Loaded>>, StoreError>;

/// Requests to the store that haven't ended.
#[derive(Default)]
struct Requests {
    puts: FuturesUnordered<BoxFuture<'static, (Id, PutResult)>>,
    load: Option<BoxFuture<'static, Load>>,
}

/// Owns a journal's end.
pub(super) struct Task {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    config: JournalConfig,
    writer: Writer<usize>,
    actions: Vec<Action<usize>>,
    waiting: Slab<Waiting>,
    requests: Requests,
    reads: Reads,
    watch: Watch,
    /// The newest valid object, if it is known.
    newest: Option<Link>,
    catch_ups: CatchUps,
    /// Whether the rules were requested to read the end for callers that catch up.
    reads_end: bool,
    /// The lowest number that was missing since the start: everything that was stored before has a lower one.
    missing_since_start: u64,
    /// The indexes of objects that aren't certain: our own that are in flight, and the one that was read last.
    indexes: HashMap<Id, Arc<Index>>,
    /// The snapshot that was loaded last, until the rules have decided.
    snapshot: Option<Loaded>,
    catalog: Arc<RwLock<Catalog>>,
    progress: watch::Sender<Progress>,
    published: watch::Sender<Published>,
    /// Garbage that only a merge can free.
    dead: watch::Sender<Dead>,
    /// Number of the object that is read next.
    end: watch::Sender<u64>,
    snapshots: Snapshots,
    /// When to look for objects that can be deleted.
    collect_at: Instant,
    collecting: Option<JoinHandle<()>>,
    /// When to look for transactions that take too long, while any is open.
    expire_at: Instant,
    /// Since when they have been open.
    expiry: Expiry,
    /// Number of those that are being ended.
    expiring: usize,
    /// When the rules' time began.
    epoch: Instant,
}

impl Task {
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: JournalConfig,
        catalog: Arc<RwLock<Catalog>>,
        progress: watch::Sender<Progress>,
        (published, dead): (watch::Sender<Published>, watch::Sender<Dead>),
        end: watch::Sender<u64>,
    ) -> Self {
        let mut actions = Vec::new();
        let number = catalog.read().unwrap_or_else(PoisonError::into_inner).together().number;
        let writer = Writer::of_journal(number, config.limits, config.run, &mut actions);
        let collect_after = config.garbage_interval;
        Task {
            reads: Reads::new(store.clone()),
            watch: Watch::new(store.clone(), config.limits, config.check_interval),
            newest: None,
            catch_ups: CatchUps::default(),
            reads_end: false,
            missing_since_start: u64::MAX,
            store,
            clock,
            config,
            writer,
            actions,
            waiting: Slab::new(),
            requests: Requests::default(),
            indexes: HashMap::new(),
            snapshot: None,
            catalog,
            progress,
            published,
            dead,
            end,
            snapshots: Snapshots::new(),
            collect_at: Instant::now() + collect_after,
            collecting: None,
            expire_at: Instant::now(),
            expiry: Expiry::default(),
            expiring: 0,
            epoch: Instant::now(),
        }
    }

    /// Stores requests, until every handle is dropped and every request has its response.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        let (mut is_open, mut alarm) = (true, Alarm::default());
        self.carry_out();
        while is_open || !self.waiting.is_empty() {
            let wake_at = self.writer.wake_at().map(|at| self.epoch + at);
            let deadline = wake_at.map_or(self.collect_at, |at| at.min(self.collect_at));
            let expires = self.writer.is_end_known() && self.writer.state().has_open_transactions();
            let deadline = if expires { deadline.min(self.expire_at) } else { deadline };
            let checks = self.checks();
            let deadline = if checks { deadline.min(self.watch.check_at()) } else { deadline };
            let deadline = self.retries_snapshot_at().map_or(deadline, |at| at.min(deadline));
            let event = tokio::select! {
                biased;
                Some((id, result)) = self.requests.puts.next() => {
                    if let Some(date) = result.date() {
                        self.note_date(date);
                    }
                    Event::Put { id, result }
                }
                (number, read) = self.reads.next(), if self.reads.is_wanted() => {
                    match self.was_read(number, read) {
                        ReadResult::Missing { date } if self.watch.is_looking() => {
                            self.watch.hold(number, date);
                            Event::Tick
                        }
                        result => Event::Read { number, result },
                    }
                }
                noticed = self.watch.next(), if self.watch.is_busy() => self.noticed(noticed),
                stored = self.snapshots.end(self.config.snapshot_interval), if self.snapshots.is_storing() => {
                    // What it doesn't refer to can be deleted at once.
                    if stored && self.config.limits.deletion_delay == 0 {
                        self.collect_at = Instant::now();
                    }
                    Event::Tick
                }
                Some(loaded) = OptionFuture::from(self.requests.load.as_mut()) => {
                    self.requests.load = None;
                    self.was_loaded(loaded)
                }
                () = alarm.at(deadline) => {
                    if self.collect_at <= Instant::now() {
                        self.collect_at = Instant::now() + self.collect();
                        self.take_snapshot();
                    }
                    self.expire();
                    if checks {
                        let known = self.known();
                        self.watch.check_if_due(known);
                    }
                    Event::Tick
                }
                request = inbox.recv(), if is_open && self.has_room() => match request {
                    Some(request) => {
                        self.enqueue(request);
                        // Those whose requests have arrived too get their turn, so that one object holds them all.
                        tokio::task::yield_now().await;
                        Event::Tick
                    }
                    None => {
                        is_open = false;
                        continue;
                    }
                },
            };
            // Those that have arrived already are put together.
            while is_open && self.has_room() {
                let Ok(request) = inbox.try_recv() else { break };
                self.enqueue(request);
            }
            self.on(event);
            if let Some(error) = self.store.failure().or_else(|| self.watch.lost.take()) {
                return self.refuse(inbox, error).await;
            }
            self.take_snapshot();
        }
        self.take_last_snapshot().await;
        // Until it has ended, it holds the store. Another start continues it.
        if let Some(collecting) = self.collecting {
            let _ = timeout(COLLECT_STOP_MAX, collecting).await;
        }
    }

    /// Begins to delete unreferenced objects. Returns when to do so again.
    fn collect(&mut self) -> Duration {
        // One at a time: two would delete the same.
        if self.collecting.as_ref().is_some_and(|collecting| !collecting.is_finished()) {
            return self.config.garbage_interval.min(COLLECT_RETRY);
        }
        let (store, config, dead) = (self.store.clone(), self.config.clone(), self.dead.clone());
        self.collecting = Some(tasks::spawn(collect(store, config, dead)));
        self.config.garbage_interval
    }

    fn has_room(&self) -> bool {
        self.waiting.len() + self.catch_ups.len() < APPEND_QUEUE_MAX
    }

    /// The store can create nothing any more: every request fails with the reason. Objects in flight may be stored.
    async fn refuse(&mut self, mut inbox: mpsc::Receiver<Request>, error: StoreError) {
        tracing::error!(%error, "no topic takes appends any more");
        METRICS.failed_topics.increment();
        self.progress.send_replace(Progress::Contradicted(error.to_string()));
        let refuse = |waiting| match waiting {
            Waiting::Append { answer, .. } => drop(answer.send(Err(JournalError::Store(error.clone())))),
            Waiting::Change { answer } => drop(answer.send(Err(JournalError::Store(error.clone())))),
            Waiting::Producer { answer } => drop(answer.send(Err(JournalError::Store(error.clone())))),
            Waiting::Expiry { .. } | Waiting::ReadsEnd { .. } => {}
        };
        self.waiting.drain().for_each(refuse);
        self.catch_ups.answer(self.catch_ups.asked(), &Err(JournalError::Store(error.clone())));
        while let Some(request) = inbox.recv().await {
            match request {
                Request::Append { received, answer, .. } => refuse(Waiting::Append { received, answer }),
                Request::Change { answer, .. } => refuse(Waiting::Change { answer }),
                Request::Producer { answer, .. } => refuse(Waiting::Producer { answer }),
                Request::CatchUp { answer, .. } => drop(answer.send(Err(JournalError::Store(error.clone())))),
                // A caller that waits for a look gets an error.
                Request::Told { .. } | Request::Copied | Request::Look { .. } => {}
            }
        }
        self.snapshots.end(self.config.snapshot_interval).await;
    }

    fn on(&mut self, event: Event<usize>) {
        self.watch.look(self.writer.state().chain().next(), self.reads.has_missed());
        // Until the look has ended, missing objects may be lost.
        let missed = if self.watch.is_looking() { Vec::new() } else { self.reads.take_missed() };
        for Missed { number, read, date } in missed {
            self.note_date(date);
            if !self.writer.is_outdated(date) {
                self.missing_since_start = self.missing_since_start.min(number);
                self.catch_ups.missing(number, read);
            }
        }
        self.writer.set_clock(self.clock.now_us());
        let mut due = Some(event);
        while let Some(event) = due {
            self.writer.on(self.epoch.elapsed(), event, &mut self.actions);
            let spared = self.writer.take_spared();
            if spared > 0 {
                self.store.spared(spared);
            }
            self.carry_out();
            due = self.catch_up();
        }
        let next = self.writer.state().chain().next();
        let is_known = next >= self.missing_since_start && !self.watch.is_looking() && !self.watch.is_comparing();
        if *self.progress.borrow() == Progress::Reading && is_known {
            self.progress.send_replace(Progress::Ready);
        }
        if let Some(contradiction) = self.writer.contradiction()
            && !matches!(*self.progress.borrow(), Progress::Contradicted(_))
        {
            tracing::error!(%contradiction, "no topic takes appends any more");
            METRICS.failed_topics.increment();
            self.progress.send_replace(Progress::Contradicted(contradiction.to_string()));
        }
    }

    /// Answers those that have caught up. If others wait, the rules read the end for them.
    fn catch_up(&mut self) -> Option<Event<usize>> {
        self.catch_ups.reached(self.writer.state().chain().next());
        if self.catch_ups.len() == 0 || self.reads_end {
            return None;
        }
        self.reads_end = true;
        let ticket = self.waiting.insert(Waiting::ReadsEnd { asked: self.catch_ups.asked() });
        self.writer.enqueue_change(ticket, Control::Delete { topic: NO_TOPIC });
        Some(Event::Tick)
    }

    fn enqueue(&mut self, request: Request) {
        match request {
            Request::Append { partition, producer, received, answer } => {
                stage!("taken by the journal");
                let (content, is_transactional) = (received.content(producer.is_some()), received.is_transactional);
                let size = Size { batches: received.batches.len() as u32, bytes: received.bytes() };
                let ticket = self.waiting.insert(Waiting::Append { received, answer });
                self.writer.enqueue(Append { ticket, partition, content, size, producer, is_transactional });
            }
            Request::Change { control, answer } => {
                let ticket = self.waiting.insert(Waiting::Change { answer });
                self.writer.enqueue_change(ticket, control);
            }
            Request::Producer { control, answer } => {
                let ticket = self.waiting.insert(Waiting::Producer { answer });
                self.writer.enqueue_change(ticket, self.with_drawn_id(control));
            }
            Request::CatchUp { answer, looks } => {
                if looks {
                    self.watch.look_again();
                }
                self.catch_ups.ask(self.reads.reads_begun(), answer);
            }
            Request::Told { next } => self.writer.tell(next),
            Request::Copied => self.snapshots.frees_at = self.writer.state().chain().next(),
            Request::Look { look } => look(self.writer.state()),
        }
    }

    /// Ends transactions that take too long. Every broker may, and the rules take the first; the owner does.
    fn expire(&mut self) {
        let now = Instant::now();
        if self.expire_at > now {
            return;
        }
        self.expire_at = now + EXPIRY_INTERVAL;
        let expired = self.expiry.look(self.writer.state(), now);
        if self.expiring > 0 || !self.writer.is_end_known() || !self.config.tidies.load(Ordering::Relaxed) {
            return;
        }
        for Expired { name, id, epoch } in expired {
            self.expiring += 1;
            let ticket = self.waiting.insert(Waiting::Expiry { name: name.clone() });
            let (end, next) = (TransactionEnd::Expire, (0, 0));
            let end = self.with_drawn_id(Control::EndTransaction { name, id, epoch, end, next });
            self.writer.enqueue_change(ticket, end);
        }
    }

    /// A request of a named producer, with an id in case its name needs one.
    fn with_drawn_id(&self, control: Control) -> Control {
        let drawn = self.config.producer_ids.draw();
        match control {
            Control::OpenProducer { name, epoch, timeout_ms, owner, from, ends, .. } => {
                Control::OpenProducer { name, id: drawn, epoch, timeout_ms, owner, from, ends }
            }
            Control::EndTransaction { name, id, epoch, end, .. } => {
                Control::EndTransaction { name, id, epoch, end, next: (drawn, 0) }
            }
            other => unreachable!("{other:?} is of no named producer"),
        }
    }

    /// The store's time by a response that has just arrived.
    fn note_date(&self, date: u64) {
        if self.store.has_clock() {
            self.clock.note_store_date(date);
        }
    }

    fn was_read(&mut self, number: u64, read: Read) -> ReadResult {
        if let Ok(Dated { date, .. }) = read {
            self.note_date(date);
        }
        match read {
            Ok(Dated { found: Some(stored), .. }) if stored.index.header.source() != Source::Journal(number) => {
                let found = stored.index.header.source();
                tracing::error!(
                    number,
                    ?found,
                    "a journal object has another number than its key; restore it from a copy"
                );
                ReadResult::Failed
            }
            Ok(Dated { found: Some(StoredIndex { index, created }), date }) => {
                let (link, changes) = (index.header.link, index.changes());
                self.indexes.insert(link.id, Arc::new(index));
                ReadResult::Found { link, changes, created, date }
            }
            Ok(Dated { found: None, date }) => ReadResult::Missing { date },
            Err(error) => {
                tracing::warn!(number, %error, "can't read a journal object; retrying");
                ReadResult::Failed
            }
        }
    }

    fn was_loaded(&mut self, loaded: Load) -> Event<usize> {
        match loaded {
            Ok(Dated { found: snapshot, date }) => {
                self.note_date(date);
                self.snapshot = snapshot;
                let state = self.snapshot.as_ref().map(|loaded| Box::new(loaded.snapshot.state.clone()));
                Event::Snapshot { state, date }
            }
            Err(error) => {
                tracing::warn!(%error, "can't load the journal's newest snapshot; retrying");
                Event::SnapshotFailed
            }
        }
    }

    fn carry_out(&mut self) {
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Put { link, changes, tickets } => self.put(link, &changes, &tickets),
                Action::Read { number } => self.reads.want(number, self.writer.told()),
                Action::LoadSnapshot => {
                    assert!(self.requests.load.is_none(), "snapshots are loaded twice at once");
                    self.reads.forget();
                    self.requests.load = Some(Box::pin(load::newest(self.store.clone())));
                }
                Action::Answer { ticket, outcome } => self.answer(ticket, outcome),
                Action::Restore => self.restore(),
                Action::Publish { link, changes } => self.publish(link, &changes),
            }
        }
        self.actions = actions;
    }

    fn put(&mut self, link: Link, changes: &Changes, tickets: &[usize]) {
        let appends = tickets.iter().skip(changes.controls.len()).map(|ticket| match self.waiting.get(*ticket) {
            Some(Waiting::Append { received, .. }) => received,
            _ => unreachable!("{ticket} in {link:?} is no append that waits"),
        });
        let parts = build(link, changes, appends);
        let index = parts.first().map(|index| Index::parse(index));
        let Some(Ok(index)) = index else { unreachable!("{link:?} is not what it was built of: {index:?}") };
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, index.header.object_bytes, "the parts of {link:?}");
        self.indexes.insert(link.id, Arc::new(index));
        stage!("object built");
        // Before the call: a directory writes and syncs a small object in it.
        let (began, housekeeping) = (Instant::now(), METRICS.stalls.now());
        let put = self.store.create(Source::Journal(link.number), parts);
        self.requests.puts.push(Box::pin(async move {
            let ended = put.await;
            if ended.created().is_some() {
                let took = began.elapsed();
                METRICS.commits.committed(bytes, took);
                METRICS.stalls.committed(housekeeping, took);
            }
            (link.id, ended)
        }));
    }

    fn answer(&mut self, ticket: usize, outcome: Outcome) {
        // The reason of a failed store is more specific than that of a refused object.
        let reason = || self.store.failure().or_else(|| self.store.refusal());
        let error = match outcome {
            Outcome::Stored(_) | Outcome::Changed { .. } | Outcome::Opened { .. } => None,
            Outcome::Rejected(rejected) => Some(JournalError::Rejected(rejected)),
            Outcome::Refused(refused) => Some(JournalError::Refused(refused)),
            Outcome::NotStored => Some(reason().map_or(JournalError::NotStored, JournalError::Store)),
            // A store that refuses an object refuses those that come after it.
            Outcome::Unknown => Some(reason().map_or(JournalError::Unknown, JournalError::Store)),
        };
        // A caller may have gone away; its request has had its effect all the same.
        match (self.waiting.remove(ticket), outcome, error) {
            (Waiting::Append { answer, .. }, _, Some(error)) => drop(answer.send(Err(error))),
            (Waiting::Change { answer }, _, Some(error)) => drop(answer.send(Err(error))),
            (Waiting::Expiry { name }, outcome, _) => {
                self.expiring -= 1;
                if let Outcome::Opened { .. } = outcome {
                    tracing::warn!(
                        producer = &*name,
                        "aborted a transaction that took longer than its transaction.timeout.ms; commit more often, \
                         or raise it"
                    );
                }
            }
            (Waiting::ReadsEnd { asked }, Outcome::Refused(_), _) => {
                self.reads_end = false;
                self.catch_ups.answer(asked, &Ok(()));
            }
            (Waiting::ReadsEnd { asked }, _, Some(error)) => {
                self.reads_end = false;
                self.catch_ups.answer(asked, &Err(error));
            }
            (Waiting::Producer { answer }, _, Some(error)) => drop(answer.send(Err(error))),
            (Waiting::Producer { answer }, Outcome::Opened { id, epoch }, None) => {
                drop(answer.send(Ok(ProducerInstance { id, epoch })));
            }
            (Waiting::Append { received, answer }, Outcome::Stored(stored), None) => {
                stage!("acknowledged by the journal");
                let first_offset = stored.first_offset;
                let next_offset = first_offset + received.records();
                drop(answer.send(Ok(Appended { first_offset, next_offset })));
            }
            (Waiting::Change { answer }, Outcome::Changed { id }, None) => drop(answer.send(Ok(id))),
            (_, outcome, None) => unreachable!("{outcome:?} answers another request"),
        }
    }

    fn restore(&mut self) {
        let Some(Loaded { snapshot, parts }) = self.snapshot.take() else { unreachable!("no snapshot was loaded") };
        let next = snapshot.state.chain().next();
        self.snapshots.restored(&snapshot, parts);
        self.newest = None;
        if *self.progress.borrow() == Progress::Reading {
            self.watch.compare(next, snapshot.sources());
        }
        self.catalog.write().unwrap_or_else(PoisonError::into_inner).restore(snapshot);
        self.end.send_replace(next);
        // Who merges looks at everything.
        let look_objects = self.config.merge.as_ref().map_or(0, |merge| merge.look_objects);
        self.published.send_modify(|published| published.objects += look_objects);
    }

    fn publish(&mut self, link: Link, changes: &Changes) {
        let Some(index) = self.indexes.remove(&link.id) else { unreachable!("{link:?} has no index") };
        assert_eq!(index.header.link, link, "two objects have one id");
        assert_eq!(index.controls(), &*changes.controls, "the index of {link:?}");
        self.snapshots.added_pieces += u64::from(index.header.sections);
        self.snapshots.freed_bytes += self.catalog.write().unwrap_or_else(PoisonError::into_inner).publish(&index);
        self.newest = Some(link);
        // No task waits for it on a directory, where a wake-up of no task would cost as much as the rest.
        self.end.send_if_modified(|end| {
            *end = link.number + 1;
            self.end.receiver_count() > 1
        });
        let merge = self.config.merge.as_ref();
        self.published.send_if_modified(|published| {
            let before = *published;
            published.objects += 1;
            published.pieces += u64::from(index.header.sections);
            published.bytes += index.header.object_bytes;
            // Waking the merger costs more than a small commit.
            merge.is_some_and(|merge| published.is_news(before, merge))
        });
        // What had this number or a lower one and isn't part of the chain never will be.
        self.indexes.retain(|_, index| index.header.link.number > link.number);
    }
}
