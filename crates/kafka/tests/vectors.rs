//! The golden bytes in `vectors/kafka/`, which another implementation wrote: every API in every version.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod support;

use rawline_kafka::messages::{ApiVersionsResponse, Uuid};
use rawline_kafka::{Api, Request, Response, WireError, fetch, produce};
use std::collections::BTreeSet;
use support::{Vector, fetch_response, parts, produced, vectors};

/// A parsed request or response, as text and written again.
fn read(api: Api, version: i16, is_request: bool, bytes: &[u8]) -> Result<(String, Vec<u8>), WireError> {
    let mut written = Vec::new();
    let text = if is_request {
        let request = Request::read(api, version, bytes)?;
        request.write(version, &mut written);
        format!("{request:?}")
    } else {
        let response = Response::read(api, version, bytes)?;
        response.write(version, &mut written);
        format!("{response:?}")
    };
    Ok((text, written))
}

fn each(apis: &[Api], mut check: impl FnMut(Api, i16, &Vector)) {
    for api in apis {
        for vector in vectors(api.name()) {
            vector.versions.iter().for_each(|version| check(*api, *version, &vector));
        }
    }
}

#[test]
fn messages_are_read_and_written() {
    each(Request::APIS, |api, version, vector| {
        let found = read(api, version, vector.is_request, &vector.bytes);
        assert_eq!(found, Ok((vector.text.clone(), vector.bytes.clone())), "{api:?} {version}");
    });
}

#[test]
fn each_version_has_vectors() {
    for api in Request::APIS {
        let mut found = BTreeSet::new();
        each(&[*api], |_, version, vector| {
            assert!(found.insert((vector.is_request, vector.fill.clone(), version)), "{api:?} {version}: twice");
        });
        assert_eq!(found.len(), 6 * api.versions().count(), "{api:?}");
    }
}

#[test]
fn truncated_messages_are_refused_and_trailing_bytes_ignored() {
    each(Request::APIS, |api, version, vector| {
        for end in 0..vector.bytes.len() {
            let error = read(api, version, vector.is_request, &vector.bytes[..end]).unwrap_err();
            let refused = matches!(error, WireError::Truncated | WireError::Length { .. });
            assert!(refused, "{api:?} {version}, {end} bytes: {error}");
        }
        let longer = [vector.bytes.as_slice(), &[0, 0, 0]].concat();
        let text = read(api, version, vector.is_request, &longer).unwrap();
        assert_eq!(text, read(api, version, vector.is_request, &vector.bytes).unwrap(), "{api:?} {version}");
    });
}

#[test]
fn produce_and_fetch_are_read_and_written() {
    each(&[Api::Produce, Api::Fetch], |api, version, vector| {
        let text = match (api, vector.is_request) {
            (Api::Produce, true) => format!("{:?}", parts(version, &vector.bytes, || usize::MAX).unwrap()),
            (_, true) => format!("{:?}", fetch::request(version, &vector.bytes).unwrap()),
            (Api::Produce, false) => {
                assert_eq!(produce::response(version, &produced(version), 12), vector.bytes, "{version}");
                String::new()
            }
            (_, false) => {
                assert_eq!(fetch_response(version), vector.bytes, "{version}");
                String::new()
            }
        };
        assert_eq!(text, vector.text, "{api:?} {version}");
    });
}

#[test]
fn produce_requests_are_read_wherever_they_are_cut() {
    each(&[Api::Produce], |_, version, vector| {
        if !vector.is_request {
            return;
        }
        for step in (1..80).chain([500]) {
            let found = parts(version, &vector.bytes, || step).unwrap();
            assert_eq!(format!("{found:?}"), vector.text, "version {version}, pieces of {step}");
        }
        for end in 1..vector.bytes.len() {
            assert!(parts(version, &vector.bytes[..end], || 50).is_err(), "version {version}, {end} bytes");
        }
        let longer = [vector.bytes.as_slice(), &[0; 60]].concat();
        let found = parts(version, &longer, || 50).unwrap();
        assert_eq!(format!("{found:?}"), vector.text, "version {version}");
    });
}

#[test]
fn fetch_requests_that_are_truncated_are_refused() {
    each(&[Api::Fetch], |_, version, vector| {
        if !vector.is_request {
            return;
        }
        for end in 0..vector.bytes.len() {
            assert!(fetch::request(version, &vector.bytes[..end]).is_err(), "version {version}, {end} bytes");
        }
        let longer = [vector.bytes.as_slice(), &[0]].concat();
        assert_eq!(fetch::request(version, &longer), fetch::request(version, &vector.bytes));
    });
}

#[test]
fn api_versions_are_those_of_the_table() {
    let advertised = ApiVersionsResponse::advertised();
    let versions = |api: Api| {
        let found = advertised.api_keys.iter().find(|found| found.api_key == api.key())?;
        Some((found.min_version, found.max_version))
    };
    // librdkafka compresses only if Produce begins with 0.
    assert_eq!(versions(Api::Produce), Some((0, 13)));
    assert_eq!(versions(Api::Metadata), Some((0, 13)));
    assert_eq!((versions(Api::EndTxn), versions(Api::AddPartitionsToTxn)), (Some((0, 5)), None));
    for api in Api::ALL.iter().filter(|api| **api != Api::Produce) {
        let Some(advertised) = api.advertised() else { continue };
        let read = api.versions();
        assert!(read.contains(advertised.start()) && read.contains(advertised.end()), "{api:?}");
    }
    // The response to a version that isn't known: error 35, one API, in version 0.
    let mut bytes = Vec::new();
    Response::from(ApiVersionsResponse::unsupported()).write(0, &mut bytes);
    assert_eq!(bytes, [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]);
}

#[test]
fn ids_look_as_usual() {
    let id = Uuid(std::array::from_fn(|at| at as u8 * 17));
    assert_eq!(format!("{id:?}"), "00112233-4455-6677-8899-aabbccddeeff");
}
