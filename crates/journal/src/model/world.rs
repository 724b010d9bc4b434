//! A store, a network and writers, small enough to explore.

use crate::chain::{Id, Link};
use crate::changes::Changes;
use crate::control::Control;
use crate::hedge::{FoundId, Hedge, Next};
use crate::limits::Limits;
use crate::model::merging::{Merging, Places, place};
use crate::partition_id::PartitionId;
use crate::place::Source;
use crate::producers::{Content, Producer, Rejected};
use crate::refused::Refused;
use crate::rules::{Broken, Rules};
use crate::state::State;
use crate::writer::{Action, Append, Event, Outcome, PutResult, ReadResult, Size, Writer};
use stateright::{Model, Property};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Names an append, or a creation. All of its retries have the same.
pub type Ticket = u8;

/// Tickets from here on are those of creations.
const CREATION: Ticket = 128;

/// Tickets from here on, up to the next kind, are those of instances of the named producer.
const OPENING: Ticket = 208;

/// The topic that writers create.
const NEW: &str = "new";

/// `D` in the store's time. Writers acknowledge within 1 of it, and trust their reads only within the same second.
pub const DELETION_DELAY: u64 = 2;

/// The possible events, and their maximum numbers. The model: its states are [`World`]s.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Number of appends that each writer gets.
    pub appends: &'static [u8],
    /// Whether each writer also creates a topic, all with the same name.
    pub creates: bool,
    /// Whether each writer opens an instance of one named producer before it appends, with the instance's epoch.
    pub opens: bool,
    /// Whether producers number their appends, and retry those with an unknown outcome.
    pub sequences: bool,
    pub in_flight_max: usize,
    /// Responses that are lost, before or after the request has arrived.
    pub lost: u8,
    pub crashes: u8,
    /// How often a PUT in flight is sent once more.
    pub hedges: u8,
    /// Times at which a writer's clock advances.
    pub ticks: u8,
    /// The store's last time.
    pub clock: u64,
    pub snapshots: u8,
    /// Whether each writer merges all that it knows, once.
    pub merges: &'static [bool],
    /// How often someone abandons a merge that is open.
    pub abandons: u8,
    /// Whether the store refuses to create what exists.
    pub create_only: bool,
    /// How old an object and its snapshot are when they are deleted.
    pub deletion_delay: u64,
    pub rules: Rules,
}

/// An object in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Object {
    link: Link,
    changes: Changes,
    tickets: Arc<[Ticket]>,
    created: u64,
}

/// The records that an observer sees.
pub type Log = BTreeMap<(PartitionId, u64), Ticket>;

/// A PUT that has not reached the store yet, or whose response has not reached the writer. Requests are kept sorted, so
/// that worlds which differ only in their order count as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    /// The writer that waits for the response; `None` if none does.
    from: Option<usize>,
    link: Link,
    changes: Changes,
    tickets: Arc<[Ticket]>,
    /// Once the store has answered: the date of a creation, or `None` if the object exists.
    response: Option<Option<u64>>,
}

/// A PUT that was sent more than once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hedged {
    /// The writer that waits for the outcome.
    from: usize,
    link: Link,
    hedge: Hedge,
    /// Whether the id of the object that exists is being read.
    is_reading: bool,
}

/// A writer and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Site {
    writer: Writer<Ticket>,
    run: u64,
    now: u8,
    /// The read or load that the writer waits for: a number, or 0 for a snapshot.
    wants: Option<u64>,
    sent: u8,
    /// Whether it was requested to create the topic.
    has_created: bool,
    /// Whether it was requested to open an instance of the producer.
    has_opened: bool,
    /// Appends and all other requests without an answer.
    open: Vec<Ticket>,
    /// Whether it has begun a merge.
    has_merged: bool,
    /// The locations of records, from published objects.
    places: Places,
    /// The same by the snapshot that it has loaded last.
    loaded: Places,
}

