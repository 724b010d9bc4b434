//! The golden bytes in `vectors/journal/`: journal objects, the merged object that they are about, and the snapshots
//! after them. Each is read, and built again from what was read.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]

use rawline_batch::{Builder, Codec, Header, Limits};
use rawline_journal::{
    Batch, BatchKind, Committed, Control, Fence, Id, Index, Link, MergedPiece, PartitionId, Piece, Producer, Section,
    Snapshot, Source, State, build_index, build_merged_index, build_snapshot,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RUN: u64 = 0x1122_3344_5566_7788;
/// The first id of a named producer.
const NAMED: u64 = 1 << 52;
/// 2023-11-14T22:13:20Z.
const TIME_US: u64 = 1_700_000_000_000_000;
const ORDERS: PartitionId = PartitionId { topic: 1, number: 0 };
const OTHER_ORDERS: PartitionId = PartitionId { topic: 1, number: 1 };

/// The bytes of a file of hexadecimal digits, in which `#` begins a comment.
fn golden(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/journal").join(name);
    let text = fs::read_to_string(&file).unwrap();
    let digits: String = text.lines().filter_map(|line| line.split('#').next()).collect();
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn assert_golden(name: &str, bytes: &[u8]) {
    let hex = |bytes: &[u8]| {
        let lines = bytes.chunks(32).map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    };
    let (expected, found) = (hex(&golden(name)), hex(bytes));
    assert!(expected == found, "{name} is\n{expected}\nand this version makes\n{found}");
}

/// A batch and its entry.
fn batch(records: &[&str], created_us: u64, producer: Option<Producer>) -> (Batch, Vec<u8>) {
    let mut builder = Builder::new(Codec::None, Limits::FORMAT);
    records.iter().for_each(|record| builder.push(record.as_bytes()).unwrap());
    let mut bytes = Vec::new();
    let (id, sequence) = producer.map_or((0, 0), |producer| (producer.id, producer.sequence));
    builder.finish_into(created_us, id, sequence, &mut bytes).unwrap();
    let header = header_of(&bytes);
    let entry = Batch {
        kind: BatchKind::Rawline,
        records: header.records,
        bytes: bytes.len() as u32,
        crc32c: header.crc32c,
        continues: false,
        producer,
        max_timestamp_us: 0,
        transaction: None,
    };
    (entry, bytes)
}

fn header_of(batch: &[u8]) -> Header {
    *rawline_batch::Batch::parse(batch, &Limits::FORMAT).unwrap().header()
}

fn section(partition: PartitionId, first_offset: u64) -> Section {
    Section { partition, first_offset }
}

fn link(number: u64) -> Link {
    let id = |commit| if commit == 0 { Id::ROOT } else { Id { run: RUN, commit } };
    Link { number, id: id(number), prev: id(number - 1), in_flight: 0 }
}

/// The batches of the objects: one of a named producer, two of one append, and one of another partition.
fn batches() -> [(Batch, Vec<u8>); 4] {
    let producer = Producer { id: NAMED, epoch: 1, sequence: 1000, wraps: false };
    let (rest, bytes) = batch(&["!"], TIME_US + 30, None);
    [
        batch(&["hello", "", "world!"], TIME_US, Some(producer)),
        batch(&["hello again"], TIME_US + 20, None),
        (Batch { continues: true, ..rest }, bytes),
        batch(&["elsewhere"], TIME_US + 10, None),
    ]
}

/// Topics are created, two instances of a named producer are opened, and two partitions get records.
fn first() -> Vec<u8> {
    let create = |topic, name: &str, partitions, settings: &[u8]| {
        let (name, settings) = (name.into(), settings.into());
        Control::Create { topic, name, partitions, settings }
    };
    let open = |epoch| Control::OpenProducer {
        name: "orders-1".into(),
        id: NAMED,
        epoch,
        timeout_ms: 0,
        owner: "".into(),
        from: None,
        ends: 0,
    };
    let controls = [create(1, "orders", 2, br#"{"payload":"value"}"#), create(2, "events", 1, b"{}"), open(0), open(1)];
    let [one, _, _, other] = batches();
    let sections = [(section(ORDERS, 0), &[one.0][..]), (section(OTHER_ORDERS, 0), &[other.0])];
    [build_index(link(1), TIME_US + 100, &controls, &sections), one.1, other.1].concat()
}

/// A topic is altered, a partition is trimmed, a merge begins, and an append of two batches follows.
fn second() -> Vec<u8> {
    let alter = Control::Alter { topic: 1, partitions: 3, settings: b"{}"[..].into() };
    let controls = [alter, Control::Trim { partition: ORDERS, first_offset: 1 }, Control::BeginMerge { merge: 1 }];
    let [_, one, rest, _] = batches();
    let sections = [(section(ORDERS, 3), &[one.0, rest.0][..])];
    [build_index(link(2), TIME_US + 200, &controls, &sections), one.1, rest.1].concat()
}

/// The batches of both, by partition, with the times of their objects.
fn merged() -> Vec<u8> {
    let [one, two, rest, other] = batches();
    let timed = |entry: Batch, us| Batch { max_timestamp_us: TIME_US + us, ..entry };
    let orders = [timed(one.0, 100), timed(two.0, 200), timed(rest.0, 200)];
    let sections = [(section(ORDERS, 0), &orders[..]), (section(OTHER_ORDERS, 0), &[timed(other.0, 100)])];
    let index = build_merged_index(1, Id { run: RUN, commit: 1 }, TIME_US + 200, &sections);
    [index, one.1, two.1, rest.1, other.1].concat()
}

fn merged_pieces() -> Vec<MergedPiece> {
    let index = Index::parse(&merged()).unwrap();
    let pieces = index.pieces();
    pieces.map(|(partition, piece, next_offset)| MergedPiece { partition, piece, next_offset }).collect()
}

/// The merge ends, another begins and is abandoned, and a topic is deleted. There are no batches.
fn third() -> Vec<u8> {
    let end = Control::EndMerge { merge: 1, pieces: merged_pieces().into() };
    let (begin, abandon) = (Control::BeginMerge { merge: 2 }, Control::AbandonMerge { merge: 2 });
    build_index(link(3), TIME_US + 300, &[end, begin, abandon, Control::Delete { topic: 2 }], &[])
}

/// A group commits its offsets in both partitions, takes one back, and another group is deleted.
fn fourth() -> Vec<u8> {
    let commit = |group: &str, partition, offset, metadata: &[u8]| {
        let committed = Committed { offset, metadata: metadata.into() };
        let (group, owner, fence) = (group.into(), "".into(), Fence::Open);
        Control::CommitOffset { group, partition, committed, owner, producer: None, fence }
    };
    let forget = |group: &str, partition| {
        let (group, fence) = (group.into(), Fence::Open);
        Control::ForgetOffset { group, partition, fence }
    };
    let controls = [
        commit("billing", ORDERS, 4, b"host-7"),
        commit("billing", OTHER_ORDERS, 1, b""),
        forget("billing", Some(OTHER_ORDERS)),
        commit("trial", ORDERS, 5, b""),
        forget("trial", None),
        commit("audit", OTHER_ORDERS, 1, b""),
    ];
    build_index(link(4), TIME_US + 400, &controls, &[])
}

fn objects() -> [(&'static str, Vec<u8>); 3] {
    [("object-1.hex", first()), ("object-2.hex", second()), ("object-3.hex", third())]
}

/// The state after the three objects.
fn snapshot() -> Snapshot {
    let mut state = State::default();
    for (name, bytes) in objects() {
        let index = Index::parse(&bytes).unwrap();
        assert_eq!(state.observe(index.header.link, &index.changes()), Ok(true), "{name}");
    }
    let mut pieces = BTreeMap::<PartitionId, Vec<Piece>>::new();
    merged_pieces().into_iter().for_each(|merged| pieces.entry(merged.partition).or_default().push(merged.piece));
    Snapshot { state, pieces }
}

#[test]
fn golden_objects_are_what_this_version_makes() {
    objects().iter().for_each(|(name, bytes)| assert_golden(name, bytes));
    assert_golden("object-4.hex", &fourth());
    assert_golden("merged-1.hex", &merged());
}

#[test]
fn golden_objects_are_read_and_built_again() {
    for name in ["object-1.hex", "object-2.hex", "object-3.hex", "object-4.hex", "merged-1.hex"] {
        let bytes = golden(name);
        let index = Index::parse(&bytes).unwrap();
        let header = index.header;
        assert_eq!(header.object_bytes, bytes.len() as u64, "{name}");
        let entries = |batches: &[(Batch, u64)]| batches.iter().map(|(batch, _)| *batch).collect::<Vec<_>>();
        let sections: Vec<_> = index.sections().map(|(section, batches)| (section, entries(batches))).collect();
        let sections: Vec<_> = sections.iter().map(|(section, batches)| (*section, batches.as_slice())).collect();
        let built = match header.source() {
            Source::Journal(_) => build_index(header.link, header.appended_us, index.controls(), &sections),
            Source::Merged(merge) => build_merged_index(merge, header.link.id, header.appended_us, &sections),
        };
        assert_eq!(built, bytes[..header.index_bytes() as usize], "{name}");
        // Each entry says where its batch is, and vouches for it.
        for (entry, position) in index.sections().flat_map(|(_, batches)| batches) {
            let batch = header_of(&bytes[*position as usize..][..entry.bytes as usize]);
            assert_eq!((batch.records, batch.crc32c), (entry.records, entry.crc32c), "{name}");
        }
    }
}

#[test]
fn the_golden_snapshot_is_the_state_after_the_golden_objects() {
    let Snapshot { state, pieces } = snapshot();
    let offsets = state.first_offset(ORDERS)..state.next_offset(ORDERS);
    assert_eq!((offsets, state.chain().next(), state.topics().count()), (1..5, 4, 1));
    assert_golden("snapshot-4.hex", &build_snapshot(&state, &pieces));
    assert_eq!(Snapshot::parse(&golden("snapshot-4.hex")), Ok(Snapshot { state, pieces }));
}

#[test]
fn a_golden_snapshot_has_groups() {
    let Snapshot { mut state, pieces } = snapshot();
    let index = Index::parse(&fourth()).unwrap();
    assert_eq!(state.observe(index.header.link, &index.changes()), Ok(true));
    let billing: Vec<_> = state.offsets().of("billing").map(|(id, committed)| (id, committed.offset)).collect();
    assert_eq!((billing, state.offsets().groups().count()), (vec![(ORDERS, 4)], 2));
    assert_golden("snapshot-5.hex", &build_snapshot(&state, &pieces));
    assert_eq!(Snapshot::parse(&golden("snapshot-5.hex")), Ok(Snapshot { state, pieces }));
}
