//! ListOffsets by the times of records.

use crate::support::kafka::{Client, TIME_MS, produce_body, produced};
use crate::support::{connect, exchange};
use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec};
use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::{Clock, SystemClock};
use rawline_kafka::messages::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use rawline_kafka::messages::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::path::Path;

const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const MINUTE_MS: i64 = 60_000;

async fn served(dir: &Path) -> Served {
    let store = disk::open(dir, Durability::PageCache).unwrap();
    Served::on(store, HttpConfig::default(), 64 << 20).await
}

fn now_ms() -> i64 {
    (SystemClock.now_us() / 1000) as i64
}

/// A batch with records of these times.
fn batch(codec: RecordCodec, times: &[i64]) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(codec, Limits::default());
    for time in times {
        builder.push(*time, None, Some(&b"x"[..]), []).unwrap();
    }
    builder.finish(None).unwrap().to_vec()
}

async fn produce(client: &mut Client, batch: &[u8]) -> (i16, i64) {
    produced(&client.exchange(Api::Produce, 3, &produce_body("t", -1, batch)).await, "t")
}

/// Appends records in a batch of ours.
async fn append(server: &Served, records: usize) {
    let mut builder = Builder::new(Codec::None, Limits::default());
    (0..records).for_each(|_| builder.push(b"ours").unwrap());
    let mut body = Vec::new();
    builder.finish_into(1, 0, 0, &mut body).unwrap();
    assert_eq!(send(server, "application/vnd.rawline.batch", &body).await.0, 201);
}

async fn send(server: &Served, media_type: &str, body: &[u8]) -> (u16, String) {
    let head = format!(
        "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    exchange(&mut connect(server).await, &[head.as_bytes(), body]).await.unwrap()
}

/// Deletes the records before this offset.
async fn delete_before(client: &mut Client, offset: i64) {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let topics = vec![DeleteRecordsTopic { name: "t".to_owned(), partitions }];
    let request = DeleteRecordsRequest { topics, ..DeleteRecordsRequest::default() };
    let Response::DeleteRecords(deleted) = client.call(2, request).await else { panic!() };
    assert_eq!(deleted.topics[0].partitions[0].error_code, 0);
}

/// Offsets and times.
async fn list(client: &mut Client, wanted: &[i64]) -> Vec<(i64, i64)> {
    let at = |&timestamp: &i64| ListOffsetsPartition { timestamp, ..ListOffsetsPartition::default() };
    let topics = vec![ListOffsetsTopic { name: "t".to_owned(), partitions: wanted.iter().map(at).collect() }];
    let request = ListOffsetsRequest { topics, ..ListOffsetsRequest::default() };
    let Response::ListOffsets(found) = client.call(7, request).await else { panic!() };
    let partitions = found.topics.into_iter().flat_map(|topic| topic.partitions);
    partitions.map(|found| (found.offset, found.timestamp)).collect()
}

/// The result of a search through all records.
fn expected(times: &[i64], wanted: i64) -> (i64, i64) {
    let found = times.iter().position(|time| *time >= wanted);
    found.map_or((-1, -1), |offset| (offset as i64, times[offset]))
}

#[tokio::test]
async fn the_first_record_of_a_time_is_found_whatever_the_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let mut random = fastrand::Rng::with_seed(3);
    let codecs = [RecordCodec::None, RecordCodec::Gzip, RecordCodec::Snappy, RecordCodec::Lz4, RecordCodec::Zstd];
    let mut times = Vec::new();
    for number in 0..60_i64 {
        // On average later than those before, by hours each; in any order near that, also inside of a batch.
        let around = TIME_MS + number * 60 * MINUTE_MS;
        let of_batch: Vec<i64> = (0..random.usize(1..20)).map(|_| around + random.i64(-300..300) * MINUTE_MS).collect();
        let sent = batch(codecs[number as usize % codecs.len()], &of_batch);
        assert_eq!(produce(&mut client, &sent).await, (0, times.len() as i64));
        times.extend(of_batch);
    }
    let newest = *times.iter().max().unwrap();
    let mut wanted: Vec<i64> = times.iter().step_by(7).flat_map(|time| [*time, time + 1]).collect();
    wanted.extend([0, 1, newest + 1]);
    for is_again in [false, true] {
        let found = list(&mut client, &wanted).await;
        for (wanted, found) in wanted.iter().zip(found) {
            assert_eq!(found, expected(&times, *wanted), "{wanted}, again: {is_again}");
        }
        let greatest = expected(&times, newest);
        assert_eq!(list(&mut client, &[MAX_TIMESTAMP, EARLIEST]).await, [greatest, (0, -1)]);
        server.stop().await;
        server = served(dir.path()).await;
        client = Client::connect(&server).await;
    }
}

