//! Gathers records into batches and sends them in order, with bounded memory.
//!
//! ```text
//! send ─► open batch ─► sealed batches ─► one request at a time ─► offsets
//!         (full, or lingered long enough)   (all that waits goes together)
//! ```
//!
//! Callers and the one sending task share a [`State`] behind a lock that is held for the time of a copy (or of
//! a batch's compression) and never across an await.

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

/// How a producer gathers and sends.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// Length of the records at which a batch is closed, before compression, in bytes. A longer record gets a batch of
    /// its own.
    pub batch_bytes: usize,
    /// Most records in one batch.
    pub batch_records_max: u32,
    /// How long a batch that is not full waits for further records while nothing else is being sent.
    pub linger: Duration,
    /// Most bytes of records that are held, gathered or on their way; [`Producer::send`] waits while there is no room.
    pub buffer_bytes: usize,
    /// Most bytes of one request, in batches as sent. One batch goes out however long it is.
    pub request_bytes_max: usize,
    /// Requests on their way at once. 1 keeps the order of the records; with more, requests can overtake each other.
    pub in_flight_max: usize,
    /// How the batches' data is compressed. A batch that would grow is sent as it is.
    pub codec: Codec,
    /// How long a request is tried again before the producer stops. Sending again keeps the order; see [`Producer`] for
    /// what may appear twice.
    pub retries: RetryPolicy,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        ProducerConfig {
            // Where the cost of a request no longer shows.
            batch_bytes: 1 << 20,
            batch_records_max: 1 << 20,
            linger: Duration::from_millis(5),
            buffer_bytes: 32 << 20,
            // What brokers gather for one commit anyway.
            request_bytes_max: 8 << 20,
            in_flight_max: 1,
            codec: Codec::None,
            retries: RetryPolicy::default(),
        }
    }
}

/// Appends records to one topic, in the order in which they are sent.
///
/// **At least once.** When a connection breaks after a request was sent, nobody knows whether it was carried out, so it
/// is sent again; if only the answer was lost, its records are then in the topic twice, side by side.
///
/// **Failure.** When a request is refused, or fails for longer than the retries last, the producer stops: what it still
/// holds is not sent, so that no later record takes the place of a missing one; every receipt, `send`, `flush` and
/// `close` from then on gives the error.
///
/// Dropping a producer abandons what it still holds; [`Producer::close`] sends it first.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    sender: JoinHandle<()>,
}

/// Told when a record is stored. Costs no allocation; may be dropped.
#[derive(Debug, Clone)]
pub struct Receipt {
    delivery: Arc<Delivery>,
    /// The record's index in its batch.
    index: u32,
}

impl Receipt {
    /// Waits until the record is stored and gives its offset.
    pub async fn offset(&self) -> Result<u64, ClientError> {
        loop {
            let mut told = std::pin::pin!(self.delivery.told.notified());
            told.as_mut().enable();
            if let Some(done) = self.delivery.done.get() {
                return done.clone().map(|first_offset| first_offset + u64::from(self.index));
            }
            told.await;
        }
    }
}

