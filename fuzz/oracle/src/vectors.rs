//! The golden bytes in `vectors/kafka/`: every message in every version.

use crate::compare::{Message, agreed};
use crate::support::{fetch_response, parts, produced, topic};
use crate::values::{Fill, Values};
use bytes::BytesMut;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{FetchRequest, ProduceRequest, TopicName, TransactionalId};
use kafka_protocol::protocol::{Encodable, StrBytes};
use rawline_kafka::produce::TopicRef;
use rawline_kafka::{Api, Request, Response, fetch, produce};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The folder of the files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/kafka")
}

/// The files' names and texts.
pub fn files() -> Vec<(String, String)> {
    Api::ALL.iter().map(|api| (format!("{}.json", api.name()), file(*api))).collect()
}

struct Vector {
    kind: &'static str,
    fill: String,
    versions: Vec<i16>,
    bytes: Vec<u8>,
    text: String,
}

fn file(api: Api) -> String {
    let mut vectors = Vec::new();
    match api {
        Api::Produce => produce_vectors(&mut vectors),
        Api::Fetch => fetch_vectors(&mut vectors),
        _ => {
            add_messages::<Request>(api, &mut vectors);
            add_messages::<Response>(api, &mut vectors);
        }
    }
    let lines: Vec<_> = vectors.iter().map(line).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn line(vector: &Vector) -> String {
    let Vector { kind, fill, versions, bytes, text } = vector;
    let versions: Vec<_> = versions.iter().map(i16::to_string).collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = serde_json::Value::from(text.as_str());
    let versions = versions.join(", ");
    format!(r#"{{"kind": "{kind}", "fill": "{fill}", "versions": [{versions}], "hex": "{hex}", "text": {text}}}"#)
}

/// Versions with the same bytes and fields are one vector.
fn add(vectors: &mut Vec<Vector>, kind: &'static str, fill: &str, version: i16, bytes: Vec<u8>, text: String) {
    let same = |vector: &&mut Vector| {
        (vector.kind, vector.fill.as_str(), &vector.bytes, &vector.text) == (kind, fill, &bytes, &text)
    };
    match vectors.iter_mut().find(same) {
        Some(vector) => vector.versions.push(version),
        None => vectors.push(Vector { kind, fill: fill.to_owned(), versions: vec![version], bytes, text }),
    }
}

fn add_messages<M: Message>(api: Api, vectors: &mut Vec<Vector>) {
    for fill in [Fill::Empty, Fill::Null, Fill::Several] {
        for version in api.versions() {
            let message = M::filled(api, version, &mut Values::new(fill, api.is_flexible(version), 0));
            let bytes = agreed(api, version, &message);
            let fill = format!("{fill:?}").to_lowercase();
            add(vectors, M::KIND, &fill, version, bytes, format!("{message:?}"));
        }
    }
}

/// A Produce request of so many topics, as the other implementation writes it.
pub fn their_produce(version: i16, topics: u8) -> Vec<u8> {
    let mut request = ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000);
    request.transactional_id = (version % 2 == 0).then(|| TransactionalId(StrBytes::from_static_str("a transaction")));
    for number in 0..topics {
        let mut data = match topic(version, number) {
            TopicRef::Name(name) => TopicProduceData::default().with_name(TopicName(StrBytes::from_string(name))),
            TopicRef::Id(id) => TopicProduceData::default().with_topic_id(Uuid::from_bytes(id)),
        };
        for partition in 0..i32::from(number) {
            let records = vec![partition as u8 + 1; partition as usize * 150];
            let one = PartitionProduceData::default().with_index(partition).with_records(Some(records.into()));
            data.partition_data.push(one);
        }
        request.topic_data.push(data);
    }
    encoded(&request, version)
}

fn produce_vectors(vectors: &mut Vec<Vector>) {
    for (fill, topics) in [("empty", 0), ("several", 3)] {
        for version in Api::Produce.versions() {
            let bytes = their_produce(version, topics);
            let text = format!("{:?}", parts(version, &bytes, || usize::MAX).expect("a request"));
            add(vectors, "request", fill, version, bytes, text);
        }
    }
    for version in Api::Produce.versions() {
        let bytes = produce::response(version, &produced(version), 12);
        add(vectors, "response", "several", version, bytes, String::new());
    }
}

/// A Fetch request of so many topics, as the other implementation writes it.
pub fn their_fetch(version: i16, topics: u8) -> Vec<u8> {
    let mut request = FetchRequest::default().with_max_wait_ms(500).with_min_bytes(1).with_max_bytes(1 << 20);
    request.isolation_level = 1;
    if version >= 7 {
        (request.session_id, request.session_epoch) = (4, 5);
    }
    for number in 0..topics {
        let mut one = match topic(version, number) {
            TopicRef::Name(name) => FetchTopic::default().with_topic(TopicName(StrBytes::from_string(name))),
            TopicRef::Id(id) => FetchTopic::default().with_topic_id(Uuid::from_bytes(id)),
        };
        for partition in 0..i32::from(number) {
            let epoch = if version >= 9 { 3 } else { -1 };
            let offset = i64::from(partition + 1) << 35;
            let asked = FetchPartition::default().with_partition(partition).with_fetch_offset(offset);
            one.partitions.push(asked.with_partition_max_bytes(1000 + partition).with_current_leader_epoch(epoch));
        }
        request.topics.push(one);
    }
    encoded(&request, version)
}

fn fetch_vectors(vectors: &mut Vec<Vector>) {
    for (fill, topics) in [("empty", 0), ("several", 3)] {
        for version in Api::Fetch.versions() {
            let bytes = their_fetch(version, topics);
            let text = format!("{:?}", fetch::request(version, &bytes).expect("a request"));
            add(vectors, "request", fill, version, bytes, text);
        }
    }
    for version in Api::Fetch.versions() {
        add(vectors, "response", "several", version, fetch_response(version), String::new());
    }
}

fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).expect("a message");
    bytes.to_vec()
}
