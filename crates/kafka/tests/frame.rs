//! Headers of requests and responses.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

use rawline_kafka::frame::{RequestHeader, read_response_header, response_header};
use rawline_kafka::{Api, WireError};

fn header(api: Api, version: i16) -> RequestHeader {
    RequestHeader { api: api.key(), version, correlation_id: 7, client_id: Some("ab".to_owned()), bytes: 12 }
}

#[test]
fn a_header_has_tagged_fields_if_its_request_is_flexible() {
    let mut written = Vec::new();
    header(Api::Metadata, 8).write(&mut written);
    assert_eq!(written, [0, 3, 0, 8, 0, 0, 0, 7, 0, 2, b'a', b'b']);
    header(Api::Metadata, 9).write(&mut written);
    assert_eq!(written[12..], [0, 3, 0, 9, 0, 0, 0, 7, 0, 2, b'a', b'b', 0]);
    let read = |bytes: &[u8], left: u64| RequestHeader::read(bytes, left);
    assert_eq!(read(&written[..12], 12), Ok(Some(header(Api::Metadata, 8))));
    assert_eq!(read(&written[12..], 13), Ok(Some(RequestHeader { bytes: 13, ..header(Api::Metadata, 9) })));
    // Of versions that aren't read too: the client gets a response whose number it knows.
    let newer = [0, 18, 0, 99, 0, 0, 0, 7, 0xff, 0xff, 1, 4, 2, 0, 0];
    let found = read(&newer, 15).unwrap().unwrap();
    assert_eq!((found.version, found.client_id, found.bytes), (99, None, 15));
}

#[test]
fn a_header_is_read_once_it_is_there() {
    let mut written = Vec::new();
    header(Api::Heartbeat, 4).write(&mut written);
    for end in 0..written.len() {
        assert_eq!(RequestHeader::read(&written[..end], 100), Ok(None), "{end} bytes");
        assert_eq!(RequestHeader::read(&written[..end], end as u64), Err(WireError::Truncated), "{end} bytes");
    }
    // A client id that is longer than the rest, or than the limit.
    let long = [0, 3, 0, 8, 0, 0, 0, 7, 0x7f, 0xff];
    assert!(matches!(RequestHeader::read(&long, 1 << 20), Err(WireError::Length { .. })));
}

#[test]
fn the_header_of_a_response_is_flexible_but_for_api_versions() {
    let flexible = |api: Api, version| api.has_flexible_response_header(version);
    assert!(flexible(Api::Metadata, 9) && !flexible(Api::Metadata, 8));
    assert!(!flexible(Api::ApiVersions, 4) && Api::ApiVersions.is_flexible(4));
    assert_eq!(response_header(7, false, 10), [0, 0, 0, 14, 0, 0, 0, 7]);
    assert_eq!(response_header(7, true, 10), [0, 0, 0, 15, 0, 0, 0, 7, 0]);
    assert_eq!(read_response_header(&[0, 0, 0, 7, 0, 5], true), Ok((7, 5)));
    assert_eq!(read_response_header(&[0, 0, 0, 7, 5], false), Ok((7, 4)));
    assert_eq!(read_response_header(&[0, 0, 0], false), Err(WireError::Truncated));
}
