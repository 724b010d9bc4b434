//! Bodies of the fuzzers: the tests of this crate on seeded bytes, the drivers in `fuzz/` on bytes that cargo-fuzz
//! finds.

// A body fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

use rawline_batch::Crc32c;
use rawline_journal::{HEADER_BYTES, Header, Index};

const CRC_POSITION: usize = 76;

/// Any bytes as the front of a journal object, and the same with a header whose checksum is right.
pub fn object(input: &[u8]) {
    check(input);
    check(&resealed(input));
}

fn check(bytes: &[u8]) {
    let Ok(index) = Index::parse(bytes) else { return };
    assert_eq!(Header::parse(bytes), Ok(index.header));
    assert_eq!(index.sections().count(), index.header.sections as usize);
    let mut bytes_of_pieces = index.header.index_bytes();
    for (_, piece, next_offset) in index.pieces() {
        assert!(piece.first_offset < next_offset, "{piece:?}");
        assert_eq!(piece.place.batches().start, bytes_of_pieces, "{piece:?}");
        bytes_of_pieces += u64::from(piece.place.bytes);
    }
    assert_eq!(bytes_of_pieces, index.header.object_bytes);
    index.changes();
}

/// The input with an object's magic, version and checksum, so that more than those is looked at.
fn resealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.len() < HEADER_BYTES {
        return bytes;
    }
    bytes[..5].copy_from_slice(b"RAWJ\x01");
    let index_bytes = Header::parse(&bytes).map_or(HEADER_BYTES, |header| header.index_bytes() as usize);
    let mut crc = Crc32c::new();
    crc.update(&bytes[..CRC_POSITION]);
    crc.update(&bytes[HEADER_BYTES..index_bytes.clamp(HEADER_BYTES, bytes.len())]);
    bytes[CRC_POSITION..HEADER_BYTES].copy_from_slice(&crc.value().to_le_bytes());
    bytes
}
