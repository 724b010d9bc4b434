//! Records of RecordBatches: golden bytes, and every way in which they can be wrong.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;

use bodies::record_batch::HEADERS;
use rawline_batch::record_batch::{
    Headers, RECORD_BATCH_HEADER_BYTES, Record, RecordBatchBuilder, RecordBatchChecker, RecordBatchError,
    RecordBatchHeader, RecordCodec, RecordCursor, RecordError, RecordProducer, Records, unpack, without_records,
};
use rawline_batch::{BuilderFull, Limits};

/// A batch by hand, from the definition of the format.
const GOLDEN: &str = "
    0000000000000000    base offset 0
    00000055            length 85, of 97 bytes
    00000000            leader's epoch 0
    02                  magic
    ca614f20            CRC32C of what follows
    0000                attributes: no codec
    00000002            offset delta of the last record
    0000018bcfe56800    base timestamp 1,700,000,000,000
    0000018bcfe5692c    maximum timestamp 300 ms later
    0000000000000007    producer 7
    0003                its epoch
    000003e8            base sequence 1,000
    00000003            3 records

    28                  20 bytes
    00 00 00            attributes, time delta, offset delta
    04 6b31             key of 2 bytes, k1
    0a 68656c6c6f       value of 5 bytes, hello
    04                  2 headers
    02 68 02 76         h = v
    02 6e 01            n = null

    0c                  6 bytes
    00 01 02            attributes, time delta -1, offset delta 1
    01 00 00            null key, empty value, no headers

    0e                  7 bytes
    00 d804 04          attributes, time delta 300, offset delta 2
    00 01 00            empty key, null value, no headers
";

const BASE_MS: i64 = 1_700_000_000_000;

/// The bytes of hexadecimal digits, of which comments follow two spaces.
fn bytes_of(text: &str) -> Vec<u8> {
    let digits = |line: &str| line.trim().split("  ").next().unwrap().replace(' ', "");
    hex(&text.lines().map(digits).collect::<String>())
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn header_of(batch: &[u8]) -> RecordBatchHeader {
    RecordBatchHeader::parse(batch.first_chunk().unwrap(), &Limits::default()).unwrap()
}

fn section_of(batch: &[u8]) -> &[u8] {
    &batch[RECORD_BATCH_HEADER_BYTES..]
}

/// The only error of a section of `records` records, the first of which may be read.
fn error_of(records: u32, section: &str) -> RecordError {
    let header = RecordBatchHeader { records, offsets: records, ..header_of(&bytes_of(GOLDEN)) };
    let section = hex(&section.replace(' ', ""));
    let found: Vec<_> = Records::new(&header, &section).collect();
    let (last, before) = found.split_last().unwrap();
    assert!(before.iter().all(Result::is_ok), "{found:?}");
    last.clone().unwrap_err()
}

#[test]
fn golden_bytes_are_read() {
    let batch = bytes_of(GOLDEN);
    let mut checker = RecordBatchChecker::new(Limits::default());
    checker.push(&batch).unwrap();
    let header = checker.finish().unwrap()[0].header;
    assert_eq!(header.base_timestamp_ms, BASE_MS);
    assert_eq!(header.producer, Some(RecordProducer { id: 7, epoch: 3, base_sequence: 1000 }));
    let read: Vec<_> = Records::new(&header, section_of(&batch)).collect::<Result<_, _>>().unwrap();
    let headers: Vec<_> = read[0].headers.collect();
    assert_eq!(headers, [(&b"h"[..], Some(&b"v"[..])), (b"n", None)]);
    assert_eq!(read[0].headers.len(), 2);
    let headers = read[0].headers;
    let first = Record { offset_delta: 0, timestamp_ms: BASE_MS, key: Some(b"k1"), value: Some(b"hello"), headers };
    let second = Record { offset_delta: 1, timestamp_ms: BASE_MS - 1, key: None, value: Some(b""), ..empty() };
    let third = Record { offset_delta: 2, timestamp_ms: BASE_MS + 300, key: Some(b""), value: None, ..empty() };
    assert_eq!(read, [first, second, third]);
}

fn empty() -> Record<'static> {
    Record { offset_delta: 0, timestamp_ms: 0, key: None, value: None, headers: Headers::default() }
}

