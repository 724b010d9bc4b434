//! The native part of `rawline.Consumer` and `rawline.AsyncConsumer`.
//!
//! Waiting and taking are separate steps: [`ConsumerCore::fetch`] queues received batches, [`ConsumerCore::take`] and
//! its variants dequeue them. A wait may therefore be cancelled or interrupted at any time without losing records.

use crate::arguments::seconds_option;
use crate::batch::{Batch, BatchIterator, Batches};
use crate::error::{client_error, config_error};
use crate::producer::within;
use crate::received::{BufferPool, stored_batches};
use crate::runtime::{First, Process, finish};
use pyo3::prelude::*;
use rawline_client::{Client, ClientError, Consumer, ConsumerConfig, Fetched, PartitionRange, Start};
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The first wait for a topic that doesn't exist yet. Each further wait is twice as long.
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

/// What a consumer reads.
pub struct Plan {
    pub config: ConsumerConfig,
    /// The first offsets of partitions that start elsewhere.
    pub starts: BTreeMap<u32, u64>,
    /// The end offsets of partitions that end elsewhere.
    pub ends: BTreeMap<u32, u64>,
    pub wait_for_topic: bool,
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
    /// The first offsets are unknown.
    New,
    Open(Box<Consumer>),
    Closed,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Batch>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a batch can be taken; returns false at the end and on close. Cancel safe.
    async fn fetch(&self) -> Result<bool, ClientError> {
        let mut closing = pin!(self.closing.notified());
        closing.as_mut().enable();
        let fetched = match self.closed.load(Ordering::Acquire) {
            true => Ok(false),
            false => tokio::select! {
                () = closing => Ok(false),
                fetched = self.fetch_open() => fetched,
            },
        };
        self.end_if_closed();
        fetched
    }

    async fn fetch_open(&self) -> Result<bool, ClientError> {
        let mut state = self.state.lock().await;
        // Another thread may have fetched while this one waited for its turn.
        if !self.waiting().is_empty() {
            return Ok(true);
        }
        let fetched = self.next(&mut state).await?;
        let State::Open(consumer) = &mut *state else { return Ok(false) };
        let Some(fetched) = fetched else {
            self.ended.store(true, Ordering::Release);
            return Ok(false);
        };
        let (partition, requested) = (fetched.partition(), fetched.requested_offset());
        let (received, damaged_at) = match stored_batches(fetched, self.pool.clone()) {
            Ok(received) => received,
            Err(error) => {
                // As after any error, the next call continues at the same offset.
                **consumer = self.moved(consumer, &BTreeMap::from([(partition, requested)]));
                return Err(error);
            }
        };
        let end = self.end_of(partition).unwrap_or(u64::MAX);
        let received = received.into_iter().map(|placed| Batch::new(partition, placed).within(requested, end));
        self.waiting().extend(received.filter(|batch| batch.records() > 0));
        match damaged_at {
            // The damaged batch is read again, and reported then.
            Some(damaged_at) => **consumer = self.moved(consumer, &BTreeMap::from([(partition, damaged_at)])),
            None if self.has_ended(consumer) => self.ended.store(true, Ordering::Release),
            None => {}
        }
        Ok(true)
    }

    /// The next read with records; `None` at the end.
    async fn next(&self, state: &mut State) -> Result<Option<Fetched>, ClientError> {
        let mut topic_wait = TOPIC_WAIT_MIN;
        loop {
            let next = match state {
                State::New => match self.begin().await {
                    Ok(consumer) => {
                        *state = State::Open(Box::new(consumer));
                        continue;
                    }
                    Err(error) => Err(error),
                },
                State::Open(consumer) => match consumer.next().await {
                    Ok(fetched) => return Ok(fetched.map(|fetched| std::mem::replace(fetched, self.pool.take()))),
                    Err(error) => Err(error),
                },
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

    async fn begin(&self) -> Result<Consumer, ClientError> {
        let Plan { config, starts, ends, .. } = &self.plan;
        let start = match config.start {
            start @ Start::Offset(_) => start,
            _ if self.created_later.load(Ordering::Relaxed) => Start::Offset(0),
            start => start,
        };
        let (client, config) = (self.client.clone(), ConsumerConfig { start, ..config.clone() });
        let consumer = Consumer::new(client, &self.topic, config).await?;
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
        if let Ok(mut state) = self.state.try_lock() {
            *state = State::Closed;
        }
    }
}

#[pymethods]
impl ConsumerCore {
    /// Waits until a batch can be taken; returns false at the end and after a timeout.
    #[pyo3(signature = (asynchronous, timeout=None))]
    fn fetch(&self, py: Python<'_>, asynchronous: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.check()?;
        let timeout = seconds_option("timeout", timeout)?;
        let shared = self.shared.clone();
        let fetch = async move { within(timeout, shared.fetch()).await };
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
        Ok(Some(batches).filter(|batches| batches.records_count() > 0))
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

    fn reading(&self) -> MutexGuard<'_, Option<Py<BatchIterator>>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rest of the batch that is being iterated record by record.
    fn take_rest(&self) -> Option<Batch> {
        self.reading().take().and_then(|iterator| iterator.get().take_rest())
    }
}
