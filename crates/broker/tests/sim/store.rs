//! A store at the other end of a bad network: requests arrive late or never, responses get lost, old objects are
//! deleted.

use crate::history::{Text, Truth};
use crate::settings::{JOURNAL, small};
use crate::world::Seen;
use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_broker::cluster::Brokers;
use rawline_broker::journal::JournalConfig;
use rawline_broker::store::{Dated, Store, StoreError, StoredIndex};
use rawline_journal::{
    Control, FoundId, Garbage, Hedge, Id, Index, Key, Link, Listing, Next, Place, PutResult, Snapshot, SnapshotName,
    Source, State, build_index, build_snapshot,
};
use rawline_testkit::batches::records_of;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// `D` in seconds.
pub const DELETION_DELAY: u64 = 60;

/// How far an object's time may be ahead of the store's date in seconds: what brokers allow their clocks, and a date's
/// rounding.
const CLOCK_AHEAD: u64 = 11;

/// How long a broker waits for a response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// A PUT is confirmed before it has arrived, which it may never.
    ConfirmFirst,
    /// "Already exists" is reported as success.
    IgnoreRaces,
    /// A number that is missing while a higher one exists is taken for a void object.
    StepOverHoles,
    /// Dates are those of the broker's own clock, which stands still while the broker sleeps.
    LocalClock,
    /// Dates don't correct the brokers' clocks.
    TrustClocks,
    /// Parts of snapshots are confirmed and not stored.
    ForgetParts,
    /// Snapshots lack the producers.
    ForgetProducers,
    /// Snapshots lack the producers' names.
    ForgetNames,
    /// Snapshots don't have the newest instances of named producers.
    ForgetInstances,
    /// Objects are deleted at once.
    DeleteEarly,
    /// The PUT of a merged object is confirmed before it has arrived, which it may never.
    ConfirmMergedFirst,
    /// A broker that takes itself for the owner replaces what is there.
    TrustLease,
    /// As `ConfirmFirst`, of a broker that takes itself for the owner.
    TrustLeaseAndConfirm,
    /// As `StepOverHoles`, of a broker that takes another for the owner.
    FollowOverHoles,
    /// A broker looks neither beyond the end, nor whether its objects are still there.
    NoLook,
    /// A running broker doesn't look whether its objects are still there, nor at its end.
    NoCheck,
    /// A PUT that was sent twice counts as refused if one of its requests was, whatever object exists.
    HedgeIsRefused,
    /// A PUT that was sent twice counts as stored if one of its requests was refused, whatever object exists.
    HedgeIsStored,
}

/// A copy of everything.
#[derive(Default)]
pub struct Copied {
    objects: BTreeMap<Source, Stored>,
    snapshots: BTreeMap<SnapshotName, Stored>,
}

/// An object or a snapshot, with the store's time of its creation.
#[derive(Clone)]
struct Stored {
    bytes: Bytes,
    created: u64,
}

struct Keys {
    objects: BTreeMap<Source, Stored>,
    snapshots: BTreeMap<SnapshotName, Stored>,
    random: fastrand::Rng,
    /// The chain for someone who has always watched.
    state: State,
    truth: Truth,
    /// The control records of the chain that are about offsets of groups, in order.
    commits: Vec<Control>,
    broken: BTreeSet<String>,
    trace: Vec<String>,
    seen: Seen,
}

/// A store that all brokers share.
pub struct SharedStore {
    keys: Mutex<Keys>,
    started: Instant,
    seed: u64,
    pub lie: Option<Lie>,
    is_calm: AtomicBool,
    forgets: AtomicBool,
}

/// One broker's way to the store.
#[derive(Clone)]
pub struct Connection {
    pub store: Arc<SharedStore>,
    pub broker: usize,
    /// Nothing passes before this time.
    pub paused_until: Arc<Mutex<Instant>>,
    /// How this broker sees the others, once it has joined them.
    pub view: View,
}

/// The brokers as one of them sees them.
pub type View = Arc<Mutex<Option<watch::Receiver<Arc<Brokers>>>>>;

impl SharedStore {
    pub fn new(seed: u64, lie: Option<Lie>) -> Arc<SharedStore> {
        let keys = Keys {
            objects: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            random: fastrand::Rng::with_seed(seed),
            state: State::default(),
            truth: Truth::new(),
            commits: Vec::new(),
            broken: BTreeSet::new(),
            trace: Vec::new(),
            seen: Seen::default(),
        };
        Arc::new(SharedStore {
            keys: Mutex::new(keys),
            started: Instant::now(),
            seed,
            lie,
            is_calm: AtomicBool::new(false),
            forgets: AtomicBool::new(false),
        })
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap()
    }

