//! The native part of `rawline.Producer` and `rawline.AsyncProducer`.

use crate::arguments::{seconds_option, whole};
use crate::buffer::Held;
use crate::error::{client_error, config_error, wait_timeout};
use crate::records::{Chunk, Source};
use crate::runtime::{First, Process, finish, to_asyncio, wait};
use pyo3::prelude::*;
use rawline_client::{ClientError, Message, Position, Producer};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Batches records and sends them. See `lib/rawline/producer.py`.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct ProducerCore {
    stage: Arc<Mutex<Stage>>,
    topic: String,
    process: Process,
}

enum Stage {
    Open(Arc<Producer>),
    /// Accepts no more records; is sending the buffered ones, or has failed.
    Closing(Arc<Producer>),
    /// All records are stored or dropped.
    Closed,
}

impl ProducerCore {
    pub fn new(producer: Producer, topic: String) -> ProducerCore {
        let stage = Arc::new(Mutex::new(Stage::Open(Arc::new(producer))));
        ProducerCore { stage, topic, process: Process::current() }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> PyResult<Arc<Producer>> {
        self.process.check()?;
        match &*self.stage() {
            Stage::Open(producer) => Ok(producer.clone()),
            Stage::Closing(_) | Stage::Closed => Err(config_error("the producer is closed; create a new one")),
        }
    }
}

/// A key that is stored, headers and a time in milliseconds, from Python. Records that have them go to Kafka's batches.
pub type PyFields<'py> = (Option<Bound<'py, PyAny>>, Vec<(String, Option<Bound<'py, PyAny>>)>, Option<i64>);

/// The fields stored with a record.
pub struct Fields {
    key: Option<Held>,
    headers: Vec<(String, Option<Held>)>,
    pub timestamp_ms: Option<i64>,
}

impl Fields {
    pub fn new((key, headers, timestamp_ms): PyFields<'_>) -> PyResult<Fields> {
        let held = |object: Option<Bound<'_, PyAny>>| object.as_ref().map(Held::new).transpose();
        let headers = headers.into_iter().map(|(name, value)| Ok((name, held(value)?)));
        Ok(Fields { key: held(key)?, headers: headers.collect::<PyResult<_>>()?, timestamp_ms })
    }

    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_ref().map(AsRef::as_ref)
    }

    pub fn headers(&self) -> Vec<(&str, Option<&[u8]>)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_ref().map(AsRef::as_ref))).collect()
    }
}

/// The partition of a record, and the fields stored with it.
struct Route {
    target: Target,
    fields: Option<Fields>,
}

impl Route {
    fn new(
        partition_key: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
        fields: Option<PyFields<'_>>,
    ) -> PyResult<Route> {
        let fields = fields.map(Fields::new).transpose()?;
        if partition_key.is_some() && fields.is_some() {
            return Err(config_error(
                "a partition_key together with a key, headers or a timestamp; give a key, which is stored and chooses \
                 the partition, or a partition",
            ));
        }
        Ok(Route { target: Target::new(partition_key, partition)?, fields })
    }

    /// The bytes of a record from Python. Only a record with fields can be `None`.
    fn record(&self, record: &Bound<'_, PyAny>) -> PyResult<Option<Held>> {
        if record.is_none() && self.fields.is_some() { Ok(None) } else { Held::new(record).map(Some) }
    }

    async fn send(&self, producer: &Producer, record: Option<&[u8]>) -> Result<rawline_client::Receipt, ClientError> {
        let Some(fields) = &self.fields else {
            return self.target.send(producer, record.unwrap_or_default()).await;
        };
        let message = Message {
            key: fields.key(),
            value: record,
            headers: &fields.headers(),
            timestamp_ms: fields.timestamp_ms,
            partition: match &self.target {
                Target::Partition(partition) => Some(*partition),
                Target::Any | Target::Key(_) => None,
            },
        };
        producer.send_message(message).await
    }
}

/// The partition of a record.
enum Target {
    Any,
    Key(Held),
    Partition(u32),
}

impl Target {
    fn new(key: Option<&Bound<'_, PyAny>>, partition: Option<&Bound<'_, PyAny>>) -> PyResult<Target> {
        match (key, partition) {
            (None, None) => Ok(Target::Any),
            (Some(key), None) => Held::new(key).map(Target::Key),
            (None, Some(partition)) => whole("partition", partition).map(Target::Partition),
            (Some(_), Some(_)) => {
                Err(config_error("a partition_key and a partition; give one of them: a key chooses a partition"))
            }
        }
    }

    async fn send(&self, producer: &Producer, record: &[u8]) -> Result<rawline_client::Receipt, ClientError> {
        match self {
            Target::Any => producer.send(record).await,
            Target::Key(key) => producer.send_with_key(key, record).await,
            Target::Partition(partition) => producer.send_to(*partition, record).await,
        }
    }
}