/// Everything there is at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    objects: BTreeMap<u64, Object>,
    /// The newest snapshot, with its contents and its time.
    snapshot: (State, Log, u64),
    /// The locations of records in that snapshot.
    snapshot_places: Places,
    requests: Vec<Request>,
    hedged: Vec<Hedged>,
    sites: Vec<Site>,
    pub clock: u64,
    lost: u8,
    crashes: u8,
    hedges: u8,
    ticks: u8,
    snapshots: u8,
    /// The view of an observer that has followed the chain from the beginning, all the time.
    truth: State,
    pub log: Log,
    places: Places,
    /// Whether writers merge: then only unreferenced objects are deleted.
    is_merging: bool,
    rules: Rules,
    pub merging: Merging,
    /// The next requests to writers, because of a response.
    pub later: Vec<(usize, Ticket, Control)>,
    /// The topic whose creation is part of the chain.
    creators: Vec<Ticket>,
    pub acknowledged: BTreeMap<Ticket, u64>,
    /// The ids that writers gave for the new topic.
    pub created: Vec<u64>,
    /// The instance that each writer has opened: its id and epoch.
    instances: Vec<Option<(u64, u16)>>,
    /// The newest instance that is part of the chain.
    newest: Option<(u64, u16)>,
    /// An older instance appended after a newer one was opened.
    pub is_unfenced: bool,
    /// Appends and creations of which a writer said that they are not stored.
    pub denied: Vec<Ticket>,
    /// A writer published an object that isn't in the chain, or found a contradiction.
    pub is_disagreeing: bool,
    pub reached: Reached,
    /// Appends whose outcome their client doesn't know. It may send them again if they have sequences.
    again: Vec<Ticket>,
}

/// The events so far: a model that never loses a race proves nothing about races.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Reached {
    pub void: bool,
    pub settled: bool,
    pub deleted: bool,
    pub duplicate: bool,
    pub unknown: bool,
    pub refused: bool,
    pub fenced: bool,
    /// A request of a PUT was refused because of another request of it.
    pub found: bool,
}

/// One event. Numbers are positions of writers and requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// A writer gets its next append.
    Append(usize),
    /// A writer is requested to create the new topic.
    Create(usize),
    /// A writer is requested to open an instance of the named producer.
    Open(usize),
    /// A client sends an append again, to any writer.
    Again(Ticket, usize),
    /// A request reaches the store.
    Arrive(usize),
    /// A response reaches its writer.
    Respond(usize),
    /// A writer hears nothing more of a request, which may still arrive.
    Lose(usize),
    /// A PUT in flight is sent once more.
    Hedge(usize),
    /// The id of the object that exists is read, for a PUT that was sent more than once.
    ReadId(usize),
    /// The read that a writer waits for.
    Read(usize),
    /// A writer's clock advances.
    Tick(usize),
    /// A writer dies and starts again. Its requests may still arrive.
    Crash(usize),
    /// The store's clock advances.
    Clock,
    /// Someone takes a snapshot.
    Snapshot,
    /// Someone deletes everything that may be deleted.
    Delete,
    /// A writer begins a merge.
    Merge(usize),
    /// A writer abandons the merge that it knows to be open.
    Abandon(usize),
    /// A merged object arrives at the store.
    MergeArrive(usize),
    /// The response to its PUT reaches the writer.
    MergeRespond(usize),
}

fn partition_of(ticket: Ticket, bounds: &Bounds) -> PartitionId {
    // Writers share a partition. Without sequences, a second one shows that they don't get mixed up.
    PartitionId { topic: 1, number: if bounds.sequences { 0 } else { u32::from(ticket % 2) } }
}

fn append(ticket: Ticket, bounds: &Bounds, world: &World) -> Append<Ticket> {
    let (site, sequence) = (ticket / 16, ticket % 16);
    let instance = world.instances.get(usize::from(site)).copied().flatten();
    assert_eq!(instance.is_some(), bounds.opens, "ticket {ticket}");
    let (id, epoch) = instance.unwrap_or((u64::from(site) + 1, 0));
    let producer = Producer { id, epoch, sequence: u64::from(sequence), wraps: false };
    Append {
        ticket,
        partition: partition_of(ticket, bounds),
        content: Content { records: 1, crc32c: ticket.into() },
        size: Size { batches: 1, bytes: 1 },
        producer: bounds.sequences.then_some(producer),
        is_transactional: false,
    }
}