    /// Notes an event, with the time.
    pub fn note(&self, event: impl FnOnce() -> String) {
        let at = self.started.elapsed().as_millis();
        self.keys().trace.push(format!("{at:>7} {}", event()));
    }

    pub fn random<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.keys().random)
    }

    pub fn saw(&self, count: impl FnOnce(&mut Seen)) {
        count(&mut self.keys().seen);
    }

    /// The store's clock in seconds. It doesn't begin at 0.
    pub fn date(&self) -> u64 {
        self.now_us() / 1_000_000
    }

    /// The same in microseconds.
    pub fn now_us(&self) -> u64 {
        1_000_000_000_000 + self.started.elapsed().as_micros() as u64
    }

    pub fn truth(&self) -> Truth {
        self.keys().truth.clone()
    }

    /// The control records of the chain that are about offsets of groups, in order.
    pub fn commits(&self) -> Vec<Control> {
        self.keys().commits.clone()
    }

    pub fn state(&self) -> State {
        self.keys().state.clone()
    }

    /// What happened, why the chain is broken if it is, and how often something went wrong.
    pub fn report(&self) -> (Vec<String>, Vec<String>, Seen) {
        let keys = self.keys();
        (keys.trace.clone(), keys.broken.iter().cloned().collect(), keys.seen.clone())
    }

    /// Whether snapshots have parts that are stored separately. Those that a lie changes have none.
    pub fn divides_snapshots(&self) -> bool {
        self.lie == Some(Lie::ForgetParts) || self.lie.is_none() && self.seed % 2 == 1
    }

    /// From now on all is well: requests arrive soon, and responses too.
    pub fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
    }

    /// From now on some PUTs are confirmed and not kept, or none.
    pub fn forget_some(&self, forgets: bool) {
        self.forgets.store(forgets, Ordering::Relaxed);
    }

    /// Every object that is there.
    pub fn objects(&self) -> Vec<(Source, Bytes)> {
        self.keys().objects.iter().map(|(source, stored)| (*source, stored.bytes.clone())).collect()
    }

    pub fn copy(&self) -> Copied {
        let keys = self.keys();
        Copied { objects: keys.objects.clone(), snapshots: keys.snapshots.clone() }
    }

    /// A copy takes the place of everything.
    pub fn restore(&self, copied: Copied) {
        let mut keys = self.keys();
        (keys.objects, keys.snapshots) = (copied.objects, copied.snapshots);
    }

    /// Deletes a journal object.
    pub fn delete(&self, number: u64) {
        self.keys().objects.remove(&Source::Journal(number));
        self.note(|| format!("operator: deletes object {number}"));
    }

    pub fn delete_snapshots(&self) {
        self.keys().snapshots.clear();
    }

    pub fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    /// How long a request or a response takes: mostly some milliseconds, sometimes longer than anyone waits.
    fn delay(&self) -> Duration {
        let is_calm = self.is_calm();
        self.random(|random| match random.u8(0..100) {
            _ if is_calm => Duration::from_millis(random.u64(1..20)),
            0..90 => Duration::from_millis(random.u64(1..50)),
            90..98 => Duration::from_millis(random.u64(50..2_500)),
            _ => Duration::from_secs(random.u64(3..150)),
        })
    }

    pub fn happens(&self, percent: u8) -> bool {
        !self.is_calm() && self.random(|random| random.u8(0..100) < percent)
    }

    /// An object arrives.
    fn arrive(&self, source: Source, bytes: Bytes, replaces: bool) -> PutResult {
        let date = self.date();
        let mut keys = self.keys();
        if keys.objects.contains_key(&source) && !replaces {
            return PutResult::Exists;
        }
        keys.objects.insert(source, Stored { bytes, created: date });
        keys.follow();
        if self.forgets.load(Ordering::Relaxed) && keys.random.u8(0..100) < 2 {
            keys.objects.remove(&source);
        }
        drop(keys);
        self.note(|| format!("store: {source:?} is created"));
        PutResult::Created { date }
    }
}

impl Keys {
    fn is_hole(&self, source: Source) -> bool {
        let is_there = |source: &Source| self.objects.contains_key(source);
        let mut later = self.objects.range(source..).filter(|(later, _)| !later.is_merged());
        !is_there(&source) && later.next().is_some()
    }