/// Sends if that is possible without waiting.
fn send_now(py: Python<'_>, producer: &Producer, route: &Route, record: Option<&Held>) -> PyResult<Option<Receipt>> {
    let sent = py.detach(|| at_once(route.send(producer, record.map(AsRef::as_ref))));
    sent.transpose().map(|sent| sent.map(Receipt::new)).map_err(client_error)
}

/// A future's result if it is ready without waiting.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

async fn send_chunk(
    producer: Arc<Producer>,
    route: Arc<Route>,
    chunk: Chunk,
) -> Result<Option<rawline_client::Receipt>, ClientError> {
    let mut last = None;
    for record in 0..chunk.len() {
        last = Some(route.send(&producer, Some(chunk.record(record))).await?);
    }
    Ok(last)
}

fn no_room() -> PyErr {
    wait_timeout("the producer's buffer stayed full; wait longer, or check whether the broker keeps up")
}

#[pymethods]
impl ProducerCore {
    #[pyo3(signature = (record, timeout=None, partition_key=None, partition=None, fields=None))]
    fn send(
        &self,
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        partition_key: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
        fields: Option<PyFields<'_>>,
    ) -> PyResult<Receipt> {
        let producer = self.open()?;
        let route = Route::new(partition_key, partition, fields)?;
        let record = route.record(record)?;
        if let Some(receipt) = send_now(py, &producer, &route, record.as_ref())? {
            return Ok(receipt);
        }
        let timeout = seconds_option("timeout", timeout)?;
        let send = async move {
            let record = record.as_ref().map(AsRef::as_ref);
            within(timeout, route.send(&producer, record)).await
        };
        match wait(py, First::Look, send)? {
            Some(sent) => sent.map(Receipt::new).map_err(client_error),
            None => Err(no_room()),
        }
    }

    /// Like `send`, but returns `None` if the buffer is full.
    #[pyo3(signature = (record, partition_key=None, partition=None, fields=None))]
    fn try_send(
        &self,
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        partition_key: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
        fields: Option<PyFields<'_>>,
    ) -> PyResult<Option<Receipt>> {
        let route = Route::new(partition_key, partition, fields)?;
        send_now(py, &*self.open()?, &route, route.record(record)?.as_ref())
    }

    #[pyo3(signature = (record, partition_key=None, partition=None, fields=None))]
    fn send_async<'py>(
        &self,
        py: Python<'py>,
        record: &Bound<'py, PyAny>,
        partition_key: Option<&Bound<'py, PyAny>>,
        partition: Option<&Bound<'py, PyAny>>,
        fields: Option<PyFields<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (producer, route) = (self.open()?, Route::new(partition_key, partition, fields)?);
        let record = route.record(record)?;
        let send = async move { route.send(&producer, record.as_ref().map(AsRef::as_ref)).await };
        to_asyncio(py, First::Look, send, |py, sent| {
            Ok(Py::new(py, Receipt::new(sent.map_err(client_error)?))?.into_any())
        })
    }

    #[pyo3(signature = (records, timeout=None, partition_key=None, partition=None, fields=None))]
    #[expect(clippy::disallowed_methods, reason = "Python's timeouts are in real time")]
    fn send_many(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        partition_key: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
        fields: Option<PyFields<'_>>,
    ) -> PyResult<Option<Receipt>> {
        let producer = self.open()?;
        let route = Arc::new(Route::new(partition_key, partition, fields)?);
        let timeout = seconds_option("timeout", timeout)?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut source = Source::new(records)?;
        let mut last = None;
        while let Some(chunk) = source.next(py)? {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match wait(py, First::Look, within(left, send_chunk(producer.clone(), route.clone(), chunk)))? {
                Some(sent) => last = sent.map_err(client_error)?.or(last),
                None => return Err(no_room()),
            }
        }
        Ok(last.map(Receipt::new))
    }

    /// Accepts an iterator's next records. Returns a future of the last one's receipt, or `None` at the iterator's end.
    #[pyo3(signature = (source, partition_key=None, partition=None, fields=None))]
    fn send_chunk_async<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, RecordSource>,
        partition_key: Option<&Bound<'py, PyAny>>,
        partition: Option<&Bound<'py, PyAny>>,
        fields: Option<PyFields<'py>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let producer = self.open()?;
        let route = Arc::new(Route::new(partition_key, partition, fields)?);
        let Some(chunk) = source.borrow_mut().0.next(py)? else { return Ok(None) };
        let sent = to_asyncio(py, First::Spawn, send_chunk(producer, route, chunk), |py, sent| {
            let receipt = sent.map_err(client_error)?.map(Receipt::new);
            Ok(receipt.into_pyobject(py)?.unbind())
        })?;
        Ok(Some(sent))
    }

    /// Waits until a named producer has fenced those before it.
    fn ready(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        let producer = self.open()?;
        finish(py, asynchronous, First::Look, async move { producer.ready().await }, |py, ready| {
            ready.map(|()| py.None()).map_err(client_error)
        })
    }

    #[pyo3(signature = (asynchronous, timeout=None))]
    fn flush(&self, py: Python<'_>, asynchronous: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let producer = self.open()?;
        let timeout = seconds_option("timeout", timeout)?;
        flushed(py, asynchronous, timeout, async move { producer.flush().await })
    }

    /// Accepts no more records, and flushes. If that times out, is interrupted or fails, it can be called again.
    #[pyo3(signature = (asynchronous, timeout=None))]
    fn close(&self, py: Python<'_>, asynchronous: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.process.check()?;
        let timeout = seconds_option("timeout", timeout)?;
        let producer = {
            let mut stage = self.stage();
            let producer = match &*stage {
                Stage::Open(producer) | Stage::Closing(producer) => Some(producer.clone()),
                Stage::Closed => None,
            };
            if let Some(producer) = &producer {
                *stage = Stage::Closing(producer.clone());
            }
            producer
        };
        let Some(producer) = producer else {
            return finish(py, asynchronous, First::Look, std::future::ready(()), |py, ()| Ok(py.None()));
        };
        let stage = self.stage.clone();
        let closing = async move {
            producer.flush().await?;
            *stage.lock().unwrap_or_else(PoisonError::into_inner) = Stage::Closed;
            Ok(())
        };
        flushed(py, asynchronous, timeout, closing)
    }

    /// Ends the producer and drops unsent records.
    fn abandon(&self) {
        *self.stage() = Stage::Closed;
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    #[getter]
    fn closed(&self) -> bool {
        !matches!(&*self.stage(), Stage::Open(_))
    }

    /// Whether dropping the producer now would silently lose records.
    #[getter]
    fn unstored(&self, py: Python<'_>) -> bool {
        let (producer, closing) = match &*self.stage() {
            _ if self.process.check().is_err() => return false,
            Stage::Open(producer) => (producer.clone(), false),
            Stage::Closing(producer) => (producer.clone(), true),
            Stage::Closed => return false,
        };
        match py.detach(|| at_once(producer.flush())) {
            None => true,
            // If close failed, it has already reported the error.
            Some(flushed) => flushed.is_err() && !closing,
        }
    }
}