#[test]
fn golden_bytes_are_made() {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    for _ in 0..2 {
        assert_eq!((builder.records(), builder.bytes()), (0, 61));
        builder.push(BASE_MS, Some(b"k1"), Some(b"hello"), [(&b"h"[..], Some(&b"v"[..])), (b"n", None)]).unwrap();
        builder.push(BASE_MS - 1, None, Some(b""), []).unwrap();
        builder.push(BASE_MS + 300, Some(b""), None, []).unwrap();
        assert_eq!((builder.records(), builder.bytes()), (3, 97));
        let producer = RecordProducer { id: 7, epoch: 3, base_sequence: 1000 };
        assert_eq!(builder.finish(Some(producer)).unwrap(), bytes_of(GOLDEN));
    }
    assert_eq!(builder.finish(None), Err(RecordError::Empty));
}

#[test]
fn records_of_a_batch_make_the_same_batch() {
    let batch = bytes_of(GOLDEN);
    let header = header_of(&batch);
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    for record in Records::new(&header, section_of(&batch)) {
        let Record { timestamp_ms, key, value, headers, .. } = record.unwrap();
        builder.push(timestamp_ms, key, value, headers).unwrap();
    }
    assert_eq!(builder.finish(header.producer).unwrap(), batch);
}

#[test]
fn times_need_no_order() {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    for times in [[5, 9, -3], [7, -1, 6]] {
        times.iter().for_each(|time| builder.push(*time, None, None, []).unwrap());
        let batch = builder.finish(None).unwrap();
        let header = header_of(batch);
        assert_eq!((header.base_timestamp_ms, Some(&header.max_timestamp_ms)), (times[0], times.iter().max()));
        let read = Records::new(&header, section_of(batch)).map(|record| record.unwrap().timestamp_ms);
        assert_eq!(read.collect::<Vec<_>>(), times);
    }
}

#[test]
fn a_builder_keeps_its_limits() {
    let limits = Limits { batch_bytes_max: 61 + 30, records_max: 2, raw_bytes_max: 25 };
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, limits);
    let push = |builder: &mut RecordBatchBuilder, value: &[u8]| builder.push(0, None, Some(value), []);
    // A length and six bytes around each value.
    assert_eq!(push(&mut builder, &[0; 19]), Err(BuilderFull), "26 bytes of records");
    assert_eq!(push(&mut builder, &[0; 18]), Ok(()));
    assert_eq!(push(&mut builder, &[]), Err(BuilderFull));
    assert_eq!(builder.finish(None).unwrap().len(), 61 + 25);
    assert_eq!(push(&mut builder, &[]), Ok(()));
    assert_eq!(push(&mut builder, &[]), Ok(()));
    assert_eq!(push(&mut builder, &[]), Err(BuilderFull), "a third record");
    assert_eq!(header_of(builder.finish(None).unwrap()).records, 2);

    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits { raw_bytes_max: 100, ..limits });
    assert_eq!(push(&mut builder, &[0; 24]), Err(BuilderFull), "92 bytes in all");
    assert_eq!(push(&mut builder, &[0; 23]), Ok(()));
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, limits);
    builder.push(i64::MIN, None, None, []).unwrap();
    assert_eq!(builder.push(0, None, None, []), Err(BuilderFull), "times too far apart");
    let batch = builder.finish(None).unwrap();
    assert_eq!((header_of(batch).base_timestamp_ms, header_of(batch).max_timestamp_ms), (i64::MIN, i64::MIN));
}

