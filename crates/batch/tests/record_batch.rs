//! RecordBatches: refused batches, for every split into pieces.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_batch::record_batch::{
    CheckedRecordBatch, RECORD_BATCH_HEADER_BYTES, RecordBatchChecker, RecordBatchError, RecordBatchHeader,
    RecordCodec, RecordProducer, STAMPED_BYTES, check_stored, stamp,
};
use rawline_batch::{Limits, crc32c};

/// A batch of these many records, whose bytes are `records`.
struct Made {
    attributes: i16,
    last_offset_delta: i32,
    producer: (i64, i16, i32),
    count: i32,
    records: Vec<u8>,
}

impl Made {
    fn new(count: i32) -> Made {
        // Each has a null key and no value or headers; up to 64 of them can be read.
        let records = (0..count).flat_map(|n| [12, 0, 0, (n * 2) as u8, 1, 0, 0]).collect();
        Made { attributes: 0, last_offset_delta: count - 1, producer: (-1, -1, -1), count, records }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut covered = self.attributes.to_be_bytes().to_vec();
        covered.extend(self.last_offset_delta.to_be_bytes());
        covered.extend(1_700_000_000_000_i64.to_be_bytes());
        covered.extend(1_700_000_000_123_i64.to_be_bytes());
        covered.extend(self.producer.0.to_be_bytes());
        covered.extend(self.producer.1.to_be_bytes());
        covered.extend(self.producer.2.to_be_bytes());
        covered.extend(self.count.to_be_bytes());
        covered.extend(&self.records);
        let mut bytes = 0_i64.to_be_bytes().to_vec();
        bytes.extend((covered.len() as i32 + 9).to_be_bytes());
        bytes.extend((-1_i32).to_be_bytes());
        bytes.push(2);
        bytes.extend(crc32c(&covered).to_be_bytes());
        bytes.extend(covered);
        bytes
    }
}

fn check(bytes: &[u8], step: usize) -> Result<Vec<CheckedRecordBatch>, RecordBatchError> {
    let mut checker = RecordBatchChecker::new(Limits { batch_bytes_max: 10_000, records_max: 500, raw_bytes_max: 0 });
    for piece in bytes.chunks(step.max(1)) {
        checker.push(piece)?;
    }
    checker.finish()
}

#[test]
fn batches_are_found_wherever_the_pieces_are_cut() {
    let producer = Made { producer: (7, 3, i32::MAX), attributes: 4 | 1 << 4, ..Made::new(200) };
    let made = [Made::new(1), producer, Made { records: Vec::new(), attributes: 1, ..Made::new(3) }];
    let bytes = made.iter().flat_map(Made::bytes).collect::<Vec<_>>();
    for step in (1..100).chain([bytes.len()]) {
        let found = check(&bytes, step).unwrap();
        let positions: Vec<_> = found.iter().map(|batch| batch.position).collect();
        assert_eq!(positions, [0, 68, 68 + 61 + 1400], "pieces of {step} bytes");
        let headers: Vec<_> = found.iter().map(|batch| batch.header).collect();
        assert_eq!(headers.iter().map(|header| header.records).collect::<Vec<_>>(), [1, 200, 3]);
        assert_eq!(headers[0].producer, None);
        assert_eq!(headers[1].producer, Some(RecordProducer { id: 7, epoch: 3, base_sequence: i32::MAX as u32 }));
        assert_eq!((headers[1].codec, headers[1].is_transactional), (RecordCodec::Zstd, true));
        assert_eq!(headers[2].max_timestamp_ms, 1_700_000_000_123);
        assert_eq!(headers[2].base_timestamp_ms, 1_700_000_000_000);
    }
}

#[test]
fn a_stamp_changes_nothing_that_the_checksum_covers() {
    let bytes = Made::new(5).bytes();
    let mut stored = stamp(123_456_789_012, bytes.len() as u32).to_vec();
    stored.extend(&bytes[STAMPED_BYTES..]);
    assert_eq!(stored.len(), bytes.len());
    assert_eq!(stored[..8], 123_456_789_012_u64.to_be_bytes());
    assert_eq!(stored[12..16], [0; 4]);
    assert_eq!((&stored[8..12], &stored[16..]), (&bytes[8..12], &bytes[16..]));
    let mut found = check(&stored, 10).unwrap();
    assert_eq!(std::mem::take(&mut found[0].header.base_offset), 123_456_789_012);
    assert_eq!(found, check(&bytes, 10).unwrap());
}