impl Bounds {
    fn limits(&self) -> Limits {
        Limits {
            batch_wait: Duration::ZERO,
            object_bytes: 1,
            in_flight_max: self.in_flight_max,
            concurrent_bytes: 0,
            retry_after: Duration::from_secs(1),
            first_retry_after: Duration::from_secs(1),
            give_up_after: Duration::from_secs(2),
            wait_max: Duration::from_secs(1),
            deletion_delay: DELETION_DELAY,
        }
    }

    fn site(&self, run: u64) -> Site {
        let mut actions = Vec::new();
        let writer = Writer::with_rules(self.limits(), run, self.rules, &mut actions);
        assert_eq!(actions, [Action::LoadSnapshot]);
        Site {
            writer,
            run,
            now: 0,
            wants: Some(0),
            sent: 0,
            has_created: false,
            has_opened: false,
            open: Vec::new(),
            has_merged: false,
            places: Places::new(),
            loaded: Places::new(),
        }
    }
}

/// The state after the journal's first object, which creates the topic that writers append to.
fn founded() -> State {
    let mut state = State::default();
    let create = Control::Create { topic: 1, name: "old".into(), partitions: 2, settings: [].into() };
    let link = Link { number: 1, id: Id { run: 1000, commit: 1 }, prev: Id::ROOT, in_flight: 0 };
    let changes = Changes { controls: [create].into(), ..Changes::default() };
    assert_eq!(state.observe(link, &changes), Ok(true));
    state
}

impl World {
    /// The view of an observer that begins now, at the newest snapshot: the records, and the new topic's id.
    pub fn fresh(&self) -> (Log, Option<u64>) {
        let (mut state, mut log, _) = self.snapshot.clone();
        let mut places = self.snapshot_places.clone();
        while let Some(object) = self.objects.get(&state.chain().next()) {
            if let Ok(true) = state.observe_by(object.link, &object.changes, self.rules) {
                add(&mut log, object);
                place(&mut places, object.link.number, &object.changes);
            }
        }
        if self.is_merging {
            let read = |(key, source): (&(PartitionId, u64), &Source)| Some((*key, self.stored(*key, *source)?));
            log = places.iter().filter_map(read).collect();
        }
        (log, state.topic_id(NEW))
    }

    /// The record in a journal object, if the object exists.
    pub fn record(&self, number: u64, key: (PartitionId, u64)) -> Option<Ticket> {
        let object = self.objects.get(&number)?;
        let tickets = object.tickets.iter().skip(object.changes.controls.len());
        let mut entries = tickets.zip(&*object.changes.entries);
        entries.find(|(_, entry)| (entry.partition, entry.first_offset) == key).map(|(ticket, _)| *ticket)
    }

    /// A writer's locations of records.
    pub fn places_of(&self, at: usize) -> &Places {
        let Some(site) = self.sites.get(at) else { unreachable!("writer {at}") };
        &site.places
    }

    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Notes that a writer has a request without an answer.
    pub fn open(&mut self, at: usize, ticket: Ticket) {
        let Some(site) = self.sites.get_mut(at) else { unreachable!("writer {at}") };
        site.open.push(ticket);
    }

    /// The snapshot, if it is old enough to determine deletions.
    pub fn old_snapshot(&self, bounds: &Bounds) -> Option<(&State, &Places)> {
        let (state, _, date) = &self.snapshot;
        (date + bounds.deletion_delay < self.clock).then_some((state, &self.snapshot_places))
    }

    /// The new topic's id, for an observer that has followed the chain all the time.
    pub fn new_topic(&self) -> Option<u64> {
        self.truth.topic_id(NEW)
    }

    /// Whether the chain has the result of a request.
    pub fn has(&self, ticket: Ticket) -> bool {
        // Another writer's creation doesn't count: that one is refused.
        self.log.values().any(|stored| *stored == ticket) || self.creators.contains(&ticket)
    }

    /// Whether an append waits although nothing will happen any more.
    pub fn is_stuck(&self) -> bool {
        let is_idle = |site: &Site| site.wants.is_none() && site.writer.wake_at().is_none();
        let is_reading = self.hedged.iter().any(|hedged| hedged.is_reading);
        let is_quiet = self.requests.iter().all(|request| request.from.is_none()) && self.sites.iter().all(is_idle);
        is_quiet && !is_reading && self.sites.iter().any(|site| !site.open.is_empty())
    }

