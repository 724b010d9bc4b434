//! Kafka's batches: stored as they came but for what the broker decides, next to batches of the other kind.

use crate::support::{append_some, batch, body, open, open_with, received, records, request};
use rawline_batch::Codec;
use rawline_batch::record_batch::RecordProducer;
use rawline_broker::{AppendError, BatchKind, Config, Partition, ReadRequest};
use rawline_testkit::batches::{received_record_batches, record_batch, stamped};
use rawline_testkit::stores::places;

/// A batch of `records` records that differs from others by `seed`.
fn made(records: u32, seed: u64) -> Vec<u8> {
    let bytes: Vec<u8> = (0..u64::from(records) * 13 + seed % 300).map(|n| (n * 31 + seed) as u8).collect();
    record_batch(records, &bytes, None)
}

/// Appends batches in requests of one, two and three of them. Returns them as they should be stored, each with the
/// offsets of its records.
async fn append_many(topic: &Partition, requests: u64) -> Vec<(std::ops::Range<u64>, Vec<u8>)> {
    let mut stored = Vec::new();
    let mut offset = topic.status().next_offset;
    for number in 0..requests {
        let batches: Vec<_> = (0..=number % 3).map(|n| made(1 + (number * 5 + n) as u32 % 9, number * 3 + n)).collect();
        let appended = topic.append(received_record_batches(&batches.concat())).await.unwrap();
        assert_eq!(appended.first_offset, offset);
        for batch in batches {
            let count = u64::from(u32::from_be_bytes(batch[57..61].try_into().unwrap()));
            stored.push((offset..offset + count, stamped(&batch, offset)));
            offset += count;
        }
        assert_eq!(appended.next_offset, offset);
    }
    stored
}

async fn assert_stored(topic: &Partition, stored: &[(std::ops::Range<u64>, Vec<u8>)], name: &str) {
    for verify in [false, true] {
        let end = stored.last().unwrap().0.end;
        // All of them, in as many reads as it takes.
        let mut offset = stored[0].0.start;
        let mut bytes = Vec::new();
        while offset < end {
            let answer = topic.read(&ReadRequest { verify, ..request(offset, 0, 0) }).await.unwrap();
            assert_eq!((answer.kind, answer.first_offset), (BatchKind::Kafka, offset), "{name}");
            bytes.extend(body(&answer));
            offset = answer.end_offset;
        }
        assert!(bytes == stored.iter().flat_map(|(_, batch)| batch).copied().collect::<Vec<_>>(), "{name}");
        // Whichever record is wanted, its batch comes whole.
        for (offsets, batch) in stored {
            for offset in offsets.clone() {
                let answer = topic.read(&ReadRequest { verify, ..request(offset, 1, 1) }).await.unwrap();
                assert_eq!((answer.first_offset, answer.end_offset), (offsets.start, offsets.end), "{name}: {offset}");
                assert!(body(&answer) == *batch, "{name}: {offset}");
            }
        }
    }
}

#[tokio::test]
async fn they_are_stored_verbatim_with_their_offsets() {
    for place in places().await {
        let mut stored;
        {
            let broker = open(place.open().await).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            stored = append_many(&topic, 30).await;
            assert_stored(&topic, &stored, place.name).await;
            drop(topic);
            broker.close().await;
        }
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_stored(&topic, &stored, place.name).await;
        stored.extend(append_many(&topic, 5).await);
        assert_stored(&topic, &stored, place.name).await;
    }
}

#[tokio::test]
async fn a_read_ends_where_the_kind_of_the_batches_changes() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let first = append_some(&topic, 0, 20, 4, Codec::None).await.concat();
        let kafka = append_many(&topic, 4).await;
        let begins = kafka.last().unwrap().0.end;
        let later = vec![b"later".to_vec(); 3];
        topic.append(received(&batch(&later, Codec::None))).await.unwrap();
        for verify in [false, true, false] {
            let read = async |offset| topic.read(&ReadRequest { verify, ..request(offset, 0, 0) }).await.unwrap();
            let answer = read(0).await;
            assert_eq!((answer.kind, answer.end_offset), (BatchKind::Rawline, 20), "{}", place.name);
            assert!(body(&answer) == first, "{}", place.name);
            let answer = read(20).await;
            assert_eq!((answer.kind, answer.end_offset), (BatchKind::Kafka, begins), "{}", place.name);
            assert!(body(&answer) == kafka.iter().flat_map(|(_, batch)| batch).copied().collect::<Vec<_>>());
            let answer = read(begins + 1).await;
            assert_eq!(answer.kind, BatchKind::Rawline, "{}", place.name);
            assert_eq!(records(&answer), later[1..], "{}", place.name);
        }
    }
}

/// Appends of both kinds in one object: those that arrive together are one commit.
#[tokio::test]
async fn both_kinds_can_be_in_one_object() {
    for place in places().await {
        let config = Config { batch_wait: std::time::Duration::from_millis(50), ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let plain = batch(&[b"one".to_vec(), b"two".to_vec()], Codec::None);
        let kafka = made(3, 7);
        let appends = (0..10).map(|n| {
            let received = if n % 2 == 0 { received(&plain) } else { received_record_batches(&kafka) };
            topic.append(received)
        });
        let appended = futures_util::future::join_all(appends).await;
        assert!(topic.status().objects < 10, "{}: {} objects", place.name, topic.status().objects);
        for (n, appended) in appended.into_iter().enumerate() {
            let offset = appended.unwrap().first_offset;
            let answer = topic.read(&request(offset, 1, 0)).await.unwrap();
            if n % 2 == 0 {
                assert_eq!(answer.kind, BatchKind::Rawline, "{}", place.name);
                assert_eq!(records(&answer), [b"one".to_vec()], "{}", place.name);
            } else {
                assert_eq!(answer.kind, BatchKind::Kafka, "{}", place.name);
                assert!(body(&answer) == stamped(&kafka, offset), "{}", place.name);
            }
        }
    }
}

#[tokio::test]
async fn a_producer_that_sends_a_batch_again_gets_its_offsets() {
    for place in places().await {
        let producer = |base_sequence| Some(RecordProducer { id: 1 << 40, epoch: 2, base_sequence });
        let last = (1 << 31) - 2;
        let batches =
            [(last, 2), (0, 5), (5, 1)].map(|(sequence, count)| record_batch(count, b"r", producer(sequence)));
        let append = async |topic: &Partition, batch: &[u8]| topic.append(received_record_batches(batch)).await;
        {
            let broker = open(place.open().await).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            for (batch, offset) in batches.iter().zip([0, 2, 7]) {
                assert_eq!(append(&topic, batch).await.unwrap().first_offset, offset, "{}", place.name);
            }
            drop(topic);
            broker.close().await;
        }
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        for (batch, offset) in batches.iter().zip([0, 2, 7]) {
            assert_eq!(append(&topic, batch).await.unwrap().first_offset, offset, "{}", place.name);
        }
        assert_eq!(topic.status().next_offset, 8);
        let gap = append(&topic, &record_batch(1, b"r", producer(8))).await.unwrap_err();
        assert!(matches!(gap, AppendError::Gap { expected: 6, found: 8 }), "{}: {gap}", place.name);
        let older = Some(RecordProducer { id: 1 << 40, epoch: 1, base_sequence: 6 });
        let fenced = append(&topic, &record_batch(1, b"r", older)).await.unwrap_err();
        assert!(matches!(fenced, AppendError::Fenced { current: 2, found: 1 }), "{}: {fenced}", place.name);
        assert_eq!(append(&topic, &record_batch(1, b"r", producer(6))).await.unwrap().first_offset, 8);
    }
}
