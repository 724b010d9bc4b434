//! Gathers records into batches and sends them in order, with bounded memory.
//!
//! ```text
//! send ─► open batch ─► sealed batches ─► one request at a time ─► offsets
//!         (full, or lingered long enough)   (of all sealed batches)
//! ```
//!
//! Callers and the one sending task share a [`State`] under a lock, which is held while a record is copied (or a batch
//! is compressed) and never across an await.

use crate::body::Pieces;
use crate::{Client, ClientError, RetryPolicy, clock};
use bytes::Bytes;
use rawline_batch::{Batch, BatchError, Builder, Codec, HEADER_BYTES, Limits, seal};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

/// The settings of a producer.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// Size of the records at which a batch is complete, before compression, in bytes. A larger record gets its own
    /// batch.
    pub batch_bytes: usize,
    /// Maximum number of records in a batch.
    pub batch_records_max: u32,
    /// How long an incomplete batch waits for more records while nothing else is in flight.
    pub linger: Duration,
    /// Maximum size of the records held in memory, gathered or in flight, in bytes. [`Producer::send`] waits while
    /// there is no room.
    pub buffer_bytes: usize,
    /// Maximum size of one request in bytes, in batches as sent. A larger batch is sent alone.
    pub request_bytes_max: usize,
    /// Maximum number of requests in flight. 1 keeps the order of the records; with more, requests can overtake each
    /// other.
    pub in_flight_max: usize,
    /// Compression of the batches' data. A batch that would grow is sent uncompressed.
    pub codec: Codec,
    /// How failed requests are retried before the producer stops. Retries keep the order; see [`Producer`] for
    /// duplicates.
    pub retries: RetryPolicy,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        ProducerConfig {
            // At this size the cost of a request is negligible.
            batch_bytes: 1 << 20,
            batch_records_max: 1 << 20,
            linger: Duration::from_millis(5),
            buffer_bytes: 32 << 20,
            // About what a broker gathers for one commit.
            request_bytes_max: 8 << 20,
            in_flight_max: 1,
            codec: Codec::None,
            retries: RetryPolicy::default(),
        }
    }
}

/// Appends records to one topic, in the order in which they are sent.
///
/// **At least once.** When a connection breaks after a request was sent, it is unknown whether the request was carried
/// out, so it is retried. If only the response was lost, its records are then in the topic as duplicates, one directly
/// after the other.
///
/// **Failure.** When a request is refused, or fails for longer than it is retried, the producer stops: the records that
/// it holds are not sent, so that no later record takes the place of a missing one. From then on every receipt, `send`,
/// `flush` and `close` returns the error.
///
/// Dropping a producer discards the records that it holds; [`Producer::close`] sends them first.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    sender: JoinHandle<()>,
}

/// Resolves when a record is stored. Needs no allocation; may be dropped.
#[derive(Debug, Clone)]
pub struct Receipt {
    delivery: Arc<Delivery>,
    /// The record's index in its batch.
    index: u32,
}

impl Receipt {
    /// Waits until the record is stored, and returns its offset.
    pub async fn offset(&self) -> Result<u64, ClientError> {
        loop {
            let mut resolved = std::pin::pin!(self.delivery.resolved.notified());
            resolved.as_mut().enable();
            if let Some(done) = self.delivery.done.get() {
                return done.clone().map(|first_offset| first_offset + u64::from(self.index));
            }
            resolved.await;
        }
    }
}

impl Producer {
    /// Starts a producer in the current tokio runtime. Sends nothing yet.
    pub fn new(client: Client, topic: impl Into<String>, config: ProducerConfig) -> Result<Producer, ClientError> {
        let limits = client.config().limits;
        let wrong = |reason: &str| Err(ClientError::Config { reason: reason.to_owned() });
        if config.batch_bytes == 0 || config.buffer_bytes == 0 || config.in_flight_max == 0 {
            return wrong("batch_bytes, buffer_bytes and in_flight_max must be at least 1");
        }
        if config.batch_records_max == 0 || config.batch_records_max > limits.records_max {
            return wrong(&format!("batch_records_max must be 1 to {}", limits.records_max));
        }
        if config.batch_bytes as u64 > u64::from(limits.raw_bytes_max.min(limits.batch_bytes_max)) {
            let limit = limits.raw_bytes_max.min(limits.batch_bytes_max);
            return wrong(&format!("batch_bytes must be at most {limit}, the maximum size of a batch"));
        }
        let shared = Arc::new(Shared {
            topic: topic.into(),
            limits,
            state: Mutex::new(State {
                open: Open::new(config.codec, limits),
                opened_at: None,
                sealed: VecDeque::new(),
                open_held_bytes: 0,
                held_bytes: 0,
                closing: false,
                stopped: None,
                delivery: Arc::default(),
                unresolved: Vec::new(),
            }),
            config,
            work: Notify::new(),
            room: Notify::new(),
        });
        let sender = tokio::spawn(send_all(client.with_retries(RetryPolicy::NONE), shared.clone()));
        Ok(Producer { shared, sender })
    }