    fn follow(&mut self) {
        while let Some(object) = self.objects.get(&self.truth.chain().next()) {
            match self.truth.observe_by(object.link, &object.changes, self.rules) {
                Ok(true) => {
                    place(&mut self.places, object.link.number, &object.changes);
                    self.reached.settled |= object.tickets.is_empty();
                    self.creators.extend(object.tickets.iter().filter(|ticket| **ticket >= CREATION));
                    for control in &*object.changes.controls {
                        if let Control::OpenProducer { id, epoch, .. } = control {
                            self.newest = Some((*id, *epoch));
                        }
                    }
                    let instances = object.changes.entries.iter().filter_map(|entry| entry.producer);
                    let mut instances = instances.map(|producer| Some((producer.id, producer.epoch)));
                    self.is_unfenced |= self.newest.is_some() && instances.any(|instance| instance != self.newest);
                    add(&mut self.log, object);
                }
                Ok(false) => self.reached.void = true,
                Err(_) => self.is_disagreeing = true,
            }
        }
    }

    pub fn feed(&mut self, at: usize, event: Event<Ticket>) {
        let Some(site) = self.sites.get_mut(at) else { unreachable!("writer {at}") };
        let mut actions = Vec::new();
        site.writer.on(Duration::from_secs(u64::from(site.now)), event, &mut actions);
        self.is_disagreeing |= site.writer.contradiction().is_some();
        for action in actions {
            self.carry_out(at, action);
        }
        self.requests.sort();
        self.ask_later();
    }

    /// A request has ended. The writer hears of the PUT's outcome as soon as it is known.
    fn put_ended(&mut self, from: usize, link: Link, result: PutResult) {
        let is_its = |hedged: &Hedged| (hedged.from, hedged.link.id) == (from, link.id);
        match self.hedged.iter().position(is_its) {
            Some(n) => {
                let Some(hedged) = self.hedged.get_mut(n) else { unreachable!("PUT {n}") };
                let next = hedged.hedge.ended(result);
                self.hedge_continues(n, next);
            }
            None => self.feed(from, Event::Put { id: link.id, result }),
        }
    }

    fn hedge_continues(&mut self, n: usize, next: Next) {
        let Some(hedged) = self.hedged.get_mut(n) else { unreachable!("PUT {n}") };
        let (from, link) = (hedged.from, hedged.link);
        hedged.is_reading = next == Next::ReadId || hedged.is_reading && next == Next::Wait;
        let result = match (next, self.rules.broken) {
            (Next::ReadId, Some(Broken::HedgeReadsId)) => PutResult::Exists,
            (Next::ReadId, Some(Broken::HedgeComparesId)) => PutResult::Created { date: self.clock },
            (Next::Wait | Next::ReadId, _) => return,
            (Next::Ended(result), _) => result,
        };
        self.hedged.remove(n);
        // It hears nothing more of the others, which may still arrive.
        let is_other = |request: &Request| (request.from, request.link.id) == (Some(from), link.id);
        self.requests.retain(|request| !is_other(request) || request.response.is_none());
        for request in self.requests.iter_mut().filter(|request| is_other(request)) {
            request.from = None;
        }
        self.feed(from, Event::Put { id: link.id, result });
    }

