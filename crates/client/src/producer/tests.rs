//! Tests a producer's state: the batch of a record, and its result when an internal check fails.

use super::lane::SealedBatch;
use super::outgoing::{BatchKind, Message, Outgoing};
use super::requests::{StopOnPanic, due};
use super::state::{Refused, Shared, Target};
use super::{ProducerConfig, Receipt};
use crate::environment::{Environment, SystemEnvironment};
use crate::error::ClientError;
use crate::partition::partition_of_key;
use rawline_batch::{Batch, Limits};
use std::sync::Arc;

fn shared() -> Arc<Shared> {
    let environment = Arc::new(SystemEnvironment);
    let shared = Shared::new("t".to_owned(), ProducerConfig::default(), Limits::default(), environment);
    shared.learn(&mut shared.lock(), Some(1)).unwrap();
    Arc::new(shared)
}

fn take(shared: &Shared, record: &[u8]) -> Result<Receipt, ClientError> {
    shared.take(&mut shared.lock(), Target::Any, Outgoing::Plain(record)).map_err(|refused| match refused {
        Refused::Failed(error) => error,
        _ => panic!("there is room"),
    })
}

fn seal(shared: &Shared) {
    shared.seal_all(&mut shared.lock()).unwrap();
}

/// The batch that was sealed first.
fn first_sealed(shared: &Shared) -> SealedBatch {
    shared.lock().lanes.get_mut(&0).unwrap().sealed.pop_front().unwrap()
}

#[tokio::test]
async fn a_task_that_panics_leaves_no_caller_waiting() {
    let shared = shared();
    let in_flight = take(&shared, b"in flight").unwrap();
    seal(&shared);
    drop(first_sealed(&shared));
    let sealed = take(&shared, b"sealed").unwrap();
    seal(&shared);
    let open = take(&shared, b"open").unwrap();
    let stops = StopOnPanic(shared.clone());
    let task = tokio::spawn(async move {
        let _stops = stops;
        panic!("a check failed");
    });
    assert!(task.await.unwrap_err().is_panic());
    for receipt in [in_flight, sealed, open] {
        let error = receipt.offset().await.unwrap_err();
        assert!(matches!(&error, ClientError::Stopped { reason } if reason.contains("internal check")), "{error}");
    }
    assert!(take(&shared, b"later").is_err());
}

#[tokio::test]
async fn a_request_that_outlives_its_producer_changes_no_result() {
    let shared = shared();
    let receipt = take(&shared, b"record").unwrap();
    seal(&shared);
    let batch = first_sealed(&shared);
    shared.lock().abandon(ClientError::Stopped { reason: "dropped".to_owned() });
    shared.lock().resolve(&batch.delivery, Ok((0, 7)));
    assert_eq!(receipt.offset().await, Err(ClientError::Stopped { reason: "dropped".to_owned() }));
}

#[test]
#[should_panic(expected = "a batch got a second result")]
fn a_batch_gets_one_result() {
    let shared = shared();
    take(&shared, b"record").unwrap();
    seal(&shared);
    let batch = first_sealed(&shared);
    shared.lock().resolve(&batch.delivery, Ok((0, 0)));
    shared.lock().resolve(&batch.delivery, Ok((0, 1)));
}

/// The partition and the sequence of each sealed batch, and its number of records.
fn sealed(shared: &Shared) -> Vec<(u32, u64, u32)> {
    let state = shared.lock();
    let batches = state.lanes.iter().flat_map(|(partition, lane)| {
        lane.sealed.iter().map(|batch| {
            let bytes = batch.pieces.concat();
            (*partition, Batch::parse(&bytes, &Limits::default()).unwrap().header().sequence, batch.records)
        })
    });
    batches.collect()
}

/// Half of everything: the first partition for records without a key is the third of four.
struct Half;

