//! `Batch::parse`: its results, and each of its errors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_batch::{Batch, BatchError, Batches, Codec, HEADER_BYTES, Limits};
use support::{CREATED_US, build, changed, records, set_u32, small};

fn error(bytes: &[u8]) -> BatchError {
    Batch::parse(bytes, &Limits::FORMAT).unwrap_err()
}

#[test]
fn a_batch_is_seen_in_place() {
    let bytes = small();
    let batch = Batch::parse(&bytes, &Limits::default()).unwrap();
    let header = batch.header();
    assert_eq!(header.codec, Codec::None);
    assert!(!header.slice);
    assert_eq!((header.records, header.data_bytes, header.raw_bytes), (5, 17, 17));
    assert_eq!((header.created_us, header.producer_id, header.sequence), (CREATED_US, 7, 1000));
    assert_eq!(header.batch_bytes(), 104);
    assert_eq!(header.padding_bytes(), 3);
    assert_eq!(batch.bytes(), bytes);
    assert_eq!(batch.sizes().iter().map(|size| size.get()).collect::<Vec<_>>(), [5, 1, 0, 9, 2]);
    assert_eq!(batch.data(), b"alphabgamma-raynu");
    assert_eq!(batch.data().as_ptr(), bytes[HEADER_BYTES + 20..].as_ptr());
    let mut scratch = Vec::new();
    let records = batch.records(&mut scratch).unwrap();
    assert_eq!(records.len(), 5);
    assert_eq!(records.collect::<Vec<_>>(), [&b"alpha"[..], b"b", b"", b"gamma-ray", b"nu"]);
    assert_eq!(scratch.capacity(), 0);
}

#[test]
fn records_of_no_bytes_are_records() {
    let bytes = build(Codec::None, &["", "", ""]);
    assert_eq!(bytes.len(), 80);
    assert_eq!(records(&bytes), [b"", b"", b""]);
}

#[test]
fn every_length_of_padding_parses() {
    for size in 0..16 {
        let record = vec![b'x'; size];
        let bytes = build(Codec::None, &[&record]);
        assert_eq!(bytes.len() % 8, 0);
        assert_eq!(records(&bytes), [record]);
    }
}

#[test]
fn a_batch_may_lie_anywhere_in_memory() {
    for shift in 0..8 {
        let mut held = vec![0xee; shift];
        held.extend_from_slice(&small());
        assert_eq!(records(&held[shift..]).len(), 5);
    }
}

#[test]
fn cut_off_at_every_byte() {
    let bytes = small();
    for have in 0..bytes.len() {
        let need = if have < HEADER_BYTES { HEADER_BYTES } else { bytes.len() } as u64;
        assert_eq!(error(&bytes[..have]), BatchError::Truncated { have: have as u64, need });
    }
}

#[test]
fn trailing_bytes() {
    let mut bytes = small();
    bytes.push(0);
    assert_eq!(error(&bytes), BatchError::TrailingBytes { count: 1 });
    let (batch, rest) = Batch::parse_prefix(&bytes, &Limits::FORMAT).unwrap();
    assert_eq!((batch.bytes().len(), rest), (104, &[0][..]));
}

#[test]
fn not_a_batch() {
    let mut bytes = small();
    bytes[..4].copy_from_slice(b"RAWC");
    assert_eq!(error(&bytes), BatchError::Magic { found: *b"RAWC" });
}

#[test]
fn another_version() {
    for found in [0, 2, 255] {
        assert_eq!(error(&changed(small(), |bytes| bytes[4] = found)), BatchError::Version { found });
    }
}

#[test]
fn another_codec() {
    for found in [3, 255] {
        assert_eq!(error(&changed(small(), |bytes| bytes[5] = found)), BatchError::Codec { found });
    }
}

#[test]
fn flags_that_are_reserved() {
    for bit in 1..16 {
        let bytes = changed(small(), |bytes| bytes[6 + bit / 8] |= 1 << (bit % 8));
        assert_eq!(error(&bytes), BatchError::Reserved { position: 6 });
    }
    assert!(Batch::parse(&changed(small(), |bytes| bytes[6] = 1), &Limits::FORMAT).unwrap().header().slice);
}

