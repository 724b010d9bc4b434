//! Read by offset: every range, limits, waiting, times, what is deleted.

use crate::support::{SECOND_US, append_some, batch, body, open, received, record, records, request};
use rawline_batch::Codec;
use rawline_broker::{Broker, Clock, Config, ReadRequest};
use rawline_testkit::stores::places;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[tokio::test]
async fn what_was_appended_is_read_back_verbatim() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let mut sent = append_some(&topic, 0, 100, 7, Codec::None).await;
        sent.extend(append_some(&topic, 100, 150, 25, Codec::Zstd).await);
        sent.extend(append_some(&topic, 150, 200, 10, Codec::Lz4).await);
        let answer = topic.read(&request(0, 0, 0)).await.unwrap();
        assert_eq!(body(&answer), sent.concat(), "{}", place.name);
        assert_eq!((answer.first_offset, answer.end_offset, answer.next_offset), (0, 200, 200));
    }
}

#[tokio::test]
async fn every_range_can_be_read() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 40, 6, Codec::None).await;
        for offset in 0..=40 {
            for records_max in 1..=41 {
                let answer = topic.read(&request(offset, records_max, 0)).await.unwrap();
                let expected: Vec<_> = (offset..(offset + records_max).min(40)).map(record).collect();
                assert_eq!(records(&answer), expected, "{}: {records_max} from {offset}", place.name);
                assert_eq!(answer.first_offset, offset);
            }
        }
    }
}

/// Batches that are long enough for their checksums to be remembered, each range twice; then a new topic of that name.
#[tokio::test]
async fn every_range_of_long_batches_can_be_read_again_and_after_the_topic_was_created_anew() {
    for place in places().await {
        let broker = open(place.open().await).await;
        for created in 0..2u8 {
            let topic = broker.topic_or_create("t").await.unwrap();
            let sent: Vec<Vec<u8>> = (0..12u8).map(|number| vec![100 * created + number; 17_000]).collect();
            for records in sent.chunks(6) {
                topic.append(received(&batch(records, Codec::None))).await.unwrap();
            }
            for (offset, end) in (0..12).flat_map(|offset| (offset + 1..=12).map(move |end| (offset, end))) {
                for verify in [false, false, true] {
                    let request = ReadRequest { verify, ..request(offset as u64, (end - offset) as u64, 0) };
                    let answer = topic.read(&request).await.unwrap();
                    assert!(records(&answer) == sent[offset..end], "{}: {offset}..{end}", place.name);
                }
            }
            drop(topic);
            broker.delete_topic("t").await.unwrap();
        }
    }
}

#[tokio::test]
async fn bytes_are_limited_softly() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        // Ten bytes a record, four records a batch.
        for _ in 0..5 {
            let ten = vec![vec![b'r'; 10]; 4];
            topic.append(received(&batch(&ten, Codec::None))).await.unwrap();
        }
        for (bytes_max, expected) in [(1, 1), (10, 1), (19, 1), (20, 2), (39, 3), (45, 4), (65, 6), (1000, 20)] {
            let answer = topic.read(&request(0, 0, bytes_max)).await.unwrap();
            assert_eq!(records(&answer).len(), expected, "{}: {bytes_max}", place.name);
        }
    }
}

#[tokio::test]
async fn a_compressed_batch_comes_whole() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let sent = append_some(&topic, 0, 60, 20, Codec::Zstd).await;
        let answer = topic.read(&request(25, 1, 1)).await.unwrap();
        assert_eq!((answer.first_offset, answer.end_offset), (20, 40), "{}", place.name);
        assert_eq!(body(&answer), sent[1]);
        // Softly: the second does not come when the first has used the bytes up.
        let one = (sent[0].len() - 64 - 20 * 4) as u64;
        assert_eq!(topic.read(&request(0, 0, one)).await.unwrap().end_offset, 20);
    }
}

#[tokio::test]
async fn a_read_waits_for_its_record() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let short = ReadRequest { wait: Duration::from_millis(20), ..request(0, 0, 0) };
        let answer = topic.read(&short).await.unwrap();
        assert!(answer.pieces.is_empty() && answer.next_offset == 0, "{}", place.name);

        let long = ReadRequest { wait: Duration::from_secs(60), ..request(1, 0, 0) };
        let reader = tokio::spawn({
            let topic = topic.clone();
            async move { topic.read(&long).await.unwrap() }
        });
        append_some(&topic, 0, 1, 1, Codec::None).await;
        tokio::task::yield_now().await;
        assert!(!reader.is_finished(), "offset 0 is not offset 1");
        append_some(&topic, 1, 2, 1, Codec::None).await;
        assert_eq!(records(&reader.await.unwrap()), [record(1)], "{}", place.name);
    }
}

#[tokio::test]
async fn a_time_finds_its_offset() {
    for place in places().await {
        // The time of each object: one a request, each later than the one before.
        let mut times = Vec::new();
        {
            let broker = open(place.open().await).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            for first in (0..50).step_by(5) {
                append_some(&topic, first, first + 5, 5, Codec::None).await;
                times.push(topic.status().latest_commit_us.unwrap());
            }
            drop(topic);
            broker.close().await;
        }
        assert!(times.is_sorted_by(|one, next| one + SECOND_US <= *next), "{}: {times:?}", place.name);
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let after = (5..).step_by(5).zip(&times).map(|(next, time_us)| (time_us + 1, next));
        let at = (0..).step_by(5).zip(&times).map(|(first, time_us)| (*time_us, first));
        for (time_us, offset) in at.chain(after).chain([(0, 0), (u64::MAX, 50)]) {
            assert_eq!(topic.offset_at(time_us).await.unwrap(), offset, "{}: {time_us}", place.name);
        }
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_does_not_reorder_times() {
    struct Back(AtomicU64);
    impl Clock for Back {
        fn now_us(&self) -> u64 {
            // By less than times go back for.
            self.0.fetch_sub(SECOND_US / 100, Ordering::SeqCst)
        }
    }
    for place in places().await {
        let clock = Arc::new(Back(AtomicU64::new(100 * SECOND_US)));
        let broker = Broker::open(place.open().await, clock, Config::new(1)).await.unwrap();
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 1, 1, Codec::None).await;
        let first_us = topic.status().latest_commit_us.unwrap();
        append_some(&topic, 1, 10, 1, Codec::None).await;
        // Each is later by the least that there is, so that a time is an exact place.
        assert_eq!(topic.status().latest_commit_us, Some(first_us + 9), "{}", place.name);
        for later in 0..=10 {
            assert_eq!(topic.offset_at(first_us + later).await.unwrap(), later, "{}", place.name);
        }
    }
}
