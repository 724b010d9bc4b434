//! Rawline batches for Kafka's consumers, and the values of RecordBatches as Rawline batches.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;
mod support;

use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordBatchChecker, RecordBatchError, RecordBatchHeader,
    RecordCodec, Records, convert, converted_bytes, unpack,
};
use rawline_batch::{Batch, Builder, Codec, Limits, seal};
use support::{CREATED_US, build};

/// The records "a" and "" with offset 41.
const GOLDEN: [u8; 76] = [
    0, 0, 0, 0, 0, 0, 0, 41, // base offset
    0, 0, 0, 0x40, // length
    0, 0, 0, 0, // leader's epoch
    2, // magic
    0x8d, 0xba, 0x3c, 0x02, // CRC32C
    0, 0, // attributes
    0, 0, 0, 1, // offset delta of the last record
    0, 0, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x7b, // base timestamp
    0, 0, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x7b, // maximum timestamp
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // no producer
    0xff, 0xff, // its epoch
    0xff, 0xff, 0xff, 0xff, // base sequence
    0, 0, 0, 2, // records
    0x0e, 0, 0, 0, 1, 2, b'a', 0, // length, attributes, time, offset, null key, value, no headers
    0x0c, 0, 0, 2, 1, 0, 0,
];

fn converted(records: &[impl AsRef<[u8]>], first_offset: u64, created_us: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let sizes = records.iter().map(|record| record.as_ref().len() as u32);
    let bytes = convert(records.iter().map(AsRef::as_ref), first_offset, created_us, |piece| {
        assert!(!piece.is_empty());
        out.extend_from_slice(piece);
    });
    assert_eq!(bytes, Ok(out.len() as u32));
    assert_eq!(converted_bytes(sizes), bytes, "the size that was said beforehand");
    out
}

fn checked(batch: &[u8]) -> RecordBatchHeader {
    let mut checker = RecordBatchChecker::new(Limits::FORMAT);
    checker.push(batch).unwrap();
    checker.finish().unwrap()[0].header
}

#[test]
fn converted_batches_have_golden_bytes() {
    assert_eq!(converted(&["a", ""], 41, 1_700_000_000_123_456), GOLDEN);
}

#[test]
fn records_of_a_rawline_batch_are_those_of_its_record_batch() {
    let mut random = fastrand::Rng::with_seed(support::seed());
    let codecs = if cfg!(miri) { vec![Codec::None, Codec::Lz4] } else { vec![Codec::None, Codec::Lz4, Codec::Zstd] };
    for round in 0..if cfg!(miri) { 3 } else { 200 } {
        let size = [3, 130, 5_000][round % 3];
        let given: Vec<Vec<u8>> =
            (0..random.usize(1..300)).map(|_| vec![random.u8(..); random.usize(..size)]).collect();
        let rawline = build(codecs[round % codecs.len()], &given);
        let batch = Batch::parse(&rawline, &Limits::FORMAT).unwrap();
        let mut scratch = Vec::new();
        let records = batch.records(&mut scratch).unwrap();
        let mut out = Vec::new();
        let bytes = convert(records, 1 << 40, batch.header().created_us, |piece| out.extend_from_slice(piece)).unwrap();
        assert_eq!(converted_bytes(batch.sizes().iter().map(|size| size.get())), Ok(bytes));
        assert_eq!(out, converted(&given, 1 << 40, CREATED_US), "the same bytes each time");

        let header = checked(&out);
        assert_eq!((header.base_offset, header.codec, header.producer), (1 << 40, RecordCodec::None, None));
        assert_eq!(header.base_timestamp_ms, (CREATED_US / 1000) as i64);
        assert_eq!(header.max_timestamp_ms, header.base_timestamp_ms);
        let section = &out[RECORD_BATCH_HEADER_BYTES..];
        assert_eq!(bodies::record_batch::walk(&header, section), Ok(given.len() as u32));
        for (record, given) in Records::new(&header, section).zip(&given) {
            let record = record.unwrap();
            assert_eq!((record.key, record.value, record.headers.len()), (None, Some(&given[..]), 0));
            assert_eq!(record.timestamp_ms, header.base_timestamp_ms);
        }
    }
}

#[test]
fn sizes_are_right_where_numbers_become_longer() {
    let edges = [0, 57, 58, 59, 62, 63, 64, 65, 1_023, 1_024, 1_025, 8_183, 8_184, 8_191, 8_192, 1 << 20];
    for size in edges {
        checked(&converted(&[vec![7; size]], 0, 0));
    }
    for count in [63, 64, 65, 127, 128, 8_191, 8_192, 8_193] {
        assert_eq!(checked(&converted(&vec![b"x"; count], u64::MAX >> 1, u64::MAX)).records, count as u32);
    }
}

#[test]
fn what_no_record_batch_can_hold_is_refused() {
    let none: [&[u8]; 0] = [];
    let unused = |_: &[u8]| unreachable!("nothing is written after an error");
    let empty = RecordBatchError::Records { records: 0, last_offset_delta: -1 };
    assert_eq!(convert(none.into_iter(), 0, 0, unused), Err(empty.clone()));
    assert_eq!(converted_bytes([]), Err(empty));
    let limit = i32::MAX as u32;
    for sizes in [&[u32::MAX][..], &[1 << 30, 1 << 30], &[i32::MAX as u32 - 61]] {
        let found = converted_bytes(sizes.iter().copied());
        assert!(matches!(found, Err(RecordBatchError::TooLarge { limit: found, .. }) if found == limit), "{found:?}");
    }
    let front_bytes = 61 + 5 + 4 + 5 + 1;
    assert_eq!(converted_bytes([i32::MAX as u32 - front_bytes]), Ok(limit));
    assert!(converted_bytes([i32::MAX as u32 - front_bytes + 1]).is_err());
}

#[test]
fn values_of_a_record_batch_make_a_rawline_batch() {
    let values: [Option<&[u8]>; 4] = [Some(b"alpha"), None, Some(b""), Some(&[b'z'; 1000])];
    for &codec in bodies::record_batch::CODECS {
        let mut builder = RecordBatchBuilder::new(codec, Limits::default());
        for value in values {
            builder.push(1_700_000_000_000, Some(b"key"), value, bodies::record_batch::HEADERS).unwrap();
        }
        let batch = builder.finish(None).unwrap();
        let header = checked(batch);
        let mut out = Vec::new();
        let section = unpack(header.codec, &batch[RECORD_BATCH_HEADER_BYTES..], 10_000, &mut out).unwrap();
        let values = Records::new(&header, section).map(|record| record.unwrap().value.unwrap_or_default());
        let created_us = header.max_timestamp_ms as u64 * 1000;
        let expected: [&[u8]; 4] = [b"alpha", b"", b"", &[b'z'; 1000]];

        let mut rawline = Builder::new(Codec::None, Limits::default());
        values.clone().for_each(|value| rawline.push(value).unwrap());
        let mut built = Vec::new();
        rawline.finish_into(created_us, 0, 0, &mut built).unwrap();
        assert_eq!(support::records(&built), expected);

        let sizes: Vec<u32> = values.clone().map(|value| value.len() as u32).collect();
        let data: Vec<u8> = values.flatten().copied().collect();
        let sealed = seal(&sizes, &data, created_us, &Limits::default()).unwrap();
        assert_eq!([&sealed.front[..], &data, sealed.padding].concat(), built);
    }
}
