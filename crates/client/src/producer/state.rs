//! The records that a producer holds: the open batch and those that are complete, under one lock.

use super::config::ProducerConfig;
use super::open::Open;
use super::receipt::{Delivery, Receipt};
use crate::ClientError;
use crate::environment::Environment;
use crate::limits::ALIGNMENT;
use bytes::Bytes;
use rawline_batch::{BatchError, HEADER_BYTES, Limits};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(super) struct Shared {
    pub(super) topic: String,
    pub(super) config: ProducerConfig,
    limits: Limits,
    environment: Arc<dyn Environment>,
    /// Distinguishes the producer from all others; 0 if it doesn't ask for exactly-once appends.
    producer_id: u64,
    state: Mutex<State>,
    /// Wakes the sending task.
    pub(super) work: Notify,
    /// Wakes callers that wait for room: records were stored, or the producer has stopped.
    pub(super) room: Notify,
}

pub(super) struct State {
    open: Open,
    /// Number of records in the batches that were sealed: the sequence of the next.
    next_sequence: u64,
    /// Time at which the open batch got its first record.
    pub(super) opened_at: Option<Instant>,
    pub(super) sealed: VecDeque<SealedBatch>,
    /// Cost of the open batch's records; see [`cost`].
    open_held_bytes: usize,
    /// Cost of all records that are not stored yet: open, sealed or in flight.
    pub(super) held_bytes: usize,
    pub(super) closing: bool,
    pub(super) stopped: Option<ClientError>,
    /// Result of the open batch.
    delivery: Arc<Delivery>,
    /// Results of the batches that are sealed or in flight, in order.
    pub(super) unresolved: Vec<Arc<Delivery>>,
}

pub(super) struct SealedBatch {
    /// Header, sizes, data and padding, split anywhere.
    pub(super) pieces: Vec<Bytes>,
    pub(super) bytes: usize,
    pub(super) records: u32,
    pub(super) held_bytes: usize,
    pub(super) delivery: Arc<Delivery>,
}

/// The cost of a record in the buffer in bytes: the record and its size field.
fn cost(record: &[u8]) -> usize {
    record.len() + 4
}

/// A random id other than 0.
fn new_id(environment: &dyn Environment) -> u64 {
    let half = || (environment.fraction() * f64::from(u32::MAX)) as u64;
    (half() << 32 | half()).max(1)
}

impl Shared {
    pub(super) fn new(
        topic: String,
        config: ProducerConfig,
        limits: Limits,
        environment: Arc<dyn Environment>,
    ) -> Shared {
        let state = State {
            open: Open::new(config.codec, limits),
            next_sequence: 0,
            opened_at: None,
            sealed: VecDeque::new(),
            open_held_bytes: 0,
            held_bytes: 0,
            closing: false,
            stopped: None,
            delivery: Arc::default(),
            unresolved: Vec::new(),
        };
        let (state, work, room) = (Mutex::new(state), Notify::new(), Notify::new());
        let producer_id = if config.exactly_once { new_id(&*environment) } else { 0 };
        Shared { topic, config, limits, environment, producer_id, state, work, room }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record if there is room.
    pub(super) fn take(&self, state: &mut State, record: &[u8]) -> Result<Option<Receipt>, ClientError> {
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
        debug_assert!(state.held_bytes >= state.open_held_bytes, "{state:?}");
        debug_assert_eq!(state.open.records(), index + 1, "two records have the same index");
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
    pub(super) fn seal(&self, state: &mut State) -> Result<(), ClientError> {
        let records = state.open.records();
        if records == 0 {
            return Ok(());
        }
        let room = state.open.data_bytes() + records as usize * 4;
        state.opened_at = None;
        let delivery = std::mem::take(&mut state.delivery);
        let held_bytes = std::mem::take(&mut state.open_held_bytes);
        // Padding counts as room in a batch that will be compressed.
        assert!(held_bytes <= room && room < held_bytes + ALIGNMENT, "{held_bytes} bytes held, {room} in the batch");
        match state.open.seal(self.environment.now_us(), self.producer_id, state.next_sequence, &self.limits) {
            Ok(pieces) => {
                state.next_sequence += u64::from(records);
                assert!(state.open.is_empty(), "{} records are in two batches", state.open.records());
                let bytes: usize = pieces.iter().map(Bytes::len).sum();
                assert!(bytes.is_multiple_of(ALIGNMENT), "a batch of {records} records has {bytes} bytes");
                assert!(
                    bytes as u64 <= self.limits.batch_bytes_max.into(),
                    "a batch of {bytes} bytes exceeds the limit"
                );
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
    pub(super) fn healthy(&self) -> Result<(), ClientError> {
        match &self.stopped {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Whether every record that was sent is stored.
    pub(super) fn is_empty(&self) -> bool {
        let is_empty = self.open.is_empty() && self.unresolved.is_empty();
        assert_eq!(self.held_bytes == 0, is_empty, "the held bytes and the held records disagree: {self:?}");
        is_empty
    }

    /// Sets the result of a batch that is sealed or in flight.
    pub(super) fn resolve(&mut self, delivery: &Arc<Delivery>, done: Result<u64, ClientError>) {
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
        std::mem::take(&mut self.delivery).resolve(Err(stopped.clone()));
        self.stopped.get_or_insert(error);
        for batch in std::mem::take(&mut self.sealed) {
            self.resolve(&batch.delivery, Err(stopped.clone()));
        }
        (self.held_bytes, self.open_held_bytes) = (0, 0);
    }

    /// Like [`State::stop`], if nothing waits for the requests in flight any more.
    pub(super) fn abandon(&mut self, error: ClientError) {
        self.sealed.clear();
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
        f.debug_struct("State")
            .field("open_records", &self.open.records())
            .field("open_held_bytes", &self.open_held_bytes)
            .field("sealed", &self.sealed.len())
            .field("unresolved", &self.unresolved.len())
            .field("held_bytes", &self.held_bytes)
            .field("closing", &self.closing)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}
