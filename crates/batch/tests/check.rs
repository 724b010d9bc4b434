//! `Checker`: for any split into pieces, it gives the result of `Batch::parse`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;
mod support;

use bodies::{checked, parsed};
use rawline_batch::{BatchError, Checker, Codec, Limits};
use support::{build, changed, set_u32, small};

/// Miri takes minutes for what takes milliseconds without it.
const STEP: usize = if cfg!(miri) { 19 } else { 1 };

/// Checks in pieces of every length, and in two pieces of every split.
fn agree_for_all_pieces(bytes: &[u8]) {
    let expected = parsed(bytes, &Limits::default());
    for length in (1..=bytes.len().max(1)).step_by(STEP) {
        assert_eq!(checked(bytes.chunks(length), &Limits::default()), expected, "pieces of {length} bytes");
    }
    for at in (0..=bytes.len()).step_by(STEP) {
        let (front, back) = bytes.split_at(at);
        assert_eq!(checked([front, &[], back], &Limits::default()), expected, "split at {at}");
    }
}

#[test]
fn one_batch() {
    agree_for_all_pieces(&small());
    agree_for_all_pieces(&build(Codec::Lz4, &[[b'x'; 300]]));
}

#[test]
fn many_batches_back_to_back() {
    let bytes = [
        small(),
        build(Codec::None, &[""]),
        build(Codec::None, &["", ""]),
        build(Codec::None, &["1234"]),
        build(Codec::None, &["seven__"]),
        small(),
    ]
    .concat();
    agree_for_all_pieces(&bytes);
    let (batches, error) = checked(bytes.chunks(1), &Limits::default());
    assert_eq!(error, None);
    assert_eq!(batches.iter().map(|batch| batch.position).collect::<Vec<_>>(), [0, 104, 176, 248, 320, 400]);
    assert_eq!(batches.iter().map(|batch| batch.records).sum::<u32>(), 15);
}

#[test]
fn a_stream_cut_off_at_every_byte() {
    let bytes = [small(), build(Codec::None, &["x"])].concat();
    for have in (0..bytes.len()).step_by(STEP) {
        let cut = &bytes[..have];
        let expected = parsed(cut, &Limits::default());
        for length in [1, 7, 64, 1000] {
            assert_eq!(checked(cut.chunks(length), &Limits::default()), expected, "{have} bytes");
        }
    }
}

#[test]
fn nothing_is_not_a_batch() {
    assert_eq!(Checker::new(Limits::default()).finish(), Err(BatchError::Empty));
}

#[test]
fn each_error_is_the_parsers_error() {
    for (code, second) in [
        ("batch_magic", changed(small(), |bytes| bytes[0] = b'X')),
        ("batch_version", changed(small(), |bytes| bytes[4] = 2)),
        ("batch_codec", changed(small(), |bytes| bytes[5] = 9)),
        ("batch_reserved", changed(small(), |bytes| bytes[59] = 1)),
        ("batch_reserved", changed(small(), |bytes| bytes[102] = 1)),
        ("batch_empty", changed(small(), |bytes| set_u32(bytes, 12, 0))),
        ("batch_length", changed(small(), |bytes| set_u32(bytes, 12, 9))),
        ("batch_limit", changed(small(), |bytes| set_u32(bytes, 20, u32::MAX))),
        ("batch_data_length", changed(small(), |bytes| set_u32(bytes, 20, 16))),
        ("batch_sizes_sum", changed(small(), |bytes| set_u32(bytes, 64, 6))),
        ("batch_sizes_overflow", changed(small(), |bytes| bytes[64..84].fill(0xff))),
        ("batch_crc", small().into_iter().enumerate().map(|(i, byte)| byte ^ u8::from(i == 90)).collect()),
        ("batch_truncated", small()[..100].to_vec()),
    ] {
        let bytes = [small(), second].concat();
        agree_for_all_pieces(&bytes);
        let (batches, error) = checked(bytes.chunks(16), &Limits::default());
        assert_eq!((batches.len(), error.unwrap().code()), (1, code));
    }
}

#[test]
fn an_error_stays() {
    let damages: [fn(&mut [u8]); 3] = [|bytes| bytes[0] = 0, |bytes| bytes[64] = 1, |bytes| bytes[103] = 1];
    for damage in damages {
        let bytes = changed(small(), damage);
        for length in [1, 13, 64, 104] {
            let mut checker = Checker::new(Limits::default());
            let error = bytes.chunks(length).find_map(|piece| checker.push(piece).err()).unwrap();
            assert_eq!(checker.push(&small()), Err(error.clone()));
            assert!(checker.batches().is_empty());
            assert_eq!(checker.finish(), Err(error));
        }
    }
}

#[test]
fn a_piece_of_no_bytes_changes_nothing() {
    let mut checker = Checker::new(Limits::default());
    checker.push(&[]).unwrap();
    for byte in small() {
        checker.push(&[byte]).unwrap();
        checker.push(&[]).unwrap();
    }
    assert_eq!(checker.finish().unwrap().len(), 1);
}
