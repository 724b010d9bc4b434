//! The original's vectors: what it wrote is read and written alike, what it refused is refused.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod bodies;
mod support;

use rawline_value::{Decoder, Frame, FrameKind, Limits, Value, ValueError};
use support::{hex, nested, vectors};

/// Inputs that the original takes and this reader refuses: sizes of more than five bytes or 32 bits, and depths that
/// only a longer stack carries.
const STRICTER: [&str; 4] = ["string_len_gt_u32", "string_overlong_len_10_bytes", "nesting_1000", "nesting_10000"];

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn every_value_is_read_and_written_alike() {
    let vectors = vectors("values");
    assert_eq!(vectors.len(), 124);
    for vector in &vectors {
        let bytes = hex(vector, "hex").unwrap();
        let value = Value::decode(&bytes, &Limits::default()).unwrap_or_else(|error| panic!("{vector}: {error}"));
        assert_eq!(value.encode(), bytes, "{vector}");
        let kind = vector["json"]["@data-type"].as_str();
        assert!(kind.is_none_or(|kind| kind == value.kind().name()), "{vector}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn every_malformed_value_gets_its_verdict() {
    let mut seen = 0;
    for vector in vectors("malformed").iter().filter(|vector| vector["kind"] == "value") {
        let name = vector["name"].as_str().unwrap();
        let bytes = hex(vector, "hex").unwrap_or_else(|| nested(name["nesting_".len()..].parse().unwrap()));
        assert_eq!(bytes.len() as u64, vector["size"].as_u64().unwrap(), "{name}");
        let decoded = Value::decode(&bytes, &Limits::default());
        let accepted = vector["verdict"] == "accept" && !STRICTER.contains(&name);
        assert_eq!(decoded.is_ok(), accepted, "{name}: {decoded:?}");
        if let (Ok(value), Some((_, encoded))) =
            (decoded, vector["data_deserialize"].as_str().unwrap().split_once("re-encodes-to "))
        {
            assert_eq!(value.encode(), support::unhex(encoded), "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 56);
}

/// Texts of scalars that all languages read or refuse alike.
#[test]
fn every_text_is_read_alike_or_refused() {
    let vectors = vectors("texts");
    assert!(vectors.len() > 100);
    for vector in vectors {
        let json = serde_json::json!({"@data-type": vector["type"], "data": vector["text"]}).to_string();
        let mut bytes = Vec::new();
        let read = rawline_value::json::typed::read(json.as_bytes(), &mut bytes);
        let read = read.is_ok().then_some(bytes);
        assert_eq!(read, hex(&vector, "hex"), "{vector}");
    }
}

#[test]
fn errors_say_what_and_where() {
    let error = |bytes: &[u8]| Value::decode(bytes, &Limits::default()).unwrap_err();
    assert_eq!(error(&[]), ValueError::Truncated { position: 0 });
    assert_eq!(error(&[0x0e, 1, 0x0f]), ValueError::Tag { position: 2, found: 0x0f });
    assert_eq!(error(&[0x08, 0, 80, 4]), ValueError::Protocol { position: 3, found: 4 });
    assert_eq!(error(&[0x05, 2, b'a']), ValueError::Truncated { position: 2 });
    assert_eq!(error(&[0x05, 0x80, 0x80, 0x80, 0x80, 0x10]), ValueError::Size { position: 1 });
    assert_eq!(error(&[0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f]), ValueError::Truncated { position: 1 });
    assert_eq!(error(&[0x0e, 1, 0x0c, 2, 0, 0]), ValueError::NotUnique { position: 2 });
    assert_eq!(error(&[0, 0]), ValueError::TrailingBytes { position: 1, count: 1 });
    assert_eq!(error(&nested(129)), ValueError::TooDeep { position: 256, depth_max: 128 });
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn limits_are_kept() {
    let bytes = support::value_bytes("vector_200_counts");
    let limits = Limits { elements_max: 199, ..Limits::default() };
    assert_eq!(Value::decode(&bytes, &limits), Err(ValueError::TooManyElements { position: 1, elements_max: 199 }));
    assert!(Value::decode(&bytes, &Limits { elements_max: 200, ..limits }).is_ok());
    let bytes_max = bytes.len() as u32;
    assert!(Value::decode(&bytes, &Limits { bytes_max, ..Limits::default() }).is_ok());
    assert_eq!(
        Value::decode(&bytes, &Limits { bytes_max: bytes_max - 1, ..Limits::default() }),
        Err(ValueError::TooLong { bytes: bytes.len(), bytes_max: bytes_max - 1 })
    );
    assert!(Value::decode(&nested(8), &Limits { depth_max: 8, ..Limits::default() }).is_ok());
    assert!(Value::decode(&nested(256), &Limits { depth_max: u32::MAX, ..Limits::default() }).is_ok());
    assert!(Value::decode(&nested(257), &Limits { depth_max: u32::MAX, ..Limits::default() }).is_err());
    assert!(Value::decode(&nested(9), &Limits { depth_max: 8, ..Limits::default() }).is_err());
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn every_frame_is_read_and_written_alike() {
    let mut seen = 0;
    for vector in vectors("envelopes").iter().filter(|vector| vector["payload_hex"].is_string()) {
        let bytes = hex(vector, "hex").unwrap();
        let frame = Frame::parse(&bytes).unwrap();
        let id = |key: &str| support::unhex(&vector[key].as_str().unwrap().replace('-', ""));
        assert_eq!(frame.kind, FrameKind::Data);
        assert_eq!(frame.sender.0.to_vec(), id("sender"), "{vector}");
        assert_eq!(frame.receiver.0.to_vec(), id("receiver"), "{vector}");
        assert_eq!(u64::from(frame.ttl), vector["ttl"].as_u64().unwrap());
        assert_eq!(frame.topic, vector["topic"].as_str().unwrap().as_bytes());
        assert_eq!(frame.payload, hex(vector, "payload_hex").unwrap());
        let envelope = frame.to_envelope(&mut Decoder::default()).unwrap();
        assert_eq!(envelope.value(), Value::decode(frame.payload, &Limits::default()).unwrap());
        assert_eq!(envelope.frame(), frame);
        let mut out = Vec::new();
        envelope.frame().encode_into(&mut out).unwrap();
        assert_eq!(out, bytes);
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn every_malformed_frame_gets_its_verdict() {
    let mut seen = 0;
    for vector in vectors("malformed").iter().filter(|vector| vector["kind"] == "envelope") {
        let bytes = hex(vector, "hex").unwrap();
        let envelope = Frame::parse(&bytes).and_then(|frame| frame.to_envelope(&mut Decoder::default()));
        assert_eq!(envelope.is_ok(), vector["verdict"] == "accept", "{vector}: {envelope:?}");
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn the_view_agrees_with_the_tree_on_every_vector() {
    for name in ["values", "malformed"] {
        for bytes in vectors(name).iter().filter_map(|vector| hex(vector, "hex")) {
            bodies::agree(&bytes);
        }
    }
}