    /// Takes objects into account that have become part of the chain.
    fn follow(&mut self) {
        while let Some(stored) = self.objects.get(&Source::Journal(self.state.chain().next())) {
            let index = Index::parse(&stored.bytes).unwrap();
            let (before_us, latest_us) = (self.state.times().newest_us(), (stored.created + CLOCK_AHEAD) * 1_000_000);
            match self.state.observe(index.header.link, &index.changes()) {
                Ok(true) => {}
                Ok(false) => {
                    self.seen.void += 1;
                    continue;
                }
                Err(contradiction) => {
                    self.broken.insert(contradiction.to_string());
                    continue;
                }
            }
            let commits = |control: &&Control| {
                let is_end = matches!(control, Control::EndTransaction { .. } | Control::OpenProducer { .. });
                is_end || matches!(control, Control::CommitOffset { .. })
            };
            self.commits.extend(index.controls().iter().filter(commits).cloned());
            let header = &index.header;
            let is_empty = index.changes().controls.is_empty() && index.changes().entries.is_empty();
            let is_later = header.appended_us > before_us || is_empty && header.appended_us == before_us;
            if !is_later || header.appended_us > latest_us {
                let number = header.link.number;
                let time = format!("object {number} has the time {} after {before_us}", header.appended_us);
                self.broken.insert(format!("{time}, and was stored before {latest_us}"));
            }
            let ends = |control: &&Control| matches!(control, Control::EndMerge { .. });
            self.seen.merged += index.controls().iter().filter(ends).count();
            let abandons = |control: &&Control| matches!(control, Control::AbandonMerge { .. });
            self.seen.abandoned += index.controls().iter().filter(abandons).count();
            self.seen.settled += usize::from(is_empty);
            for (section, batches) in index.sections() {
                let mut offset = section.first_offset;
                for (batch, position) in batches {
                    let end = position + u64::from(batch.bytes);
                    for record in records_of(&stored.bytes[*position as usize..end as usize]) {
                        let text: Text = String::from_utf8(record).unwrap();
                        assert_eq!(self.truth.insert((section.partition, offset), text), None);
                        offset += 1;
                    }
                }
            }
        }
    }
}

impl Connection {
    /// The way of a broker that knows no others, open from `paused_until` on.
    pub fn new(store: Arc<SharedStore>, broker: usize, paused_until: Arc<Mutex<Instant>>) -> Connection {
        Connection { store, broker, paused_until, view: View::default() }
    }

    /// Whether this broker takes itself for the owner of the journal; `None` if it knows no others.
    fn is_owner(&self) -> Option<bool> {
        let view = self.view.lock().unwrap();
        let brokers = view.as_ref()?.borrow();
        Some(brokers.owner(JOURNAL) == Some(brokers.me))
    }

    pub async fn pass(&self) {
        let until = *self.paused_until.lock().unwrap();
        sleep_until(until).await;
        sleep(self.store.delay()).await;
    }

    /// The date of a response that was made at `date`.
    fn dated(&self, date: u64) -> u64 {
        match self.store.lie {
            // It stands still: no time has passed since anything.
            Some(Lie::LocalClock) => 1_000_000,
            _ => date,
        }
    }

    fn put_result(&self, result: PutResult) -> PutResult {
        match (self.store.lie, result) {
            (Some(Lie::IgnoreRaces), PutResult::Exists) => PutResult::Created { date: self.store.date() },
            (_, PutResult::Created { date }) => PutResult::Created { date: self.dated(date) },
            _ => result,
        }
    }

