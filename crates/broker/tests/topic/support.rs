//! What the tests of topics share: brokers, batches, requests, and the records of an answer.

use rawline_batch::{Batches, Builder, Codec, Limits};
use rawline_broker::store::Storage;
use rawline_broker::{Broker, Clock, Config, Partition, Piece, ReadAnswer, ReadRequest};
pub(crate) use rawline_testkit::batches::received;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that advances by a second with each call.
#[derive(Default)]
pub(crate) struct Seconds(AtomicU64);

pub(crate) const SECOND_US: u64 = 1_000_000;

impl Clock for Seconds {
    fn now_us(&self) -> u64 {
        (self.0.fetch_add(1, Ordering::SeqCst) + 1) * SECOND_US
    }
}

pub(crate) async fn open(store: Storage) -> Broker {
    open_with(store, Config::new(1)).await
}

pub(crate) async fn open_with(store: Storage, config: Config) -> Broker {
    Broker::open(store, Arc::new(Seconds::default()), config).await.unwrap()
}

pub(crate) fn batch(records: &[Vec<u8>], codec: Codec) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::default());
    for record in records {
        builder.push(record).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(5, 0, 0, &mut bytes).unwrap();
    bytes
}

pub(crate) fn record(number: u64) -> Vec<u8> {
    let mut record = format!("{number}:").into_bytes();
    record.resize(record.len() + (number * 7 % 50) as usize, b'x');
    record
}

/// Appends records `from..to`, `batch_records` to a batch, one batch a request; gives the batches.
pub(crate) async fn append_some(
    topic: &Partition,
    from: u64,
    to: u64,
    batch_records: usize,
    codec: Codec,
) -> Vec<Vec<u8>> {
    let numbers: Vec<u64> = (from..to).collect();
    let mut batches = Vec::new();
    for numbers in numbers.chunks(batch_records) {
        let records: Vec<_> = numbers.iter().map(|&number| record(number)).collect();
        let bytes = batch(&records, codec);
        let appended = topic.append(received(&bytes)).await.unwrap();
        assert_eq!(appended.first_offset, numbers[0]);
        assert_eq!(appended.next_offset, numbers[0] + numbers.len() as u64);
        batches.push(bytes);
    }
    batches
}

pub(crate) fn request(offset: u64, records_max: u64, bytes_max: u64) -> ReadRequest {
    ReadRequest { offset, records_max, bytes_max, wait: Duration::ZERO, verify: false }
}

/// Checks that the records from `first` on are those of [`append_some`], up to `next`. A read of a bucket may return
/// fewer than there are.
pub(crate) async fn assert_records(topic: &Partition, first: u64, next: u64, what: &str) {
    let mut offset = first;
    while offset < next {
        let answer = topic.read(&request(offset, 0, 0)).await.unwrap();
        let expected: Vec<_> = (offset..answer.end_offset).map(record).collect();
        assert!(answer.first_offset == offset && records(&answer) == expected, "{what}: from {offset} on");
        assert!(answer.end_offset > offset, "{what}: nothing at {offset}");
        offset = answer.end_offset;
    }
    assert_eq!(offset, next, "{what}");
    assert!(topic.read(&request(next, 0, 0)).await.unwrap().pieces.is_empty(), "{what}");
}

/// Members of a topic's settings.
pub(crate) fn changes(members: Value) -> Map<String, Value> {
    serde_json::from_value(members).unwrap()
}

/// Waits until `happened` is true, however long that takes.
pub(crate) async fn eventually(mut happened: impl AsyncFnMut() -> bool) {
    while !happened().await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The answer's batches as they go to a socket.
pub(crate) fn body(answer: &ReadAnswer) -> Vec<u8> {
    let mut body = Vec::new();
    for piece in &answer.pieces {
        match piece {
            Piece::Whole(bytes) => body.extend_from_slice(bytes),
            Piece::Slice { cut, .. } => {
                body.extend_from_slice(&cut.slice.header);
                body.extend_from_slice(&cut.sizes);
                body.extend_from_slice(&cut.data);
                body.extend_from_slice(cut.slice.padding);
            }
        }
    }
    body
}

/// The records of an answer, every batch of it checked as a consumer checks it.
pub(crate) fn records(answer: &ReadAnswer) -> Vec<Vec<u8>> {
    let body = body(answer);
    let mut records = Vec::new();
    for batch in Batches::new(&body, Limits::FORMAT) {
        let batch = batch.unwrap();
        let mut scratch = Vec::new();
        records.extend(batch.records(&mut scratch).unwrap().map(<[u8]>::to_vec));
    }
    assert_eq!(answer.end_offset - answer.first_offset, records.len() as u64);
    records
}