    /// Adds a record; waits while the buffer is full. The record is stored when its receipt resolves, or when
    /// [`Producer::flush`] has returned.
    pub async fn send(&self, record: impl AsRef<[u8]>) -> Result<Receipt, ClientError> {
        let record = record.as_ref();
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(receipt) = self.shared.take(&mut state, record)? {
                    return Ok(receipt);
                }
            }
            let mut room = std::pin::pin!(self.shared.room.notified());
            room.as_mut().enable();
            // Again, in case room appeared before the notification was enabled.
            {
                let mut state = self.shared.lock();
                if let Some(receipt) = self.shared.take(&mut state, record)? {
                    return Ok(receipt);
                }
            }
            room.await;
        }
    }

    /// Waits until every record sent so far is stored.
    pub async fn flush(&self) -> Result<(), ClientError> {
        let unresolved = {
            let mut state = self.shared.lock();
            state.healthy()?;
            self.shared.seal(&mut state)?;
            state.unresolved.clone()
        };
        for delivery in unresolved {
            Receipt { delivery, index: 0 }.offset().await?;
        }
        Ok(())
    }

    /// As [`Producer::flush`], and ends the producer.
    pub async fn close(mut self) -> Result<(), ClientError> {
        let flushed = self.flush().await;
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        // The task has nothing left to do; if it had panicked, the flush would not have returned.
        let _ended = (&mut self.sender).await;
        flushed
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.sender.abort();
        let mut state = self.shared.lock();
        let dropped = ClientError::Stopped { reason: "it was dropped before it was closed".to_owned() };
        // The aborted task resolves no receipts.
        for delivery in std::mem::take(&mut state.unresolved) {
            delivery.resolve(Err(dropped.clone()));
        }
        state.stop(dropped);
    }
}

#[derive(Debug)]
struct Shared {
    topic: String,
    config: ProducerConfig,
    limits: Limits,
    state: Mutex<State>,
    /// Wakes the sending task.
    work: Notify,
    /// Wakes callers that wait for room: records were stored, or the producer has stopped.
    room: Notify,
}

#[derive(Debug)]
struct State {
    open: Open,
    /// When the open batch got its first record.
    opened_at: Option<Instant>,
    sealed: VecDeque<SealedBatch>,
    /// Cost of the open batch's records; see [`cost`].
    open_held_bytes: usize,
    /// Cost of all records that are not stored yet: open, sealed or in flight.
    held_bytes: usize,
    closing: bool,
    stopped: Option<ClientError>,
    /// Of the open batch.
    delivery: Arc<Delivery>,
    /// Of the batches that are sealed or in flight, in order.
    unresolved: Vec<Arc<Delivery>>,
}

/// The result of a batch, for those who wait for it.
#[derive(Debug, Default)]
struct Delivery {
    /// Offset of the batch's first record.
    done: OnceLock<Result<u64, ClientError>>,
    resolved: Notify,
}

impl Delivery {
    fn resolve(&self, done: Result<u64, ClientError>) {
        // Set once: whoever resolves a batch has taken it out of the queue.
        let _first = self.done.set(done);
        self.resolved.notify_waiters();
    }
}

/// The open batch.
#[derive(Debug)]
enum Open {
    /// Not compressed: the gathered data itself becomes a piece of the request.
    Plain {
        sizes: Vec<u32>,
        data: Vec<u8>,
    },
    Packed(Box<Builder>),
}

#[derive(Debug)]
struct SealedBatch {
    /// Header, sizes, data and padding, split anywhere.
    pieces: Vec<Bytes>,
    bytes: usize,
    records: u32,
    held_bytes: usize,
    delivery: Arc<Delivery>,
}

