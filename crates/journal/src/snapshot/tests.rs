//! The bytes of a snapshot: golden bytes, round trips, and every kind of damage.

use super::raw::{HEADER_BYTES, RawHeader, checksum, part_checksum};
use super::*;
use crate::chain::{Id, Link};
use crate::changes::{Changes, Entry};
use crate::control::{Control, Fence};
use crate::limits::NAMED_IDS;
use crate::needed::Needed;
use crate::place::{BatchCount, Place};
use crate::producers::{Content, Producer};
use zerocopy::{FromBytes, IntoBytes};

/// Where the table of parts begins.
const TABLE: usize = HEADER_BYTES + 24;

/// Where the only part begins.
const PART: usize = TABLE + 24;

const ONE: PartitionId = PartitionId { topic: 1, number: 1 };

/// Two topics, one of which has a partition with ten records, trimmed to 2, in two pieces.
fn example() -> Snapshot {
    let mut state = State::default();
    let create = |topic, name: &str, partitions| {
        let settings = b"{}"[..].into();
        Control::Create { topic, name: name.into(), partitions, settings }
    };
    let producer = Some(Producer { id: 5, epoch: 6, sequence: 100, wraps: false });
    let open = |epoch| Control::OpenProducer {
        name: "orders-1".into(),
        id: NAMED_IDS.start + 3,
        epoch,
        timeout_ms: 0,
        owner: "".into(),
        from: None,
        ends: 0,
    };
    let controls = [create(1, "one", 2), create(2, "two", 1), open(0), open(1)];
    let appended_us = 70;
    let content = |records| Content { records, crc32c: 0x0102_0304 };
    let entries = [Entry { partition: ONE, first_offset: 0, content: content(4), producer, transaction: None }];
    let link = Link { number: 1, id: Id { run: 8, commit: 1 }, prev: Id::ROOT, in_flight: 0 };
    assert_eq!(
        state.observe(link, &Changes { appended_us, controls: controls.into(), entries: entries.into() }),
        Ok(true)
    );
    let controls = [Control::Trim { partition: ONE, first_offset: 2 }];
    let entries = [Entry { partition: ONE, first_offset: 4, content: content(6), producer: None, transaction: None }];
    let link = Link { number: 2, id: Id { run: 8, commit: 2 }, prev: link.id, in_flight: 0 };
    let appended_us = 77;
    assert_eq!(
        state.observe(link, &Changes { appended_us, controls: controls.into(), entries: entries.into() }),
        Ok(true)
    );
    let piece = |number, first_offset| {
        let (tag, object_bytes) = (Id { run: 8, commit: number }.tag(), 216);
        let place = Place {
            source: Source::Journal(number),
            tag,
            object_bytes,
            entries_at: 104,
            batches: BatchCount::from_bits(1),
            batches_at: 144,
            bytes: 72,
        };
        Piece { first_offset, appended_us: 77, newest_us: 66, place }
    };
    Snapshot { state, pieces: BTreeMap::from([(ONE, vec![piece(1, 0), piece(2, 4)])]) }
}

fn bytes() -> Vec<u8> {
    let Snapshot { state, pieces } = example();
    build_snapshot(&state, &pieces)
}

const TOPICS_HEX: &str = "0100000000000000 02000000 0300 0200 6f6e657b7d000000\
                          0200000000000000 01000000 0300 0200 74776f7b7d000000";
const PARTITION_HEX: &str = "0100000000000000 01000000 01000000 0200000000000000 0a00000000000000 0200000000000000";
const APPEND_HEX: &str = "6400000000000000 0000000000000000 04000000 04030201";
const PIECES_HEX: &str = "0000000000000000 0100000000000000 4d00000000000000 4200000000000000 \
                          eac8a982 d8000000 68000000 01000000 90000000 48000000\
                          0400000000000000 0200000000000000 4d00000000000000 4200000000000000 \
                          834fed59 d8000000 68000000 01000000 90000000 48000000";

