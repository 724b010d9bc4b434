//! The client library against a real broker.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

mod answers;
mod cold;
mod connections;
mod consumer;
mod documented;
mod exactly_once;
mod groups;
mod killed;
mod messages;
mod partitions;
mod pipelines;
mod producer;
mod proxy;
mod requests;
mod subscriptions;
#[path = "../support/mod.rs"]
mod support;
mod unreadable;

use rawline_batch::{Builder, Codec, Limits};
use rawline_client::{Client, ClientConfig, Fetched, ReadOptions};
use support::Broker;

fn client(broker: &Broker) -> Client {
    Client::new(ClientConfig::new(broker.url())).unwrap()
}

/// Reads a topic of one partition from `offset` to its end.
async fn read_all(client: &Client, topic: &str, offset: u64) -> Vec<Vec<u8>> {
    read_partition(client, (topic, 0), offset).await
}

/// Reads a partition from `offset` to its end.
async fn read_partition(client: &Client, partition: (&str, u32), mut offset: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut fetched = Fetched::default();
    loop {
        fetched = client.read(partition, &ReadOptions { offset, ..ReadOptions::default() }, fetched).await.unwrap();
        if fetched.is_empty() {
            return all;
        }
        let mut records = fetched.records();
        while let Some(record) = records.next_record().unwrap() {
            assert_eq!(record.offset, offset);
            all.push(record.bytes.to_vec());
            offset += 1;
        }
        assert_eq!(fetched.next_offset(), offset);
    }
}

fn batch(codec: Codec, records: impl IntoIterator<Item = String>) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::default());
    for record in records {
        builder.push(record.as_bytes()).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(1, 0, 0, &mut bytes).unwrap();
    bytes
}
