//! Random pieces, rewritten: the remaining records, and the view of a reader that keeps the newest value of each key.

use super::*;
use bytes::Bytes;
use fastrand::Rng;
use rawline_batch::record_batch::{RecordProducer, check_stored, end_marker};
use rawline_journal::{Aborted, BatchCount, PartitionId, Piece, Place, Producer, Source, TransactionPart};
use std::collections::BTreeMap;

const CODECS: [RecordCodec; 5] =
    [RecordCodec::None, RecordCodec::Gzip, RecordCodec::Snappy, RecordCodec::Lz4, RecordCodec::Zstd];
const PARTITION: PartitionId = PartitionId { topic: 1, number: 0 };
const NOW_MS: i64 = 1_700_000_000_000;

/// A record's offset, with its time, key, value and header.
type Kept = BTreeMap<u64, (i64, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>)>;

/// A piece of these batches, whose bytes follow each other.
fn piece(first_offset: u64, batches: Vec<Batch>, bytes: Vec<u8>) -> (Wanted, Read) {
    let place = Place {
        source: Source::Journal(1),
        tag: 0,
        object_bytes: 1 << 30,
        entries_at: 104,
        batches: BatchCount::of(batches.iter().map(|batch| batch.kind)),
        batches_at: 1 << 20,
        bytes: bytes.len() as u32,
    };
    let next_offset = first_offset + batches.iter().map(|batch| u64::from(batch.records)).sum::<u64>();
    let piece = Piece { first_offset, appended_us: first_offset, newest_us: first_offset, place };
    ((PARTITION, piece, next_offset), (batches, bytes.into()))
}

fn stored(batch: &[u8], first_offset: u64) -> (Batch, Vec<u8>) {
    let mut bytes = batch.to_vec();
    bytes[..STAMPED_BYTES].copy_from_slice(&stamp(first_offset, batch.len() as u32));
    (describe_header(&check_stored(&bytes, first_offset).unwrap()), bytes)
}

/// Batches of random records with few keys.
fn filled(first_offset: u64, random: &mut Rng) -> (Wanted, Read) {
    let (mut offset, mut batches, mut all) = (first_offset, Vec::new(), Vec::new());
    for _ in 0..random.usize(1..5) {
        let mut builder = RecordBatchBuilder::new(random.choice(CODECS).unwrap(), Limits::FORMAT);
        for _ in 0..random.usize(1..20) {
            let key = random.u8(..30).to_string().into_bytes();
            let key = (random.u8(..40) > 0).then_some(&key[..]);
            let value = vec![random.u8(..); random.usize(..50)];
            let value = (random.u8(..5) > 0).then_some(&value[..]);
            let header = (&b"h"[..], Some(value.unwrap_or_default()));
            builder.push(NOW_MS - random.i64(..1000), key, value, [header]).unwrap();
        }
        let (batch, bytes) = stored(builder.finish(None).unwrap(), offset);
        offset += u64::from(batch.records);
        batches.push(batch);
        all.extend(bytes);
    }
    piece(first_offset, batches, all)
}

/// The records of groups, whose batches are checked: intact, in order, for all offsets.
fn read(groups: &[Group]) -> Kept {
    let mut kept = Kept::new();
    let mut scratch = Vec::new();
    for group in groups {
        let mut expected = group[0].0.1.first_offset;
        for (first_offset, batch, bytes) in batches(group) {
            assert_eq!(first_offset, expected);
            expected += u64::from(batch.records);
            assert_eq!(describe_header(&check_stored(&bytes, first_offset).unwrap()), *batch);
            let (header, section) = open(&bytes, &mut scratch).unwrap();
            let mut last = None;
            for record in Records::new(&header, section.unwrap()) {
                let record = record.unwrap();
                let copy = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
                let header = record.headers.clone().next().and_then(|(_, value)| copy(value));
                let offset = first_offset + u64::from(record.offset_delta);
                let found = (record.timestamp_ms, copy(record.key), copy(record.value), header);
                assert_eq!(kept.insert(offset, found), None);
                last = Some(record.offset_delta);
            }
            assert_eq!(last, header.records.checked_sub(1).map(|_| header.offsets - 1), "a batch ends with a record");
        }
        assert_eq!(expected, group.last().unwrap().0.2);
    }
    kept
}