#[test]
fn the_bytes_are_golden() {
    let header = "5241575301000000 b001000000000000 0300000000000000 0800000000000000 0200000000000000 0300000000000000\
                  01000000 00000000 000000000000000000000000";
    let more = "4d00000000000000 0000000000000000 01000000 00000000";
    let name = "0300000000001000 4600000000000000 0100 0800 00000000 6f72646572732d31";
    let producer = "0500000000000000 0600 0000 01000000 4600000000000000";
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let table = "f800000000000000 fc667de1 02000000 01000000 00000000";
    let none = "00000000000000000000000000000000";
    let rest = format!("{more}{table}{TOPICS_HEX}{PARTITION_HEX}{producer}{APPEND_HEX}{PIECES_HEX}{name}{none}{none}");
    let found = bytes();
    assert_eq!(hex(&found[..HEADER_BYTES - 4]), header.replace(' ', ""));
    assert_eq!(hex(&found[HEADER_BYTES..]), rest.replace(' ', ""), "without transactions and members");
}

#[test]
fn a_snapshot_is_what_it_was_made_of() {
    assert_eq!(Snapshot::parse(&bytes()), Ok(example()));
    let empty = Snapshot { state: State::default(), pieces: BTreeMap::new() };
    assert_eq!(Snapshot::parse(&build_snapshot(&empty.state, &empty.pieces)), Ok(empty));
}

#[test]
fn merges_and_merged_pieces_are_golden() {
    let Snapshot { mut state, mut pieces } = example();
    state.merges = crate::merges::Merges::new(5, 1).unwrap();
    pieces.get_mut(&ONE).unwrap()[0].place.source = Source::Merged(4);
    let bytes = build_snapshot(&state, &pieces);
    let hex: String = bytes[56..68].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "050000000000000001000000");
    let piece = PART + 48 + 40 + 24 + 24;
    assert_eq!(bytes[piece + 8..piece + 16], [4, 0, 0, 0, 0, 0, 0, 0x80]);
    assert_eq!(Snapshot::parse(&bytes), Ok(Snapshot { state, pieces }));
    let refused = |position: usize, byte: u8, rule: &str| {
        let mut bytes = bytes.clone();
        bytes[position] = byte;
        let error = with_checksum(bytes).unwrap_err();
        assert!(matches!(error, SnapshotError::Content(found) if found.contains(rule)), "byte {position}: {error}");
    };
    refused(56, 0, "the merges");
    refused(64, 2, "the merges");
    refused(piece + 8, 5, "a partition's pieces");
    refused(piece + 8, 6, "a partition's pieces");
}

#[test]
fn every_flipped_bit_and_every_missing_byte_is_noticed() {
    let bytes = bytes();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Snapshot::parse(&flipped).is_err(), "bit {bit}");
    }
    for have in 0..bytes.len() {
        assert!(matches!(Snapshot::parse(&bytes[..have]), Err(SnapshotError::Length { .. })), "{have} bytes");
    }
    assert!(matches!(Snapshot::parse(&[&bytes[..], b"more"].concat()), Err(SnapshotError::Length { .. })));
}

/// What a snapshot of one part needs.
fn needed(bytes: &[u8]) -> Result<Needed, SnapshotError> {
    Needed::begin(&SnapshotRoot::parse(bytes)?, Vec::new(), None)
}

/// Makes the checksums right again: only the rules can refuse the result.
fn with_checksum(mut bytes: Vec<u8>) -> Result<Snapshot, SnapshotError> {
    let (front, rest) = bytes.split_at_mut(HEADER_BYTES);
    let mut header = RawHeader::read_from_bytes(front).unwrap();
    let part_bytes = u64::from_le_bytes(rest[24..32].try_into().unwrap());
    if let Some(part) = usize::try_from(part_bytes).ok().and_then(|bytes| rest.get(48..)?.get(..bytes)) {
        let crc32c = part_checksum(part);
        rest[32..36].copy_from_slice(&crc32c.to_le_bytes());
    }
    header.crc32c = checksum(&header, rest).into();
    front.copy_from_slice(header.as_bytes());
    let (read, needed) = (Snapshot::parse(&bytes), needed(&bytes));
    if let Ok(snapshot) = &read {
        let needed = needed.unwrap();
        assert_eq!((needed.next(), needed.sources()), (snapshot.state.chain().next(), &snapshot.sources()));
    }
    read
}