impl Producer {
    /// Starts a producer in the current tokio runtime. Sends nothing by itself.
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
            return wrong(&format!("batch_bytes must be at most {limit}; a broker takes no longer batch"));
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
                untold: Vec::new(),
            }),
            config,
            work: Notify::new(),
            room: Notify::new(),
        });
        let sender = tokio::spawn(send_all(client.with_retries(RetryPolicy::NONE), shared.clone()));
        Ok(Producer { shared, sender })
    }

    /// Takes a record in; waits while the buffer is full. The record is stored when its receipt says so, or when
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
            // Again, in case room came before we listened for it.
            {
                let mut state = self.shared.lock();
                if let Some(receipt) = self.shared.take(&mut state, record)? {
                    return Ok(receipt);
                }
            }
            room.await;
        }
    }

    /// Waits until every record taken in so far is stored.
    pub async fn flush(&self) -> Result<(), ClientError> {
        let untold = {
            let mut state = self.shared.lock();
            state.healthy()?;
            self.shared.seal(&mut state)?;
            state.untold.clone()
        };
        for delivery in untold {
            Receipt { delivery, index: 0 }.offset().await?;
        }
        Ok(())
    }

    /// As [`Producer::flush`], and ends the producer.
    pub async fn close(mut self) -> Result<(), ClientError> {
        let flushed = self.flush().await;
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        // The task has nothing left to wait for; if it panicked, the flush has not returned either.
        let _ended = (&mut self.sender).await;
        flushed
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.sender.abort();
        let mut state = self.shared.lock();
        let dropped = ClientError::Stopped { reason: "it was dropped before it was closed".to_owned() };
        // The aborted task tells nobody any more.
        for delivery in std::mem::take(&mut state.untold) {
            delivery.tell(Err(dropped.clone()));
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
    /// There is something to do for the sending task.
    work: Notify,
    /// Something was stored, or the producer has stopped.
    room: Notify,
}

#[derive(Debug)]
struct State {
    open: Open,
    /// When the open batch got its first record.
    opened_at: Option<Instant>,
    sealed: VecDeque<SealedBatch>,
    /// What the open batch's records cost; see [`cost`].
    open_held_bytes: usize,
    /// What all records cost that are not stored yet: open, sealed or on their way.
    held_bytes: usize,
    closing: bool,
    stopped: Option<ClientError>,
    /// That of the open batch.
    delivery: Arc<Delivery>,
    /// Those of the batches that are sealed or on their way, in order.
    untold: Vec<Arc<Delivery>>,
}

/// How those who wait for a batch learn of its end.
#[derive(Debug, Default)]
struct Delivery {
    /// Offset of the batch's first record.
    done: OnceLock<Result<u64, ClientError>>,
    told: Notify,
}

impl Delivery {
    fn tell(&self, done: Result<u64, ClientError>) {
        // Told once: a batch is taken out of the queue by whoever tells.
        let _first = self.done.set(done);
        self.told.notify_waiters();
    }
}

/// The records that are being gathered.
#[derive(Debug)]
enum Open {
    /// Not to be compressed: the gathered data itself becomes a piece of the request.
    Plain {
        sizes: Vec<u32>,
        data: Vec<u8>,
    },
    Packed(Box<Builder>),
}

#[derive(Debug)]
struct SealedBatch {
    /// Header, sizes, data, padding; cut anyhow.
    pieces: Vec<Bytes>,
    bytes: usize,
    records: u32,
    held_bytes: usize,
    delivery: Arc<Delivery>,
}

/// What a record counts for in the buffer: itself and its size.
fn cost(record: &[u8]) -> usize {
    record.len() + 4
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a record in if there is room.
    fn take(&self, state: &mut State, record: &[u8]) -> Result<Option<Receipt>, ClientError> {
        state.healthy()?;
        // Checked here so that a record which no batch can hold harms nobody but its sender.
        let batch_bytes = HEADER_BYTES as u64 + 4 + record.len() as u64 + 7;
        if batch_bytes > u64::from(self.limits.batch_bytes_max)
            || record.len() as u64 > self.limits.raw_bytes_max.into()
        {
            let limit = self.limits.batch_bytes_max.min(self.limits.raw_bytes_max).into();
            return Err(BatchError::Limit { what: "batch_bytes", found: batch_bytes, limit }.into());
        }
        // Whatever its length, a record gets in when nothing else is there.
        if state.held_bytes > 0 && state.held_bytes + cost(record) > self.config.buffer_bytes {
            // What is open must go out for room to come.
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

    /// Closes the open batch and queues it.
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
                state.untold.push(delivery.clone());
                state.sealed.push_back(SealedBatch { pieces, bytes, records, held_bytes, delivery });
                self.work.notify_one();
                Ok(())
            }
            Err(error) => {
                let error = ClientError::from(error);
                delivery.tell(Err(error.clone()));
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

    /// Stops the producer: what it holds will not be sent. Those who wait for a request that is on its way learn of its
    /// own end.
    fn stop(&mut self, error: ClientError) {
        let stopped = ClientError::Stopped { reason: error.to_string() };
        self.delivery.tell(Err(stopped.clone()));
        for batch in self.sealed.drain(..) {
            batch.delivery.tell(Err(stopped.clone()));
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
            // The batch's length counts the header, the sizes and up to 7 bytes of padding too.
            Open::Packed(builder) => builder.bytes() as usize - HEADER_BYTES - builder.records() as usize * 4,
        }
    }

    /// Whether the record belongs into this batch, by the settings and by what a batch can hold.
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

    /// Adds a record that fits; gives its index.
    fn push(&mut self, record: &[u8]) -> Result<u32, ClientError> {
        let index = self.records();
        match self {
            Open::Plain { sizes, data } => {
                sizes.push(record.len() as u32);
                data.extend_from_slice(record);
            }
            Open::Packed(builder) => builder
                .push(record)
                .map_err(|full| ClientError::Config { reason: format!("{full}; make the batches smaller") })?,
        }
        Ok(index)
    }

    /// The batch in pieces; begins the next one.
    fn seal(&mut self, limits: &Limits) -> Result<Vec<Bytes>, BatchError> {
        match self {
            Open::Plain { sizes, data } => {
                let sealed = seal(sizes, data, clock::now_us(), limits)?;
                // The next batch will be about as long.
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

/// The sending task: takes what is due and sends it until the producer is closed or has stopped.
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

/// Takes out what is to be sent now; if that is nothing, until when the open batch may linger.
fn due(shared: &Shared, state: &mut State, now: Instant) -> (Vec<SealedBatch>, Option<Instant>) {
    // None where it lingers until it is full: no clock goes so far.
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

/// Sends batches as one request, again while that may help, and tells those who wait.
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
    state.untold.retain(|delivery| !batches.iter().any(|batch| Arc::ptr_eq(&batch.delivery, delivery)));
    match appended {
        Ok(appended) => {
            let mut offset = appended.first_offset;
            for batch in &batches {
                batch.delivery.tell(Ok(offset));
                offset += u64::from(batch.records);
            }
            // A producer that stopped meanwhile counts from zero again.
            state.held_bytes = state.held_bytes.saturating_sub(held_bytes);
        }
        Err(error) => {
            for batch in &batches {
                batch.delivery.tell(Err(error.clone()));
            }
            state.stop(error);
        }
    }
    drop(state);
    shared.room.notify_waiters();
}