#[test]
fn header_bytes_that_are_reserved() {
    for position in 48..60 {
        let bytes = changed(small(), |bytes| bytes[position] = 1);
        assert_eq!(error(&bytes), BatchError::Reserved { position: position as u32 });
    }
}

#[test]
fn padding_that_is_not_zero() {
    for position in 101..104 {
        let bytes = changed(small(), |bytes| bytes[position] = 1);
        assert_eq!(error(&bytes), BatchError::Reserved { position: position as u32 });
    }
}

#[test]
fn no_records() {
    let mut bytes = small();
    bytes.truncate(HEADER_BYTES);
    let bytes = changed(bytes, |bytes| {
        for (position, value) in [(8, 64), (12, 0), (16, 0), (20, 0)] {
            set_u32(bytes, position, value);
        }
    });
    assert_eq!(error(&bytes), BatchError::Empty);
}

#[test]
fn a_count_that_lies() {
    for (records, expected) in [(4, 104), (3, 96), (7, 112), (u32::MAX, 17_179_869_264)] {
        let bytes = changed(small(), |bytes| set_u32(bytes, 12, records));
        if expected == 104 {
            // Four sizes and 17 bytes of data fill 104 bytes too, with one more size as data and padding: what then
            // is wrong is what the sizes add up to.
            assert_eq!(error(&bytes), BatchError::SizesSum { sum: 15, raw_bytes: 17 });
        } else {
            assert_eq!(error(&bytes), BatchError::Length { records, data_bytes: 17, expected, found: 104 });
        }
    }
}

#[test]
fn lengths_that_lie() {
    let batch_bytes = changed(small(), |bytes| set_u32(bytes, 8, 103));
    assert_eq!(error(&batch_bytes), BatchError::Length { records: 5, data_bytes: 17, expected: 104, found: 103 });
    let data_bytes = changed(small(), |bytes| set_u32(bytes, 16, u32::MAX));
    assert!(matches!(error(&data_bytes), BatchError::Length { data_bytes: u32::MAX, .. }));
}

#[test]
fn lengths_whose_sum_wraps_at_32_bits() {
    // 64 + 4 × (2^30 + 10) + 0 is 104 modulo 2^32.
    let bytes = changed(small(), |bytes| {
        set_u32(bytes, 12, (1 << 30) + 10);
        set_u32(bytes, 16, 0);
    });
    assert!(matches!(error(&bytes), BatchError::Length { expected: 4_294_967_400, found: 104, .. }));
}

#[test]
fn uncompressed_data_of_another_length_than_its_records() {
    let bytes = changed(small(), |bytes| set_u32(bytes, 20, 18));
    assert_eq!(error(&bytes), BatchError::DataLength { data_bytes: 17, raw_bytes: 18 });
}

#[test]
fn sizes_that_add_up_to_something_else() {
    for (size, sum) in [(4, 16), (6, 18)] {
        let bytes = changed(small(), |bytes| set_u32(bytes, HEADER_BYTES, size));
        assert_eq!(error(&bytes), BatchError::SizesSum { sum, raw_bytes: 17 });
    }
}

#[test]
fn sizes_whose_sum_overflows_32_bits() {
    // 5 + 1 + 0 + 9 + 2 is 17; so is this modulo 2^32.
    let bytes = changed(small(), |bytes| {
        set_u32(bytes, HEADER_BYTES, u32::MAX);
        set_u32(bytes, HEADER_BYTES + 4, 7);
    });
    assert_eq!(error(&bytes), BatchError::SizesOverflow { sum: (1 << 32) + 17 });
    let bytes = changed(small(), |bytes| bytes[HEADER_BYTES..HEADER_BYTES + 20].fill(0xff));
    assert_eq!(error(&bytes), BatchError::SizesOverflow { sum: 5 * u64::from(u32::MAX) });
}

