//! Damage is never served, and hides nothing that lies before it; a read takes its share of time and no more.

use crate::support::{append_some, batch, body, open, open_with, received, record, records, request};
use bytes::Bytes;
use rawline_batch::{Batches, Codec, Limits};
use rawline_broker::limits::{READ_GATHER_MAX, READ_OBJECTS_MAX};
use rawline_broker::{Config, Kind, ObjectError, ReadError, ReadRequest, Topic};
use rawline_journal::Source;
use rawline_testkit::faulty::{Faulty, OnCreate, has_records};
use rawline_testkit::stores::in_memory;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The object that creates the topic; the appends follow.
const CREATED: u64 = 1;

/// A byte of an append's piece.
#[derive(Debug, Clone, Copy)]
enum At {
    /// Of its entries.
    Entries(u64),
    /// Of its batches.
    Batches(u64),
}

/// A topic whose store flips a bit of one append, counted from 1.
struct Damaged {
    topic: Arc<Topic>,
    flipped: Arc<Mutex<Option<(u64, At)>>>,
}

impl Damaged {
    async fn new() -> Damaged {
        let flipped: Arc<Mutex<Option<(u64, At)>>> = Arc::default();
        let mut store = Faulty::new();
        let now = flipped.clone();
        store.on_read = Box::new(move |place, start, bytes| {
            let at = now.lock().unwrap().filter(|(append, _)| place.source == Source::Journal(CREATED + append));
            let position = at.map(|(_, at)| match at {
                At::Entries(position) => place.entries().start + position,
                At::Batches(position) => place.batches().start + position,
            });
            let Some(position) = position.filter(|at| (start..start + bytes.len() as u64).contains(at)) else {
                return bytes;
            };
            let mut bytes = bytes.to_vec();
            bytes[(position - start) as usize] ^= 1;
            bytes.into()
        });
        let topic = open(store.storage()).await.topic_or_create("t").await.unwrap();
        Damaged { topic, flipped }
    }

    /// Flips the bit from now on.
    fn flip(&self, append: u64, at: At) {
        *self.flipped.lock().unwrap() = Some((append, at));
    }

    /// Damages nothing from now on.
    fn mend(&self) {
        *self.flipped.lock().unwrap() = None;
    }

    async fn end_of_read(&self, request: &ReadRequest) -> u64 {
        self.topic.read(request).await.unwrap().end_offset
    }

    async fn assert_damaged(&self, request: &ReadRequest) {
        let error = self.topic.read(request).await.unwrap_err();
        assert!(matches!(error, ReadError::Damaged { .. }), "{error:?}");
        assert_eq!(error.kind(), Kind::TellHuman);
    }
}

#[tokio::test]
async fn a_bit_that_flips_after_the_first_read_is_not_served_with_a_fresh_checksum() {
    let damaged = Damaged::new().await;
    let batches = append_some(&damaged.topic, 0, 40, 20, Codec::None).await;
    let whole = damaged.topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&whole).len(), 40);
    // In the data of the last record of the second object.
    damaged.flip(2, At::Batches(batches[1].len() as u64 - 12));
    damaged.assert_damaged(&request(25, 3, 0)).await;
    assert_eq!(damaged.end_of_read(&request(5, 3, 0)).await, 8, "the first object is intact");
    // What precedes the damage is served.
    assert_eq!(damaged.end_of_read(&request(5, 20, 0)).await, 20);
    // Whole batches carry their checksum to the consumer; a caller that takes them apart has them verified.
    assert_eq!(damaged.end_of_read(&request(0, 0, 0)).await, 40);
    let verified = ReadRequest { verify: true, ..request(0, 0, 0) };
    assert_eq!(damaged.end_of_read(&verified).await, 20);
    damaged.assert_damaged(&ReadRequest { offset: 20, ..verified }).await;
    damaged.mend();
    assert_eq!(damaged.end_of_read(&verified).await, 40);
}

/// Of batches that are cut again, only the blocks at the ends are read: the checksum that a slice gets doesn't match
/// what has changed since.
#[tokio::test]
async fn a_bit_that_flips_in_a_batch_that_was_cut_before_never_gets_a_matching_checksum() {
    const RECORD_BYTES: u64 = 50_000;
    let damaged = Damaged::new().await;
    let sent: Vec<Vec<u8>> = (0..8u8).map(|number| vec![number; RECORD_BYTES as usize]).collect();
    let batch = batch(&sent, Codec::None);
    damaged.topic.append(received(&batch)).await.unwrap();
    let parts = [(0, 3), (2, 1), (2, 5), (3, 5)];
    for (offset, count) in parts {
        let answer = damaged.topic.read(&request(offset, count, 0)).await.unwrap();
        assert_eq!(records(&answer), sent[offset as usize..(offset + count) as usize]);
    }
    let data_position = batch.len() as u64 - 8 * RECORD_BYTES;
    let (mut refused, mut noticed) = (0, 0);
    for position in (0..8 * RECORD_BYTES).step_by(3331) {
        damaged.flip(1, At::Batches(data_position + position));
        for (offset, count) in parts {
            let is_inside = (offset..offset + count).contains(&(position / RECORD_BYTES));
            match damaged.topic.read(&request(offset, count, 0)).await {
                Err(error) => {
                    assert!(matches!(error, ReadError::Damaged { .. }), "{error:?}");
                    refused += 1;
                }
                Ok(answer) => {
                    let body = body(&answer);
                    let is_noticed = Batches::new(&body, Limits::FORMAT).any(|batch| batch.is_err());
                    assert_eq!(is_noticed, is_inside, "byte {position}, {count} records from {offset} on");
                    noticed += usize::from(is_noticed);
                }
            }
            // A caller that takes batches apart gets verified bytes only.
            damaged.assert_damaged(&ReadRequest { verify: true, ..request(offset, count, 0) }).await;
        }
    }
    assert!(refused > 10 && noticed > 10, "{refused} {noticed}");
    damaged.mend();
    assert_eq!(records(&damaged.topic.read(&request(2, 5, 0)).await.unwrap()), sent[2..7]);
}