/// The cost of a record in the buffer in bytes: the record and its size field.
fn cost(record: &[u8]) -> usize {
    record.len() + 4
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record if there is room.
    fn take(&self, state: &mut State, record: &[u8]) -> Result<Option<Receipt>, ClientError> {
        state.healthy()?;
        // Checked here, so that a record that fits no batch fails only its own send.
        let batch_bytes = HEADER_BYTES as u64 + 4 + record.len() as u64 + 7;
        if batch_bytes > u64::from(self.limits.batch_bytes_max)
            || record.len() as u64 > self.limits.raw_bytes_max.into()
        {
            let limit = self.limits.batch_bytes_max.min(self.limits.raw_bytes_max).into();
            return Err(BatchError::Limit { what: "batch_bytes", found: batch_bytes, limit }.into());
        }
        // A record of any size is accepted when the buffer is empty.
        if state.held_bytes > 0 && state.held_bytes + cost(record) > self.config.buffer_bytes {
            // The open batch must be sent to make room.
            if state.sealed.is_empty() {
                self.seal(state)?;
            }
            return Ok(None);
        }
        if !state.open.fits(record, &self.config, &self.limits) {
            self.seal(state)?;
        }
        let index = state.open.push(record)?;
        state.open_held_bytes += cost(record);
        state.held_bytes += cost(record);
        let receipt = Receipt { delivery: state.delivery.clone(), index };
        if state.open.data_bytes() >= self.config.batch_bytes || state.open.records() >= self.config.batch_records_max {
            self.seal(state)?;
        } else if index == 0 {
            state.opened_at = Some(Instant::now());
            self.work.notify_one();
        }
        Ok(Some(receipt))
    }

    /// Seals the open batch and queues it.
    fn seal(&self, state: &mut State) -> Result<(), ClientError> {
        let records = state.open.records();
        if records == 0 {
            return Ok(());
        }
        state.opened_at = None;
        let delivery = std::mem::take(&mut state.delivery);
        let held_bytes = std::mem::take(&mut state.open_held_bytes);
        match state.open.seal(&self.limits) {
            Ok(pieces) => {
                let bytes = pieces.iter().map(Bytes::len).sum();
                state.unresolved.push(delivery.clone());
                state.sealed.push_back(SealedBatch { pieces, bytes, records, held_bytes, delivery });
                self.work.notify_one();
                Ok(())
            }
            Err(error) => {
                let error = ClientError::from(error);
                delivery.resolve(Err(error.clone()));
                state.stop(error.clone());
                self.room.notify_waiters();
                Err(error)
            }
        }
    }
}

