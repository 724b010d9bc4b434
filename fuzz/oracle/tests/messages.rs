//! All other messages, headers, numbers of errors and versions.

use bytes::{Bytes, BytesMut};
use kafka_protocol::error::ResponseError;
use kafka_protocol::messages::{ApiKey, RequestHeader as TheirHeader, ResponseHeader as TheirResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use rawline_kafka::frame::{LENGTH_BYTES, RequestHeader, read_response_header, response_header};
use rawline_kafka::{Api, ErrorCode, Request, Response};
use rawline_kafka_oracle::compare::{Message, agreed};
use rawline_kafka_oracle::values::{Fill, Values};
use rawline_kafka_oracle::vectors;

const ROUNDS: u64 = 300;

fn in_every_version<M: Message>() {
    for api in Request::APIS {
        for version in api.versions() {
            let is_flexible = api.is_flexible(version);
            for fill in [Fill::Empty, Fill::Null, Fill::Several] {
                agreed(*api, version, &M::filled(*api, version, &mut Values::new(fill, is_flexible, 0)));
            }
            for seed in 0..ROUNDS {
                let mut values = Values::new(Fill::Random, is_flexible, seed);
                agreed(*api, version, &M::filled(*api, version, &mut values));
            }
        }
    }
}

#[test]
fn requests_are_the_same_in_both_directions() {
    in_every_version::<Request>();
}

#[test]
fn responses_are_the_same_in_both_directions() {
    in_every_version::<Response>();
}

#[test]
fn headers_are_the_same() {
    for api in Api::ALL {
        let key = ApiKey::try_from(api.key()).unwrap();
        for version in api.versions() {
            for client_id in [None, Some(""), Some("a client")] {
                let ours = RequestHeader {
                    api: api.key(),
                    version,
                    correlation_id: 77,
                    client_id: client_id.map(str::to_owned),
                    bytes: 0,
                };
                let mut theirs =
                    TheirHeader::default().with_request_api_key(api.key()).with_request_api_version(version);
                theirs.correlation_id = 77;
                theirs.client_id = client_id.map(StrBytes::from_static_str);
                let (mut written, mut expected) = (Vec::new(), BytesMut::new());
                ours.write(&mut written);
                theirs.encode(&mut expected, key.request_header_version(version)).unwrap();
                assert_eq!(written, expected, "{api:?} {version}");
                let read = RequestHeader::read(&written, written.len() as u64).unwrap().unwrap();
                assert_eq!(read, RequestHeader { bytes: written.len(), ..ours }, "{api:?} {version}");
            }
            let is_flexible = api.has_flexible_response_header(version);
            let written = response_header(99, is_flexible, 0).split_off(LENGTH_BYTES);
            assert_eq!(read_response_header(&written, is_flexible), Ok((99, written.len())));
            let mut left = Bytes::from(written);
            let theirs = TheirResponseHeader::decode(&mut left, key.response_header_version(version)).unwrap();
            assert_eq!((theirs.correlation_id, left.len()), (99, 0), "{api:?} {version}");
        }
    }
}

#[test]
fn numbers_of_errors_are_the_same() {
    for code in ErrorCode::ALL.iter().filter(|code| **code != ErrorCode::None) {
        let theirs = ResponseError::try_from_code(i16::from(*code)).unwrap();
        assert_eq!(format!("{theirs:?}"), format!("{code:?}"));
    }
}

#[test]
fn names_of_apis_are_the_same() {
    for api in Api::ALL {
        assert_eq!(format!("{:?}", ApiKey::try_from(api.key()).unwrap()), api.name());
    }
}

#[test]
fn the_committed_vectors_are_what_is_written() {
    for (name, text) in vectors::files() {
        let committed = std::fs::read_to_string(vectors::folder().join(&name)).unwrap_or_default();
        assert!(committed == text, "{name} differs: make kafka-vectors");
    }
}
