//! The bytes of an index: golden bytes, round trips, and every kind of damage.

use super::raw::{ENTRY_BYTES, HEADER_BYTES, RawHeader, SECTION_BYTES, checksum};
use super::*;
use crate::chain::{Id, Link};
use crate::changes::{Changes, Entry};
use crate::control::{Committed, Control, Fence};
use crate::limits::{GROUP_STATE_BYTES_MAX, NAME_BYTES_MAX};
use crate::partition_id::PartitionId;
use crate::place::{BatchCount, MergedPiece, Piece, Place, Source};
use crate::producers::Content;
use crate::state::State;
use crate::transactions::{TransactionEnd, TransactionPart};
use std::sync::Arc;
use zerocopy::{FromBytes, IntoBytes};

const LINK: Link =
    Link { number: 3, id: Id { run: 0x1122, commit: 7 }, prev: Id { run: 0x3344, commit: 9 }, in_flight: 0 };

fn section(topic: u64, number: u32, first_offset: u64) -> Section {
    Section { partition: PartitionId { topic, number }, first_offset }
}

fn create(topic: u64, name: &str, partitions: u32) -> Control {
    Control::Create { topic, name: name.into(), partitions, settings: [].into() }
}

fn plain(records: u32, bytes: u32) -> Batch {
    let (kind, crc32c) = (BatchKind::Rawline, 0xaabb_ccdd);
    Batch { kind, records, bytes, crc32c, continues: false, producer: None, max_timestamp_us: 0, transaction: None }
}

/// Two partitions: an append of two batches, and two of one batch, the last from a Kafka producer.
fn example() -> Vec<u8> {
    let rest = Batch { continues: true, ..plain(2, 80) };
    let producer = Some(Producer { id: 5, epoch: 6, sequence: 100, wraps: true });
    let kafka = Batch { kind: BatchKind::Kafka, producer, max_timestamp_us: 1_000_000, ..plain(4, 61) };
    let one = (section(1, 0, 10), &[plain(1, 72), rest][..]);
    build_index(LINK, 77, &[], &[one, (section(1, 3, 0), &[plain(3, 72), kafka])])
}

#[test]
fn the_bytes_are_golden() {
    let header = "5241574a01000000 0300000000000000 2211000000000000 0700000000000000 4433000000000000 0900000000000000\
                  3d02000000000000 4d00000000000000 02000000 04000000 00000000 d2057006";
    let sections = "0100000000000000 0a00000000000000 00000000 02000000\
                    0100000000000000 0000000000000000 03000000 02000000";
    let entries = "01000000 48000000 ddccbbaa 01 00 0000 0000000000000000 0000000000000000 0000000000000000\
                   02000000 50000000 ddccbbaa 01 01 0000 0000000000000000 0000000000000000 0000000000000000\
                   03000000 48000000 ddccbbaa 01 00 0000 0000000000000000 0000000000000000 0000000000000000\
                   04000000 3d000000 ddccbbaa 02 02 0600 0500000000000000 6400000000000000 40420f0000000000";
    let golden = format!("{header}{sections}{entries}").replace(' ', "");
    let found: String = example().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden);
}

#[test]
fn a_piece_leads_to_a_partitions_entries_and_batches() {
    let bytes = example();
    let pieces: Vec<_> = Index::parse(&bytes).unwrap().pieces().collect();
    let (one, both) = ([BatchKind::Rawline; 2], [BatchKind::Rawline, BatchKind::Kafka]);
    let place = |entries_at, kinds: [BatchKind; 2], batches_at, bytes| {
        let batches = BatchCount::of(kinds.into_iter());
        let (source, tag, object_bytes) = (Source::Journal(LINK.number), LINK.id.tag(), 288 + 72 + 80 + 72 + 61);
        Place { source, tag, object_bytes, entries_at, batches, batches_at, bytes }
    };
    let piece = |number, first_offset, newest_us, place, next_offset| {
        (PartitionId { topic: 1, number }, Piece { first_offset, appended_us: 77, newest_us, place }, next_offset)
    };
    // The newest record of the other is one of Kafka's.
    let expected =
        [piece(0, 10, 77, place(128, one, 288, 152), 13), piece(3, 0, 1_000_000, place(208, both, 440, 133), 7)];
    assert_eq!(pieces, expected);
    for ((_, piece, _), (_, batches)) in pieces.iter().zip(Index::parse(&bytes).unwrap().sections()) {
        let entries = piece.place.entries();
        let read = Batch::read_all(&bytes[entries.start as usize..entries.end as usize]).unwrap();
        assert_eq!(read, batches.iter().map(|(batch, _)| *batch).collect::<Vec<_>>());
        assert_eq!(piece.place.batches().start, batches[0].1);
    }
    assert!(Batch::read_all(&bytes[128..167]).is_err());
}

