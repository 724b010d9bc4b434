//! The native part of `rawline.Consumer` and `rawline.AsyncConsumer`.
//!
//! Waiting and taking are separate steps: [`ConsumerCore::fetch`] queues received batches, [`ConsumerCore::take`] and
//! its variants dequeue them. A wait may therefore be cancelled or interrupted at any time without losing records.

use crate::arguments::seconds_option;
use crate::batch::{Batch, BatchIterator};
use crate::batches::Batches;
use crate::error::{client_error, config_error, nothing};
use crate::producer::within;
use crate::received::stored_batches;
use crate::runtime::{First, Process, finish};
use crate::source::BufferPool;
use pyo3::prelude::*;
use rawline_client::{
    Client, ClientError, CommitOffset, Consumer, ConsumerConfig, Fetched, GroupConfig, GroupConsumer, PartitionRange,
    Start,
};
use std::collections::{BTreeMap, VecDeque};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The first wait for a topic that doesn't exist yet. Each further wait doubles it.
const TOPIC_WAIT_MIN: Duration = Duration::from_millis(50);

/// The longest such wait, so that a consumer reads a new topic at most a second after its creation.
const TOPIC_WAIT_MAX: Duration = Duration::from_secs(1);

/// Follows a topic. See `lib/rawline/consumer.py`.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct ConsumerCore {
    shared: Arc<Shared>,
    /// The batch that is being iterated record by record.
    reading: Mutex<Option<Py<BatchIterator>>>,
    process: Process,
}

/// The source of a consumer.
pub struct Plan {
    pub config: ConsumerConfig,
    /// The first offsets of partitions that start elsewhere.
    pub starts: BTreeMap<u32, u64>,
    /// The end offsets of partitions that end elsewhere.
    pub ends: BTreeMap<u32, u64>,
    pub wait_for_topic: bool,
    /// The group whose member it is: it then reads the partitions that it gets there.
    pub group: Option<(String, GroupConfig)>,
}

struct Shared {
    client: Client,
    topic: String,
    plan: Plan,
    /// Whether the topic didn't exist at first: every record of it comes after any start.
    created_later: AtomicBool,
    pool: Arc<BufferPool>,
    state: tokio::sync::Mutex<State>,
    /// Batches that were received but not taken yet.
    waiting: Mutex<VecDeque<Batch>>,
    closed: AtomicBool,
    /// Notified when the consumer is closed.
    closing: Notify,
    ended: AtomicBool,
}

enum State {
    New,
    /// The first offsets are being asked for. A poll that ends doesn't end this: it may be shorter than a round trip.
    Beginning(Pin<Box<dyn Future<Output = Result<Consumer, ClientError>> + Send>>),
    Open(Box<Consumer>),
    Member(Box<GroupConsumer>),
    Closed,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Batch>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a batch can be taken; returns false at the end and on close. Taken records count as processed,
    /// unless the caller collects more of them. Cancel safe.
    async fn fetch(&self, collects: bool) -> Result<bool, ClientError> {
        let mut closing = pin!(self.closing.notified());
        closing.as_mut().enable();
        let fetched = match self.closed.load(Ordering::Acquire) {
            true => Ok(false),
            false => tokio::select! {
                () = closing => Ok(false),
                fetched = self.fetch_open(collects) => fetched,
            },
        };
        self.end_if_closed();
        fetched
    }

    async fn fetch_open(&self, collects: bool) -> Result<bool, ClientError> {
        let mut state = self.state.lock().await;
        // Another thread may have fetched while this one waited for its turn.
        if !self.waiting().is_empty() {
            return Ok(true);
        }
        let Some(fetched) = self.next(&mut state, collects).await? else {
            if matches!(*state, State::Open(_)) {
                self.ended.store(true, Ordering::Release);
            }
            return Ok(false);
        };
        let (partition, requested) = (fetched.partition(), fetched.requested_offset());
        let (received, damaged_at) = match stored_batches(fetched, self.pool.clone()) {
            Ok(received) => received,
            Err(error) => {
                // As after any error, the next call continues at the same offset.
                self.seek(&mut state, partition, requested)?;
                return Err(error);
            }
        };
        let end = self.end_of(partition).unwrap_or(u64::MAX);
        let topic: Arc<str> = self.topic.as_str().into();
        let received = received
            .into_iter()
            .map(|placed| Batch::new(partition, placed).of_topic(topic.clone()).within(requested, end));
        self.waiting().extend(received.filter(|batch| batch.records() > 0));
        match (damaged_at, &*state) {
            // The damaged batch is read again, and reported then.
            (Some(damaged_at), _) => self.seek(&mut state, partition, damaged_at)?,
            (None, State::Open(consumer)) if self.has_ended(consumer) => self.ended.store(true, Ordering::Release),
            _ => {}
        }
        Ok(true)
    }