#[test]
fn what_cannot_be_stored_is_an_error_that_says_why() {
    let refused = |made: Made| check(&made.bytes(), 1000).unwrap_err();
    assert_eq!(refused(Made { attributes: 6, ..Made::new(1) }), RecordBatchError::Codec { found: 6 });
    assert_eq!(refused(Made { attributes: 1 << 5, ..Made::new(1) }), RecordBatchError::Control);
    assert_eq!(refused(Made { attributes: 1 << 3, ..Made::new(1) }), RecordBatchError::TimeOfAppend);
    for (count, last_offset_delta) in [(0, -1), (-1, -2), (3, 3), (3, 1), (i32::MIN, i32::MAX)] {
        let made = Made { count, last_offset_delta, ..Made::new(1) };
        assert_eq!(refused(made), RecordBatchError::Records { records: count, last_offset_delta });
    }
    for producer in [(7, -1, 0), (7, 0, -1), (-2, 0, 0)] {
        let (id, epoch, base_sequence) = producer;
        assert_eq!(refused(Made { producer, ..Made::new(1) }), RecordBatchError::Producer { id, epoch, base_sequence });
    }
    let many = RecordBatchError::TooManyRecords { records: 501, limit: 500 };
    assert_eq!(refused(Made::new(501)), many);
    let large = Made { records: vec![0; 10_000], ..Made::new(1) };
    assert_eq!(refused(large), RecordBatchError::TooLarge { bytes: 10_061, limit: 10_000 });
    let mut old = Made::new(1).bytes();
    old[16] = 1;
    assert_eq!(check(&old, 9), Err(RecordBatchError::Magic { found: 1 }));
    let mut short = Made::new(1).bytes();
    short[8..12].copy_from_slice(&48_i32.to_be_bytes());
    assert_eq!(check(&short, 9), Err(RecordBatchError::Length { found: 48 }));
    short[8..12].copy_from_slice(&i32::MIN.to_be_bytes());
    assert_eq!(check(&short, 9), Err(RecordBatchError::Length { found: i32::MIN }));
    assert_eq!(check(&[], 1), Err(RecordBatchError::Empty));
}

#[test]
fn a_log_may_hold_what_a_producer_may_not_send() {
    let limits = Limits::default();
    for (attributes, is_control, has_append_time) in [(1 << 5, true, false), (1 << 3, false, true)] {
        let bytes = Made { attributes, ..Made::new(1) }.bytes();
        let header = RecordBatchHeader::parse_stored(bytes.first_chunk().unwrap(), &limits).unwrap();
        assert_eq!((header.is_control, header.has_append_time), (is_control, has_append_time));
        assert_eq!(header.encode()[STAMPED_BYTES..], bytes[STAMPED_BYTES..RECORD_BATCH_HEADER_BYTES]);
    }
    let bytes = Made { attributes: 5, ..Made::new(1) }.bytes();
    let found = RecordBatchHeader::parse_stored(bytes.first_chunk().unwrap(), &limits);
    assert_eq!(found, Err(RecordBatchError::Codec { found: 5 }));
}

#[test]
fn every_changed_bit_and_every_cut_is_noticed() {
    let bytes = [Made::new(4).bytes(), Made::new(2).bytes()].concat();
    for position in STAMPED_BYTES + 5..RECORD_BATCH_HEADER_BYTES + 28 {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[position] ^= 1 << bit;
            assert!(check(&changed, 33).is_err(), "bit {bit} of byte {position}");
        }
    }
    let first = Made::new(4).bytes().len();
    for end in (1..bytes.len()).filter(|end| *end != first) {
        let error = check(&bytes[..end], 17).unwrap_err();
        assert!(matches!(error, RecordBatchError::Truncated { have, need } if have < need), "{end} bytes: {error}");
    }
}

#[test]
fn a_stored_batch_is_checked_to_its_last_bit() {
    let bytes = Made { attributes: 1, ..Made::new(40) }.bytes();
    let mut stored = stamp(99, bytes.len() as u32).to_vec();
    stored.extend(&bytes[STAMPED_BYTES..]);
    let header = check_stored(&stored, 99).unwrap();
    assert_eq!((header.records, header.batch_bytes as usize), (40, stored.len()));
    assert_eq!(check_stored(&stored, 98), Err(RecordBatchError::Stamp { first_offset: 98 }));
    for bit in 0..stored.len() * 8 {
        stored[bit / 8] ^= 1 << (bit % 8);
        assert!(check_stored(&stored, 99).is_err(), "bit {bit}");
        stored[bit / 8] ^= 1 << (bit % 8);
    }
    let (have, need) = (stored.len() as u64 - 1, stored.len() as u64);
    assert_eq!(check_stored(&stored[..have as usize], 99), Err(RecordBatchError::Truncated { have, need }));
    stored.push(0);
    assert_eq!(check_stored(&stored, 99), Err(RecordBatchError::Trailing { bytes: 1 }));
}
