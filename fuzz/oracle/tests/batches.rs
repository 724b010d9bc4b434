//! Produce and Fetch: requests as the other implementation writes them, responses as it reads them.

use bytes::Bytes;
use fastrand::Rng;
use kafka_protocol::messages::{FetchResponse, ProduceResponse};
use kafka_protocol::protocol::Decodable;
use rawline_kafka::produce::{self, ProduceHead};
use rawline_kafka::{Api, fetch};
use rawline_kafka_oracle::support::{fetch_response, parts, produced, topic};
use rawline_kafka_oracle::vectors::{their_fetch, their_produce};

#[test]
fn a_produce_request_is_read_wherever_it_is_cut() {
    for version in Api::Produce.versions() {
        let bytes = their_produce(version, 4);
        let found = parts(version, &bytes, || bytes.len()).unwrap();
        let transactional_id = (version % 2 == 0).then(|| "a transaction".to_owned());
        assert_eq!(found.head, Some(ProduceHead { transactional_id, acks: -1, timeout_ms: 30_000 }));
        assert!(found.ended);
        let expected = (0..4).flat_map(|number| (0..i32::from(number)).map(move |partition| (number, partition)));
        let expected = expected.map(|(number, partition)| {
            (topic(version, number), partition, vec![partition as u8 + 1; partition as usize * 150])
        });
        assert_eq!(found.partitions, expected.collect::<Vec<_>>(), "version {version}");
        let mut random = Rng::with_seed(version as u64);
        for _ in 0..50 {
            assert_eq!(parts(version, &bytes, || random.usize(1..700)).unwrap(), found, "version {version}");
        }
    }
}

#[test]
fn a_produce_response_is_what_clients_read() {
    for version in Api::Produce.versions() {
        let mut bytes = Bytes::from(produce::response(version, &produced(version), 12));
        let found = ProduceResponse::decode(&mut bytes, version).unwrap();
        assert!(bytes.is_empty(), "version {version}");
        assert_eq!((found.throttle_time_ms, found.responses.len()), (12, 2));
        let partitions = &found.responses[0].partition_responses;
        assert_eq!((partitions[0].index, partitions[0].base_offset), (5, 1 << 40));
        assert_eq!((partitions[1].index, partitions[1].error_code), (6, 87));
        if version >= 8 {
            assert_eq!(partitions[1].error_message.as_deref(), Some("not like this"));
        }
    }
}

#[test]
fn a_fetch_request_is_read() {
    for version in Api::Fetch.versions() {
        let found = fetch::request(version, &their_fetch(version, 4)).unwrap();
        assert_eq!((found.wait_max_ms, found.bytes_min, found.bytes_max), (500, 1, 1 << 20));
        assert_eq!(found.isolation_level, 1);
        assert_eq!((found.session_id, found.session_epoch), if version >= 7 { (4, 5) } else { (0, -1) });
        let (name, partitions) = &found.topics[3];
        assert_eq!((name, partitions.len()), (&topic(version, 3), 3), "version {version}");
        let last = &partitions[2];
        assert_eq!((last.partition, last.offset, last.bytes_max), (2, 3 << 35, 1002), "version {version}");
    }
}

#[test]
fn a_fetch_response_is_what_clients_read_around_the_records() {
    for version in Api::Fetch.versions() {
        let mut bytes = Bytes::from(fetch_response(version));
        let found = FetchResponse::decode(&mut bytes, version).unwrap();
        assert!(bytes.is_empty(), "version {version}");
        let partitions = found.responses.iter().flat_map(|topic| &topic.partitions);
        let lengths: Vec<_> = partitions
            .map(|partition| (partition.partition_index, partition.records.as_ref().map_or(0, Bytes::len)))
            .collect();
        assert_eq!(lengths, [(0, 150), (1, 0), (2, 5), (3, 0)], "version {version}");
        assert_eq!(found.responses[0].partitions[0].high_watermark, 100);
        assert_eq!(found.responses[1].partitions[1].error_code, 1);
    }
}