    /// Sends a PUT, which arrives whether or not the sender lives. Returns what its response will be.
    fn send(&self, source: Source, bytes: Bytes, replaces: bool) -> BoxFuture<'static, PutResult> {
        let is_lost = self.store.happens(4);
        let (respond, responded) = oneshot::channel();
        let network = self.clone();
        tokio::spawn(async move {
            network.pass().await;
            if is_lost {
                network.store.saw(|seen| seen.lost_requests += 1);
                return;
            }
            let result = network.put_result(network.store.arrive(source, bytes, replaces));
            if network.store.happens(6) {
                network.store.saw(|seen| seen.lost_responses += 1);
                return;
            }
            network.pass().await;
            let _ = respond.send(result);
        });
        Box::pin(async move {
            match timeout(REQUEST_TIMEOUT, responded).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => {
                    sleep(REQUEST_TIMEOUT).await;
                    PutResult::Unknown
                }
                Err(_) => PutResult::Unknown,
            }
        })
    }

    /// Waits for a PUT that is sent once more at this time.
    async fn hedged(
        &self,
        source: Source,
        id: Id,
        first: BoxFuture<'static, PutResult>,
        slow_at: Instant,
        send: impl Fn() -> BoxFuture<'static, PutResult>,
    ) -> PutResult {
        let (mut hedge, mut is_alone) = (Hedge::new(), true);
        let (mut requests, mut reads) = (FuturesUnordered::from_iter([first]), FuturesUnordered::new());
        loop {
            let next = tokio::select! {
                biased;
                Some(result) = requests.next() => hedge.ended(result),
                Some(found) = reads.next() => hedge.read(found),
                () = sleep_until(slow_at), if is_alone => {
                    is_alone = false;
                    self.store.saw(|seen| seen.hedges += 1);
                    hedge.sent();
                    requests.push(send());
                    continue;
                }
            };
            let result = match (next, self.store.lie) {
                (Next::Wait, _) => continue,
                (Next::ReadId, Some(Lie::HedgeIsRefused)) => PutResult::NotStored,
                (Next::ReadId, Some(Lie::HedgeIsStored)) => PutResult::Created { date: self.store.date() },
                (Next::ReadId, _) => {
                    reads.push(self.find_id(source, id));
                    continue;
                }
                (Next::Ended(result), _) => result,
            };
            if let PutResult::Found { .. } = result {
                self.store.saw(|seen| seen.found += 1);
            }
            return result;
        }
    }

    async fn find_id(&self, source: Source, id: Id) -> FoundId {
        match self.index(source).await {
            Ok(Dated { found: Some(StoredIndex { index, created }), date }) if index.header.link.id == id => {
                FoundId::Own { created, date }
            }
            Ok(Dated { found: Some(_), .. }) => FoundId::Other,
            Ok(Dated { found: None, .. }) | Err(_) => FoundId::Unknown,
        }
    }

    pub async fn fails(&self) -> Result<(), StoreError> {
        self.pass().await;
        if self.store.happens(4) {
            self.store.saw(|seen| seen.failed_reads += 1);
            return Err(StoreError::wait("slow down"));
        }
        Ok(())
    }
}

/// Calls a request's work, and gives up waiting for it.
pub async fn within<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(REQUEST_TIMEOUT, work).await.unwrap_or_else(|_| Err(StoreError::wait("no response in time")))
}

impl Store for Connection {
    fn has_clock(&self) -> bool {
        self.store.lie != Some(Lie::TrustClocks)
    }

    fn settings(&self, settings: JournalConfig) -> JournalConfig {
        small(settings)
    }

    fn can_lose_objects(&self) -> bool {
        self.store.lie != Some(Lie::NoLook)
    }

