//! The records that a producer holds: a batch in which each partition's records are collected, and those that are
//! complete, under one lock.

use super::config::ProducerConfig;
use super::lane::{Lane, SealedBatch};
use super::linger;
use super::open::{Collecting, Open};
use super::outgoing::{Message, Outgoing};
use super::receipt::{Delivery, Receipt};
use crate::environment::Environment;
use crate::error::ClientError;
use crate::limits::{OPEN_BATCHES_KEPT_MAX, PARTITIONS_READ_INTERVAL};
use crate::partition::TopicPartition;
use crate::partition::partition_of_key;
use bytes::Bytes;
use rawline_batch::{BatchError, Limits};
use rawline_contract::ProducerInstance;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(super) struct Shared {
    pub(super) topic: String,
    pub(super) config: ProducerConfig,
    limits: Limits,
    environment: Arc<dyn Environment>,
    /// Distinguishes the producer from all others; the id is 0 if its appends aren't exactly once. A named
    /// producer has none until it is opened, which is before the number of partitions is known.
    instance: OnceLock<ProducerInstance>,
    state: Mutex<State>,
    /// Wakes the sending task.
    pub(super) work: Notify,
    /// Wakes callers that wait: records were stored, the number of partitions is known, or the producer has stopped.
    pub(super) room: Notify,
}

pub(super) struct State {
    /// The topic's partitions, once their number is known.
    partitions: Option<Known>,
    /// Whether a caller waits for their number.
    pub(super) wants_partitions: bool,
    /// The partition to which records without a key go until their batch is complete. While the number of partitions
    /// isn't known, this is 0, and it is chosen when it is.
    sticky: u32,
    /// The batches that are being collected, by partition.
    open: BTreeMap<u32, Collecting>,
    /// The complete batches, by partition.
    pub(super) lanes: BTreeMap<u32, Lane>,
    /// Cost of all records that are not stored yet: open, sealed or in flight.
    pub(super) held_bytes: usize,
    pub(super) closing: bool,
    pub(super) stopped: Option<ClientError>,
    /// Results of the batches that are sealed or in flight, in order.
    pub(super) unresolved: Vec<Arc<Delivery>>,
}

/// The number of the topic's partitions.
#[derive(Debug, Clone, Copy)]
struct Known {
    partitions: u32,
    at: Instant,
    /// Whether the topic didn't exist: it gets one partition, unless another client creates it first.
    is_guess: bool,
}

/// The target of a record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    /// To any partition.
    Any,
    /// To the partition of its key.
    Key(&'a [u8]),
    /// To this partition.
    Partition(u32),
}

/// Why a record was not taken.
pub(super) enum Refused {
    /// The buffer is full.
    Full,
    /// The number of partitions isn't known.
    Unknown,
    /// The topic has fewer partitions, as far as is known.
    Partition {
        partition: u32,
        partitions: u32,
    },
    Failed(ClientError),
}

impl From<ClientError> for Refused {
    fn from(error: ClientError) -> Self {
        Refused::Failed(error)
    }
}

/// A random id of 63 bits: Kafka's batches have no room for more.
fn new_id(environment: &dyn Environment) -> u64 {
    let half = || (environment.fraction() * f64::from(u32::MAX)) as u64;
    // The first bit is clear, as languages without unsigned numbers need it; the second is set, as in no id of a name.
    (half() << 32 | half()) >> 2 | 1 << 62
}

impl Shared {
    pub(super) fn new(
        topic: String,
        config: ProducerConfig,
        limits: Limits,
        environment: Arc<dyn Environment>,
    ) -> Shared {
        let state = State {
            partitions: None,
            wants_partitions: false,
            sticky: 0,
            open: BTreeMap::new(),
            lanes: BTreeMap::new(),
            held_bytes: 0,
            closing: false,
            stopped: None,
            unresolved: Vec::new(),
        };
        let (state, work, room) = (Mutex::new(state), Notify::new(), Notify::new());
        let instance = OnceLock::new();
        if config.name.is_none() {
            let producer_id = if config.exactly_once { new_id(&*environment) } else { 0 };
            // An id that is new has no earlier instance.
            instance.get_or_init(|| ProducerInstance { producer_id, producer_epoch: 0 });
        }
        Shared { topic, config, limits, environment, instance, state, work, room }
    }

