//! The task that sends complete batches, and retries its requests.

use super::lane::SealedBatch;
use super::state::{Shared, State};
use crate::body::Pieces;
use crate::client::Client;
use crate::error::ClientError;
use crate::limits::REQUESTS_IN_FLIGHT_MAX;
use crate::owners::Owner;
use crate::retry::Attempts;
use rawline_contract::Appended;
use rawline_contract::code::{GRANT_MISSING, PARTITION_NOT_FOUND, TOPIC_NOT_FOUND};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The batches of one request.
pub(super) struct Due {
    partition: u32,
    /// Its number among those to the partition.
    number: u64,
    batches: Vec<SealedBatch>,
}

impl Due {
    /// Begins one try. Small requests to the same broker arrive in the order of these calls.
    fn begin(
        &self,
        client: &Client,
        owner: Option<Owner>,
        shared: &Shared,
    ) -> impl Future<Output = Result<Appended, ClientError>> + use<> {
        let body = Pieces::new(self.batches.iter().flat_map(|batch| batch.pieces.iter().cloned()).collect());
        let bytes: usize = self.batches.iter().map(|batch| batch.bytes).sum();
        assert_eq!(body.bytes_left(), bytes as u64, "the pieces of {} batches don't add up", self.batches.len());
        let Some(first) = self.batches.first() else { unreachable!("a request without batches") };
        client.begin_append(owner, shared.at(self.partition), first.kind.media_type(), body, shared.epoch())
    }
}

/// The sending task: sends due batches until the producer is closed or has stopped.
pub(super) async fn send_all(client: Client, shared: Arc<Shared>) {
    let _stops = StopOnPanic(shared.clone());
    if let Err(error) = open(&client, &shared).await {
        shared.lock().stop(error);
        shared.room.notify_waiters();
        return;
    }
    let mut in_flight = JoinSet::new();
    let mut route = Route::default();
    loop {
        while in_flight.try_join_next().is_some() {}
        let is_alone = route.follow(client.owner_of(&shared.topic), in_flight.is_empty());
        let requests_max = if is_alone { 1 } else { REQUESTS_IN_FLIGHT_MAX.max(shared.config.in_flight_max) };
        let full = in_flight.len() >= requests_max;
        let (needs_partitions, due, deadline) = {
            let mut state = shared.lock();
            if state.stopped.is_some() || (state.closing && state.is_empty()) {
                break;
            }
            let now = Instant::now();
            let needs_partitions = state.needs_partitions(now);
            let (due, deadline) = match needs_partitions || full {
                true => (None, None),
                false => due(&shared, &mut state, now),
            };
            (needs_partitions, due, deadline)
        };
        if needs_partitions {
            let read = read_partitions(&client, &shared).await;
            let mut state = shared.lock();
            // The known number stays valid; if the broker is unavailable, the next append fails.
            let read = read.or_else(|error| state.partitions().map(Some).ok_or(error));
            if let Err(error) = read.and_then(|partitions| shared.learn(&mut state, partitions)) {
                state.stop(error);
                shared.room.notify_waiters();
            }
            continue;
        }
        if let Some(due) = due {
            let owner = route.begin();
            let appending = due.begin(&client, owner.clone(), &shared);
            in_flight.spawn(send_one(client.clone(), shared.clone(), due, owner, appending));
            continue;
        }
        tokio::select! {
            () = shared.work.notified(), if !full => {}
            Some(_) = in_flight.join_next(), if !in_flight.is_empty() => {}
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
        }
    }
    // After a failure too: receipts of requests in flight get the result of their request.
    while in_flight.join_next().await.is_some() {}
}

/// The broker to which a producer sends its requests. Requests to another broker could overtake those in flight, so it
/// moves when nothing is. The first request to an owner is alone too: if the owner can't be reached, another broker
/// gets it.
#[derive(Default)]
struct Route {
    owner: Option<Owner>,
    /// Whether no request to the owner has ended.
    is_new: bool,
    /// Whether a request to the owner has begun.
    has_begun: bool,
}

impl Route {
    /// The owner that is known now. Returns whether the next request has to be the only one.
    fn follow(&mut self, known: Option<Owner>, is_idle: bool) -> bool {
        let moves = !Owner::is_same(self.owner.as_ref(), known.as_ref());
        if is_idle && moves {
            *self = Route { is_new: known.is_some(), owner: known, has_begun: false };
        } else if is_idle && self.has_begun {
            self.is_new = false;
        }
        (moves && !is_idle) || self.is_new
    }

    /// The target of the next request.
    fn begin(&mut self) -> Option<Owner> {
        self.has_begun = true;
        self.owner.clone()
    }
}

