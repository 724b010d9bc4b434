//! Helpers that the tests share, those of `fuzz/oracle` too.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use rawline_kafka::WireError;
use rawline_kafka::fetch::{self, FetchedPartition};
use rawline_kafka::produce::{Event, ProduceHead, ProduceReader, Produced, TopicRef};
use serde_json::Value as Json;

/// The bytes of a text in hexadecimal.
pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Golden bytes of one message.
pub struct Vector {
    /// Those of a request; else of a response.
    pub is_request: bool,
    /// How the fields were chosen.
    pub fill: String,
    /// The versions with the same bytes.
    pub versions: Vec<i16>,
    /// The body.
    pub bytes: Vec<u8>,
    /// The parsed form.
    pub text: String,
}

/// The golden bytes of an API.
pub fn vectors(api: &str) -> Vec<Vector> {
    let path = format!("{}/../../vectors/kafka/{api}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let vectors: Vec<Json> = serde_json::from_str(&text).unwrap();
    let vector = |json: &Json| Vector {
        is_request: json["kind"] == "request",
        fill: json["fill"].as_str().unwrap().to_owned(),
        versions: serde_json::from_value(json["versions"].clone()).unwrap(),
        bytes: unhex(json["hex"].as_str().unwrap()),
        text: json["text"].as_str().unwrap().to_owned(),
    };
    vectors.iter().map(vector).collect()
}

/// A Produce request's parts, the records of each partition in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub head: Option<ProduceHead>,
    pub partitions: Vec<(TopicRef, i32, Vec<u8>)>,
    pub ended: bool,
}

/// Reads a Produce request from pieces, of which `cut` chooses the lengths.
pub fn parts(version: i16, bytes: &[u8], mut cut: impl FnMut() -> usize) -> Result<Parts, WireError> {
    let mut reader = ProduceReader::new(version, bytes.len() as u64)?;
    let (mut found, mut rest) = (Parts::default(), bytes);
    loop {
        let (mut piece, after) = rest.split_at(rest.len().min(cut()));
        while let Some(event) = reader.next(&mut piece)? {
            match event {
                Event::Head(head) => assert!(found.head.replace(head).is_none()),
                Event::Partition { topic, partition, .. } => found.partitions.push((topic, partition, Vec::new())),
                Event::Records(records) => found.partitions.last_mut().unwrap().2.extend(records),
                Event::PartitionEnd => {}
                Event::End => found.ended = true,
            }
        }
        assert!(piece.is_empty());
        rest = after;
        if rest.is_empty() {
            return Ok(found);
        }
    }
}

/// A topic as a request of this version names it.
pub fn topic(version: i16, number: u8) -> TopicRef {
    if version >= 13 { TopicRef::Id([number + 1; 16]) } else { TopicRef::Name(format!("topic-{number}")) }
}

/// A Produce response: one stored partition, one refused.
pub fn produced(version: i16) -> Vec<(TopicRef, Vec<Produced>)> {
    let stored = Produced { partition: 5, error: 0, first_offset: 1 << 40, log_first_offset: 7, message: None };
    let message = Some("not like this".to_owned());
    let refused = Produced { partition: 6, error: 87, first_offset: -1, log_first_offset: -1, message };
    vec![(topic(version, 1), vec![stored, refused]), (topic(version, 2), Vec::new())]
}

/// A Fetch response: partitions with and without records, and one with an error.
pub fn fetched(version: i16) -> Vec<(TopicRef, Vec<FetchedPartition>)> {
    let found = |partition, records_bytes| FetchedPartition {
        partition,
        error: 0,
        next_offset: 100,
        stable_offset: 90,
        first_offset: 7,
        aborted: if records_bytes > 100 { vec![(1 << 52, 70), (8, 9)] } else { Vec::new() },
        preferred: -1,
        records_bytes,
    };
    let refused = FetchedPartition { error: 1, next_offset: -1, stable_offset: -1, first_offset: -1, ..found(3, 0) };
    vec![(topic(version, 1), vec![found(0, 150), found(1, 0)]), (topic(version, 2), vec![found(2, 5), refused])]
}

/// The bytes of a Fetch response, with records of as many bytes as each has, all of them 7.
pub fn fetch_response(version: i16) -> Vec<u8> {
    let topics = fetched(version);
    let response = fetch::response(version, 0, 0, &topics);
    let records =
        topics.iter().flat_map(|(_, partitions)| partitions).map(|partition| partition.records_bytes as usize);
    let (mut records, mut bytes) = (records.filter(|records| *records > 0), Vec::new());
    for part in &response.parts {
        bytes.extend(&part.bytes);
        if part.has_records {
            bytes.extend(vec![7; records.next().unwrap()]);
        }
    }
    assert_eq!(records.next(), None, "version {version}");
    assert_eq!(bytes.len() as u64, response.bytes, "version {version}");
    bytes
}