#[test]
fn an_index_says_what_was_appended_where() {
    let bytes = example();
    let index = Index::parse(&bytes).unwrap();
    assert_eq!((index.header.link, index.header.appended_us), (LINK, 77));
    assert_eq!((index.header.index_bytes(), index.header.object_bytes), (288, 288 + 72 + 80 + 72 + 61));
    let found: Vec<_> = index.sections().map(|(section, batches)| (section, batches.to_vec())).collect();
    let (first, second) = (&found[0], &found[1]);
    assert_eq!((first.0, second.0), (section(1, 0, 10), section(1, 3, 0)));
    assert_eq!([first.1[0].1, first.1[1].1, second.1[0].1, second.1[1].1], [288, 360, 440, 512]);
    let rebuilt: Vec<(Section, Vec<Batch>)> =
        found.iter().map(|(section, batches)| (*section, batches.iter().map(|(batch, _)| *batch).collect())).collect();
    let rebuilt: Vec<_> = rebuilt.iter().map(|(section, batches)| (*section, &batches[..])).collect();
    assert_eq!(build_index(LINK, 77, &[], &rebuilt), bytes);
    let entry = |number, first_offset, content, producer| Entry {
        partition: PartitionId { topic: 1, number },
        first_offset,
        content,
        producer,
        transaction: None,
    };
    let producer = Producer { id: 5, epoch: 6, sequence: 100, wraps: true };
    let content = |records, crc32c| Content { records, crc32c };
    let of_kafka = second.1[1].0.content_crc32c();
    assert_ne!(of_kafka, 0xaabb_ccdd, "without its time");
    let appends = [
        entry(0, 10, content(3, 0), None),
        entry(3, 0, content(3, 0), None),
        entry(3, 3, content(4, of_kafka), Some(producer)),
    ];
    assert_eq!(index.changes().entries[..], appends);
}

/// An append of several batches is recognized by all of them.
#[test]
fn an_append_of_a_producer_has_the_checksum_of_all_its_batches() {
    let producer = Some(Producer { id: 5, epoch: 6, sequence: 100, wraps: false });
    let batches = [
        Batch { producer, crc32c: 1, ..plain(1, 72) },
        Batch { continues: true, crc32c: 2, ..plain(2, 80) },
        Batch { continues: true, crc32c: 3, ..plain(1, 72) },
    ];
    let mut bytes = build_index(LINK, 77, &[], &[(section(1, 0, 10), &batches)]);
    bytes.resize(bytes.len() + 72 + 80 + 72, 0);
    let content = Content { records: 4, crc32c: crate::content_checksum([1, 2, 3]) };
    assert_eq!(Index::parse(&bytes).unwrap().changes().entries[0].content, content);
}

#[test]
fn a_state_follows_objects_by_their_indexes() {
    let mut state = State::default();
    let controls = [create(1, "one", 1), create(2, "two", 1)];
    for number in 1..=3 {
        let link = Link { number, id: Id { run: 1, commit: number }, prev: state.chain().last(), in_flight: 0 };
        let sections =
            [(section(1, 0, (number - 1) * 3), &[plain(3, 72)][..]), (section(2, 0, number - 1), &[plain(1, 72)])];
        let bytes = build_index(link, number, if number == 1 { &controls } else { &[] }, &sections);
        let index = Index::parse(&bytes).unwrap();
        assert_eq!(state.observe(index.header.link, &index.changes()), Ok(true));
    }
    assert_eq!(state.next_offset(PartitionId { topic: 1, number: 0 }), 9);
    assert_eq!(state.next_offset(PartitionId { topic: 2, number: 0 }), 3);
}

#[test]
fn an_object_that_settles_a_number_is_its_header() {
    let bytes = build_index(LINK, 0, &[], &[]);
    assert_eq!(bytes.len(), HEADER_BYTES);
    let index = Index::parse(&bytes).unwrap();
    assert_eq!((index.header.object_bytes, index.changes()), (80, Changes::default()));
}