    /// The next read of a partition is at this offset.
    fn seek(&self, state: &mut State, partition: u32, offset: u64) -> Result<(), ClientError> {
        match state {
            State::Open(consumer) => **consumer = self.moved(consumer, &BTreeMap::from([(partition, offset)])),
            State::Member(consumer) => consumer.seek(&self.topic, partition, offset)?,
            State::New | State::Beginning(_) | State::Closed => {}
        }
        Ok(())
    }

    /// Commits the offsets after the taken records. `untaken` has the first offsets of received records that weren't
    /// taken.
    async fn commit(&self, untaken: &BTreeMap<u32, u64>) -> Result<(), ClientError> {
        match &mut *self.state.lock().await {
            State::Member(consumer) => commit(consumer, untaken).await,
            // It has read nothing.
            State::New | State::Beginning(_) | State::Open(_) | State::Closed => Ok(()),
        }
    }

    /// Leaves the group. Processed records are committed before, unless the caller commits.
    async fn leave(&self, untaken: &BTreeMap<u32, u64>, is_processed: bool) -> Result<(), ClientError> {
        let state = std::mem::replace(&mut *self.state.lock().await, State::Closed);
        self.waiting().clear();
        let State::Member(mut consumer) = state else { return Ok(()) };
        let is_automatic = self.plan.group.as_ref().is_some_and(|(_, config)| config.commit_interval.is_some());
        let committed = match is_automatic && is_processed {
            true => commit(&mut consumer, untaken).await,
            false => Ok(()),
        };
        committed.and(consumer.leave().await)
    }

    /// The next read with records; `None` at the end.
    async fn next(&self, state: &mut State, collects: bool) -> Result<Option<Fetched>, ClientError> {
        let mut topic_wait = TOPIC_WAIT_MIN;
        loop {
            let next = match state {
                State::New if let Some((group, config)) = &self.plan.group => {
                    let consumer = GroupConsumer::new(self.client.clone(), group, [&self.topic], config.clone());
                    *state = State::Member(Box::new(consumer));
                    continue;
                }
                State::New => {
                    *state = State::Beginning(Box::pin(self.begin()));
                    continue;
                }
                State::Beginning(beginning) => match beginning.await.and_then(|consumer| self.placed(consumer)) {
                    Ok(consumer) => {
                        *state = State::Open(Box::new(consumer));
                        continue;
                    }
                    Err(error) => {
                        *state = State::New;
                        Err(error)
                    }
                },
                State::Open(consumer) => match consumer.next().await {
                    Ok(fetched) => return Ok(fetched.map(|fetched| std::mem::replace(fetched, self.pool.take()))),
                    Err(error) => Err(error),
                },
                State::Member(consumer) => {
                    let fetched = if collects { consumer.next_more().await } else { consumer.next().await };
                    return Ok(Some(std::mem::replace(fetched?, self.pool.take())));
                }
                State::Closed => return Ok(None),
            };
            match next {
                Err(error) if self.plan.wait_for_topic && error.code() == Some("topic_not_found") => {
                    self.created_later.store(true, Ordering::Relaxed);
                    tokio::time::sleep(topic_wait).await;
                    topic_wait = TOPIC_WAIT_MAX.min(2 * topic_wait);
                }
                Err(error) => return Err(error),
                Ok(()) => {}
            }
        }
    }

    fn end_of(&self, partition: u32) -> Option<u64> {
        self.plan.ends.get(&partition).copied().or(self.plan.config.end_offset)
    }

    fn has_ended(&self, consumer: &Consumer) -> bool {
        consumer.offsets().all(|(partition, offset)| self.end_of(partition).is_some_and(|end| offset >= end))
    }