    fn carry_out(&mut self, at: usize, action: Action<Ticket>) {
        let Some(site) = self.sites.get_mut(at) else { unreachable!("writer {at}") };
        match action {
            Action::Put { link, changes, tickets } => {
                self.requests.push(Request { from: Some(at), link, changes, tickets, response: None });
            }
            Action::Read { number } => site.wants = Some(number),
            Action::LoadSnapshot => site.wants = Some(0),
            Action::Restore => site.places = site.loaded.clone(),
            Action::Answer { ticket, outcome } => {
                site.open.retain(|open| *open != ticket);
                if let Outcome::Opened { id, epoch } = outcome {
                    self.is_disagreeing |= self.instances.contains(&Some((id, epoch)));
                    let Some(instance) = self.instances.get_mut(at) else { unreachable!("writer {at}") };
                    *instance = Some((id, epoch));
                    return;
                }
                if ticket < OPENING && self.merge_answered(at, ticket, outcome) {
                    return;
                }
                match outcome {
                    Outcome::Stored(answer) => {
                        self.reached.duplicate |= answer.is_duplicate;
                        let before = self.acknowledged.insert(ticket, answer.first_offset);
                        self.is_disagreeing |= before.is_some_and(|offset| offset != answer.first_offset);
                    }
                    Outcome::NotStored => self.denied.push(ticket),
                    Outcome::Changed { id } => self.created.push(id),
                    Outcome::Refused(Refused::Exists { topic }) => {
                        self.reached.refused = true;
                        self.created.push(topic);
                    }
                    Outcome::Rejected(rejected) => {
                        self.reached.fenced |= matches!(rejected, Rejected::Fenced { .. });
                    }
                    Outcome::Opened { .. } => unreachable!("{ticket} opened an instance"),
                    Outcome::Refused(refused) => unreachable!("a creation was refused: {refused}"),
                    Outcome::Unknown if ticket >= CREATION => self.reached.unknown = true,
                    Outcome::Unknown => {
                        self.reached.unknown = true;
                        self.again.push(ticket);
                    }
                }
            }
            Action::Publish { link, changes } => {
                place(&mut site.places, link.number, &changes);
                let is_true =
                    changes.entries.iter().all(|entry| self.log.contains_key(&(entry.partition, entry.first_offset)));
                self.is_disagreeing |= !is_true;
            }
        }
    }
}

fn add(log: &mut Log, object: &Object) {
    let tickets = object.tickets.iter().skip(object.changes.controls.len());
    for (ticket, entry) in tickets.zip(&*object.changes.entries) {
        let before = log.insert((entry.partition, entry.first_offset), *ticket);
        assert_eq!(before, None, "two records at {entry:?}");
    }
}