/// The view of a reader that keeps the newest value of each key.
fn folded(kept: &Kept) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut values = BTreeMap::new();
    for (_, key, value, _) in kept.values() {
        match (key, value) {
            (Some(key), Some(value)) => drop(values.insert(key.clone(), value.clone())),
            (Some(key), None) => drop(values.remove(key)),
            (None, _) => {}
        }
    }
    values
}

fn as_group(made: Made) -> Group {
    let bytes: Vec<u8> = made.parts.concat();
    vec![piece(made.first_offset, made.batches, bytes)]
}

/// Passes with space for this many keys, up to the end of all groups.
fn compact(groups: &mut [Group], keys_max: usize, now_ms: i64, age_ms: i64) {
    let end_offset = groups.last().unwrap().last().unwrap().0.2;
    let mut from = 0;
    while from < end_offset {
        let (mut keys, mut noted_to) = (Keys::new(keys_max), from);
        for group in groups.iter().filter(|group| group.last().unwrap().0.2 > from) {
            noted_to = note_keys(group, from, &AbortedRecords::default(), &mut keys).unwrap();
            if noted_to < group.last().unwrap().0.2 {
                break;
            }
        }
        assert!(noted_to > from, "{noted_to} after {from}");
        let removal =
            Removal { keys, end_offset: noted_to, now_ms, horizon_ms: now_ms + age_ms, aborted: Arc::default() };
        for group in groups.iter_mut().filter(|group| group[0].0.1.first_offset < noted_to) {
            if let Some(made) = rewrite(group, &removal).unwrap() {
                let is_time = made.appended_us == group.iter().map(|piece| piece.0.1.appended_us).max().unwrap();
                assert!(is_time, "the time of a piece");
                *group = as_group(made);
            }
        }
        from = noted_to;
    }
}

#[test]
fn a_reader_that_keeps_the_newest_of_each_key_sees_no_difference() {
    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let (mut offset, mut groups) = (random.u64(..1000), Vec::new());
        let mut before = Kept::new();
        for round in 0..3 {
            for _ in 0..random.usize(1..4) {
                let mut group = Group::new();
                for _ in 0..random.usize(1..4) {
                    let filled = filled(offset, &mut random);
                    offset = filled.0.2;
                    group.push(filled);
                }
                before.extend(read(std::slice::from_ref(&group)));
                groups.push(group);
            }
            let keys_max = random.usize(1..60);
            let now_ms = NOW_MS + round * 1000;
            compact(&mut groups, keys_max, now_ms, 1500);
            let kept = read(&groups);
            assert_eq!(folded(&kept), folded(&before), "seed {seed}");
            let mut newest = BTreeMap::new();
            for (offset, found) in &before {
                found.1.as_ref().map(|key| newest.insert(key.clone(), *offset));
            }
            for (offset, found) in &before {
                let is_newest = found.1.as_ref().is_none_or(|key| newest[key] == *offset);
                match kept.get(offset) {
                    Some(same) => assert_eq!((same, is_newest), (found, true), "seed {seed}"),
                    None => assert!(!is_newest || found.2.is_none(), "seed {seed}: {offset} is missing"),
                }
            }
            // Those of the first round are old enough in the third.
            let tombstones = kept.values().filter(|found| found.1.is_some() && found.2.is_none()).count();
            let all = newest.values().filter(|offset| before[offset].2.is_none()).count();
            assert!(if round < 2 { tombstones == all } else { tombstones <= all }, "seed {seed}, round {round}");
        }
    }
}

