//! A client of Kafka's protocol, and its requests, for a broker on a directory in the test's own process.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bytes::Buf;
use rawline_batch::Limits;
use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec, RecordProducer};
use rawline_broker::CommitThread;
use rawline_broker::store::disk::{self, Durability};
use rawline_kafka::frame::{RequestHeader, read_response_header};
use rawline_kafka::messages::{MetadataRequest, MetadataRequestTopic};
use rawline_kafka::{Api, Request, Response};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub const TIME_MS: i64 = 1_700_000_000_000;

/// A broker on a new directory, which has a commit thread as the binary's has.
pub async fn served() -> (Served, tempfile::TempDir) {
    served_with(Some(CommitThread::start().unwrap())).await
}

pub async fn served_with(commit_thread: Option<CommitThread>) -> (Served, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    (served_in_with(dir.path(), commit_thread).await, dir)
}

/// A broker on a directory that may have records, as after a restart.
pub async fn served_in(dir: &Path) -> Served {
    served_in_with(dir, Some(CommitThread::start().unwrap())).await
}

async fn served_in_with(dir: &Path, commit_thread: Option<CommitThread>) -> Served {
    // The one before may still be about to release it.
    let released = async {
        loop {
            match disk::open(dir, Durability::PageCache) {
                Ok(store) => break store,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let store = tokio::time::timeout(Duration::from_secs(30), released).await.unwrap();
    let config = HttpConfig { commit_thread, ..HttpConfig::default() };
    Served::on(store, config, 64 << 20).await
}

/// A batch of records with keys, headers and times; the last has no value.
pub fn batch(codec: RecordCodec, count: usize, producer: Option<RecordProducer>) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(codec, Limits::default());
    for n in 0..count {
        let (key, value) = (format!("key {n}"), format!("value {n} {}", "-".repeat(n % 70)));
        let value = (n + 1 < count).then_some(value.as_bytes());
        let headers = [(&b"source"[..], Some(&b"test"[..])), (b"empty", None)];
        builder.push(TIME_MS + n as i64, Some(key.as_bytes()), value, headers).unwrap();
    }
    builder.finish(producer).unwrap().to_vec()
}

/// A client that speaks the protocol.
pub struct Client {
    pub stream: TcpStream,
    pub correlation_id: i32,
}

impl Client {
    pub async fn connect(server: &Served) -> Client {
        Client { stream: TcpStream::connect(server.kafka).await.unwrap(), correlation_id: 0 }
    }

    /// The bytes of a request.
    pub fn request(&mut self, api: i16, version: i16, body: &[u8]) -> Vec<u8> {
        self.correlation_id += 1;
        let (correlation_id, client_id) = (self.correlation_id, Some("test".to_owned()));
        let mut request = Vec::new();
        RequestHeader { api, version, correlation_id, client_id, bytes: 0 }.write(&mut request);
        request.extend(body);
        [&(request.len() as u32).to_be_bytes()[..], &request].concat()
    }

    /// The next response: its correlation id and its body.
    pub async fn response(&mut self, is_flexible: bool) -> (i32, Vec<u8>) {
        let length = self.stream.read_u32().await.unwrap();
        let mut response = vec![0; length as usize];
        self.stream.read_exact(&mut response).await.unwrap();
        let (correlation_id, bytes) = read_response_header(&response, is_flexible).unwrap();
        (correlation_id, response.split_off(bytes))
    }

    pub async fn exchange(&mut self, api: Api, version: i16, body: &[u8]) -> Vec<u8> {
        let request = self.request(api.key(), version, body);
        self.stream.write_all(&request).await.unwrap();
        let (correlation_id, body) = self.response(api.has_flexible_response_header(version)).await;
        assert_eq!(correlation_id, self.correlation_id);
        body
    }

    pub async fn call(&mut self, version: i16, request: impl Into<Request>) -> Response {
        let request = request.into();
        let mut body = Vec::new();
        request.write(version, &mut body);
        let body = self.exchange(request.api(), version, &body).await;
        Response::read(request.api(), version, &body).unwrap()
    }

    /// Creates a topic as clients do.
    pub async fn create(&mut self, name: &str) {
        let topic = MetadataRequestTopic { name: Some(name.to_owned()), ..MetadataRequestTopic::default() };
        let Response::Metadata(found) =
            self.call(12, MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() }).await
        else {
            panic!("another response")
        };
        assert_eq!((found.topics[0].error_code, found.topics[0].partitions.len()), (0, 1));
    }

    /// Fetches from an offset on.
    pub async fn fetch(&mut self, topic: &str, offset: i64, bytes_max: i32) -> Fetched {
        let body = self.exchange(Api::Fetch, 4, &fetch_body(topic, offset, bytes_max, 0)).await;
        Fetched::read(&body)
    }
}

/// One partition of a Produce request of version 3.
pub fn produce_body(topic: &str, acks: i16, records: &[u8]) -> Vec<u8> {
    let mut body = (-1_i16).to_be_bytes().to_vec();
    body.extend(acks.to_be_bytes());
    body.extend(30_000_i32.to_be_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend((topic.len() as i16).to_be_bytes());
    body.extend(topic.as_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(0_i32.to_be_bytes());
    body.extend((records.len() as i32).to_be_bytes());
    body.extend(records);
    body
}

/// The error and the first offset in a Produce response of version 3.
pub fn produced(body: &[u8], topic: &str) -> (i16, i64) {
    let mut fields = &body[4 + 2 + topic.len() + 4 + 4..];
    (fields.get_i16(), fields.get_i64())
}

/// A Fetch request of version 4 for one partition.
pub fn fetch_body(topic: &str, offset: i64, bytes_max: i32, wait_ms: i32) -> Vec<u8> {
    let mut body = (-1_i32).to_be_bytes().to_vec();
    body.extend(wait_ms.to_be_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend((50_i32 << 20).to_be_bytes());
    body.push(0);
    body.extend(1_i32.to_be_bytes());
    body.extend((topic.len() as i16).to_be_bytes());
    body.extend(topic.as_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(0_i32.to_be_bytes());
    body.extend(offset.to_be_bytes());
    body.extend(bytes_max.to_be_bytes());
    body
}

#[derive(Debug, PartialEq)]
pub struct Fetched {
    pub error: i16,
    pub next_offset: i64,
    pub records: Vec<u8>,
}

impl Fetched {
    /// Reads a response of version 4 with one partition.
    pub fn read(mut body: &[u8]) -> Fetched {
        body.advance(4 + 4);
        let name_bytes = body.get_u16();
        body.advance(name_bytes as usize + 4 + 4);
        let (error, next_offset) = (body.get_i16(), body.get_i64());
        // The last stable offset, and no aborted transactions.
        body.advance(8 + 4);
        let records_bytes = body.get_i32().max(0) as usize;
        assert_eq!(body.len(), records_bytes);
        Fetched { error, next_offset, records: body.to_vec() }
    }
}