    /// The name of a producer that isn't open yet.
    pub(super) fn to_open(&self) -> Option<&str> {
        self.config.name.as_deref().filter(|_| self.instance.get().is_none())
    }

    /// The instance of the producer's name was opened.
    pub(super) fn opened(&self, instance: ProducerInstance) {
        assert!(self.instance.set(instance).is_ok(), "{instance:?} was opened, and {:?} before", self.instance.get());
        self.room.notify_waiters();
    }

    /// The producer's id and epoch. Only known before something is sealed: after the number of partitions is known.
    fn instance(&self) -> ProducerInstance {
        let Some(instance) = self.instance.get() else { unreachable!("{:?} has no instance yet", self.config.name) };
        *instance
    }

    /// The epoch for requests with exactly-once appends.
    pub(super) fn epoch(&self) -> Option<u16> {
        let ProducerInstance { producer_id, producer_epoch } = self.instance();
        (producer_id > 0).then_some(producer_epoch)
    }

    /// The time in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> i64 {
        (self.environment.now_us() / 1000) as i64
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A partition of the topic, as requests name it.
    pub(super) fn at(&self, partition: u32) -> TopicPartition<'_> {
        TopicPartition { topic: &self.topic, partition }
    }

    /// Adds a record if that is possible now.
    pub(super) fn take(&self, state: &mut State, target: Target<'_>, record: Outgoing<'_>) -> Result<Receipt, Refused> {
        state.healthy()?;
        self.check(record)?;
        let partition = state.partition_of(target)?;
        // A record of any size is accepted when the buffer is empty.
        if state.held_bytes > 0 && state.held_bytes + record.cost() > self.config.buffer_bytes {
            // Open batches must be sent to make room.
            if state.lanes.values().all(|lane| lane.sealed.is_empty()) {
                self.seal_all(state)?;
            }
            return Err(Refused::Full);
        }
        let new = || Open::new(record.kind(), self.config.codec, self.limits);
        let collecting = state.open.entry(partition).or_insert_with(|| Collecting::new(new()));
        if collecting.open.kind() != record.kind() {
            if collecting.open.is_empty() {
                collecting.open = new();
            } else if let Outgoing::Plain(value) = record {
                // A producer that alternates between the two would otherwise send a request for each record.
                let message = Message { value: Some(value), ..Message::default() };
                let joining = Outgoing::Message { message: &message, timestamp_ms: self.now_ms() };
                if collecting.open.fits(joining, &self.config, &self.limits) {
                    return self.take(state, target, joining);
                }
            }
        }
        if !collecting.open.fits(record, &self.config, &self.limits) {
            if state.partitions.is_none() {
                return Err(Refused::Unknown);
            }
            self.seal(state, partition)?;
            // A record without a key goes elsewhere now.
            return self.take(state, target, record);
        }
        let index = collecting.open.push(record)?;
        collecting.held_bytes += record.cost();
        state.held_bytes += record.cost();
        debug_assert_eq!(collecting.open.records(), index + 1, "two records have the same index");
        let receipt = Receipt { delivery: collecting.delivery.clone(), index };
        if index == 0 {
            collecting.opened_at = Some(Instant::now());
            self.work.notify_one();
        }
        if self.is_complete(collecting) {
            self.seal(state, partition)?;
        }
        Ok(receipt)
    }

    fn is_complete(&self, collecting: &Collecting) -> bool {
        let (bytes, records) = (collecting.open.data_bytes(), collecting.open.records());
        bytes >= self.config.batch_bytes || records >= self.config.batch_records_max
    }

    /// Checks that a record fits some batch, so that one that fits none fails only its own send.
    fn check(&self, record: Outgoing<'_>) -> Result<(), ClientError> {
        record.check()?;
        let batch_bytes = record.batch_bytes();
        let limit = self.limits.batch_bytes_max.min(self.limits.raw_bytes_max).into();
        if batch_bytes > u64::from(self.limits.batch_bytes_max)
            || record.raw_bytes() > u64::from(self.limits.raw_bytes_max)
        {
            return Err(BatchError::Limit { what: "batch_bytes", found: batch_bytes, limit }.into());
        }
        Ok(())
    }

    /// The number of the topic's partitions was read; none if the topic doesn't exist.
    pub(super) fn learn(&self, state: &mut State, read: Option<u32>) -> Result<(), ClientError> {
        let partitions = read.unwrap_or(1);
        assert!(partitions > 0, "topic {:?} without partitions", self.topic);
        let before = state.partitions.replace(Known { partitions, at: Instant::now(), is_guess: read.is_none() });
        state.wants_partitions = false;
        state.sticky %= partitions;
        self.room.notify_waiters();
        if before.is_some() {
            return Ok(());
        }
        // At random, so that short-lived producers use all partitions.
        let sticky = (self.environment.fraction() * f64::from(partitions)) as u32 % partitions;
        state.sticky = sticky;
        let collected = state.open.remove(&0);
        assert!(state.open.is_empty(), "{state:?} before the number of partitions was known");
        let Some(collecting) = collected else { return Ok(()) };
        let is_complete = self.is_complete(&collecting);
        state.open.insert(sticky, collecting);
        if is_complete { self.seal(state, sticky) } else { Ok(()) }
    }

    /// Seals all open batches. Does nothing while the number of partitions isn't known.
    pub(super) fn seal_all(&self, state: &mut State) -> Result<(), ClientError> {
        if state.partitions.is_none() {
            return Ok(());
        }
        let numbers: Vec<u32> = state.open.keys().copied().collect();
        numbers.into_iter().try_for_each(|partition| self.seal(state, partition))
    }

    /// Seals the open batch of a partition and queues it. Without the number of partitions, it stays open, and takes
    /// more than its size.
    pub(super) fn seal(&self, state: &mut State, partition: u32) -> Result<(), ClientError> {
        let Some(Known { partitions, .. }) = state.partitions else { return Ok(()) };
        let Some(collecting) = state.open.get_mut(&partition).filter(|collecting| !collecting.open.is_empty()) else {
            return Ok(());
        };
        let records = collecting.open.records();
        collecting.opened_at = None;
        let delivery = std::mem::take(&mut collecting.delivery);
        let held_bytes = std::mem::take(&mut collecting.held_bytes);
        collecting.open.check_cost(held_bytes);
        let kind = collecting.open.kind();
        let lane = state.lanes.entry(partition).or_default();
        let sequence = kind.sequence(lane.next_sequence);
        let sealed = collecting.open.seal(self.environment.now_us(), self.instance(), sequence, &self.limits);
        if state.sticky == partition {
            state.sticky = (partition + 1) % partitions;
        }
        match sealed {
            Ok(pieces) => {
                lane.next_sequence = sequence + u64::from(records);
                assert!(collecting.open.is_empty(), "{records} records are in two batches");
                let bytes: usize = pieces.iter().map(Bytes::len).sum();
                assert!(kind.is_aligned(bytes), "a batch of {records} records has {bytes} bytes");
                assert!(
                    bytes as u64 <= self.limits.batch_bytes_max.into(),
                    "a batch of {bytes} bytes exceeds the limit"
                );
                state.unresolved.push(delivery.clone());
                lane.sealed.push_back(SealedBatch { kind, pieces, bytes, records, sequence, held_bytes, delivery });
                if state.open.len() > OPEN_BATCHES_KEPT_MAX {
                    // Its buffers take memory, and many partitions have some.
                    state.open.remove(&partition);
                }
                self.work.notify_one();
                Ok(())
            }
            Err(error) => {
                delivery.resolve(Err(error.clone()));
                state.stop(error.clone());
                self.room.notify_waiters();
                Err(error)
            }
        }
    }
}