#[tokio::test]
async fn batches_of_ours_are_of_the_time_of_their_append() {
    let dir = tempfile::tempdir().unwrap();
    let server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    assert_eq!(list(&mut client, &[0, MAX_TIMESTAMP]).await, [(-1, -1); 2]);
    let before = now_ms();
    assert_eq!(produce(&mut client, &batch(RecordCodec::None, &[TIME_MS, -1, TIME_MS + 5])).await, (0, 0));
    append(&server, 4).await;
    let after = now_ms() + 1;
    // By a clock that is half an hour ahead, in the middle of a batch.
    let ahead = after + 30 * MINUTE_MS;
    assert_eq!(produce(&mut client, &batch(RecordCodec::Zstd, &[TIME_MS + 9, ahead, TIME_MS])).await, (0, 7));
    append(&server, 1).await;
    let wanted = [0, TIME_MS + 5, TIME_MS + 6, before, after + MINUTE_MS, ahead + 1, MAX_TIMESTAMP];
    let found = list(&mut client, &wanted).await;
    assert_eq!(found.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [0, 2, 3, 3, 8, -1, 8]);
    assert!((before..=after).contains(&found[2].1), "{found:?}");
    assert_eq!((found[1].1, found[4].1, found[6].1), (TIME_MS + 5, ahead, ahead));
}

#[tokio::test]
async fn deleted_records_are_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    // The newest of all is in the middle of the first batch.
    let sent = batch(RecordCodec::Zstd, &[TIME_MS, TIME_MS + 9, TIME_MS + 2, TIME_MS + 1]);
    assert_eq!(produce(&mut client, &sent).await, (0, 0));
    assert_eq!(produce(&mut client, &batch(RecordCodec::None, &[TIME_MS, TIME_MS + 5])).await, (0, 4));
    assert_eq!(list(&mut client, &[MAX_TIMESTAMP, TIME_MS]).await, [(1, TIME_MS + 9), (0, TIME_MS)]);
    delete_before(&mut client, 2).await;
    let found = list(&mut client, &[MAX_TIMESTAMP, TIME_MS, TIME_MS + 2, TIME_MS + 3, TIME_MS + 6]).await;
    let (third, last) = ((2, TIME_MS + 2), (5, TIME_MS + 5));
    assert_eq!(found, [last, third, third, last, (-1, -1)]);
    delete_before(&mut client, 6).await;
    assert_eq!(list(&mut client, &[MAX_TIMESTAMP, TIME_MS]).await, [(-1, -1); 2]);
}

/// A search relies on it that no record is much later than its append.
#[tokio::test]
async fn records_of_the_future_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = served(dir.path()).await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let sent = batch(RecordCodec::None, &[now_ms() + 61 * MINUTE_MS]);
    assert_eq!(produce(&mut client, &sent).await.0, i16::from(ErrorCode::InvalidTimestamp));
    let (status, text) = send(&server, "application/vnd.kafka.record-batch", &sent).await;
    assert!(status == 400 && text.contains("an hour after the broker's time"), "{text}");
    // A header may lie about its records: nothing is found, and nothing fails.
    let mut lying = batch(RecordCodec::None, &[TIME_MS, TIME_MS]);
    lying[35..43].copy_from_slice(&(TIME_MS + 100).to_be_bytes());
    let checksum = rawline_batch::crc32c(&lying[21..]);
    lying[17..21].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(produce(&mut client, &lying).await, (0, 0));
    assert_eq!(produce(&mut client, &batch(RecordCodec::None, &[TIME_MS + 50])).await, (0, 2));
    assert_eq!(list(&mut client, &[TIME_MS + 1, TIME_MS + 60]).await, [(2, TIME_MS + 50), (-1, -1)]);
}
