//! The native part of `rawline.Subscription` and `rawline.AsyncSubscription`.
//!
//! As in `consumer.rs`, waiting and taking are separate steps, so that a wait may be cancelled at any time.

use crate::arguments::seconds_option;
use crate::batch::{Batch, BatchIterator};
use crate::error::{client_error, config_error};
use crate::producer::within;
use crate::received::stored_batches;
use crate::runtime::{First, Process, finish};
use crate::source::BufferPool;
use pyo3::prelude::*;
use rawline_client::{Client, ClientError, Delivered, Subscription, SubscriptionConfig};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Receives the records of topics. See `lib/rawline/subscription.py`.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct SubscriptionCore {
    shared: Arc<Shared>,
    /// The batch that is being iterated record by record.
    reading: Mutex<Option<Py<BatchIterator>>>,
    /// Number of records that were skipped, as far as was taken.
    skipped: AtomicU64,
    process: Process,
}

struct Shared {
    client: Client,
    config: SubscriptionConfig,
    pool: Arc<BufferPool>,
    state: tokio::sync::Mutex<State>,
    /// Received deliveries that weren't taken yet.
    waiting: Mutex<VecDeque<Item>>,
    /// Where the subscription is, after everything that was received; empty before it is open.
    cursor: Mutex<Cursor>,
    closed: AtomicBool,
    /// Notified when the subscription is closed.
    closing: Notify,
}

enum State {
    New,
    Open(Box<Subscription>),
    Closed,
}

/// A cursor, once there is one.
type Cursor = Option<String>;

/// A received delivery.
enum Item {
    Batch(Batch),
    Notice(Notice),
}

/// Records that were skipped: topic, partition, number of records, next offset. Or a topic that was deleted.
#[derive(IntoPyObject)]
pub enum Notice {
    Skipped((String, u32, u64, u64)),
    Deleted((String,)),
}

/// What `take` returns.
#[derive(IntoPyObject)]
pub enum Taken {
    Batch(Batch),
    Notice(Notice),
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cursor(&self) -> MutexGuard<'_, Cursor> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something unless the subscription is closed, or is closed meanwhile: then false. Cancel safe.
    async fn unless_closed(&self, what: impl Future<Output = Result<bool, ClientError>>) -> Result<bool, ClientError> {
        let mut closing = pin!(self.closing.notified());
        closing.as_mut().enable();
        let done = match self.closed.load(Ordering::Acquire) {
            true => Ok(false),
            false => tokio::select! {
                () = closing => Ok(false),
                done = what => done,
            },
        };
        self.end_if_closed();
        done
    }

    /// Opens the subscription, if it isn't.
    async fn open(&self) -> Result<bool, ClientError> {
        let mut state = self.state.lock().await;
        if matches!(*state, State::New) {
            let subscription = Subscription::new(self.client.clone(), self.config.clone()).await?;
            *self.cursor() = Some(subscription.cursor());
            *state = State::Open(Box::new(subscription));
        }
        Ok(true)
    }

    /// Waits until something can be taken.
    async fn fetch(&self) -> Result<bool, ClientError> {
        self.open().await?;
        let mut state = self.state.lock().await;
        // Another thread may have fetched while this one waited for its turn.
        if !self.waiting().is_empty() {
            return Ok(true);
        }
        let State::Open(subscription) = &mut *state else { return Ok(false) };
        let fetched = match subscription.next().await? {
            Delivered::Records(fetched) => std::mem::replace(fetched, self.pool.take()),
            Delivered::Skipped { topic, partition, records, next_offset } => {
                let notice = Notice::Skipped((topic, partition, records, next_offset));
                self.waiting().push_back(Item::Notice(notice));
                *self.cursor() = Some(subscription.cursor());
                return Ok(true);
            }
            Delivered::Deleted { topic } => {
                self.waiting().push_back(Item::Notice(Notice::Deleted((topic,))));
                *self.cursor() = Some(subscription.cursor());
                return Ok(true);
            }
        };
        let topic: Arc<str> = fetched.topic().into();
        let (partition, requested) = (fetched.partition(), fetched.requested_offset());
        let (received, damaged_at) = match stored_batches(fetched, self.pool.clone()) {
            Ok(received) => received,
            Err(error) => {
                // As after any error, the next call continues at the same offset.
                subscription.seek(&topic, partition, requested);
                return Err(error);
            }
        };
        if let Some(damaged_at) = damaged_at {
            // The damaged batch is received again, and reported then.
            subscription.seek(&topic, partition, damaged_at);
        }
        let batches = received
            .into_iter()
            .map(|placed| Batch::new(partition, placed).of_topic(topic.clone()).within(requested, u64::MAX));
        self.waiting().extend(batches.filter(|batch| batch.records() > 0).map(Item::Batch));
        *self.cursor() = Some(subscription.cursor());
        Ok(true)
    }