impl State {
    pub(super) fn healthy(&self) -> Result<(), ClientError> {
        match &self.stopped {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Number of the topic's partitions, once it is known.
    pub(super) fn partitions(&self) -> Option<u32> {
        self.partitions.map(|known| known.partitions)
    }

    /// After an append: if the topic didn't exist before, it does now, perhaps with more partitions.
    pub(super) fn check_guess(&mut self) {
        self.wants_partitions |= self.partitions.is_some_and(|known| known.is_guess);
    }

    /// When the number of partitions was read.
    pub(super) fn partitions_read_at(&self) -> Option<Instant> {
        self.partitions.map(|known| known.at)
    }

    fn partition_of(&self, target: Target<'_>) -> Result<u32, Refused> {
        match (target, self.partitions()) {
            (Target::Any, _) => Ok(self.sticky),
            (Target::Key(_) | Target::Partition(_), None) => Err(Refused::Unknown),
            (Target::Key(key), Some(partitions)) => Ok(partition_of_key(key, partitions)),
            (Target::Partition(partition), Some(partitions)) if partition < partitions => Ok(partition),
            (Target::Partition(partition), Some(partitions)) => Err(Refused::Partition { partition, partitions }),
        }
    }

    /// Whether to read the number of partitions: a caller waits for it, or records are pending and the number is
    /// unknown or old.
    pub(super) fn needs_partitions(&self, now: Instant) -> bool {
        let is_fresh = self.partitions.is_some_and(|known| now < known.at + PARTITIONS_READ_INTERVAL);
        self.wants_partitions || !is_fresh && !self.is_empty()
    }

    /// The partitions that have batches, open or sealed.
    pub(super) fn busy(&self) -> Vec<u32> {
        let open = self.open.iter().filter(|(_, collecting)| !collecting.open.is_empty()).map(|(number, _)| *number);
        let sealed = self.lanes.iter().filter(|(_, lane)| !lane.sealed.is_empty()).map(|(number, _)| *number);
        let mut busy: Vec<u32> = open.chain(sealed).collect();
        busy.sort_unstable();
        busy.dedup();
        busy
    }

    /// The time until which the partition's open batch waits for more records; an inner `None` is forever, an outer
    /// one means no records.
    pub(super) fn lingers_until(&self, partition: u32, config: &ProducerConfig) -> Option<Option<Instant>> {
        let batch = self.open.get(&partition)?;
        Some(batch.opened_at?.checked_add(linger::wait(config, batch)))
    }

    /// Whether every record that was sent is stored.
    pub(super) fn is_empty(&self) -> bool {
        let is_empty = self.open.values().all(|collecting| collecting.open.is_empty()) && self.unresolved.is_empty();
        assert_eq!(self.held_bytes == 0, is_empty, "the held bytes and the held records disagree: {self:?}");
        is_empty
    }

    /// Sets the result of a batch that is sealed or in flight.
    pub(super) fn resolve(&mut self, delivery: &Arc<Delivery>, done: Result<(u32, u64), ClientError>) {
        match self.unresolved.iter().position(|unresolved| Arc::ptr_eq(unresolved, delivery)) {
            Some(position) => self.unresolved.remove(position).resolve(done),
            // The producer was dropped while the request was in flight.
            None => assert!(self.stopped.is_some(), "a batch got a second result: {done:?}"),
        }
    }

    /// Stops the producer: its buffered records will not be sent. Receipts of requests in flight get the result of
    /// their request.
    pub(super) fn stop(&mut self, error: ClientError) {
        let stopped = match &error {
            ClientError::Stopped { .. } => error.clone(),
            error => ClientError::Stopped { reason: error.to_string() },
        };
        for collecting in std::mem::take(&mut self.open).into_values() {
            collecting.delivery.resolve(Err(stopped.clone()));
        }
        self.stopped.get_or_insert(error);
        let sealed: Vec<_> = self.lanes.values_mut().flat_map(|lane| std::mem::take(&mut lane.sealed)).collect();
        for batch in sealed {
            self.resolve(&batch.delivery, Err(stopped.clone()));
        }
        self.held_bytes = 0;
    }

    /// Like [`State::stop`], if nothing waits for the requests in flight any more.
    pub(super) fn abandon(&mut self, error: ClientError) {
        self.lanes.values_mut().for_each(|lane| lane.sealed.clear());
        for delivery in std::mem::take(&mut self.unresolved) {
            delivery.resolve(Err(error.clone()));
        }
        self.stop(error);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("topic", &self.topic).field("config", &self.config).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for State {
    /// Shows only counts: an assertion's message must not contain megabytes of records.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open_records: u32 = self.open.values().map(|collecting| collecting.open.records()).sum();
        let sealed: usize = self.lanes.values().map(|lane| lane.sealed.len()).sum();
        f.debug_struct("State")
            .field("partitions", &self.partitions())
            .field("open", &self.open.len())
            .field("open_records", &open_records)
            .field("sealed", &sealed)
            .field("unresolved", &self.unresolved.len())
            .field("held_bytes", &self.held_bytes)
            .field("closing", &self.closing)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}