impl Model for Bounds {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            objects: BTreeMap::new(),
            snapshot: (founded(), Log::new(), 0),
            snapshot_places: Places::new(),
            requests: Vec::new(),
            hedged: Vec::new(),
            sites: (0..self.appends.len()).map(|at| self.site(at as u64 + 1)).collect(),
            clock: 0,
            lost: self.lost,
            crashes: self.crashes,
            hedges: self.hedges,
            ticks: self.ticks,
            snapshots: self.snapshots,
            truth: founded(),
            log: Log::new(),
            places: Places::new(),
            is_merging: !self.merges.is_empty(),
            // The part that all observers share. Other rules are specific to writers.
            rules: Rules { broken: self.rules.broken.filter(|broken| *broken != Broken::VoidObjects) },
            merging: Merging::new(self.abandons),
            later: Vec::new(),
            creators: Vec::new(),
            acknowledged: BTreeMap::new(),
            created: Vec::new(),
            instances: vec![None; self.appends.len()],
            newest: None,
            is_unfenced: false,
            denied: Vec::new(),
            is_disagreeing: false,
            reached: Reached::default(),
            again: Vec::new(),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        for (at, site) in world.sites.iter().enumerate() {
            let is_open = !self.opens || world.instances.get(at).is_some_and(Option::is_some);
            if is_open && self.appends.get(at).is_some_and(|appends| site.sent < *appends) {
                actions.push(Step::Append(at));
            }
            if self.opens && !site.has_opened {
                actions.push(Step::Open(at));
            }
            if self.creates && !site.has_created {
                actions.push(Step::Create(at));
            }
            let merges = self.merges.get(at).is_some_and(|merges| *merges && !site.has_merged);
            if merges && world.can_merge(at) {
                actions.push(Step::Merge(at));
            }
            if world.merging.abandons > 0 && site.writer.certain().into_state().merges().open().is_some() {
                actions.push(Step::Abandon(at));
            }
            if site.wants.is_some() {
                actions.push(Step::Read(at));
            }
            if world.ticks > 0 && site.writer.wake_at().is_some_and(|at| at.as_secs() > u64::from(site.now)) {
                actions.push(Step::Tick(at));
            }
            if world.crashes > 0 {
                actions.push(Step::Crash(at));
            }
            if self.sequences {
                actions.extend(world.again.iter().map(|ticket| Step::Again(*ticket, at)));
            }
        }
        for (n, request) in world.requests.iter().enumerate() {
            match (request.response, request.from) {
                (None, _) => actions.push(Step::Arrive(n)),
                (Some(_), Some(_)) => actions.push(Step::Respond(n)),
                (Some(_), None) => unreachable!("a response without a writer"),
            }
            if world.lost > 0 && request.from.is_some() {
                actions.push(Step::Lose(n));
            }
            if world.hedges > 0 && request.from.is_some() {
                actions.push(Step::Hedge(n));
            }
        }
        let reading = world.hedged.iter().enumerate().filter(|(_, hedged)| hedged.is_reading);
        actions.extend(reading.map(|(n, _)| Step::ReadId(n)));
        for (n, has_arrived) in world.merge_puts() {
            actions.push(if has_arrived { Step::MergeRespond(n) } else { Step::MergeArrive(n) });
        }
        if world.clock < self.clock {
            actions.push(Step::Clock);
        }
        let covered = world.snapshot.0.chain().next();
        if world.snapshots > 0 && world.truth.chain().next() > covered {
            actions.push(Step::Snapshot);
        }
        if self.deletable(world).next().is_some() || !world.deletable_merged(self).is_empty() {
            actions.push(Step::Delete);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        match step {
            Step::Append(at) => {
                let site = world.sites.get_mut(at)?;
                let ticket = at as u8 * 16 + site.sent;
                site.sent += 1;
                site.open.push(ticket);
                let append = append(ticket, self, &world);
                world.feed(at, Event::Append(append));
            }
            Step::Open(at) => {
                let site = world.sites.get_mut(at)?;
                site.has_opened = true;
                let ticket = OPENING + at as u8;
                site.open.push(ticket);
                let control = Control::OpenProducer {
                    name: NEW.into(),
                    id: 0,
                    epoch: 0,
                    timeout_ms: 0,
                    owner: "".into(),
                    from: None,
                    ends: 0,
                };
                world.feed(at, Event::Change { ticket, control });
            }
            Step::Create(at) => {
                let site = world.sites.get_mut(at)?;
                site.has_created = true;
                let ticket = CREATION + at as u8;
                site.open.push(ticket);
                let control = Control::Create { topic: 0, name: NEW.into(), partitions: 1, settings: [].into() };
                world.feed(at, Event::Change { ticket, control });
            }
            Step::Again(ticket, at) => {
                world.again.retain(|again| *again != ticket);
                world.sites.get_mut(at)?.open.push(ticket);
                let append = append(ticket, self, &world);
                world.feed(at, Event::Append(append));
            }
            Step::Arrive(n) => self.arrive(&mut world, n),
            Step::Respond(n) => {
                let request = world.requests.remove(n);
                let result = match request.response? {
                    Some(date) => PutResult::Created { date },
                    None => PutResult::Exists,
                };
                world.put_ended(request.from?, request.link, result);
            }
            Step::Hedge(n) => {
                world.hedges -= 1;
                let request = Request { response: None, ..world.requests.get(n)?.clone() };
                let (from, link) = (request.from?, request.link);
                let is_its = |hedged: &&mut Hedged| (hedged.from, hedged.link.id) == (from, link.id);
                match world.hedged.iter_mut().find(is_its) {
                    Some(hedged) => hedged.hedge.sent(),
                    None => {
                        let mut hedge = Hedge::new();
                        hedge.sent();
                        world.hedged.push(Hedged { from, link, hedge, is_reading: false });
                    }
                }
                world.requests.push(request);
                world.requests.sort();
            }
            Step::ReadId(n) => {
                let id = world.hedged.get(n)?.link.id;
                let found = match world.objects.get(&world.hedged.get(n)?.link.number) {
                    Some(object) if object.link.id == id => {
                        world.reached.found = true;
                        FoundId::Own { created: object.created, date: world.clock }
                    }
                    Some(_) => FoundId::Other,
                    None => FoundId::Unknown,
                };
                let hedged = world.hedged.get_mut(n)?;
                hedged.is_reading = false;
                let next = match (found, self.rules.broken) {
                    (FoundId::Other, Some(Broken::HedgeDoubts)) => Next::Ended(PutResult::Exists),
                    _ => hedged.hedge.read(found),
                };
                world.hedge_continues(n, next);
            }
            Step::Lose(n) => {
                world.lost -= 1;
                let request = world.requests.get_mut(n)?;
                let (from, link) = (request.from.take()?, request.link);
                if request.response.is_some() {
                    world.requests.remove(n);
                }
                world.put_ended(from, link, PutResult::Unknown);
                world.requests.sort();
            }
            Step::Read(at) => self.read(&mut world, at)?,
            Step::Tick(at) => {
                world.ticks -= 1;
                world.sites.get_mut(at)?.now += 1;
                world.feed(at, Event::Tick);
            }
            Step::Crash(at) => {
                world.crashes -= 1;
                let site = world.sites.get_mut(at)?;
                let (sent, has_created, open) = (site.sent, site.has_created, std::mem::take(&mut site.open));
                let (has_merged, has_opened) = (site.has_merged, site.has_opened);
                *site = Site { sent, has_created, has_opened, has_merged, ..self.site(site.run + 16) };
                world.forget_merge_puts(at);
                world.again.extend(open.into_iter().filter(|ticket| *ticket < CREATION));
                world.hedged.retain(|hedged| hedged.from != at);
                world.requests.retain(|request| request.from != Some(at) || request.response.is_none());
                for request in &mut world.requests {
                    request.from = request.from.filter(|from| *from != at);
                }
                world.requests.sort();
            }
            Step::Clock => world.clock += 1,
            Step::Snapshot => {
                world.snapshots -= 1;
                world.snapshot = (world.truth.clone(), world.log.clone(), world.clock);
                world.snapshot_places = world.places.clone();
            }
            Step::Delete => {
                let merged = world.deletable_merged(self);
                for number in self.deletable(&world).collect::<Vec<_>>() {
                    world.objects.remove(&number);
                }
                world.delete_merged(merged);
                world.reached.deleted = true;
            }
            Step::Merge(at) => {
                world.sites.get_mut(at)?.has_merged = true;
                world.begin_merge(at);
            }
            Step::Abandon(at) => {
                let merge = world.sites.get(at)?.writer.certain().into_state().merges().open()?;
                world.abandon(at, merge);
            }
            Step::MergeArrive(n) => world.merge_arrives(n),
            Step::MergeRespond(n) => world.merge_confirmed(n),
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        super::checks::properties()
    }
}

impl Bounds {
    fn arrive(&self, world: &mut World, n: usize) {
        let Some(request) = world.requests.get_mut(n) else { unreachable!("request {n}") };
        let number = request.link.number;
        let exists = world.objects.contains_key(&number);
        if !exists || !self.create_only {
            let (link, changes, tickets) = (request.link, request.changes.clone(), request.tickets.clone());
            world.objects.insert(number, Object { link, changes, tickets, created: world.clock });
        }
        request.response = Some((!exists || !self.create_only).then_some(world.clock));
        if request.from.is_none() {
            world.requests.remove(n);
        }
        world.requests.sort();
        world.follow();
    }