    /// Closes the connection. A thread that still holds the state ends it itself.
    fn end_if_closed(&self) {
        if self.closed.load(Ordering::Acquire) {
            self.waiting().clear();
            if let Ok(mut state) = self.state.try_lock() {
                *state = State::Closed;
            }
        }
    }
}

#[pymethods]
impl SubscriptionCore {
    /// Waits until the broker has accepted the subscription; returns false if it is closed.
    fn open(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        self.check()?;
        let shared = self.shared.clone();
        let open = async move { shared.unless_closed(shared.open()).await };
        finish(py, asynchronous, First::Spawn, open, truth)
    }

    /// Waits until something can be taken; returns false on close and after a timeout.
    #[pyo3(signature = (asynchronous, timeout=None))]
    fn fetch(&self, py: Python<'_>, asynchronous: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.check()?;
        let timeout = seconds_option("timeout", timeout)?;
        let shared = self.shared.clone();
        let fetch = async move { within(timeout, shared.unless_closed(shared.fetch())).await.unwrap_or(Ok(false)) };
        finish(py, asynchronous, First::Spawn, fetch, truth)
    }

    /// The first delivery: a batch, or a notice as a tuple.
    fn take(&self) -> PyResult<Option<Taken>> {
        self.check()?;
        if let Some(rest) = self.take_rest() {
            return Ok(Some(Taken::Batch(rest)));
        }
        let item = self.shared.waiting().pop_front();
        Ok(item.map(|item| match item {
            Item::Batch(batch) => Taken::Batch(batch),
            Item::Notice(notice) => {
                self.count(&notice);
                Taken::Notice(notice)
            }
        }))
    }

    /// The first received batch; notices are skipped.
    fn take_batch(&self) -> PyResult<Option<Batch>> {
        self.check()?;
        Ok(self.take_rest().or_else(|| self.next_batch()))
    }

    /// The records of the first batch, or messages. Returns the same iterator until it is exhausted.
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
        let Some(batch) = rest.or_else(|| self.next_batch()) else { return Ok(None) };
        let batch = Py::new(py, batch)?;
        let iterator = if has_messages { BatchIterator::of_messages(batch) } else { BatchIterator::new(batch) };
        let iterator = Py::new(py, iterator)?;
        *reading = Some(iterator.clone_ref(py));
        Ok(Some(iterator))
    }

    /// Where the subscription is, after everything that was taken; `None` before it is open.
    #[getter]
    fn cursor(&self) -> PyResult<Option<String>> {
        let Some(cursor) = self.shared.cursor().clone() else { return Ok(self.shared.config.cursor.clone()) };
        let mut untaken: Vec<(Arc<str>, u32, u64)> = Vec::new();
        let reading = self.reading().as_ref().and_then(|iterator| iterator.get().next_record_of_topic());
        untaken.extend(reading);
        for item in self.shared.waiting().iter() {
            if let Item::Batch(batch) = item {
                untaken.push((batch.topic_name(), batch.partition_number(), batch.first_offset_value()));
            }
        }
        // The first of a partition counts.
        let parts = untaken.iter().rev().map(|(topic, partition, offset)| (&**topic, *partition, *offset));
        rawline_client::cursor_at(&cursor, parts).map(Some).map_err(client_error)
    }

    /// Number of records that were skipped.
    #[getter]
    fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    #[getter]
    fn topics(&self) -> Vec<String> {
        self.shared.config.topics.clone()
    }

    #[getter]
    fn prefixes(&self) -> Vec<String> {
        self.shared.config.prefixes.clone()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Closes the connection, and ends the calls that wait.
    fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.closing.notify_waiters();
        self.shared.end_if_closed();
    }
}

impl SubscriptionCore {
    pub fn new(client: Client, config: SubscriptionConfig, pool: Arc<BufferPool>) -> SubscriptionCore {
        let shared = Shared {
            client,
            config,
            pool,
            state: tokio::sync::Mutex::new(State::New),
            waiting: Mutex::default(),
            cursor: Mutex::default(),
            closed: AtomicBool::new(false),
            closing: Notify::new(),
        };
        SubscriptionCore {
            shared: Arc::new(shared),
            reading: Mutex::default(),
            skipped: AtomicU64::new(0),
            process: Process::current(),
        }
    }

    fn check(&self) -> PyResult<()> {
        self.process.check()?;
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(config_error("the subscription is closed; create a new one"));
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

    fn next_batch(&self) -> Option<Batch> {
        loop {
            let item = self.shared.waiting().pop_front();
            match item? {
                Item::Batch(batch) => return Some(batch),
                Item::Notice(notice) => self.count(&notice),
            }
        }
    }

    fn count(&self, notice: &Notice) {
        if let Notice::Skipped((_, _, records, _)) = notice {
            self.skipped.fetch_add(*records, Ordering::Relaxed);
        }
    }
}

fn truth(py: Python<'_>, done: Result<bool, ClientError>) -> PyResult<Py<PyAny>> {
    Ok(done.map_err(client_error)?.into_pyobject(py)?.to_owned().into_any().unbind())
}