#[test]
fn tombstones_go_once_their_time_has_come_and_not_before() {
    let batch = |records: &[(&[u8], Option<&[u8]>)], first_offset| {
        let mut builder = RecordBatchBuilder::new(RecordCodec::Zstd, Limits::FORMAT);
        for (key, value) in records {
            builder.push(NOW_MS, Some(key), *value, []).unwrap();
        }
        let (batch, bytes) = stored(builder.finish(None).unwrap(), first_offset);
        vec![piece(first_offset, vec![batch], bytes)]
    };
    let mut groups = vec![batch(&[(b"a", Some(b"1")), (b"b", Some(b"2"))], 0), batch(&[(b"a", None), (b"a", None)], 2)];
    let offsets = |groups: &[Group]| read(groups).into_keys().collect::<Vec<_>>();
    compact(&mut groups, 10, NOW_MS, 1000);
    assert_eq!(offsets(&groups), [1, 3]);
    let again = rewrite(
        &groups[1],
        &Removal { keys: Keys::new(1), end_offset: 4, now_ms: NOW_MS, horizon_ms: 0, aborted: Arc::default() },
    );
    assert!(again.unwrap().is_none(), "the time of a tombstone is set once");
    compact(&mut groups, 10, NOW_MS + 999, 1000);
    assert_eq!(offsets(&groups), [1, 3]);
    compact(&mut groups, 10, NOW_MS + 1000, 1000);
    assert_eq!(offsets(&groups), [1]);
    // A batch without records keeps the offsets.
    let (_, (batches, bytes)) = &groups[1][0];
    assert_eq!((batches.len(), batches[0].records, bytes.len()), (1, 2, RECORD_BATCH_HEADER_BYTES));
}

#[test]
fn our_own_batches_stay_as_they_are() {
    let (first, last) = (batch_of_ours("first"), batch_of_ours("last"));
    let meta = |bytes: &[u8]| Batch {
        kind: BatchKind::Rawline,
        records: 1,
        bytes: bytes.len() as u32,
        crc32c: rawline_batch::Batch::parse(bytes, &Limits::FORMAT).unwrap().header().crc32c,
        continues: false,
        producer: None,
        max_timestamp_us: 0,
        transaction: None,
    };
    let keyed = |value: &[u8], offset| {
        let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::FORMAT);
        builder.push(NOW_MS, Some(b"k"), Some(value), []).unwrap();
        stored(builder.finish(None).unwrap(), offset)
    };
    let ((old, old_bytes), (new, new_bytes)) = (keyed(b"old", 1), keyed(b"new", 2));
    let bytes = [&first[..], &old_bytes, &new_bytes, &last].concat();
    let group = vec![piece(0, vec![meta(&first), old, new, meta(&last)], bytes)];
    let mut keys = Keys::new(9);
    assert_eq!(note_keys(&group, 0, &AbortedRecords::default(), &mut keys).unwrap(), 4);
    let made = rewrite(&group, &Removal { keys, end_offset: 4, now_ms: 0, horizon_ms: 0, aborted: Arc::default() })
        .unwrap()
        .unwrap();
    let kinds: Vec<_> = made.batches.iter().map(|batch| (batch.kind, batch.records)).collect();
    assert_eq!(kinds, [(BatchKind::Rawline, 1), (BatchKind::Kafka, 2), (BatchKind::Rawline, 1)]);
    assert_eq!((&made.parts[0][..], &made.parts[2][..]), (&first[..], &last[..]));
}