impl Environment for Half {
    fn now_us(&self) -> u64 {
        1
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}

fn waiting(batch_records_max: u32) -> Shared {
    let config = ProducerConfig { batch_records_max, ..ProducerConfig::default() };
    Shared::new("t".to_owned(), config, Limits::default(), Arc::new(Half))
}

#[test]
fn records_without_a_key_stay_together_and_the_next_batch_goes_elsewhere() {
    let shared = waiting(3);
    // The number of partitions isn't known, and a full batch waits for it.
    for _ in 0..3 {
        take(&shared, b"x").unwrap();
    }
    let more = shared.take(&mut shared.lock(), Target::Any, Outgoing::Plain(b"x"));
    assert!(matches!(more, Err(Refused::Unknown)));
    assert_eq!(sealed(&shared), []);
    shared.learn(&mut shared.lock(), Some(4)).unwrap();
    for _ in 0..13 {
        take(&shared, b"x").unwrap();
    }
    seal(&shared);
    assert_eq!(sealed(&shared), [(0, 0, 3), (1, 0, 3), (2, 0, 3), (2, 3, 3), (3, 0, 3), (3, 3, 1)]);
}

/// The broker takes what arrives first as the beginning of the sequence: nothing may overtake it.
#[test]
fn the_first_request_to_a_partition_is_alone() {
    let config =
        ProducerConfig { batch_records_max: 1, request_bytes_max: 1, in_flight_max: 2, ..ProducerConfig::default() };
    let shared = Shared::new("t".to_owned(), config, Limits::default(), Arc::new(Half));
    shared.learn(&mut shared.lock(), Some(1)).unwrap();
    for _ in 0..4 {
        take(&shared, b"x").unwrap();
    }
    seal(&shared);
    let is_due = || due(&shared, &mut shared.lock(), tokio::time::Instant::now()).0.is_some();
    assert_eq!((is_due(), is_due()), (true, false));
    acknowledge(&shared, 0);
    assert_eq!((is_due(), is_due(), is_due()), (true, true, false));
}

/// The broker remembers a producer's last five appends: when it has stored five more, it can't tell that one before was
/// stored.
#[test]
fn requests_wait_for_one_that_is_sent_again() {
    let config =
        ProducerConfig { batch_records_max: 1, request_bytes_max: 1, in_flight_max: 2, ..ProducerConfig::default() };
    let shared = Shared::new("t".to_owned(), config, Limits::default(), Arc::new(Half));
    shared.learn(&mut shared.lock(), Some(1)).unwrap();
    for _ in 0..9 {
        take(&shared, b"x").unwrap();
    }
    seal(&shared);
    let is_due = || due(&shared, &mut shared.lock(), tokio::time::Instant::now()).0.is_some();
    assert!(is_due());
    acknowledge(&shared, 0);
    // Request 1 stays in flight; 2 to 5 come and go.
    assert!(is_due());
    for number in 2..6 {
        assert!(is_due(), "request {number}");
        acknowledge(&shared, number);
    }
    assert!(!is_due());
    acknowledge(&shared, 1);
    assert_eq!((is_due(), is_due(), is_due()), (true, true, false));
}

/// A request to partition 0 was acknowledged.
fn acknowledge(shared: &Shared, number: u64) {
    let mut state = shared.lock();
    let lane = state.lanes.get_mut(&0).unwrap();
    lane.end(number);
    lane.is_known = true;
}

#[test]
fn keys_and_partitions_lead_to_batches_with_sequences_of_their_partition() {
    let shared = waiting(100);
    let give = |target| shared.take(&mut shared.lock(), target, Outgoing::Plain(b"x"));
    assert!(matches!(give(Target::Key(b"k")), Err(Refused::Unknown)));
    assert!(matches!(give(Target::Partition(0)), Err(Refused::Unknown)));
    shared.learn(&mut shared.lock(), Some(4)).unwrap();
    for round in 0..2 {
        for key in [&b"21"[..], b"foobar", b"abc", b"21"] {
            give(Target::Key(key)).map_err(drop).unwrap();
        }
        give(Target::Partition(3)).map_err(drop).unwrap();
        let beyond = give(Target::Partition(4));
        assert!(matches!(beyond, Err(Refused::Partition { partition: 4, partitions: 4 })), "round {round}");
        seal(&shared);
    }
    let mut expected = std::collections::BTreeMap::from([(3, 1)]);
    for key in [&b"21"[..], b"foobar", b"abc", b"21"] {
        *expected.entry(partition_of_key(key, 4)).or_default() += 1;
    }
    let twice = expected
        .iter()
        .flat_map(|(partition, records)| [(*partition, 0, *records), (*partition, u64::from(*records), *records)]);
    assert_eq!(sealed(&shared), twice.collect::<Vec<_>>());
}

fn send(shared: &Shared, message: &Message<'_>) -> Result<Receipt, ClientError> {
    let record = Outgoing::Message { message, timestamp_ms: message.timestamp_ms.unwrap_or(1) };
    shared.take(&mut shared.lock(), Target::Partition(0), record).map_err(|refused| match refused {
        Refused::Failed(error) => error,
        _ => panic!("there is room"),
    })
}

/// Kinds and sequences of the batches of each request.
fn requests(shared: &Shared) -> Vec<Vec<(BatchKind, u64, u32)>> {
    let mut state = shared.lock();
    let lane = state.lanes.get_mut(&0).unwrap();
    let mut requests = Vec::new();
    while !lane.sealed.is_empty() {
        let request = lane.take(usize::MAX);
        requests.push(request.iter().map(|batch| (batch.kind, batch.sequence, batch.records)).collect());
    }
    requests
}

#[test]
fn a_request_has_batches_of_one_kind_and_the_sequence_continues() {
    let shared = shared();
    let message = Message { key: Some(b"k"), value: Some(b"v"), ..Message::default() };
    let mut receipts = Vec::new();
    for number in 0..12 {
        receipts.push(match number {
            2..5 | 9 => send(&shared, &message).unwrap(),
            _ => take(&shared, b"x").unwrap(),
        });
        if number == 6 {
            seal(&shared);
        }
    }
    seal(&shared);
    // Plain records join a Kafka batch that is open, and begin one of ours.
    assert_eq!(receipts.iter().map(|receipt| receipt.index).collect::<Vec<_>>(), [0, 1, 0, 1, 2, 3, 4, 0, 1, 0, 1, 2]);
    let expected =
        [(BatchKind::Rawline, 0, 2), (BatchKind::Kafka, 2, 5), (BatchKind::Rawline, 7, 2), (BatchKind::Kafka, 9, 3)];
    assert_eq!(requests(&shared), expected.map(|batch| vec![batch]));
}

/// One record with a key doesn't make batches of Kafka's of all later ones without.
#[test]
fn a_full_batch_of_kafkas_is_followed_by_one_of_ours() {
    let config = ProducerConfig { batch_bytes: 1000, ..ProducerConfig::default() };
    let shared = Shared::new("t".to_owned(), config, Limits::default(), Arc::new(Half));
    shared.learn(&mut shared.lock(), Some(1)).unwrap();
    send(&shared, &Message { key: Some(b"k"), ..Message::default() }).unwrap();
    for _ in 0..20 {
        take(&shared, &[0; 100]).unwrap();
    }
    seal(&shared);
    let kinds: Vec<_> = requests(&shared).into_iter().flatten().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, [BatchKind::Kafka, BatchKind::Rawline, BatchKind::Rawline]);
}