fn flushed(
    py: Python<'_>,
    asynchronous: bool,
    timeout: Option<Duration>,
    flush: impl Future<Output = Result<(), ClientError>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    finish(py, asynchronous, First::Look, within(timeout, flush), |py, flushed| match flushed {
        Some(flushed) => flushed.map(|()| py.None()).map_err(client_error),
        None => Err(wait_timeout("not all records are stored yet; wait longer, or check whether the broker keeps up")),
    })
}

/// Limits a future's time; returns `None` after the timeout.
pub async fn within<T>(timeout: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match timeout {
        Some(timeout) => tokio::time::timeout(timeout, future).await.ok(),
        None => Some(future.await),
    }
}

/// The future acknowledgement of a record. It may be dropped.
#[pyclass(frozen, module = "rawline")]
pub struct Receipt {
    receipt: rawline_client::Receipt,
    process: Process,
}

impl Receipt {
    fn new(receipt: rawline_client::Receipt) -> Receipt {
        Receipt { receipt, process: Process::current() }
    }

    fn finish(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        timeout: Option<f64>,
        part: impl FnOnce(Position) -> u64 + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.process.check()?;
        let timeout = seconds_option("timeout", timeout)?;
        let receipt = self.receipt.clone();
        let stored = within(timeout, async move { receipt.position().await });
        finish(py, asynchronous, First::Look, stored, move |py, stored| match stored {
            Some(position) => Ok(part(position.map_err(client_error)?).into_pyobject(py)?.into_any().unbind()),
            None => {
                Err(wait_timeout("the record is not stored yet; wait longer, or check whether the broker keeps up"))
            }
        })
    }
}

#[pymethods]
impl Receipt {
    /// Waits until the record is stored; returns its offset in its partition. Raises `WaitTimeoutError` after `timeout`
    /// seconds.
    #[pyo3(signature = (timeout=None))]
    fn offset(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.finish(py, false, timeout, |position| position.offset)
    }

    /// Waits until the record is stored; returns its partition, like `offset`.
    #[pyo3(signature = (timeout=None))]
    fn partition(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.finish(py, false, timeout, |position| u64::from(position.partition))
    }

    fn __await__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.finish(py, true, None, |position| position.offset)?.bind(py).call_method0("__await__")
    }

    fn __repr__(&self) -> String {
        match at_once(self.receipt.position()) {
            Some(Ok(Position { partition, offset })) => {
                format!("<rawline.Receipt: stored at offset {offset} of partition {partition}>")
            }
            Some(Err(error)) => format!("<rawline.Receipt: not stored: {error}>"),
            None => "<rawline.Receipt: not stored yet>".to_owned(),
        }
    }
}

/// An iterator of records, which is consumed in chunks.
#[pyclass(module = "rawline._rawline")]
pub struct RecordSource(Source);

#[pymethods]
impl RecordSource {
    #[new]
    fn new(records: &Bound<'_, PyAny>) -> PyResult<RecordSource> {
        Source::new(records).map(RecordSource)
    }
}