    fn begin(&self) -> impl Future<Output = Result<Consumer, ClientError>> + use<> {
        let start = match self.plan.config.start {
            start @ Start::Offset(_) => start,
            _ if self.created_later.load(Ordering::Relaxed) => Start::Offset(0),
            start => start,
        };
        let config = ConsumerConfig { start, ..self.plan.config.clone() };
        Consumer::new(self.client.clone(), self.topic.clone(), config)
    }

    /// The consumer, at the offsets that are given for its partitions.
    fn placed(&self, consumer: Consumer) -> Result<Consumer, ClientError> {
        let Plan { starts, ends, .. } = &self.plan;
        if starts.is_empty() && ends.is_empty() {
            return Ok(consumer);
        }
        let lacks = |partition: &&u32| consumer.offsets().all(|(read, _)| read != **partition);
        match starts.keys().chain(ends.keys()).find(lacks) {
            // Offsets of partitions that are not to be read don't matter.
            Some(&partition) if self.plan.config.partitions.is_empty() => {
                let (topic, partitions) = (self.topic.clone(), consumer.offsets().count() as u32);
                Err(ClientError::NoPartition { topic, partition, partitions })
            }
            _ => Ok(self.moved(&consumer, starts)),
        }
    }

    /// The same consumer, at these offsets of partitions.
    fn moved(&self, consumer: &Consumer, offsets: &BTreeMap<u32, u64>) -> Consumer {
        let ranges = consumer.offsets().map(|(partition, offset)| PartitionRange {
            partition,
            offset: offsets.get(&partition).copied().unwrap_or(offset),
            end_offset: self.end_of(partition),
        });
        let ranges = ranges.collect();
        Consumer::of_ranges(self.client.clone(), &self.topic, ranges, self.plan.config.clone())
    }

    /// Ends the read in flight. A thread that still holds the state ends it itself.
    fn end_if_closed(&self) {
        if !self.closed.load(Ordering::Acquire) {
            return;
        }
        self.waiting().clear();
        match self.state.try_lock() {
            // It leaves its group first.
            Ok(state) if matches!(*state, State::Member(_)) => {}
            Ok(mut state) => *state = State::Closed,
            Err(_) => {}
        }
    }
}

/// Commits the offsets after the taken records.
async fn commit(consumer: &mut GroupConsumer, untaken: &BTreeMap<u32, u64>) -> Result<(), ClientError> {
    let taken = |(topic, partition, received): (&str, u32, u64)| {
        CommitOffset::new(topic, partition, untaken.get(&partition).copied().unwrap_or(received))
    };
    let offsets = consumer.positions().map(taken).collect();
    consumer.commit_offsets(offsets).await
}

#[pymethods]
impl ConsumerCore {
    /// Waits until a batch can be taken; returns false at the end and after a timeout. In a group, taken records count
    /// as processed, unless the caller `collects` more of them.
    #[pyo3(signature = (asynchronous, timeout=None, collects=false))]
    fn fetch(&self, py: Python<'_>, asynchronous: bool, timeout: Option<f64>, collects: bool) -> PyResult<Py<PyAny>> {
        self.check()?;
        let timeout = seconds_option("timeout", timeout)?;
        let shared = self.shared.clone();
        let fetch = async move { within(timeout, shared.fetch(collects)).await };
        // Spawned, so that the loop's other tasks run between any two fetches.
        let first = if asynchronous { First::Spawn } else { First::Look };
        finish(py, asynchronous, first, fetch, |py, fetched| {
            let fetched = fetched.unwrap_or(Ok(false)).map_err(client_error)?;
            Ok(fetched.into_pyobject(py)?.to_owned().into_any().unbind())
        })
    }

    /// All queued batches, if any.
    fn take(&self, py: Python<'_>) -> PyResult<Option<Batches>> {
        self.check()?;
        let rest = self.take_rest();
        let waiting: Vec<Batch> = self.shared.waiting().drain(..).collect();
        let batches = Batches::new(py, rest.into_iter().chain(waiting))?;
        Ok(Some(batches).filter(|batches| batches.records() > 0))
    }

    /// The first queued batch.
    fn take_one(&self) -> PyResult<Option<Batch>> {
        self.check()?;
        Ok(self.take_rest().or_else(|| self.shared.waiting().pop_front()))
    }