/// After a Kafka request, the broker expects the sequence after its records, wrapped if the next request is Kafka's
/// too.
#[test]
fn sequences_of_kafkas_batches_wrap_between_requests() {
    let shared = shared();
    let message = Message { value: Some(b"v"), ..Message::default() };
    shared.lock().lanes.entry(0).or_default().next_sequence = (1 << 31) - 2;
    for number in 0..6 {
        send(&shared, &message).unwrap();
        if number % 2 == 0 {
            send(&shared, &message).unwrap();
        }
        seal(&shared);
    }
    take(&shared, b"x").unwrap();
    seal(&shared);
    let kafka = |sequence, records| (BatchKind::Kafka, sequence, records);
    let expected = [
        vec![kafka((1 << 31) - 2, 2)],
        vec![kafka(0, 1), kafka(1, 2), kafka(3, 1), kafka(4, 2), kafka(6, 1)],
        vec![(BatchKind::Rawline, 7, 1)],
    ];
    assert_eq!(requests(&shared), expected);
}

#[test]
fn messages_cost_at_least_what_they_take() {
    let shared = shared();
    let long = "x".repeat(70_000);
    let headers = [("", None), ("name", Some(&b""[..])), (&*long, Some(long.as_bytes()))];
    for (number, timestamp_ms) in [0, i64::MAX, 1, 1 << 40].into_iter().enumerate() {
        let key = (number % 2 == 0).then_some(long.as_bytes());
        let message = Message {
            key,
            value: key.xor(Some(b"")),
            headers: headers.get(..number).unwrap(),
            timestamp_ms: Some(timestamp_ms),
            partition: None,
        };
        send(&shared, &message).unwrap();
    }
    // Asserts it.
    seal(&shared);
    assert!(shared.lock().held_bytes > 4 * 36);
    let error = send(&shared, &Message { timestamp_ms: Some(-1), ..Message::default() }).unwrap_err();
    assert!(error.to_string().contains("milliseconds since 1970"), "{error}");
    let huge = vec![0; (33 << 20) as usize];
    let error = send(&shared, &Message { key: Some(&huge), ..Message::default() }).unwrap_err();
    assert!(matches!(error, ClientError::Batch(_)), "{error}");
}