#[test]
fn no_snapshot_makes_a_reader_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut accepted = 0;
    for _ in 0..50_000 {
        let mut bytes = bytes();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(8..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { [0, 1, 0xff][random.usize(0..3)] };
        }
        if let Ok(Snapshot { mut state, pieces }) = with_checksum(bytes) {
            // Producers that are too old are left out.
            let age_us = state.times.age_us();
            assert_eq!(state.forget_old(age_us, PartitionId { topic: 0, number: 0 }), None);
            accepted += 1;
            let again = Snapshot::parse(&build_snapshot(&state, &pieces));
            assert_eq!(again, Ok(Snapshot { state, pieces }));
        }
    }
    assert!(accepted > 1_000, "only {accepted} snapshots were possible");
}

/// The same with members of two groups; a third was forgotten.
fn with_members() -> Vec<u8> {
    let Snapshot { mut state, pieces } = example();
    let store = |group: &str, stamp, members| {
        let state = b"state"[..].into();
        Control::StoreGroup { group: group.into(), version: 1, after: 0, stamp, members, state }
    };
    let forget = Control::ForgetOffset { group: "c".into(), partition: None, fence: Fence::NoMembers };
    let controls = [store("a", 5, 1), store("b", 6, 0), store("c", 7, 0), forget];
    let link = Link { number: 3, id: Id { run: 8, commit: 3 }, prev: Id { run: 8, commit: 2 }, in_flight: 0 };
    let changes = Changes { appended_us: 77, controls: controls.into(), entries: [][..].into() };
    assert_eq!(state.observe(link, &changes), Ok(true));
    build_snapshot(&state, &pieces)
}

#[test]
fn the_bytes_of_groups_members_are_golden() {
    let bytes = with_members();
    let golden = "0100000000000000 02000000 00000000\
                  4d00000000000000 0100000000000000 0500000000000000 01000000 05000000 0100 000000000000\
                  61 7374617465 0000\
                  4d00000000000000 0100000000000000 0600000000000000 00000000 05000000 0100 000000000000\
                  62 7374617465 0000";
    let found: String = bytes[bytes.len() - 112..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, golden.replace(' ', ""));
    let Snapshot { state, pieces } = Snapshot::parse(&bytes).unwrap();
    assert_eq!((state.groups().len(), state.groups().version("c")), (2, 1));
    assert_eq!(build_snapshot(&state, &pieces), bytes);
    let members = bytes.len() - 112;
    for (position, byte, rule) in [
        (8, 3, "its length"),
        (16, 78, "the time of a group's members"),
        (16 + 28 + 3, 1, "a group's name or members"),
        (16 + 32, 0, "a group's name or members"),
        (16 + 40, 0xff, "the name of a group with members"),
        (64 + 40, 0x61, "the order of the groups with members"),
    ] {
        let mut wrong = bytes.clone();
        wrong[members + position] = byte;
        let error = with_checksum(wrong).unwrap_err();
        assert!(matches!(error, SnapshotError::Content(found) if found.contains(rule)), "byte {position}: {error}");
    }
}

#[test]
fn a_snapshot_that_contradicts_itself_is_refused() {
    const TOPICS: usize = PART;
    const PARTITION: usize = TOPICS + 48;
    const PRODUCER: usize = PARTITION + 40;
    const APPEND: usize = PRODUCER + 24;
    const PIECES: usize = APPEND + 24;
    const NAME: usize = PIECES + 2 * 56;
    let refused = |position: usize, byte: u8, rule: &str| {
        let mut bytes = bytes();
        bytes[position] = byte;
        let error = with_checksum(bytes).unwrap_err();
        assert!(matches!(error, SnapshotError::Content(found) if found.contains(rule)), "byte {position}: {error}");
    };
    refused(16, 0, "the chain's end");
    refused(40, 2, "the topics");
    refused(TOPICS, 2, "the order of the topics");
    refused(TOPICS + 12, 0, "a topic's name or settings");
    refused(TOPICS + 16, 0xff, "a topic's name");
    refused(HEADER_BYTES + 8, 1, "must be 0");
    refused(NAME + 6, 0x20, "the producers' names");
    refused(NAME + 8, 78, "a producer's time");
    refused(NAME + 18, 0, "a producer's name");
    refused(NAME + 24, 0xff, "a name or its owner");
    refused(PRODUCER + 16, 78, "a producer's time");
    refused(PARTITION, 3, "a partition's topic or number");
    refused(PARTITION + 8, 2, "a partition's topic or number");
    refused(PARTITION + 16, 11, "a partition's offsets");
    refused(PARTITION + 14, 1, "a partition's number of producers");
    refused(PRODUCER + 12, 0, "a producer's number of appends");
    refused(PRODUCER + 12, 6, "a producer's number of appends");
    refused(APPEND + 8, 7, "a producer's append");
    refused(APPEND + 16, 0, "a producer's append");
    refused(PIECES, 4, "a partition's pieces");
    refused(PIECES + 8, 2, "a partition's pieces");
    refused(PIECES + 56 + 8, 3, "a partition's pieces");
    refused(PIECES + 36, 200, "a partition's pieces");
    refused(PIECES + 44, 0, "a partition's pieces");
    refused(PIECES + 48, 103, "a partition's pieces");
    refused(PIECES + 52, 73, "a partition's pieces");
    refused(PIECES + 56, 10, "a partition's pieces");
    refused(PARTITION + 32, 1, "bytes after a part");
    refused(TABLE + 16, 2, "its length");
    refused(TABLE + 16, 0, "bytes after a part");
    refused(TABLE + 20, 1, "the table of parts");
    refused(TABLE, 0, "the table of parts");
    refused(52, 1, "must be 0");
}