    /// The records of the first queued batch, or messages. Returns the same iterator until it is exhausted.
    fn take_records(&self, py: Python<'_>, has_messages: bool) -> PyResult<Option<Py<BatchIterator>>> {
        self.check()?;
        let mut reading = self.reading();
        let rest = match reading.as_ref() {
            Some(iterator) if iterator.get().has_rest() && iterator.get().has_messages == has_messages => {
                return Ok(Some(iterator.clone_ref(py)));
            }
            Some(iterator) => iterator.get().take_rest(),
            None => None,
        };
        let Some(batch) = rest.or_else(|| self.shared.waiting().pop_front()) else { return Ok(None) };
        let batch = Py::new(py, batch)?;
        let iterator = if has_messages { BatchIterator::of_messages(batch) } else { BatchIterator::new(batch) };
        let iterator = Py::new(py, iterator)?;
        *reading = Some(iterator.clone_ref(py));
        Ok(Some(iterator))
    }

    /// Returns taken batches to the front of the queue.
    fn put_back(&self, batches: Vec<PyRef<'_, Batch>>) {
        let mut waiting = self.shared.waiting();
        for batch in batches.iter().rev() {
            waiting.push_front(batch.same());
        }
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.shared.topic
    }

    #[getter]
    fn closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Whether every record before the end offset has been taken.
    #[getter]
    fn ended(&self) -> bool {
        let has_rest = self.reading().as_ref().is_some_and(|iterator| iterator.get().has_rest());
        !has_rest && self.shared.waiting().is_empty() && self.shared.ended.load(Ordering::Acquire)
    }

    /// The group whose member it is.
    #[getter]
    fn group(&self) -> Option<&str> {
        self.shared.plan.group.as_ref().map(|(group, _)| group.as_str())
    }

    /// Commits the offsets after the taken records.
    fn commit(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        self.check()?;
        if self.shared.plan.group.is_none() {
            return Err(config_error("this consumer is no member of a group; create it with group=NAME to commit"));
        }
        let (shared, untaken) = (self.shared.clone(), self.untaken());
        let commit = async move { shared.commit(&untaken).await };
        finish(py, asynchronous, First::Spawn, commit, nothing)
    }

    /// Closes a member of a group, and leaves the group.
    fn leave(&self, py: Python<'_>, asynchronous: bool, is_processed: bool) -> PyResult<Py<PyAny>> {
        self.process.check()?;
        let (shared, untaken) = (self.shared.clone(), self.untaken());
        self.close();
        let leave = async move { shared.leave(&untaken, is_processed).await };
        finish(py, asynchronous, First::Spawn, leave, nothing)
    }

    /// Ends the read in flight, and the calls that wait for it.
    fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.closing.notify_waiters();
        self.reading().take();
        self.shared.end_if_closed();
    }
}

impl ConsumerCore {
    pub fn new(client: Client, topic: String, plan: Plan, pool: Arc<BufferPool>) -> ConsumerCore {
        let shared = Shared {
            client,
            topic,
            plan,
            created_later: AtomicBool::new(false),
            pool,
            state: tokio::sync::Mutex::new(State::New),
            waiting: Mutex::default(),
            closed: AtomicBool::new(false),
            closing: Notify::new(),
            ended: AtomicBool::new(false),
        };
        ConsumerCore { shared: Arc::new(shared), reading: Mutex::default(), process: Process::current() }
    }

    fn check(&self) -> PyResult<()> {
        self.process.check()?;
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(config_error("the consumer is closed; create a new one"));
        }
        Ok(())
    }

    /// By partition, the offset of the first record that was received and not taken.
    fn untaken(&self) -> BTreeMap<u32, u64> {
        let mut untaken = BTreeMap::new();
        if let Some((partition, offset)) = self.reading().as_ref().and_then(|iterator| iterator.get().next_record()) {
            untaken.insert(partition, offset);
        }
        for batch in self.shared.waiting().iter() {
            untaken.entry(batch.partition_number()).or_insert(batch.first_offset_value());
        }
        untaken
    }

    fn reading(&self) -> MutexGuard<'_, Option<Py<BatchIterator>>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rest of the batch that is being iterated record by record.
    fn take_rest(&self) -> Option<Batch> {
        self.reading().take().and_then(|iterator| iterator.get().take_rest())
    }
}