#[test]
fn aborted_records_go_and_markers_stay() {
    let transactional = |key: &[u8], value: &[u8], offset| {
        let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::FORMAT);
        builder.push(NOW_MS, Some(key), Some(value), []).unwrap();
        let producer = RecordProducer { id: 7, epoch: 0, base_sequence: 0 };
        let mut batch = builder.finish(Some(producer)).unwrap().to_vec();
        batch[22] |= 1 << 4;
        let crc = rawline_batch::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        stored(&batch, offset)
    };
    let marker = |is_committed, offset| {
        let (batch, bytes) = stored(&end_marker(7, 1, is_committed, NOW_MS), offset);
        let part = if is_committed { TransactionPart::Commit } else { TransactionPart::Abort };
        let producer = Some(Producer { id: 7, epoch: 1, sequence: 0, wraps: true });
        (Batch { producer, transaction: Some(part), ..batch }, bytes)
    };
    // The newest record of "a" is aborted.
    let all = [
        transactional(b"a", b"kept", 0),
        marker(true, 1),
        transactional(b"a", b"aborted", 2),
        marker(false, 3),
        transactional(b"b", b"kept", 4),
    ];
    let (batches, bytes): (Vec<Batch>, Vec<Vec<u8>>) = all.into_iter().unzip();
    let group = vec![piece(0, batches.clone(), bytes.concat())];
    let aborted = Aborted { producer: 7, first_offset: 2, last_offset: 3, stable_offset: 4 };
    let aborted = Arc::new(AbortedRecords::new([aborted].iter()));
    let mut keys = Keys::new(9);
    assert_eq!(note_keys(&group, 0, &aborted, &mut keys).unwrap(), 5);
    let made = rewrite(&group, &Removal { keys, end_offset: 5, now_ms: 0, horizon_ms: 0, aborted }).unwrap().unwrap();
    let described: Vec<_> = made.batches.iter().map(|batch| (batch.records, batch.transaction)).collect();
    let (commit, abort) = (Some(TransactionPart::Commit), Some(TransactionPart::Abort));
    assert_eq!(described, [(1, None), (1, commit), (1, None), (1, abort), (1, None)]);
    assert_eq!((&made.parts[1][..], &made.parts[3][..]), (&bytes[1][..], &bytes[3][..]), "markers as they were");
    let records = made.parts.iter().map(|part| {
        let mut scratch = Vec::new();
        let (header, section) = open(part, &mut scratch).unwrap();
        assert_eq!(header.is_transactional, header.is_control);
        let records = Records::new(&header, section.unwrap()).filter(|_| !header.is_control);
        records.map(|record| record.unwrap().value.unwrap().to_vec()).collect::<Vec<_>>()
    });
    assert_eq!(records.collect::<Vec<_>>().concat(), [b"kept".to_vec(), b"kept".to_vec()]);
}

#[test]
fn a_gap_of_more_offsets_than_a_batch_can_take_is_several_batches() {
    let mut writer = Writer::new(5);
    let record = |key| Record { offset_delta: 0, timestamp_ms: 1, key, value: Some(b"v"), headers: Default::default() };
    let far = 5 + (5 << 30);
    writer.add(5, &record(Some(b"a")), RecordCodec::None, None).unwrap();
    writer.add(far, &record(Some(b"b")), RecordCodec::None, None).unwrap();
    let (batches, parts) = writer.end(far + 1 + (3 << 31)).unwrap();
    let offsets: u64 = batches.iter().map(|batch| u64::from(batch.records)).sum();
    assert_eq!(offsets, far + 1 + (3 << 31) - 5);
    let mut first_offset = 5;
    for (batch, bytes) in batches.iter().zip(&parts) {
        let bytes: &Bytes = bytes;
        assert_eq!(describe_header(&check_stored(bytes, first_offset).unwrap()), *batch);
        first_offset += u64::from(batch.records);
    }
}

#[test]
fn records_that_cannot_be_read_stay() {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::FORMAT);
    builder.push(NOW_MS, Some(b"key"), Some(b"value"), []).unwrap();
    let mut batch = builder.finish(None).unwrap().to_vec();
    batch[RECORD_BATCH_HEADER_BYTES] = 0x7f;
    let crc = rawline_batch::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    let (batch, bytes) = stored(&batch, 0);
    let group = vec![piece(0, vec![batch], bytes)];
    let mut keys = Keys::new(1);
    assert_eq!(note_keys(&group, 0, &AbortedRecords::default(), &mut keys).unwrap(), 1);
    assert!(!keys.has_newer(b"key", 0), "its keys aren't known");
}

/// A batch of ours with one record.
fn batch_of_ours(text: &str) -> Vec<u8> {
    let mut builder = rawline_batch::Builder::new(rawline_batch::Codec::None, Limits::FORMAT);
    builder.push(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    builder.finish_into(1, 0, 0, &mut bytes).unwrap();
    bytes
}
