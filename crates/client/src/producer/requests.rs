//! The task that sends complete batches, and retries its requests.

use super::state::{SealedBatch, Shared, State};
use crate::body::Pieces;
use crate::{Client, ClientError};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The sending task: sends due batches until the producer is closed or has stopped.
pub(super) async fn send_all(client: Client, shared: Arc<Shared>) {
    let _stops = StopOnPanic(shared.clone());
    let mut in_flight = JoinSet::new();
    loop {
        while in_flight.try_join_next().is_some() {}
        let full = in_flight.len() >= shared.config.in_flight_max;
        let (due, deadline) = {
            let mut state = shared.lock();
            if state.stopped.is_some() || (state.closing && state.is_empty()) {
                return;
            }
            if full { (Vec::new(), None) } else { due(&shared, &mut state, Instant::now()) }
        };
        if !due.is_empty() {
            in_flight.spawn(send_one(client.clone(), shared.clone(), due));
            let max = shared.config.in_flight_max;
            assert!(in_flight.len() <= max, "{} requests of at most {max} are in flight", in_flight.len());
            continue;
        }
        tokio::select! {
            () = shared.work.notified(), if !full => {}
            Some(_) = in_flight.join_next(), if !in_flight.is_empty() => {}
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
        }
    }
}

/// Takes the batches that are due now. If there are none, returns the time until which the open batch lingers.
fn due(shared: &Shared, state: &mut State, now: Instant) -> (Vec<SealedBatch>, Option<Instant>) {
    // `None` if the batch lingers until it is full: the time is beyond the clock's range.
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
    let is_short = due.len() <= 1 || bytes <= shared.config.request_bytes_max;
    assert!(is_short, "a request of {} batches has {bytes} bytes", due.len());
    (due, None)
}

/// Sends batches as one request, with retries, and resolves their receipts.
async fn send_one(client: Client, shared: Arc<Shared>, batches: Vec<SealedBatch>) {
    let _stops = StopOnPanic(shared.clone());
    let records: u64 = batches.iter().map(|batch| u64::from(batch.records)).sum();
    let held_bytes: usize = batches.iter().map(|batch| batch.held_bytes).sum();
    let body = Pieces::new(batches.iter().flat_map(|batch| batch.pieces.iter().cloned()).collect());
    let bytes: usize = batches.iter().map(|batch| batch.bytes).sum();
    assert_eq!(body.bytes_left(), bytes as u64, "the pieces of {} batches don't add up", batches.len());
    let mut attempts = shared.config.retries.begin(client.environment().clone());
    let appended = loop {
        match client.append_body(&shared.topic, body.clone(), shared.config.exactly_once).await {
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
    match appended {
        Ok(appended) => {
            let mut offset = appended.first_offset;
            for batch in &batches {
                state.resolve(&batch.delivery, Ok(offset));
                offset += u64::from(batch.records);
            }
            assert_eq!(offset, appended.next_offset, "the batches of a request end before or after its records");
            // A producer that has stopped in the meantime holds no records.
            if state.stopped.is_none() {
                assert!(held_bytes <= state.held_bytes, "{held_bytes} bytes sent of {}", state.held_bytes);
                state.held_bytes -= held_bytes;
            }
        }
        Err(error) => {
            for batch in &batches {
                state.resolve(&batch.delivery, Err(error.clone()));
            }
            state.stop(error);
        }
    }
    drop(state);
    shared.room.notify_waiters();
}

/// Stops the producer if the task that holds this panics, so that waiting receipts and sends get an error.
pub(super) struct StopOnPanic(pub(super) Arc<Shared>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reason = "an internal check failed; please report it".to_owned();
            self.0.lock().abandon(ClientError::Stopped { reason });
            self.0.room.notify_waiters();
        }
    }
}
