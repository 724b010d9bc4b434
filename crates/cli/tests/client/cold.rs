//! A broker that is killed while it fills its cache, and starts again on what is there of it.

use crate::{client, support};
use rawline_batch::{Builder, Codec, Limits};
use rawline_client::{Fetched, ReadOptions};
use rawline_testkit::s3_server;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Records of an append.
const RECORDS: u64 = 64;
const RECORD_BYTES: usize = 16 << 10;
/// Appends, each of 1 MiB.
const APPENDS: u64 = 48;
/// The broker is killed when a reader has got so many records.
const KILLS_AT: [u64; 5] = [64, 300, 900, 1_700, 2_600];

const _: () = assert!(KILLS_AT[4] < RECORDS * APPENDS);

fn record(offset: u64) -> Vec<u8> {
    let mut record = format!("record {offset} ").into_bytes();
    record.resize(RECORD_BYTES, offset as u8);
    record
}

/// Reads from the first record on, to this offset at least. Returns the size of what the broker has fetched for it.
async fn read(broker: &support::Broker, end_offset: u64) -> u64 {
    let (client, mut fetched, mut offset) = (client(broker), Fetched::default(), 0);
    while offset < end_offset {
        let options = ReadOptions { offset, bytes_max: 1 << 20, ..ReadOptions::default() };
        fetched = client.read("t", &options, fetched).await.unwrap();
        let mut records = fetched.records();
        while let Some(found) = records.next_record().unwrap() {
            assert!(found.offset == offset && found.bytes == record(offset), "the record at {offset}");
            offset += 1;
        }
    }
    fetched_bytes(broker)
}

fn fetched_bytes(broker: &support::Broker) -> u64 {
    let mut stream = TcpStream::connect(broker.address).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", broker.address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("rawline_cache_fetched_bytes_total ")).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_while_the_cache_is_filled_costs_downloads_only() {
    let bucket = s3_server::bucket().await;
    let writer = support::broker_on(&bucket, &[]);
    for append in 0..APPENDS {
        let mut builder = Builder::new(Codec::None, Limits::default());
        (0..RECORDS).for_each(|n| builder.push(&record(append * RECORDS + n)).unwrap());
        let mut bytes = Vec::new();
        builder.finish_into(1, 0, 0, &mut bytes).unwrap();
        client(&writer).append("t", vec![bytes.into()]).await.unwrap();
    }
    drop(writer);
    let mut reader = support::broker_on(&bucket, &[]);
    for kill_at in KILLS_AT {
        // What is fetched ahead of it is in flight.
        read(&reader, kill_at).await;
        reader.kill();
        reader.start_again();
    }
    let (all, records) = (RECORDS * APPENDS * RECORD_BYTES as u64, RECORDS * APPENDS);
    let fetched = read(&reader, records).await;
    assert!(fetched < all / 2, "{fetched} bytes of {all}: blocks outlive the kills");
    assert_eq!(read(&reader, records).await, fetched, "all of it is there");
}
