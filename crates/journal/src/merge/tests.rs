//! Chosen objects of merges: the oldest small ones, up to the target, and each byte few times.

use super::*;
use crate::place::{BatchCount, Place};
use std::collections::BTreeSet;

const LIMITS: MergeLimits = MergeLimits {
    target_bytes: 6400,
    keep_bytes: 800,
    keep_piece_bytes: u64::MAX,
    shares_files: false,
    objects_max: 16,
    piece_bytes: 1000,
    piece_span_us: 100,
};

fn piece(source: Source, object_bytes: u32, bytes: u32) -> Piece {
    let (entries_at, batches_at) = (104, object_bytes - bytes);
    Piece {
        first_offset: 0,
        appended_us: 0,
        newest_us: 0,
        place: Place { source, tag: 0, object_bytes, entries_at, batches: BatchCount::from_bits(1), batches_at, bytes },
    }
}

fn partition(number: u32) -> PartitionId {
    PartitionId { topic: 1, number }
}

/// An object, its size, and its pieces: partitions with their bytes.
type Object<'a> = (Source, u32, &'a [(u32, u32)]);

fn uses(objects: &[Object<'_>]) -> Uses {
    let mut uses = Uses::default();
    for (source, object_bytes, pieces) in objects {
        for (number, bytes) in *pieces {
            uses.add(partition(*number), &piece(*source, *object_bytes, *bytes));
        }
    }
    uses
}

fn chosen(objects: &[Object<'_>]) -> Vec<Source> {
    choose(&uses(objects), &[], &LIMITS)
}

const TWO: &[(u32, u32)] = &[(0, 500), (1, 500)];

#[test]
fn the_oldest_small_objects_make_one_of_the_targets_size() {
    let objects: Vec<_> = (1..=6).map(|number| (Source::Journal(number), 1300, TWO)).collect();
    assert_eq!(chosen(&objects), [], "6,000 bytes are alive");
    let objects: Vec<_> = (1..=9).map(|number| (Source::Journal(number), 1300, TWO)).collect();
    assert_eq!(chosen(&objects), (1..=7).map(Source::Journal).collect::<Vec<_>>());
}

#[test]
fn large_pieces_of_one_partition_stay_where_they_are() {
    let objects: Vec<_> = (1..=20).map(|number| (Source::Journal(number), 1300, &[(0, 1000)][..])).collect();
    assert_eq!(chosen(&objects), []);
    let objects: Vec<_> = (1..=12).map(|number| (Source::Journal(number), 900, &[(0, 700)][..])).collect();
    assert_eq!(chosen(&objects).len(), 10, "smaller ones are merged");
}

/// A directory's rule: an object with a small piece is merged whole.
#[test]
fn objects_whose_pieces_are_all_large_enough_stay_where_they_are() {
    let limits = MergeLimits { keep_piece_bytes: 500, ..LIMITS };
    let choose = |pieces: &[(u32, u32)]| {
        let objects: Vec<_> = (1..=12).map(|number| (Source::Journal(number), 1300, pieces)).collect();
        choose(&uses(&objects), &[], &limits).len()
    };
    assert_eq!(choose(TWO), 0);
    assert_eq!(choose(&[(0, 501), (1, 499)]), 7);
}

fn one(range: Range<u64>) -> Vec<Range<u64>> {
    vec![range]
}

/// Live records in a file that is mostly garbage are merged to free space.
#[test]
fn objects_of_sparse_files_are_merged_however_large_they_are() {
    let limits = MergeLimits { keep_piece_bytes: 500, ..LIMITS };
    let objects: Vec<_> = (1..=20).map(|number| (Source::Journal(number), 1300, TWO)).collect();
    let chosen = |sparse: &[Range<u64>]| choose(&uses(&objects), sparse, &limits);
    assert_eq!(chosen(&[]), []);
    assert_eq!(chosen(&[3..5, 9..10, 30..40]), [3, 4, 9].map(Source::Journal));
    assert_eq!(chosen(&one(1..21)).len(), 7, "the target");
    let merged = [(Source::Merged(3), 1300, TWO)];
    assert_eq!(choose(&uses(&merged), &one(3..4), &limits), [], "another number");
}

#[test]
fn an_object_is_chosen_only_if_one_of_its_pieces_may_be_the_reason() {
    let limits = MergeLimits { keep_piece_bytes: 500, ..LIMITS };
    let may_choose = |source, object_bytes, bytes| limits.may_choose(&piece(source, object_bytes, bytes), &one(7..8));
    assert!(!may_choose(Source::Journal(1), 1300, 1000));
    assert!(!may_choose(Source::Journal(6), 700, 500));
    assert!(may_choose(Source::Journal(1), 1300, 499));
    assert!(may_choose(Source::Journal(1), 1300, 600), "more than half may be dead");
    assert!(may_choose(Source::Journal(7), 1300, 1000), "in a sparse file");
    assert!(may_choose(Source::Merged(8), 1300, 1000));
}

#[test]
fn many_tiny_objects_are_merged() {
    let tiny = |count| (1..=count).map(|number| (Source::Journal(number), 200, &[(0, 10)][..])).collect::<Vec<_>>();
    assert_eq!(chosen(&tiny(15)), []);
    assert_eq!(chosen(&tiny(16)).len(), 16);
    assert_eq!(chosen(&tiny(20)), (1..=16).map(Source::Journal).collect::<Vec<_>>(), "the oldest");
}

#[test]
fn what_is_dead_makes_room() {
    let half = (Source::Merged(1), 2000, &[(0, 400), (1, 500)][..]);
    assert_eq!(chosen(&[half]), [Source::Merged(1)]);
    assert_eq!(chosen(&[(Source::Merged(1), 2000, &[(0, 600), (1, 500)])]), [], "more than half is alive");
    assert_eq!(chosen(&[(Source::Merged(1), 700, &[(0, 100)])]), [], "too small");
    assert_eq!(chosen(&[(Source::Journal(1), 1300, &[(0, 600)])]), [Source::Journal(1)]);
}

/// One topic's batches are next to another's in each of many small objects, and the other was deleted.
#[test]
fn small_objects_that_are_dead_together_make_room() {
    let objects = |source: fn(u64) -> Source, count| -> Vec<Object<'static>> {
        (1..=count).map(|number| (source(number), 500, &[(0, 50)][..])).collect()
    };
    assert_eq!(chosen(&objects(Source::Merged, 2)), [], "612 bytes are dead");
    assert_eq!(chosen(&objects(Source::Merged, 3)).len(), 3);
    assert_eq!(chosen(&objects(Source::Journal, 3)).len(), 3);
    let half = (Source::Merged(9), 500, &[(0, 110)][..]);
    assert_eq!(chosen(&[objects(Source::Merged, 3), vec![half]].concat()).len(), 3, "half of one is alive");
    let shared = MergeLimits { shares_files: true, ..LIMITS };
    let chosen = |objects: &[Object<'_>]| choose(&uses(objects), &[], &shared).len();
    assert_eq!([chosen(&objects(Source::Journal, 3)), chosen(&objects(Source::Merged, 3))], [0, 3], "no separate room");
}

/// Merges as long as there is something to merge. Returns how many bytes were copied, and the objects that are left.
fn run(mut objects: BTreeMap<Source, u64>, merges: &mut u64) -> (u64, BTreeMap<Source, u64>) {
    let mut copied = 0;
    loop {
        let mut uses = Uses::default();
        for (source, bytes) in &objects {
            let half = (*bytes / 2) as u32;
            uses.add(partition(0), &piece(*source, *bytes as u32 + 300, half));
            uses.add(partition(1), &piece(*source, *bytes as u32 + 300, *bytes as u32 - half));
        }
        let chosen = choose(&uses, &[], &LIMITS);
        if chosen.is_empty() {
            return (copied, objects);
        }
        let bytes: u64 = chosen.iter().map(|source| objects.remove(source).unwrap()).sum();
        assert!(bytes < 2 * LIMITS.target_bytes);
        copied += bytes;
        *merges += 1;
        objects.insert(Source::Merged(*merges), bytes);
    }
}

#[test]
fn a_byte_is_copied_few_times() {
    // Full objects once; tiny ones each time that the object that holds them has doubled.
    for (bytes, times) in [(1000, 1.1), (100, 3.0), (10, 8.0)] {
        let (mut objects, mut merges, mut copied) = (BTreeMap::new(), 0, 0);
        for number in 1..=10_000 {
            objects.insert(Source::Journal(number), bytes);
            let (more, left) = run(objects, &mut merges);
            (copied, objects) = (copied + more, left);
        }
        assert!(objects.len() < 100 + 10_000 * bytes as usize / 3000, "{} objects are left", objects.len());
        let ratio = copied as f64 / (10_000 * bytes) as f64;
        assert!(ratio < times, "objects of {bytes} bytes are copied {ratio} times");
    }
}

fn at(number: u32, first_offset: u64, appended_us: u64, bytes: u32) -> (PartitionId, Piece, u64) {
    let piece = Piece { first_offset, appended_us, ..piece(Source::Journal(first_offset + 1), 2000, bytes) };
    (partition(number), piece, first_offset + 10)
}

fn join(pieces: &[(PartitionId, Piece, u64)], limits: &MergeLimits) -> Vec<Joined> {
    let mut joining = Joining::new(limits);
    pieces.iter().for_each(|(partition, piece, next_offset)| joining.add(*partition, piece, *next_offset));
    let (joined, is_whole) = joining.first_object();
    let count: usize = joined.iter().map(|joined| joined.pieces.len()).sum();
    assert_eq!(is_whole, count == pieces.len(), "{count} of {} pieces", pieces.len());
    joined
}

#[test]
fn adjacent_pieces_are_joined_up_to_a_size_and_a_time() {
    let joined = |pieces: &[(PartitionId, Piece, u64)]| {
        let joined = join(pieces, &LIMITS);
        joined.iter().map(|joined| (joined.pieces.len(), joined.next_offset)).collect::<Vec<_>>()
    };
    assert_eq!(joined(&[at(0, 0, 5, 400), at(0, 10, 6, 400), at(0, 20, 7, 400)]), [(2, 20), (1, 30)]);
    assert_eq!(joined(&[at(0, 0, 5, 1), at(0, 20, 6, 1)]), [(1, 10), (1, 30)], "other records are between them");
    assert_eq!(joined(&[at(0, 0, 5, 1), at(1, 10, 6, 1)]), [(1, 10), (1, 20)], "another partition");
    assert_eq!(joined(&[at(0, 0, 5, 1), at(0, 10, 105, 1), at(0, 20, 106, 1)]), [(2, 20), (1, 30)], "too late");
    let far = |offset| (partition(0), Piece { first_offset: 10, ..at(0, 10, 6, 1).1 }, offset);
    let most = u64::from(u32::MAX);
    assert_eq!(joined(&[at(0, 0, 5, 1), far(most)]), [(2, most)]);
    assert_eq!(joined(&[at(0, 0, 5, 1), far(most + 1)]), [(1, 10), (1, most + 1)], "too many offsets");
}

#[test]
fn a_merge_that_would_have_too_many_pieces_takes_half_of_them() {
    let pieces: Vec<_> = (0..2 * MERGED_PIECES_MAX as u64)
        .flat_map(|topic| {
            let piece = |(source, first_offset)| {
                let piece = Piece { first_offset, ..piece(Source::Journal(source), 2000, 8) };
                (PartitionId { topic, number: 0 }, piece, first_offset + 10)
            };
            [(1, 0), (2, 10)].map(piece)
        })
        .collect();
    let joined = join(&pieces, &LIMITS);
    assert_eq!(joined.len(), MERGED_PIECES_MAX);
    assert!(joined.iter().all(|joined| joined.pieces.len() == 2 && joined.next_offset == 20));
}

#[test]
fn a_merge_has_no_more_batches_than_an_object_takes() {
    let batches = BatchCount::from_bits(OBJECT_APPENDS_MAX as u32 / 2);
    let pieces = [0, 10, 20].map(|offset| {
        let (partition, mut piece, next_offset) = at(0, offset, 5, 100);
        piece.place.batches = batches;
        (partition, piece, next_offset)
    });
    assert_eq!(join(&pieces, &LIMITS).iter().map(|joined| joined.pieces.len()).collect::<Vec<_>>(), [2]);
    assert_eq!(join(&pieces[2..], &LIMITS).len(), 1);
}

/// Does what the merger does, with the pieces in order. Returns the number of copied bytes.
fn merge_all(pieces: &mut Vec<(PartitionId, Piece, u64)>, merges: &mut u64, limits: &MergeLimits) -> u64 {
    let mut copied = 0;
    loop {
        let mut uses = Uses::default();
        pieces.iter().for_each(|(partition, piece, _)| uses.add(*partition, piece));
        let chosen: BTreeSet<Source> = choose(&uses, &[], limits).into_iter().collect();
        if chosen.is_empty() {
            return copied;
        }
        loop {
            let is_chosen = |(_, piece, _): &&(PartitionId, Piece, u64)| chosen.contains(&piece.place.source);
            let rest: Vec<_> = pieces.iter().filter(is_chosen).copied().collect();
            let joined = join(&rest, limits);
            let Some(end) = joined.last().map(|joined| (joined.partition, joined.next_offset)) else { break };
            pieces.retain(|(partition, piece, next_offset)| {
                !chosen.contains(&piece.place.source) || (*partition, *next_offset) > end
            });
            *merges += 1;
            let batches: usize = joined.iter().map(Joined::batches).sum();
            assert!(joined.len() <= MERGED_PIECES_MAX && batches <= OBJECT_APPENDS_MAX);
            let bytes = |joined: &Joined| joined.pieces.iter().map(|piece| piece.place.bytes).sum::<u32>();
            let all = joined.iter().map(bytes).sum::<u32>();
            copied += u64::from(all);
            let object_bytes = index_bytes(joined.len() as u32, batches as u32, 0) as u32 + all;
            for one in &joined {
                let mut merged = piece(Source::Merged(*merges), object_bytes, bytes(one));
                merged.first_offset = one.pieces[0].first_offset;
                merged.place.batches = BatchCount::from_bits(one.batches() as u32);
                pieces.push((one.partition, merged, one.next_offset));
            }
            pieces.sort_by_key(|(partition, piece, _)| (*partition, piece.first_offset));
        }
    }
}

/// 10,000 topics with a record a second each: a merged object can't have pieces of all of them.
#[test]
fn records_of_more_partitions_than_a_merge_takes_are_joined() {
    const TOPICS: u64 = 10_000;
    const IN_OBJECT: u64 = 1_000;
    let limits =
        MergeLimits { shares_files: true, objects_max: 8192, keep_piece_bytes: 64 << 10, ..MergeLimits::default() };
    let (mut pieces, mut merges, mut copied) = (Vec::new(), 0, 0);
    for object in 0..300 {
        let first = object * IN_OBJECT % TOPICS;
        let offset = object * IN_OBJECT / TOPICS;
        pieces.extend((first..first + IN_OBJECT).map(|topic| {
            let piece = Piece { first_offset: offset, ..piece(Source::Journal(object + 1), 200_000, 120) };
            (PartitionId { topic, number: 0 }, piece, offset + 1)
        }));
        if object % 20 == 0 {
            pieces.sort_by_key(|(partition, piece, _)| (*partition, piece.first_offset));
            copied += merge_all(&mut pieces, &mut merges, &limits);
        }
    }
    let merged: Vec<_> = pieces.iter().filter(|(_, piece, _)| piece.place.source.is_merged()).collect();
    let records: u64 = merged.iter().map(|(_, piece, next_offset)| next_offset - piece.first_offset).sum();
    assert!(pieces.len() < MANY_BATCHES + 60_000, "{} pieces", pieces.len());
    assert!(records > 200_000 && records >= 10 * merged.len() as u64, "{records} records in {} pieces", merged.len());
    assert!(copied < 300_000 * 120 * 11 / 10, "{copied} bytes are copied");
    assert!(merges < 10, "{merges} merges");
}

/// Journal objects that share files are merged only if that joins pieces.
#[test]
fn objects_of_one_record_for_each_of_many_partitions_stay_where_they_are() {
    let limits = MergeLimits { shares_files: true, ..LIMITS };
    let chosen = |partitions: u32| {
        let mut uses = Uses::default();
        let mut objects: Vec<u32> = (0..40).collect();
        objects.sort_by_key(|number| number % partitions);
        for number in objects {
            uses.add(partition(number % partitions), &piece(Source::Journal(number.into()), 200, 10));
        }
        choose(&uses, &[], &limits).len()
    };
    assert_eq!([chosen(40), chosen(11), chosen(10), chosen(1)], [0, 0, 40, 40]);
}