/// A snapshot of two topics, of which one has a partition, in parts of so many bytes.
fn in_parts(part_bytes: usize) -> (Vec<u8>, BTreeMap<SnapshotName, Vec<u8>>) {
    let (Snapshot { state, pieces }, mut parts) = (example(), BTreeMap::new());
    let root = build_snapshot_in_parts(&state, part_bytes, &pieces, |name, part| {
        assert_eq!(parts.insert(name, part), None, "{name}");
    });
    (root, parts)
}

fn read(root: &[u8], parts: &BTreeMap<SnapshotName, Vec<u8>>) -> Result<Snapshot, SnapshotError> {
    Snapshot::read(root, |entry| parts.get(&entry.name).cloned().ok_or(SnapshotError::Missing { part: entry.name }))
}

#[test]
fn a_snapshot_in_parts_is_the_same() {
    let mut counts = std::collections::BTreeSet::new();
    for part_bytes in 1..300 {
        let (root, parts) = in_parts(part_bytes);
        counts.insert(parts.len());
        assert_eq!(read(&root, &parts), Ok(example()), "parts of {part_bytes} bytes");
        let parsed = SnapshotRoot::parse(&root).unwrap();
        assert_eq!(parsed.separate_parts().iter().map(|entry| entry.name).collect::<Vec<_>>(), {
            parts.keys().copied().collect::<Vec<_>>()
        });
        assert_eq!(parsed.separate_bytes(), parts.values().map(|part| part.len() as u64).sum::<u64>());
        let mut needed = Needed::begin(&parsed, Vec::new(), None).unwrap();
        parsed.separate_parts().iter().for_each(|entry| needed.read(entry, &parts[&entry.name]).unwrap());
        assert_eq!((needed.next(), needed.sources()), (3, &example().sources()));
    }
    assert_eq!(Vec::from_iter(counts), [0, 2, 3], "numbers of separate parts");
}

#[test]
fn parts_that_are_damaged_or_missing_or_of_another_place_are_refused() {
    let (root, parts) = in_parts(1);
    for (name, part) in &parts {
        let with = |part: Vec<u8>| read(&root, &parts.clone().into_iter().chain([(*name, part)]).collect());
        let damaged = Err(SnapshotError::Part { part: *name });
        for bit in 0..part.len() * 8 {
            let mut flipped = part.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(with(flipped), damaged, "bit {bit} of {name}");
        }
        (0..part.len()).for_each(|have| assert_eq!(with(part[..have].to_vec()), damaged, "{have} bytes of {name}"));
        parts.values().filter(|other| *other != part).for_each(|other| assert_eq!(with(other.clone()), damaged));
        let mut without = parts.clone();
        without.remove(name);
        assert_eq!(read(&root, &without), Err(SnapshotError::Missing { part: *name }));
    }
    for bit in 0..root.len() * 8 {
        let mut flipped = root.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped, &parts).is_err(), "bit {bit} of the root");
    }
}
