//! Slices: every range of a batch is a batch of its parent's records, made of its parent's bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_batch::{Batch, BatchError, Codec, Limits, Slice};
use support::{build, records, small};

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

#[test]
fn a_compressed_batch_is_had_whole_only() {
    let bytes = build(Codec::Lz4, &[[b'x'; 100]; 2]);
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    assert_eq!(batch.slice(0..1), Err(BatchError::SliceCompressed));
}
