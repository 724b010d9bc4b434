//! What the fuzzer of objects runs: an ordinary function from any bytes to a panic if a promise is broken.
//! `tests/fuzz.rs` runs it on seeded bytes, the driver in `fuzz/` on bytes that cargo-fuzz finds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bytes::Bytes;
use rawline_batch::{Checker, Crc32c, Limits};
use rawline_broker::object::{ENTRY_BYTES, HEADER_BYTES, Header, Object, ObjectIndex, Stamp, verify};

/// Any bytes as an object, and an object of the batches in any bytes: what is built verifies.
pub fn object(input: &[u8]) {
    check(input);
    check(&resealed(input));
    check(&built(input));
}

/// An index that parses tiles its object, and finds each of its records.
fn check(bytes: &[u8]) {
    let verified = verify(bytes);
    let Ok(index) = ObjectIndex::parse(bytes) else {
        assert!(verified.is_err());
        return;
    };
    assert_eq!(Header::parse(bytes), Ok(index.header));
    assert_eq!(index.entries.len(), index.header.batches as usize);
    for (number, entry) in index.entries.iter().enumerate() {
        assert!(entry.range().end <= index.header.object_bytes);
        assert_eq!(index.entry_of(entry.record_first()), number);
        assert_eq!(index.entry_of(entry.record_first() + entry.records() - 1), number);
    }
    assert!(verified.is_err() || verified == Ok(index.header));
}

/// The input with an object's magic, version and checksum, so that more than those is looked at.
fn resealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.len() < HEADER_BYTES {
        return bytes;
    }
    bytes[..8].copy_from_slice(b"RAWO\x01\0\0\0");
    let batches = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
    let index_bytes = HEADER_BYTES + batches * ENTRY_BYTES;
    let mut crc = Crc32c::new();
    crc.update(&bytes[..60]);
    crc.update(&bytes[HEADER_BYTES..index_bytes.clamp(HEADER_BYTES, bytes.len())]);
    bytes[60..HEADER_BYTES].copy_from_slice(&crc.value().to_le_bytes());
    bytes
}

/// An object of the input's batches; without any, of one batch whose only record is the input. One byte of it is then
/// changed if the input has an odd length.
fn built(input: &[u8]) -> Vec<u8> {
    let mut checker = Checker::new(Limits::default());
    let mut body = Bytes::copy_from_slice(input);
    let batches = match checker.push(input).and_then(|()| checker.finish()) {
        Ok(batches) => batches,
        Err(_) => {
            let sealed = rawline_batch::seal(&[input.len() as u32], input, 1, &Limits::default()).unwrap();
            body = [&sealed.front, input, sealed.padding].concat().into();
            let mut checker = Checker::new(Limits::default());
            checker.push(&body).unwrap();
            checker.finish().unwrap()
        }
    };
    let first_offset = input.len() as u64;
    let confirmed_next_offset = Some(first_offset);
    let stamp = Stamp { first_offset, appended_us: 1, writer_id: 2, commit: 3, confirmed_next_offset };
    let object = Object::build(stamp, batches.into_iter(), &[body]);
    let mut bytes = object.parts.concat();
    assert_eq!(verify(&bytes), Ok(object.header));
    if input.len() % 2 == 1 {
        let position = usize::from(input[0]) * 7 % bytes.len();
        bytes[position] ^= 1;
        assert!(verify(&bytes).is_err(), "a changed bit at {position} is not seen");
    }
    bytes
}
