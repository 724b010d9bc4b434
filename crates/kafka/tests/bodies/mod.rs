//! Bodies of the fuzzers.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_kafka::frame::RequestHeader;
use rawline_kafka::produce::{Event, ProduceReader};
use rawline_kafka::sasl::{PlainMessage, ScramFinal, ScramFirst};
use rawline_kafka::{Api, Request, Response, fetch};

/// Any bytes after the length: a header; and as a request and a response, whose API and version the first two
/// bytes choose. Parsed messages are written and read again.
pub fn read(input: &[u8]) {
    let _ = RequestHeader::read(input, input.len() as u64);
    let [api, version, body @ ..] = input else { return };
    let api = Api::ALL[usize::from(*api) % Api::ALL.len()];
    let versions = api.versions();
    let version = versions.start() + i16::from(*version) % (versions.end() - versions.start() + 1);
    match api {
        Api::Produce => produce(version, body),
        Api::Fetch => drop(fetch::request(version, body)),
        _ => {
            request(api, version, body);
            response(api, version, body);
        }
    }
}

fn request(api: Api, version: i16, body: &[u8]) {
    let Ok(request) = Request::read(api, version, body) else { return };
    let mut written = Vec::new();
    request.write(version, &mut written);
    assert!(written.len() <= body.len(), "{} bytes written of {}", written.len(), body.len());
    assert_eq!(Request::read(api, version, &written), Ok(request));
}

fn response(api: Api, version: i16, body: &[u8]) {
    let Ok(response) = Response::read(api, version, body) else { return };
    let mut written = Vec::new();
    response.write(version, &mut written);
    assert_eq!(Response::read(api, version, &written), Ok(response));
}

/// The first byte is the length of the pieces.
fn produce(version: i16, body: &[u8]) {
    let step = usize::from(body.first().copied().unwrap_or_default()) + 1;
    let mut reader = ProduceReader::new(version, body.len() as u64).unwrap();
    let mut records_bytes = 0;
    for piece in body.chunks(step) {
        let mut piece = piece;
        loop {
            match reader.next(&mut piece) {
                Ok(Some(Event::Records(records))) => records_bytes += records.len(),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(records_bytes <= body.len());
    }
}

/// Any bytes as a message of PLAIN and of SCRAM: the parsed parts make up the message.
pub fn authenticate(input: &[u8]) {
    if let Ok(PlainMessage { authorization, user, password }) = PlainMessage::read(input) {
        assert_eq!([authorization, user, password].join("\0").as_bytes(), input);
    }
    if let Ok(ScramFirst { header, bare, authorization, user, nonce }) = ScramFirst::read(input) {
        assert_eq!([header, bare].concat().as_bytes(), input);
        assert!(bare.starts_with(&format!("n={user},r={nonce}")));
        assert!(authorization.is_none_or(|name| header.ends_with(&format!(",a={name},"))));
    }
    if let Ok(ScramFinal { binding, nonce, without_proof, proof }) = ScramFinal::read(input) {
        assert_eq!(format!("{without_proof},p={proof}").as_bytes(), input);
        assert!(without_proof.starts_with(&format!("c={binding},r={nonce}")));
    }
}