    fn spared(&self, objects: u32) {
        self.store.saw(|seen| seen.spared += objects as usize);
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let mut bytes = BytesMut::new();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let (this, bytes) = (self.clone(), bytes.freeze());
        let id = Index::parse(&bytes).unwrap().header.link.id;
        let broker = this.broker;
        this.store.note(|| format!("broker {broker}: PUT {source:?} as {id:?}"));
        let confirms_first = match this.store.lie {
            Some(Lie::ConfirmFirst) => true,
            Some(Lie::ConfirmMergedFirst) => source.is_merged(),
            Some(Lie::TrustLeaseAndConfirm) => this.is_owner() == Some(true),
            _ => false,
        };
        let replaces = this.store.lie == Some(Lie::TrustLease) && this.is_owner() == Some(true);
        let first = this.send(source, bytes.clone(), replaces);
        // As brokers do, sooner and more often.
        let hedge_after = this.store.happens(50).then(|| this.store.delay());
        Box::pin(async move {
            if confirms_first {
                return PutResult::Created { date: this.store.date() };
            }
            let result = match hedge_after {
                None => first.await,
                Some(after) => {
                    let send = || this.send(source, bytes.clone(), replaces);
                    this.hedged(source, id, first, Instant::now() + after, send).await
                }
            };
            this.store.note(|| format!("broker {broker}: PUT {source:?} as {id:?} ended: {result:?}"));
            result
        })
    }
    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        let this = self.clone();
        Box::pin(within(async move {
            this.fails().await?;
            let date = this.dated(this.store.date());
            let stored = |stored: &Stored| (stored.bytes.clone(), stored.created);
            let found = this.store.keys().objects.get(&source).map(stored);
            let steps_over = match this.store.lie {
                Some(Lie::StepOverHoles) => true,
                Some(Lie::FollowOverHoles) => this.is_owner() == Some(false),
                _ => false,
            };
            let steps_over = steps_over && this.store.keys().is_hole(source);
            let found = if steps_over { Some((void(source.number()), date)) } else { found };
            this.pass().await;
            let parse = |(bytes, created): (Bytes, u64)| StoredIndex { index: Index::parse(&bytes).unwrap(), created };
            let found = found.map(parse);
            let broker = this.broker;
            this.store.note(|| {
                format!("broker {broker}: {source:?} is {}", if found.is_some() { "there" } else { "missing" })
            });
            Ok(Dated { found, date })
        }))
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        let this = self.clone();
        Box::pin(within(async move {
            this.fails().await?;
            let (keys, source) = (this.store.keys(), place.source);
            let stored = keys.objects.get(&source).ok_or_else(|| StoreError::gone(format!("{source:?} is gone")))?;
            let is_inside = range.end <= stored.bytes.len() as u64;
            let outside = || StoreError::human(format!("{source:?} is another than expected"));
            let range = is_inside.then_some(range.start as usize..range.end as usize).ok_or_else(outside)?;
            Ok(stored.bytes.slice(range))
        }))
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        let this = self.clone();
        Box::pin(within(async move {
            this.fails().await?;
            let date = this.dated(this.store.date());
            let newest = this.store.keys().snapshots.keys().rev().find(|name| name.is_root()).copied();
            let Some(newest) = newest else { return Ok(Dated { found: None, date }) };
            this.pass().await;
            let gone = || StoreError::wait("the snapshot was replaced by a newer one");
            let found = this.store.keys().snapshots.get(&newest).map(|stored| stored.bytes.clone()).ok_or_else(gone)?;
            Ok(Dated { found: Some(found), date })
        }))
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        let this = self.clone();
        Box::pin(within(async move {
            this.fails().await?;
            Ok(this.store.keys().snapshots.get(&name).map(|stored| stored.bytes.clone()))
        }))
    }

    fn create_snapshot(&self, name: SnapshotName, snapshot: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            this.fails().await?;
            let snapshot = match this.store.lie {
                Some(Lie::ForgetProducers) => changed(&snapshot, State::without_producers),
                Some(Lie::ForgetNames) => changed(&snapshot, State::without_names),
                Some(Lie::ForgetInstances) => changed(&snapshot, State::without_newest_instances),
                _ => snapshot,
            };
            let created = this.store.date();
            let mut keys = this.store.keys();
            // One that was taken long ago may arrive after its successors' objects are gone.
            if name.is_root() || this.store.lie != Some(Lie::ForgetParts) {
                keys.snapshots.entry(name).or_insert(Stored { bytes: snapshot, created });
            }
            keys.seen.snapshots += usize::from(name.is_root());
            keys.seen.parts += usize::from(!name.is_root());
            drop(keys);
            let broker = this.broker;
            this.store.note(|| format!("broker {broker}: snapshot {name}"));
            Ok(())
        })
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        let this = self.clone();
        Box::pin(within(async move {
            this.fails().await?;
            let date = this.store.date();
            let keys = this.store.keys();
            let is_early = this.store.lie == Some(Lie::DeleteEarly);
            let key = |number: u64, stored: &Stored| {
                let created = if is_early { 0 } else { stored.created };
                Key { number, created }
            };
            let mut found = Listing::default();
            for (source, stored) in &keys.objects {
                let of_its_kind = if source.is_merged() { &mut found.merged } else { &mut found.objects };
                of_its_kind.push(key(source.number(), stored));
            }
            keys.snapshots.iter().for_each(|(name, stored)| found.add_snapshot(*name, key(0, stored).created));
            Ok(Dated { found, date })
        }))
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        let this = self.clone();
        let count = (garbage.objects.len() + garbage.merged.len()) as u64;
        // What was sent arrives, whether or not the sender lives.
        tokio::spawn(async move {
            this.pass().await;
            let broker = this.broker;
            this.store.note(|| format!("broker {broker}: deletes {garbage:?}"));
            let mut keys = this.store.keys();
            let objects = garbage.objects.iter().map(|number| Source::Journal(*number));
            let deleted = objects.filter(|source| keys.objects.remove(source).is_some()).count();
            keys.seen.deleted += deleted;
            let merged = garbage.merged.iter().map(|number| Source::Merged(*number));
            let deleted = merged.filter(|source| keys.objects.remove(source).is_some()).count();
            keys.seen.deleted_merged += deleted;
            garbage.snapshots.iter().for_each(|name| drop(keys.snapshots.remove(name)));
        });
        Box::pin(std::future::ready(Ok(count)))
    }
}

/// An object that belongs to no chain.
fn void(number: u64) -> Bytes {
    let id = |commit| Id { run: u64::MAX, commit };
    build_index(Link { number, id: id(number), prev: id(0), in_flight: 0 }, 0, &[], &[]).into()
}

/// A snapshot with a part of it left out.
fn changed(snapshot: &Bytes, without: fn(State) -> State) -> Bytes {
    let Snapshot { state, pieces } = Snapshot::parse(snapshot).unwrap();
    build_snapshot(&without(state), &pieces).into()
}
