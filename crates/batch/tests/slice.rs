//! Slices: every range of a batch is a batch of its parent's records, made of its parent's bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_batch::{Batch, BatchError, Codec, Front, HEADER_BYTES, Limits, PrefixChecksums, Slice};
use support::{build, records, seed, small};

fn sent(parent: &[u8], slice: &Slice) -> Vec<u8> {
    [&slice.header, &parent[slice.sizes.clone()], &parent[slice.data.clone()], slice.padding].concat()
}

#[test]
fn every_range_of_a_batch() {
    let bytes = small();
    let whole = records(&bytes);
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    for from in 0..5u32 {
        for to in from + 1..=5 {
            let slice = batch.slice(from..to).unwrap();
            let sent = sent(&bytes, &slice);
            assert_eq!(slice.bytes(), sent.len());
            assert_eq!(records(&sent), whole[from as usize..to as usize]);
            let header = *Batch::parse(&sent, &Limits::FORMAT).unwrap().header();
            assert!(header.slice);
            assert_eq!(header.sequence, batch.header().sequence + u64::from(from));
            assert_eq!(header.created_us, batch.header().created_us);
            assert_eq!(header.producer_id, batch.header().producer_id);
        }
    }
}

#[test]
fn a_slice_of_a_slice_is_a_slice_of_the_whole() {
    let bytes = small();
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    let outer = sent(&bytes, &batch.slice(1..5).unwrap());
    let inner = Batch::parse(&outer, &Limits::FORMAT).unwrap().slice(1..3).unwrap();
    assert_eq!(sent(&outer, &inner), sent(&bytes, &batch.slice(2..4).unwrap()));
}

#[test]
fn a_sequence_goes_round_at_its_end() {
    let bytes = support::changed(small(), |bytes| bytes[40..48].fill(0xff));
    let slice = Batch::parse(&bytes, &Limits::FORMAT).unwrap().slice(2..3).unwrap();
    assert_eq!(Batch::parse(&sent(&bytes, &slice), &Limits::FORMAT).unwrap().header().sequence, 1);
}

#[test]
#[expect(clippy::reversed_empty_ranges)]
fn ranges_that_are_not_there() {
    let bytes = small();
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    for range in [0..0, 3..3, 3..2, 0..6, 5..6, u32::MAX - 1..u32::MAX] {
        let expected = BatchError::Range { from: range.start, to: range.end, records: 5 };
        assert_eq!(batch.slice(range), Err(expected));
    }
}

/// A batch of about 70 kB, so nine blocks or more; some records are longer than one block.
fn large(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    while records.iter().map(Vec::len).sum::<usize>() < 70_000 {
        let bytes = [0, 10, 1000, 8192, 20_000][random.usize(..5)];
        records.push((0..bytes).map(|_| random.u8(..)).collect());
    }
    build(Codec::None, &records)
}

/// A range of its records: any, all, or one.
fn some_records(batch: &Batch<'_>, random: &mut fastrand::Rng) -> std::ops::Range<u32> {
    let from = random.u32(..batch.header().records);
    match random.u8(..4) {
        0 => 0..batch.header().records,
        1 => from..from + 1,
        _ => from..random.u32(from + 1..=batch.header().records),
    }
}

#[test]
fn a_slice_made_with_checksums_from_before_reads_its_ends_only() {
    let mut random = fastrand::Rng::with_seed(seed());
    let mut fewest = usize::MAX;
    for _ in 0..300 {
        let bytes = large(&mut random);
        let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
        let checksums = PrefixChecksums::of(&batch).unwrap();
        let range = some_records(&batch, &mut random);
        let slice = batch.slice_with(range.clone(), &checksums).unwrap();
        assert_eq!(slice, batch.slice(range.clone()).unwrap());
        assert_eq!(records(&sent(&bytes, &slice)), records(&bytes)[range.start as usize..range.end as usize]);

        let front = HEADER_BYTES + batch.sizes().len() * 4;
        let mut read = 0;
        let part = |part: std::ops::Range<usize>| {
            read += part.len();
            &bytes[part]
        };
        let front = Front::parse_trusted(&bytes[..front], &Limits::FORMAT).unwrap();
        assert_eq!(front.slice_with(range, &checksums, part).unwrap(), slice);
        assert!(read <= 2 * 8192, "{read} bytes");
        fewest = fewest.min(read);
    }
    assert_eq!(fewest, 0, "a slice that begins and ends where blocks do reads no block");
}

#[test]
fn a_bit_that_flips_later_never_gets_a_matching_checksum() {
    let mut random = fastrand::Rng::with_seed(seed());
    let (mut refused, mut noticed, mut outside) = (0, 0, 0);
    for _ in 0..100 {
        let bytes = large(&mut random);
        let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
        let checksums = PrefixChecksums::of(&batch).unwrap();
        let front = HEADER_BYTES + batch.sizes().len() * 4;
        for _ in 0..30 {
            let mut flipped = bytes.clone();
            let position = if random.bool() { random.usize(..front) } else { random.usize(front..bytes.len()) };
            flipped[position] ^= 1 << random.u8(..8);
            let Ok((batch, _)) = Batch::parse_prefix_trusted(&flipped, &Limits::FORMAT) else { continue };
            let range = some_records(&batch, &mut random);
            let expected = &records(&bytes)[range.start as usize..range.end as usize];
            assert!(batch.slice(range.clone()).is_err(), "byte {position}");
            match batch.slice_with(range, &checksums) {
                Err(_) => refused += 1,
                Ok(slice) => match Batch::parse(&sent(&flipped, &slice), &Limits::FORMAT) {
                    Err(error) => {
                        assert!(matches!(error, BatchError::Crc { .. }), "byte {position}: {error}");
                        noticed += 1;
                    }
                    Ok(_) => {
                        assert_eq!(records(&sent(&flipped, &slice)), expected, "byte {position}");
                        outside += 1;
                    }
                },
            }
        }
    }
    assert!(refused > 100 && noticed > 100 && outside > 100, "{refused} {noticed} {outside}");
}

#[test]
fn checksums_of_another_batch_make_no_slice() {
    let mut random = fastrand::Rng::with_seed(seed());
    let (one, two) = (large(&mut random), large(&mut random));
    let [one, two] = [&one, &two].map(|bytes| Batch::parse(bytes, &Limits::FORMAT).unwrap());
    let checksums = PrefixChecksums::of(&one).unwrap();
    assert!(matches!(two.slice_with(0..1, &checksums), Err(BatchError::Crc { .. })));
    assert!(one.slice_with(0..1, &checksums).is_ok());
}

#[test]
fn checksums_take_a_small_part_of_the_datas_size() {
    let bytes = build(Codec::None, &[vec![1; 1 << 20]]);
    let checksums = PrefixChecksums::of(&Batch::parse(&bytes, &Limits::FORMAT).unwrap()).unwrap();
    assert!(checksums.bytes() <= (1 << 20) / 2048 + 32, "{} bytes", checksums.bytes());
}

#[test]
fn a_compressed_batch_is_had_whole_only() {
    let bytes = build(Codec::Lz4, &[[b'x'; 100]; 2]);
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    assert_eq!(batch.slice(0..1), Err(BatchError::SliceCompressed));
}