#[test]
fn what_is_wrong_with_records_is_reported() {
    use RecordError::*;
    let second = "0c 00 01 00 01 00 00";
    let length = |field, found, left| Length { record: 0, field, found, left };
    for (section, expected) in [
        ("", Missing { found: 0, records: 1 }),
        ("80", Truncated { record: 0 }),
        ("ffffffff1f", Number { record: 0 }),
        ("808080808000", Number { record: 0 }),
        ("01", length("a length", -1, 0)),
        ("0e 00 00 00 01 00 00", length("a length", 7, 6)),
        ("00", Truncated { record: 0 }),
        ("02 00", Truncated { record: 0 }),
        ("16 00 80808080808080808080 01", Number { record: 0 }),
        ("0a 00 00 00 01 00", Truncated { record: 0 }),
        ("0c 00 00 02 01 00 00", OffsetDelta { record: 0, found: 1 }),
        ("0c 00 00 01 01 00 00", OffsetDelta { record: 0, found: -1 }),
        ("0c 00 00 00 03 00 00", length("a key", -2, 2)),
        ("0c 00 00 00 06 00 00", length("a key", 3, 2)),
        ("0c 00 00 00 01 03 00", length("a value", -2, 1)),
        ("0c 00 00 00 01 04 00", length("a value", 2, 1)),
        ("0c 00 00 00 01 00 01", length("a number of headers", -1, 0)),
        ("0e 00 00 00 01 00 02 00", length("a number of headers", 1, 1)),
        ("14 00 00 00 01 00 feffffff0f", length("a number of headers", i64::from(i32::MAX), 0)),
        ("10 00 00 00 01 00 02 01 00", length("a header's key", -1, 1)),
        ("10 00 00 00 01 00 02 04 61", length("a header's key", 2, 1)),
        ("10 00 00 00 01 00 02 02 61", Truncated { record: 0 }),
        ("10 00 00 00 01 00 02 00 02", length("a header's value", 1, 0)),
        ("10 00 00 00 01 00 02 00 03", length("a header's value", -2, 0)),
        ("0e 00 00 00 01 00 00 00", Unused { record: 0, count: 1 }),
        ("0c 00 00 00 01 00 00 0c", Trailing { count: 1 }),
    ] {
        assert_eq!(error_of(1, section), expected, "{section}");
    }
    let first = "0c 00 00 00 01 00 00";
    assert_eq!(error_of(2, first), Missing { found: 1, records: 2 });
    assert_eq!(error_of(2, &format!("{first} {second}")), OffsetDelta { record: 1, found: 0 });
    assert_eq!(error_of(1, &format!("{first} {second}")), Trailing { count: 7 });
    // A key as long as the rest of the batch, but not of the record.
    assert_eq!(error_of(2, &format!("0c 00 00 00 0e 00 00 {second}")), length("a key", 7, 2));
}

#[test]
fn times_that_no_number_holds_are_refused() {
    let header =
        RecordBatchHeader { records: 1, offsets: 1, base_timestamp_ms: i64::MAX, ..header_of(&bytes_of(GOLDEN)) };
    let section = hex("0c0002000100 00".replace(' ', "").as_str());
    let expected = RecordError::Timestamp { record: 0, base_ms: i64::MAX, delta_ms: 1 };
    assert_eq!(Records::new(&header, &section).next(), Some(Err(expected)));
    // The time of append is that of all records, whatever they say.
    let header = RecordBatchHeader { has_append_time: true, max_timestamp_ms: 5, ..header };
    assert_eq!(Records::new(&header, &section).next().unwrap().unwrap().timestamp_ms, 5);
}

#[test]
fn no_changed_byte_yields_more_than_there_is() {
    let batch = bytes_of(GOLDEN);
    let header = header_of(&batch);
    let section = section_of(&batch);
    for position in 0..section.len() {
        for value in 0..=u8::MAX {
            let mut changed = section.to_vec();
            changed[position] = value;
            let _ = bodies::record_batch::walk(&header, &changed);
            changed.insert(position, !value);
            let _ = bodies::record_batch::walk(&header, &changed);
        }
        let cut = bodies::record_batch::walk(&header, &section[..position]);
        assert!(cut.is_err(), "{position} of {} bytes", section.len());
        // The longest and the smallest numbers in place of every byte.
        for number in ["feffffff0f", "ffffffff0f", "ffffffffffffffffff01", "feffffffffffffffff01", "8080808080"] {
            let lying = [&section[..position], &hex(number), &section[position + 1..]].concat();
            let _ = bodies::record_batch::walk(&header, &lying);
        }
    }
}

#[test]
fn headers_are_as_they_were_given() {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    builder.push(-1, None, None, HEADERS).unwrap();
    let batch = builder.finish(None).unwrap();
    let header = header_of(batch);
    let record = Records::new(&header, section_of(batch)).next().unwrap().unwrap();
    assert_eq!(record.headers.size_hint(), (HEADERS.len(), Some(HEADERS.len())));
    assert!(record.headers.eq(HEADERS));
    assert_eq!(record.timestamp_ms, -1);
}