#[tokio::test]
async fn a_bit_that_flips_in_an_index_after_the_first_read_is_noticed() {
    let damaged = Damaged::new().await;
    append_some(&damaged.topic, 0, 20, 20, Codec::None).await;
    damaged.topic.read(&request(0, 0, 0)).await.unwrap();
    // Number of records and size of the batch.
    for position in [0, 4] {
        damaged.flip(1, At::Entries(position));
        damaged.assert_damaged(&request(0, 0, 0)).await;
    }
}

#[tokio::test]
async fn damage_hides_nothing_that_lies_before_it() {
    // Objects of 5 records; bytes of the third are damaged in turn.
    let damaged = Damaged::new().await;
    append_some(&damaged.topic, 0, 25, 5, Codec::None).await;
    let in_batches = [0, 12, 62, 102].map(At::Batches);
    for position in [0, 4, 8].map(At::Entries).into_iter().chain(in_batches) {
        damaged.flip(3, position);
        assert_eq!(damaged.end_of_read(&request(0, 0, 0)).await, 10, "{position:?}");
        assert_eq!(damaged.end_of_read(&request(7, 0, 0)).await, 10, "{position:?}");
        damaged.assert_damaged(&request(10, 0, 0)).await;
        damaged.assert_damaged(&request(13, 1, 0)).await;
        assert_eq!(damaged.end_of_read(&request(15, 0, 0)).await, 25, "{position:?}: what follows can be read");
    }
}

#[tokio::test]
async fn intact_batches_before_a_damaged_one_in_the_same_object_are_served() {
    let damaged = Damaged::new().await;
    let batches: Vec<Vec<u8>> = (0..4)
        .map(|number| batch(&(number * 5..number * 5 + 5).map(record).collect::<Vec<_>>(), Codec::None))
        .collect();
    damaged.topic.append(received(&batches.concat())).await.unwrap();
    // A byte of the data of the third batch.
    let third = batches[..2].iter().map(Vec::len).sum::<usize>();
    damaged.flip(1, At::Batches(third as u64 + 64 + 5 * 4 + 1));
    let answer = damaged.topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&answer), (0..10).map(record).collect::<Vec<_>>());
    assert_eq!(damaged.end_of_read(&request(8, 0, 0)).await, 10);
    let error = damaged.topic.read(&request(10, 0, 0)).await.unwrap_err();
    let is_third = |error: &ObjectError| matches!(error, ObjectError::Batch { number: 2, .. });
    assert!(matches!(&error, ReadError::Damaged { error, .. } if is_third(error)), "{error:?}");
}

#[tokio::test]
async fn a_read_of_tiny_objects_ends_and_lets_other_tasks_run() {
    let broker = open(in_memory()).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    let count = READ_OBJECTS_MAX as u64 + 100;
    append_some(&topic, 0, count, 1, Codec::None).await;
    let turns = Arc::new(AtomicUsize::new(0));
    let seen = turns.clone();
    let other = tokio::spawn(async move {
        loop {
            seen.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    let answer = topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(answer.end_offset, READ_OBJECTS_MAX as u64);
    assert!(turns.load(Ordering::SeqCst) > 10, "the other task had {turns:?} turns");
    assert_eq!(topic.read(&request(answer.end_offset, 0, 0)).await.unwrap().end_offset, count);
    other.abort();
}

#[tokio::test(start_paused = true)]
async fn a_read_returns_what_it_has_instead_of_waiting_for_slow_objects() {
    let mut store = Faulty::new();
    // The objects from offset 15 on.
    store.read_delay = Box::new(|place| Duration::from_secs(if place.source.number() > CREATED + 3 { 20 } else { 0 }));
    let broker = open(store.storage()).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 25, 5, Codec::None).await;
    let before = tokio::time::Instant::now();
    assert_eq!(topic.read(&request(0, 0, 0)).await.unwrap().end_offset, 15);
    assert_eq!(before.elapsed(), READ_GATHER_MAX, "the clock is paused, so this is exact");
    assert_eq!(topic.read(&request(15, 0, 0)).await.unwrap().end_offset, 20, "the first object is waited for");
}

#[tokio::test]
async fn a_store_that_fails_fails_its_callers_and_the_topic_goes_on() {
    let mut store = Faulty::new();
    let failures = AtomicUsize::new(0);
    store.on_create = Box::new(move |index| {
        let is_second = has_records(index) && failures.fetch_add(1, Ordering::SeqCst) == 1;
        if is_second { OnCreate::Fail } else { OnCreate::Pass }
    });
    let broker = open_with(store.storage(), Config::new(7)).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    append_some(&topic, 0, 3, 3, Codec::None).await;
    let bytes = batch(&[record(3)], Codec::None);
    assert_eq!(topic.append(received(&bytes)).await.unwrap_err().kind(), Kind::Wait);
    append_some(&topic, 3, 9, 3, Codec::None).await;
    let answer = topic.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(records(&answer), (0..9).map(record).collect::<Vec<_>>());
    assert!(
        answer
            .pieces
            .iter()
            .all(|piece| matches!(piece, rawline_broker::Piece::Whole(bytes) if bytes != &Bytes::new()))
    );
}
