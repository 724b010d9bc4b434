//! A consumer behind `rawline.Consumer` and `rawline.AsyncConsumer`.

use crate::batch::{Batch, Batches};
use crate::error::{client_error, config_error};
use crate::producer::within;
use crate::received::{BufferPool, Placed, stored_batches};
use crate::runtime::{First, Process, duration_option, finish};
use pyo3::prelude::*;
use rawline_client::{Client, ClientError, Consumer, ConsumerConfig};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Follows a topic. See `lib/rawline/consumer.py`.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct ConsumerCore {
    shared: Arc<Shared>,
    process: Process,
}

struct Shared {
    client: Client,
    topic: String,
    config: ConsumerConfig,
    pool: Arc<BufferPool>,
    state: tokio::sync::Mutex<State>,
    /// What came and was not given yet, for those who take batch by batch.
    waiting: Mutex<VecDeque<Came>>,
    closed: AtomicBool,
    ended: AtomicBool,
}

enum State {
    /// Where to begin is not known yet.
    New,
    Open(Box<Consumer>),
    Closed,
}

/// A batch, and which of its offsets were asked for.
type Came = (Placed, u64, u64);

impl ConsumerCore {
    pub fn new(client: Client, topic: String, config: ConsumerConfig, pool: Arc<BufferPool>) -> ConsumerCore {
        let shared = Shared {
            client,
            topic,
            config,
            pool,
            state: tokio::sync::Mutex::new(State::New),
            waiting: Mutex::default(),
            closed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        };
        ConsumerCore { shared: Arc::new(shared), process: Process::current() }
    }

    fn check(&self) -> PyResult<()> {
        self.process.check()?;
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(config_error("the consumer is closed; make a new one"));
        }
        Ok(())
    }

    fn take_waiting(&self) -> Vec<Came> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

impl Shared {
    /// What comes next; none at the end. May be dropped while it waits: nothing is lost.
    async fn next(&self) -> Result<Option<Vec<Came>>, ClientError> {
        let mut state = self.state.lock().await;
        if matches!(*state, State::New) {
            let consumer = Consumer::new(self.client.clone(), &self.topic, self.config.clone()).await?;
            *state = State::Open(Box::new(consumer));
        }
        let State::Open(consumer) = &mut *state else { return Ok(None) };
        let asked = consumer.offset();
        let Some(fetched) = consumer.next().await? else {
            self.ended.store(true, Ordering::Release);
            return Ok(None);
        };
        let fetched = std::mem::replace(fetched, self.pool.take());
        let end = self.config.offset_end.unwrap_or(u64::MAX);
        let batches = stored_batches(fetched, self.pool.clone())?;
        Ok(Some(batches.into_iter().map(|batch| (batch, asked, end)).collect()))
    }
}

fn batches(came: impl IntoIterator<Item = Came>) -> impl Iterator<Item = Batch> {
    let wanted = came.into_iter().map(|(placed, first, end)| Batch::new(placed).within(first, end));
    wanted.filter(|batch| batch.records() > 0)
}

type Next = Option<Result<Option<Vec<Came>>, ClientError>>;

#[pymethods]
impl ConsumerCore {
    /// All batches of the next answer; none at the end or when the time has run out.
    #[pyo3(signature = (asynchronous, timeout=None))]
    fn poll(&self, py: Python<'_>, asynchronous: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.check()?;
        let waiting = self.take_waiting();
        if !waiting.is_empty() {
            let convert = |py: Python<'_>, waiting| Ok(Py::new(py, Batches::new(py, batches(waiting))?)?.into_any());
            return finish(py, asynchronous, First::Look, std::future::ready(waiting), convert);
        }
        self.finish(py, asynchronous, duration_option("timeout", timeout)?, |py, came| {
            Ok(Py::new(py, Batches::new(py, batches(came))?)?.into_any())
        })
    }

    /// The next batch; none at the end.
    fn next(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        self.check()?;
        let first = {
            let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            std::iter::from_fn(|| waiting.pop_front()).flat_map(|came| batches([came])).next()
        };
        if let Some(batch) = first {
            let convert = |py: Python<'_>, batch: Batch| Ok(Py::new(py, batch)?.into_any());
            return finish(py, asynchronous, First::Look, std::future::ready(batch), convert);
        }
        let shared = self.shared.clone();
        self.finish(py, asynchronous, None, move |py, came| {
            let mut came = VecDeque::from(came);
            let first = std::iter::from_fn(|| came.pop_front()).flat_map(|came| batches([came])).next();
            shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(came);
            Ok(first.into_pyobject(py)?.unbind())
        })
    }

    /// Whether the end that was given has been reached, and everything before it was handed out.
    #[getter]
    fn ended(&self) -> bool {
        let waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_empty() && self.shared.ended.load(Ordering::Acquire)
    }

    /// Ends the read that is on its way.
    fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.take_waiting();
        // A wait that still holds it ends with its own time-out; then nobody asks again.
        if let Ok(mut state) = self.shared.state.try_lock() {
            *state = State::Closed;
        }
    }
}

impl ConsumerCore {
    fn finish(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        timeout: Option<Duration>,
        convert: impl FnOnce(Python<'_>, Vec<Came>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        let shared = self.shared.clone();
        let next = async move { within(timeout, shared.next()).await };
        finish(py, asynchronous, First::Look, next, |py, next: Next| match next {
            None | Some(Ok(None)) => Ok(py.None()),
            Some(Ok(Some(came))) => convert(py, came),
            Some(Err(error)) => Err(client_error(error)),
        })
    }
}