/// A batch of a compacted log: records at these offsets.
fn sparse(codec: RecordCodec, deltas: &[u32], horizon_ms: Option<i64>) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(codec, Limits::FORMAT);
    horizon_ms.iter().for_each(|horizon_ms| builder.set_delete_horizon(*horizon_ms));
    let mut next = 0;
    for delta in deltas {
        builder.skip(delta - next);
        builder.push(BASE_MS + i64::from(*delta), Some(b"k"), None, []).unwrap();
        next = delta + 1;
    }
    builder.skip(7);
    builder.finish(None).unwrap().to_vec()
}

#[test]
fn offsets_without_records_are_legal_in_a_log() {
    let deltas = [3, 4, 9, 100_000, i32::MAX as u32];
    for (codec, horizon_ms) in [(RecordCodec::None, None), (RecordCodec::Zstd, Some(BASE_MS + 5))] {
        let batch = sparse(codec, &deltas, horizon_ms);
        let front = batch.first_chunk().unwrap();
        let refused = RecordBatchHeader::parse(front, &Limits::FORMAT);
        assert_eq!(refused, Err(RecordBatchError::Records { records: 5, last_offset_delta: i32::MAX }));
        let mut checker = RecordBatchChecker::stored(Limits::default());
        checker.push(&batch).unwrap();
        let header = checker.finish().unwrap()[0].header;
        assert_eq!(header, RecordBatchHeader::parse_stored(front, &Limits::FORMAT).unwrap());
        assert_eq!((header.records, header.offsets), (5, 1 << 31));
        assert_eq!((header.has_delete_horizon, &header.encode()[..]), (horizon_ms.is_some(), &batch[..61]));
        let mut unpacked = Vec::new();
        let section = unpack(header.codec, section_of(&batch), 1 << 20, &mut unpacked).unwrap();
        let found: Vec<_> = Records::new(&header, section).map(|record| record.unwrap()).collect();
        assert!(found.iter().map(|record| record.offset_delta).eq(deltas));
        assert!(found.iter().all(|record| record.timestamp_ms == BASE_MS + i64::from(record.offset_delta)));
        // From an offset on, whether it has a record or not.
        for from in [0, 3, 5, 9, 10, 100_001, 1 << 31] {
            let mut cursor = RecordCursor::new(&header);
            cursor.skip_before(from, section).unwrap();
            let expected = deltas.iter().copied().find(|delta| u64::from(*delta) >= from);
            assert_eq!(cursor.has_next(), expected.is_some(), "{from}");
            assert_eq!(cursor.read(section).map(|record| record.unwrap().offset_delta), expected, "{from}");
        }
    }
    let none = without_records(9);
    let header = RecordBatchHeader::parse_stored(&none, &Limits::FORMAT).unwrap();
    assert_eq!((header.records, header.offsets, header.crc32c), (0, 9, rawline_batch::crc32c(&none[21..])));
    assert!(Records::new(&header, &[]).next().is_none() && !RecordCursor::new(&header).has_next());
}

#[test]
fn offsets_that_do_not_increase_or_leave_no_room_are_refused() {
    for (deltas, wrong, change) in [([1, 3], 1, 1), ([1, 3], 1, 4), ([1, 3], 0, 3)] {
        let mut batch = sparse(RecordCodec::None, &deltas, None);
        let header = RecordBatchHeader::parse_stored(batch.first_chunk().unwrap(), &Limits::FORMAT).unwrap();
        let length = (batch.len() - RECORD_BATCH_HEADER_BYTES) / 2;
        // Length, attributes, time; then the offset.
        batch[RECORD_BATCH_HEADER_BYTES + wrong * length + 3] = change * 2;
        let found: Vec<_> = Records::new(&header, section_of(&batch)).collect();
        let expected = RecordError::OffsetDelta { record: wrong as u32, found: i64::from(change) };
        assert_eq!(found.last(), Some(&Err(expected)), "{deltas:?} {wrong} {change}");
    }
}