    /// Carries out the read that a writer waits for, and delivers the result. That nothing happens in between loses no
    /// generality: a writer that sleeps after the read sends what follows from it late, and so do its PUTs.
    fn read(&self, world: &mut World, at: usize) -> Option<()> {
        let number = world.sites.get_mut(at)?.wants.take()?;
        let date = world.clock;
        let event = match (number, world.objects.get(&number)) {
            (0, _) => {
                world.sites.get_mut(at)?.loaded = world.snapshot_places.clone();
                Event::Snapshot { state: Some(Box::new(world.snapshot.0.clone())), date }
            }
            (_, Some(object)) => {
                let (link, changes, created) = (object.link, object.changes.clone(), object.created);
                Event::Read { number, result: ReadResult::Found { link, changes, created, date } }
            }
            (_, None) => Event::Read { number, result: ReadResult::Missing { date } },
        };
        world.feed(at, event);
        Some(())
    }

    fn deletable<'a>(&'a self, world: &'a World) -> impl Iterator<Item = u64> + 'a {
        let is_old = |date: u64| date + self.deletion_delay < world.clock;
        let (state, _, date) = &world.snapshot;
        let covered = if is_old(*date) { state.chain().next() } else { 1 };
        let is_free = move |number: u64| !world.is_merging || !world.is_needed(number, self);
        let old = world.objects.range(..covered).filter(move |(_, object)| is_old(object.created));
        old.map(|(number, _)| *number).filter(move |number| is_free(*number))
    }
}