/// Damage after the header, or to fields that nothing else checks, is always reported as damage.
#[test]
fn every_bit_flipped() {
    let bytes = small();
    for bit in 0..bytes.len() * 8 {
        let position = bit / 8;
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (bit % 8);
        let error = error(&damaged);
        // Bit 48 is the one flag there is.
        if position >= 60 || (24..48).contains(&position) || bit == 48 {
            assert!(matches!(error, BatchError::Crc { .. }), "bit {bit}: {error}");
        }
    }
}

#[test]
fn trusted_bytes_are_spared_the_checksum_only() {
    let trusted = |bytes: &[u8]| Batch::parse_prefix_trusted(bytes, &Limits::FORMAT).map(|(batch, _)| *batch.header());
    let mut bytes = small();
    bytes[60] ^= 1;
    assert!(trusted(&bytes).is_ok());
    set_u32(&mut bytes, HEADER_BYTES, 6);
    assert_eq!(trusted(&bytes), Err(BatchError::SizesSum { sum: 18, raw_bytes: 17 }));
    assert_eq!(trusted(&bytes[..103]), Err(BatchError::Truncated { have: 103, need: 104 }));
}

#[test]
fn limits_hold_at_their_border() {
    let bytes = build(Codec::Lz4, &[[b'x'; 1000]; 3]);
    let batch_bytes = bytes.len() as u32;
    let limits = Limits { batch_bytes_max: batch_bytes, records_max: 3, raw_bytes_max: 3000 };
    assert!(Batch::parse(&bytes, &limits).is_ok());
    for (limits, what, found) in [
        (Limits { batch_bytes_max: batch_bytes - 1, ..limits }, "batch_bytes", u64::from(batch_bytes)),
        (Limits { records_max: 2, ..limits }, "records", 3),
        (Limits { raw_bytes_max: 2999, ..limits }, "raw_bytes", 3000),
    ] {
        let limit = found - 1;
        assert_eq!(Batch::parse(&bytes, &limits).unwrap_err(), BatchError::Limit { what, found, limit });
        // A header alone is enough to be refused: the rest of a batch that is too long isn't received.
        assert_eq!(Batch::parse(&bytes[..64], &limits).unwrap_err(), BatchError::Limit { what, found, limit });
    }
}

#[test]
fn batches_end_with_the_first_error() {
    let mut bytes = [small(), small(), small()].concat();
    bytes[104 + 70] ^= 1;
    let found: Vec<bool> = Batches::new(&bytes, Limits::FORMAT).map(|batch| batch.is_ok()).collect();
    assert_eq!(found, [true, false]);
    assert_eq!(Batches::new(&[], Limits::FORMAT).count(), 0);
}

#[test]
fn every_error_has_a_code_of_its_own_and_says_what_to_do() {
    let errors = [
        BatchError::Truncated { have: 1, need: 2 },
        BatchError::TrailingBytes { count: 1 },
        BatchError::Magic { found: *b"{\"a\"" },
        BatchError::Version { found: 2 },
        BatchError::Codec { found: 3 },
        BatchError::Reserved { position: 48 },
        BatchError::Empty,
        BatchError::Length { records: 1, data_bytes: 1, expected: 72, found: 80 },
        BatchError::SizesOverflow { sum: 1 << 32 },
        BatchError::SizesSum { sum: 1, raw_bytes: 2 },
        BatchError::DataLength { data_bytes: 1, raw_bytes: 2 },
        BatchError::Crc { stored: 1, computed: 2 },
        BatchError::Limit { what: "records", found: 2, limit: 1 },
        BatchError::Decompress { reason: "corrupted".into() },
        BatchError::Range { from: 1, to: 1, records: 1 },
        BatchError::SliceCompressed,
    ];
    let mut codes: Vec<&str> = errors.iter().map(|error| error.code()).collect();
    let documented = include_str!("../../../docs/format.md");
    for error in &errors {
        assert!(documented.contains(&format!("`{}`", error.code())), "{} is not in docs/format.md", error.code());
        assert!(error.to_string().contains([';', ':']), "{error}");
    }
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), errors.len());
}