#[test]
fn a_reader_learns_how_many_bytes_it_needs() {
    let bytes = example();
    for have in 0..bytes.len() {
        let need = if have < HEADER_BYTES { HEADER_BYTES } else { bytes.len() };
        let truncated = ObjectError::Truncated { have: have as u64, need: need as u64 };
        assert_eq!(Index::parse(&bytes[..have]), Err(truncated));
    }
    assert_eq!(Index::parse(&[&bytes[..], b"batches"].concat()), Index::parse(&bytes));
}

/// One control record of each kind, and a batch.
fn controls() -> [Control; 4] {
    let settings = b"{\"retain_hours\":24}"[..].into();
    [
        create(7, "one", 4),
        Control::Alter { topic: 6, partitions: 8, settings },
        Control::Delete { topic: 5 },
        Control::Trim { partition: PartitionId { topic: 4, number: 3 }, first_offset: 1_000 },
    ]
}

#[test]
fn the_bytes_of_control_records_are_golden() {
    let bytes = build_index(LINK, 77, &controls(), &[(section(1, 0, 10), &[plain(1, 72)][..])]);
    let golden = "01000000 04000000 0700000000000000 0000000000000000 0300 0000 00000000 6f6e650000000000\
                  02000000 08000000 0600000000000000 0000000000000000 0000 1300 00000000\
                  7b2272657461696e5f686f757273223a32347d0000000000\
                  03000000 00000000 0500000000000000 0000000000000000 0000 0000 00000000\
                  04000000 03000000 0400000000000000 e803000000000000 0000 0000 00000000";
    let found: String =
        bytes[HEADER_BYTES + SECTION_BYTES + ENTRY_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    let index = Index::parse(&bytes).unwrap();
    assert_eq!(index.header.index_bytes(), bytes.len() as u64);
    assert_eq!(index.changes().controls[..], controls());
    assert_eq!(index.changes().entries.len(), 1);
}

/// The steps of a merge, whose object has two pieces of one partition.
fn merge() -> [Control; 3] {
    let piece = |entries_at, batches_at, first_offset, next_offset| {
        let (source, tag, object_bytes) = (Source::Merged(9), 0xaabb_ccdd, 352);
        let place =
            Place { source, tag, object_bytes, entries_at, batches: BatchCount::from_bits(1), batches_at, bytes: 72 };
        let piece = Piece { first_offset, appended_us: 77, newest_us: 66, place };
        MergedPiece { partition: PartitionId { topic: 4, number: 3 }, piece, next_offset }
    };
    let pieces = [piece(128, 208, 10, 20), piece(168, 280, 30, 31)].into();
    [Control::BeginMerge { merge: 9 }, Control::EndMerge { merge: 9, pieces }, Control::AbandonMerge { merge: 9 }]
}

#[test]
fn the_bytes_of_a_merges_control_records_are_golden() {
    let bytes = build_index(LINK, 77, &merge(), &[]);
    let golden = "05000000 00000000 0900000000000000 0000000000000000 0000 0000 00000000\
                  06000000 02000000 0900000000000000 ddccbbaa 60010000 0000000000000000\
                  0400000000000000 0a00000000000000 1400000000000000 4d00000000000000\
                  4200000000000000 03000000 80000000 01000000 d0000000 48000000 00000000\
                  0400000000000000 1e00000000000000 1f00000000000000 4d00000000000000\
                  4200000000000000 03000000 a8000000 01000000 18010000 48000000 00000000\
                  07000000 00000000 0900000000000000 0000000000000000 0000 0000 00000000";
    let found: String = bytes[HEADER_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    assert_eq!(Index::parse(&bytes).unwrap().changes().controls[..], merge());
}

#[test]
fn the_bytes_of_a_producers_instance_are_golden() {
    let open = |epoch| Control::OpenProducer {
        name: "orders-1".into(),
        id: 1 << 52,
        epoch,
        timeout_ms: 0,
        owner: "".into(),
        from: None,
        ends: 0,
    };
    let controls = [open(0), open(u16::MAX)];
    let bytes = build_index(LINK, 77, &controls, &[]);
    let golden = "08000000 00000000 0000000000001000 0000000000000000 0800 0000 00000000 6f72646572732d31\
                  08000000 ffff0000 0000000000001000 0000000000000000 0800 0000 00000000 6f72646572732d31";
    let found: String = bytes[HEADER_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    assert_eq!(Index::parse(&bytes).unwrap().changes().controls[..], controls);
    for (position, byte) in [(6, 1), (20, 1), (24, 0), (26, 1)] {
        let mut wrong = bytes.clone();
        wrong[HEADER_BYTES + position] = byte;
        assert_eq!(with_checksum(wrong), Err(ObjectError::Index("a control record")), "byte {position}");
    }
}

#[test]
fn the_bytes_of_groups_offsets_are_golden() {
    let partition = PartitionId { topic: 1, number: 2 };
    let committed = Committed { offset: 1000, metadata: b"note"[..].into() };
    let controls = [
        Control::CommitOffset {
            group: "billing".into(),
            partition,
            committed,
            owner: "".into(),
            producer: None,
            fence: Fence::Open,
        },
        Control::ForgetOffset { group: "billing".into(), partition: Some(partition), fence: Fence::Open },
        Control::ForgetOffset { group: "billing".into(), partition: None, fence: Fence::Open },
    ];
    let bytes = build_index(LINK, 77, &controls, &[]);
    let golden = "09000000 02000000 0100000000000000 e803000000000000 0700 0400 00000000\
                  62696c6c696e676e6f74650000000000\
                  0a000000 02000000 0100000000000000 0000000000000000 0700 0000 00000000 62696c6c696e6700\
                  0a000000 00000000 0000000000000000 0000000000000000 0700 0000 00000000 62696c6c696e6700";
    let found: String = bytes[HEADER_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    assert_eq!(Index::parse(&bytes).unwrap().changes().controls[..], controls);
    // No topic, a name that is too long; an offset, metadata, and a partition where none belongs.
    for (position, byte) in [(8, 0), (24, 0), (25, 1), (48 + 16, 1), (48 + 26, 1), (88 + 4, 1)] {
        let mut wrong = bytes.clone();
        wrong[HEADER_BYTES + position] = byte;
        assert_eq!(with_checksum(wrong), Err(ObjectError::Index("a control record")), "byte {position}");
    }
}

/// A group's members, an offset that a member commits in a transaction and by itself, and one that is deleted while
/// there are none.
#[test]
fn the_bytes_of_groups_members_are_golden() {
    let partition = PartitionId { topic: 1, number: 2 };
    let committed = Committed { offset: 1000, metadata: b"note"[..].into() };
    let group: Arc<str> = "billing".into();
    let commit = |producer| {
        let (group, committed, fence) = (group.clone(), committed.clone(), Fence::At(0x0706_0504_0302_0100));
        Control::CommitOffset { group, partition, committed, owner: "".into(), producer, fence }
    };
    let state = b"state"[..].into();
    let controls = [
        Control::StoreGroup { group: group.clone(), version: 3, after: 9, stamp: 10, members: 2, state },
        commit(None),
        commit(Some((1 << 52, 3))),
        Control::ForgetOffset { group: group.clone(), partition: None, fence: Fence::NoMembers },
    ];
    let bytes = build_index(LINK, 77, &controls, &[]);
    let golden = "0d000000 02000000 0300000000000000 1500000000000000 0700 0000 00000000 62696c6c696e67\
                  0900000000000000 0a00000000000000 7374617465 00000000\
                  09020000 02000000 0100000000000000 e803000000000000 0700 0c00 00000000 62696c6c696e67\
                  0001020304050607 6e6f7465 0000000000\
                  0c020000 02000000 0100000000000000 e803000000000000 0700 1600 00000000 62696c6c696e67\
                  0001020304050607 0000000000001000 0300 6e6f7465 000000\
                  0a010000 00000000 0000000000000000 0000000000000000 0700 0000 00000000 62696c6c696e6700";
    let found: String = bytes[HEADER_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    assert_eq!(Index::parse(&bytes).unwrap().changes().controls[..], controls);
    // A fence, an offset and settings of a group; no stamps, no name; a fence that there isn't, or a part of its stamp.
    for (position, byte) in [(1, 2), (16, 15), (26, 1), (28, 1), (24, 0), (64 + 1, 3), (64 + 26, 7)] {
        let mut wrong = bytes.clone();
        wrong[HEADER_BYTES + position] = byte;
        assert_eq!(with_checksum(wrong), Err(ObjectError::Index("a control record")), "byte {position}");
    }
}

/// The longest there is, which ends a merge, is longer.
#[test]
fn the_largest_group_fits_a_control_record() {
    let control = |state: usize| Control::StoreGroup {
        group: "n".repeat(NAME_BYTES_MAX).into(),
        version: 1,
        after: 0,
        stamp: 1,
        members: 1,
        state: vec![7; state].into(),
    };
    assert!(control_bytes(&control(GROUP_STATE_BYTES_MAX)) <= CONTROL_BYTES_MAX);
    let bytes = build_index(LINK, 77, &[control(GROUP_STATE_BYTES_MAX)], &[]);
    assert_eq!(Index::parse(&bytes).unwrap().changes().controls[..], [control(GROUP_STATE_BYTES_MAX)]);
}

#[test]
fn the_bytes_of_transactions_are_golden() {
    let partition = PartitionId { topic: 1, number: 2 };
    let (id, name): (u64, Arc<str>) = (1 << 52, "t".into());
    let committed = Committed { offset: 1000, metadata: b"note"[..].into() };
    let open = |from, ends| {
        let name = name.clone();
        Control::OpenProducer { name, id, epoch: 3, timeout_ms: 60_000, owner: "".into(), from, ends }
    };
    let controls = [
        open(None, 0),
        open(Some((id, 2)), id),
        Control::EndTransaction { name: name.clone(), id, epoch: 3, end: TransactionEnd::Expire, next: (id, 4) },
        Control::CommitOffset {
            group: "g".into(),
            partition,
            committed,
            owner: "".into(),
            producer: Some((id, 3)),
            fence: Fence::Open,
        },
    ];
    let bytes = build_index(LINK, 77, &controls, &[]);
    let golden = "08000000 03000000 0000000000001000 60ea000000000000 0100 0000 00000000 7400000000000000\
                  08000000 03000000 0000000000001000 60ea000000000000 0100 1200 00000000\
                  74 0000000000001000 0200 0000000000001000 0000000000\
                  0b000000 03000000 0000000000001000 0300000000000000 0100 0a00 00000000\
                  74 0000000000001000 0400 0000000000\
                  0c000000 02000000 0100000000000000 e803000000000000 0100 0e00 00000000\
                  67 0000000000001000 0300 6e6f7465 00";
    let found: String = bytes[HEADER_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    assert_eq!(Index::parse(&bytes).unwrap().changes().controls[..], controls);
    let producer = Producer { id, epoch: 3, sequence: 0, wraps: true };
    let batch = |records, transaction| {
        let transaction = Some(transaction);
        Batch { kind: BatchKind::Kafka, producer: Some(producer), transaction, ..plain(records, 61) }
    };
    let batches =
        [batch(4, TransactionPart::Records), batch(1, TransactionPart::Commit), batch(1, TransactionPart::Abort)];
    let mut bytes = build_index(LINK, 77, &[], &[(section(1, 0, 10), &batches)]);
    let entries = HEADER_BYTES + SECTION_BYTES;
    assert_eq!([0, 1, 2].map(|n| bytes[entries + n * ENTRY_BYTES + 13]), [6, 10, 18]);
    bytes.resize(bytes.len() + 3 * 61, 0);
    let found = Index::parse(&bytes).unwrap().changes().entries;
    let parts = [TransactionPart::Records, TransactionPart::Commit, TransactionPart::Abort];
    assert!(found.iter().zip(parts).all(|(entry, part)| entry.transaction == Some(part)), "{found:?}");
}

#[test]
fn the_end_of_a_merge_that_cannot_be_is_refused() {
    let bytes = build_index(LINK, 77, &merge()[1..2], &[]);
    let refused = |position: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[HEADER_BYTES + position] = byte;
        assert_eq!(with_checksum(bytes), Err(ObjectError::Index("a control record")), "byte {position}");
    };
    refused(1, 1); // Reserved.
    refused(4, 3); // More pieces than follow.
    refused(4, 0); // No pieces.
    refused(8, 0); // No number.
    refused(21, 0); // A smaller object than the pieces' positions.
    refused(24, 1); // Reserved.
    refused(32 + 16, 10); // A piece without records.
    refused(32 + 64 + 8, 19); // Records that the piece before it has.
    refused(32 + 64 + 40, 2); // A partition before the one before it.
    refused(32 + 48, 0); // No batches.
    refused(32 + 60, 1); // Reserved.
}

/// A merged object with two pieces of one partition, and one of another.
fn merged() -> Vec<u8> {
    let rest = Batch { continues: true, ..plain(2, 80) };
    let pieces = [
        (section(1, 0, 10), &[plain(1, 72), rest][..]),
        (section(1, 0, 20), &[plain(3, 72)][..]),
        (section(1, 3, 0), &[plain(3, 72)][..]),
    ];
    build_merged_index(5, LINK.id, 77, &pieces)
}

#[test]
fn the_header_of_a_merged_object_is_golden() {
    let bytes = merged();
    let golden = "5241574d01000000 0500000000000000 2211000000000000 0700000000000000 0000000000000000 0000000000000000\
                  6002000000000000 4d00000000000000 03000000 04000000 00000000";
    let found: String = bytes[..HEADER_BYTES - 4].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    let index = Index::parse(&bytes).unwrap();
    assert_eq!((index.header.is_merged, index.header.source()), (true, Source::Merged(5)));
    let pieces: Vec<_> = index.pieces().collect();
    assert_eq!(
        pieces.iter().map(|(_, piece, next)| (piece.first_offset, *next)).collect::<Vec<_>>(),
        [(10, 13), (20, 23), (0, 3)]
    );
    assert!(pieces.iter().all(|(_, piece, _)| piece.place.source == Source::Merged(5) && piece.place.is_sound()));
    let mut same = bytes.clone();
    same[HEADER_BYTES + SECTION_BYTES + 8] = 10;
    assert_eq!(with_checksum(same), Err(ObjectError::Index("the order of the sections")));
    let mut journal = bytes.clone();
    journal[3] = b'J';
    assert_eq!(with_checksum(journal), Err(ObjectError::Index("the order of the sections")));
    let mut chained = bytes;
    chained[32] = 1;
    assert_eq!(with_checksum(chained), Err(ObjectError::Index("what a merged object doesn't have")));
}

/// The name of a key follows the settings.
#[test]
fn a_control_record_has_its_owner() {
    let partition = PartitionId { topic: 1, number: 2 };
    let committed = Committed { offset: 1000, metadata: b"note"[..].into() };
    let owner: Arc<str> = "team-a".into();
    let producer = Some((1 << 52, 3));
    let controls = [
        Control::OpenProducer {
            name: "t".into(),
            id: 1 << 52,
            epoch: 0,
            timeout_ms: 7,
            owner: owner.clone(),
            from: Some((1 << 52, 2)),
            ends: 1 << 52,
        },
        Control::CommitOffset {
            group: "g".into(),
            partition,
            committed: committed.clone(),
            owner: owner.clone(),
            producer,
            fence: Fence::Open,
        },
        Control::CommitOffset {
            group: "billing".into(),
            partition,
            committed,
            owner,
            producer: None,
            fence: Fence::Open,
        },
    ];
    let bytes = build_index(LINK, 77, &controls, &[]);
    assert_eq!(Index::parse(&bytes).unwrap().controls(), controls);
    let golden = "09000000020000000100000000000000e8030000000000000700040006000000\
                  62696c6c696e676e6f74657465616d2d6100000000000000";
    let found: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(found.ends_with(golden), "{found}");
}

#[test]
fn control_records_have_one_form() {
    let bytes = build_index(LINK, 77, &controls(), &[]);
    let refused = |position: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[HEADER_BYTES + position] = byte;
        assert_eq!(with_checksum(bytes), Err(ObjectError::Index("a control record")), "byte {position}");
    };
    refused(0, 5); // Another kind, which has no name.
    refused(0, 11); // An unknown kind.
    refused(1, 1); // Reserved.
    refused(4 + 2, 1); // More partitions than possible.
    refused(16, 1); // An offset, where none belongs.
    refused(24, 0); // A topic without a name.
    refused(24, 200); // A name that is longer than the record.
    refused(32, 0xff); // A name that isn't UTF-8.
    refused(35, 1); // Padding.
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = example();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Index::parse(&flipped).is_err(), "bit {bit}");
    }
}

/// Changes bytes and makes the checksum right again: only the rules can refuse the result.
fn changed(change: impl Fn(&mut Vec<u8>)) -> Result<Index, ObjectError> {
    let mut bytes = example();
    change(&mut bytes);
    with_checksum(bytes)
}

fn with_checksum(mut bytes: Vec<u8>) -> Result<Index, ObjectError> {
    let (front, rest) = bytes.split_at_mut(HEADER_BYTES);
    let mut header = RawHeader::read_from_bytes(front).unwrap();
    header.crc32c = checksum(&header, rest).into();
    front.copy_from_slice(header.as_bytes());
    Index::parse(&bytes)
}

#[test]
fn no_index_makes_a_reader_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    let first = Link { number: 1, prev: Id::ROOT, ..LINK };
    let sound = build_index(first, 77, &controls(), &[(section(1, 0, 10), &[plain(1, 72), plain(3, 80)][..])]);
    let mut accepted = 0;
    for _ in 0..50_000 {
        let mut bytes = sound.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(8..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { [0, 1, 0xff][random.usize(0..3)] };
        }
        if let Ok(index) = with_checksum(bytes) {
            accepted += 1;
            // An object whose number isn't its key's is refused by the driver.
            if index.header.link.number == 1 {
                let _ = State::default().observe(index.header.link, &index.changes());
            }
        }
    }
    assert!(accepted > 1_000, "only {accepted} indexes were possible");
}

#[test]
fn an_index_that_contradicts_itself_is_refused() {
    const SECTIONS: usize = HEADER_BYTES;
    const ENTRIES: usize = SECTIONS + 2 * SECTION_BYTES;
    const LAST: usize = ENTRIES + 3 * ENTRY_BYTES;
    let refused = |position: usize, byte: u8, rule: &str| {
        let error = changed(|bytes| bytes[position] = byte).unwrap_err();
        assert!(matches!(error, ObjectError::Index(found) if found.contains(rule)), "byte {position}: {error}");
    };
    assert!(changed(|_| ()).is_ok());
    assert!(changed(|bytes| bytes[SECTIONS + 8] = 11).is_ok(), "any offset can be the first");
    refused(8, 0, "the number or the id");
    refused(49, 0, "the size of the object");
    refused(51, 0x80, "the size of the object");
    refused(48, 0x3e, "the sizes of the batches");
    refused(64, 5, "sections and batches");
    refused(70, 2, "sections and batches");
    refused(75, 1, "the size of the control records");
    refused(SECTIONS, 2, "the order of the sections");
    refused(SECTIONS + 16, 3, "the order of the sections");
    refused(SECTIONS + SECTION_BYTES + 17, 4, "the number of a partition");
    refused(SECTIONS + 20, 1, "an append that continues");
    refused(SECTIONS + SECTION_BYTES + 20, 1, "batches of no section");
    refused(SECTIONS + SECTION_BYTES + 20, 3, "section's batches");
    refused(SECTIONS + SECTION_BYTES + 20, 0, "section's batches");
    refused(ENTRIES, 0, "without records");
    refused(ENTRIES + 12, 3, "kind of batch");
    refused(ENTRIES + 13, 32, "flags");
    refused(ENTRIES + 13, 24, "flags");
    refused(ENTRIES + 13, 4, "a transaction");
    refused(LAST + 13, 10, "a transaction");
    refused(ENTRIES + 16, 1, "a producer");
    refused(LAST + 13, 0, "a producer");
    refused(LAST + 13, 3, "a producer");
    let error = changed(|bytes| bytes[SECTIONS + 8..SECTIONS + 16].fill(0xff));
    assert_eq!(error, Err(ObjectError::Index("the number of records")));
    let error = changed(|bytes| {
        bytes[ENTRIES..ENTRIES + 4].fill(0xff);
        bytes[ENTRIES + ENTRY_BYTES] = 1;
    });
    assert_eq!(error, Err(ObjectError::Index("the number of records")));
    // Numbers of Kafka's batches wrap, those of others end.
    let error = changed(|bytes| bytes[LAST + 24..LAST + 28].fill(0xff));
    assert_eq!(error, Err(ObjectError::Index("a producer")));
    let error = changed(|bytes| {
        bytes[LAST + 12] = BatchKind::Rawline as u8;
        bytes[LAST + 24..LAST + 32].fill(0xff);
    });
    assert_eq!(error, Err(ObjectError::Index("a producer's sequence")));
    assert!(matches!(changed(|bytes| bytes[4] = 2), Err(ObjectError::Version { found: 2 })));
    assert!(matches!(changed(|bytes| bytes[3] = b'O'), Err(ObjectError::Magic { .. })));
}