impl State {
    fn healthy(&self) -> Result<(), ClientError> {
        match &self.stopped {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Stops the producer: the records that it holds will not be sent. Receipts of requests in flight get the result of
    /// their request.
    fn stop(&mut self, error: ClientError) {
        let stopped = ClientError::Stopped { reason: error.to_string() };
        self.delivery.resolve(Err(stopped.clone()));
        for batch in self.sealed.drain(..) {
            batch.delivery.resolve(Err(stopped.clone()));
        }
        self.held_bytes = 0;
        self.stopped.get_or_insert(error);
    }
}

impl Open {
    fn new(codec: Codec, limits: Limits) -> Self {
        match codec {
            Codec::None => Open::Plain { sizes: Vec::new(), data: Vec::new() },
            codec => Open::Packed(Box::new(Builder::new(codec, limits))),
        }
    }

    fn records(&self) -> u32 {
        match self {
            Open::Plain { sizes, .. } => sizes.len() as u32,
            Open::Packed(builder) => builder.records(),
        }
    }

    fn is_empty(&self) -> bool {
        self.records() == 0
    }

    fn data_bytes(&self) -> usize {
        match self {
            Open::Plain { data, .. } => data.len(),
            // The batch's length includes the header, the sizes and up to 7 bytes of padding.
            Open::Packed(builder) => builder.bytes() as usize - HEADER_BYTES - builder.records() as usize * 4,
        }
    }

    /// Whether the record fits this batch, by the settings and by the limits of a batch.
    fn fits(&self, record: &[u8], config: &ProducerConfig, limits: &Limits) -> bool {
        if self.is_empty() {
            return true;
        }
        let data_bytes = self.data_bytes() + record.len();
        let batch_bytes = HEADER_BYTES + self.records() as usize * 4 + 4 + data_bytes + 7;
        data_bytes <= config.batch_bytes
            && batch_bytes as u64 <= u64::from(limits.batch_bytes_max)
            && self.records() < config.batch_records_max
    }

    /// Adds a record that fits, and returns its index.
    fn push(&mut self, record: &[u8]) -> Result<u32, ClientError> {
        let index = self.records();
        match self {
            Open::Plain { sizes, data } => {
                sizes.push(record.len() as u32);
                data.extend_from_slice(record);
            }
            Open::Packed(builder) => builder
                .push(record)
                .map_err(|full| ClientError::Config { reason: format!("{full}; make batch_bytes smaller") })?,
        }
        Ok(index)
    }

    /// The pieces of the batch. Starts the next one.
    fn seal(&mut self, limits: &Limits) -> Result<Vec<Bytes>, BatchError> {
        match self {
            Open::Plain { sizes, data } => {
                let sealed = seal(sizes, data, clock::now_us(), limits)?;
                // The next batch will have about the same size.
                let capacity = data.len();
                let data = std::mem::replace(data, Vec::with_capacity(capacity));
                sizes.clear();
                Ok(vec![Bytes::from(sealed.front), Bytes::from(data), Bytes::from_static(sealed.padding)])
            }
            Open::Packed(builder) => {
                let mut out = Vec::new();
                builder.finish_into(clock::now_us(), 0, 0, &mut out)?;
                debug_assert!(Batch::parse(&out, limits).is_ok());
                Ok(vec![Bytes::from(out)])
            }
        }
    }
}

/// The sending task: sends batches that are due until the producer is closed or has stopped.
async fn send_all(client: Client, shared: Arc<Shared>) {
    let mut in_flight = JoinSet::new();
    loop {
        while in_flight.try_join_next().is_some() {}
        let full = in_flight.len() >= shared.config.in_flight_max;
        let (due, deadline) = {
            let mut state = shared.lock();
            if state.stopped.is_some() || (state.closing && state.held_bytes == 0) {
                return;
            }
            if full { (Vec::new(), None) } else { due(&shared, &mut state, Instant::now()) }
        };
        if !due.is_empty() {
            in_flight.spawn(send_one(client.clone(), shared.clone(), due));
            continue;
        }
        tokio::select! {
            () = shared.work.notified(), if !full => {}
            Some(_) = in_flight.join_next(), if !in_flight.is_empty() => {}
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
        }
    }
}

/// Takes the batches that are due now; if there are none, returns until when the open batch may linger.
fn due(shared: &Shared, state: &mut State, now: Instant) -> (Vec<SealedBatch>, Option<Instant>) {
    // None where the batch lingers until it is full: the time is out of the clock's range.
    let deadline = state.opened_at.map(|opened_at| opened_at.checked_add(shared.config.linger));
    let lingers = deadline.is_some_and(|deadline| deadline.is_none_or(|deadline| deadline > now));
    if lingers && state.sealed.is_empty() {
        return (Vec::new(), deadline.flatten());
    }
    if !lingers && shared.seal(state).is_err() {
        return (Vec::new(), None);
    }
    let mut bytes = 0;
    let mut due = Vec::new();
    while let Some(batch) = state.sealed.front() {
        if !due.is_empty() && bytes + batch.bytes > shared.config.request_bytes_max {
            break;
        }
        bytes += batch.bytes;
        due.extend(state.sealed.pop_front());
    }
    (due, None)
}

/// Sends batches as one request, with retries, and resolves their receipts.
async fn send_one(client: Client, shared: Arc<Shared>, batches: Vec<SealedBatch>) {
    let records: u64 = batches.iter().map(|batch| u64::from(batch.records)).sum();
    let held_bytes: usize = batches.iter().map(|batch| batch.held_bytes).sum();
    let body = Pieces::new(batches.iter().flat_map(|batch| batch.pieces.iter().cloned()).collect());
    let mut attempts = shared.config.retries.begin();
    let appended = loop {
        match client.append_body(&shared.topic, body.clone()).await {
            Ok(appended) if appended.next_offset - appended.first_offset == records => break Ok(appended),
            Ok(appended) => {
                break Err(client.not_a_brokers(format!("{appended:?} for an append of {records} records")));
            }
            Err(error) => {
                if let Err(error) = attempts.failed(error).await {
                    break Err(error);
                }
            }
        }
    };
    let mut state = shared.lock();
    assert!(!batches.is_empty() && held_bytes > 0, "a request of {} batches", batches.len());
    state.unresolved.retain(|delivery| !batches.iter().any(|batch| Arc::ptr_eq(&batch.delivery, delivery)));
    match appended {
        Ok(appended) => {
            let mut offset = appended.first_offset;
            for batch in &batches {
                batch.delivery.resolve(Ok(offset));
                offset += u64::from(batch.records);
            }
            // A producer that has stopped in the meantime holds nothing.
            if state.stopped.is_none() {
                assert!(held_bytes <= state.held_bytes, "{held_bytes} bytes sent of {}", state.held_bytes);
                state.held_bytes -= held_bytes;
            }
        }
        Err(error) => {
            for batch in &batches {
                batch.delivery.resolve(Err(error.clone()));
            }
            state.stop(error);
        }
    }
    drop(state);
    shared.room.notify_waiters();
}