/// Opens an instance of a named producer, with retries.
async fn open(client: &Client, shared: &Shared) -> Result<(), ClientError> {
    let Some(name) = shared.to_open() else { return Ok(()) };
    let mut attempts = attempts(client, shared);
    loop {
        match client.open_producer(name).await {
            Ok(instance) => {
                shared.opened(instance);
                return Ok(());
            }
            Err(error) => attempts.failed(error).await?,
        }
    }
}

/// The number of the topic's partitions, with retries; none if it doesn't exist, or if the key doesn't see it: then it
/// can't append either, and the refusal of the append names the missing grant.
async fn read_partitions(client: &Client, shared: &Shared) -> Result<Option<u32>, ClientError> {
    let mut attempts = attempts(client, shared);
    loop {
        match client.topic(&shared.topic).await {
            Ok(topic) => return Ok(Some(topic.partitions.get())),
            Err(error) if [TOPIC_NOT_FOUND, GRANT_MISSING].iter().any(|code| error.code() == Some(code.name)) => {
                return Ok(None);
            }
            Err(error) => attempts.failed(error).await?,
        }
    }
}

fn attempts(client: &Client, shared: &Shared) -> Attempts {
    shared.config.retries.begin(client.environment().clone())
}

/// Takes the batches of a request that is due now. If none is, returns the time until which an open batch lingers.
pub(super) fn due(shared: &Shared, state: &mut State, now: Instant) -> (Option<Due>, Option<Instant>) {
    let mut next_deadline: Option<Instant> = None;
    for partition in state.busy() {
        let lane = state.lanes.entry(partition).or_default();
        if !lane.has_capacity(&shared.config) {
            continue;
        }
        let has_sealed = !lane.sealed.is_empty();
        // `None` if the batch lingers until it is full: the time is beyond the clock's range.
        let deadline = state.lingers_until(partition, &shared.config);
        let lingers = deadline.is_some_and(|deadline| deadline.is_none_or(|deadline| deadline > now));
        if lingers && !has_sealed {
            next_deadline = [next_deadline, deadline.flatten()].into_iter().flatten().min();
            continue;
        }
        if !lingers && shared.seal(state, partition).is_err() {
            return (None, None);
        }
        let lane = state.lanes.entry(partition).or_default();
        let batches = lane.take(shared.config.request_bytes_max);
        assert!(!batches.is_empty(), "partition {partition} is due without a batch");
        let number = lane.begin();
        return (Some(Due { partition, number, batches }), None);
    }
    (None, next_deadline)
}

/// Sends batches as one request, with retries, and resolves their receipts. The first try has begun.
async fn send_one(
    client: Client,
    shared: Arc<Shared>,
    due: Due,
    owner: Option<Owner>,
    appending: impl Future<Output = Result<Appended, ClientError>>,
) {
    let _stops = StopOnPanic(shared.clone());
    let appended = append(&client, &shared, &due, owner.as_ref(), appending).await;
    let Due { partition, number, batches } = due;
    let held_bytes: usize = batches.iter().map(|batch| batch.held_bytes).sum();
    let mut state = shared.lock();
    assert!(!batches.is_empty() && held_bytes > 0, "a request of {} batches", batches.len());
    let lane = state.lanes.entry(partition).or_default();
    lane.end(number);
    lane.is_known |= appended.is_ok();
    match appended {
        Ok(mut offset) => {
            state.check_guess();
            for batch in &batches {
                state.resolve(&batch.delivery, Ok((partition, offset)));
                offset += u64::from(batch.records);
            }
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

/// Appends the batches as one request, with retries. Returns the offset of the first record.
async fn append(
    client: &Client,
    shared: &Shared,
    due: &Due,
    owner: Option<&Owner>,
    appending: impl Future<Output = Result<Appended, ClientError>>,
) -> Result<u64, ClientError> {
    // Another owner could receive it before the requests in flight.
    let begin_again = || {
        let known = client.owner_of(&shared.topic).filter(|known| Owner::is_same(Some(known), owner));
        due.begin(client, known, shared)
    };
    let records: u64 = due.batches.iter().map(|batch| u64::from(batch.records)).sum();
    let mut attempts = attempts(client, shared);
    let mut has_looked = false;
    let mut appended = appending.await;
    loop {
        let error = match appended {
            Ok(appended) if appended.next_offset - appended.first_offset == records => {
                return Ok(appended.first_offset);
            }
            Ok(appended) => {
                return Err(client.not_a_brokers(format!("{appended:?} for an append of {records} records")));
            }
            Err(error) => error,
        };
        if error.code() == Some(PARTITION_NOT_FOUND.name) && !has_looked {
            has_looked = true;
            let partitions = read_partitions(client, shared).await?;
            shared.learn(&mut shared.lock(), partitions)?;
            if due.partition < partitions.unwrap_or(1) {
                appended = begin_again().await;
                continue;
            }
        }
        attempts.failed(error).await?;
        appended = begin_again().await;
    }
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
