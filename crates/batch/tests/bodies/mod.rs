//! Bodies of the fuzzers: ordinary functions of any bytes, which panic if a promise is broken. `tests/fuzz.rs` runs
//! them on seeded bytes, the drivers in `fuzz/` on bytes that cargo-fuzz finds.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

pub mod record_batch;

use fastrand::Rng;
use rawline_batch::header::CRC_POSITION;
use rawline_batch::{
    Batch, BatchError, BatchMeta, Batches, Builder, Checker, Codec, Crc32c, HEADER_BYTES, Limits, crc32c,
    decompress_into,
};

/// Small enough that a claim of much data costs a fuzzer no time.
const LIMITS: Limits = Limits { batch_bytes_max: 1 << 16, records_max: 1 << 12, raw_bytes_max: 1 << 16 };

/// Batches up to the first error, and that error.
pub type Outcome = (Vec<BatchMeta>, Option<BatchError>);

/// The result of [`Batches`] for a stream, in the form of [`Checker`]'s.
pub fn parsed(bytes: &[u8], limits: &Limits) -> Outcome {
    let mut metas = Vec::new();
    let mut position = 0;
    for batch in Batches::new(bytes, *limits) {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return (metas, Some(error)),
        };
        let header = batch.header();
        metas.push(BatchMeta {
            position,
            bytes: batch.bytes().len() as u32,
            records: header.records,
            raw_bytes: header.raw_bytes,
            crc32c: header.crc32c,
            codec: header.codec,
            producer_id: header.producer_id,
            sequence: header.sequence,
        });
        position += batch.bytes().len() as u64;
    }
    let error = metas.is_empty().then_some(BatchError::Empty);
    (metas, error)
}

/// The result of [`Checker`] for a stream in these pieces.
pub fn checked<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limits: &Limits) -> Outcome {
    let mut checker = Checker::new(*limits);
    for piece in pieces {
        if let Err(error) = checker.push(piece) {
            return (checker.batches().to_vec(), Some(error));
        }
    }
    let metas = checker.batches().to_vec();
    (metas, checker.finish().err())
}

/// Any bytes: parser and checker agree, whatever the pieces, and what parses keeps every promise. The same bytes then
/// are unpacked with every codec.
pub fn parse(input: &[u8]) {
    let mut random = Rng::with_seed(u64::from(crc32c(input)));
    agree(input, &mut random);
    let raw_bytes = random.u32(0..4096);
    let mut out = Vec::new();
    for codec in [Codec::Lz4, Codec::Zstd] {
        if cfg!(miri) && codec == Codec::Zstd {
            continue;
        }
        if decompress_into(codec, input, raw_bytes, &mut out).is_ok() {
            assert_eq!(out.len(), raw_bytes as usize);
        }
    }
}

/// Valid batches, some of them changed: the first 8 bytes of the input choose the batches, each 3 more
/// overwrite a byte (position, position, value), and an odd first byte has the checksum of the first batch put right.
pub fn mutate(input: &[u8]) {
    let Some((&seed, changes)) = input.split_first_chunk::<8>() else { return };
    let mut random = Rng::with_seed(u64::from_le_bytes(seed));
    let mut bytes = stream(&mut random);
    let whole = bytes.clone();
    let first_bytes = u32::from_le_bytes(*bytes[8..].first_chunk().unwrap()) as usize;
    let mut changed = 0;
    for change in changes.chunks_exact(3) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[position] = change[2];
        changed += 1;
    }
    if seed[0] % 2 == 1 {
        reseal(&mut bytes[..first_bytes]);
    } else if changed <= 1 {
        // The checksum finds every burst of 32 bits, so one changed byte can't go unseen.
        let (metas, error) = parsed(&bytes, &LIMITS);
        assert_eq!(error.is_none(), bytes == whole, "{metas:?}, {error:?}");
    }
    agree(&bytes, &mut random);
}

/// Kafka's batches: the bytes as one, and as changes of a valid one.
pub fn record_batches(input: &[u8]) {
    record_batch::any(input);
    record_batch::mutate(input);
}

/// One to four valid batches.
fn stream(random: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..random.u8(1..=4) {
        let codecs = if cfg!(miri) { 2 } else { 3 };
        let codec = [Codec::None, Codec::Lz4, Codec::Zstd][random.usize(..codecs)];
        let mut builder = Builder::new(codec, LIMITS);
        for _ in 0..random.u8(1..=20) {
            let size = random.usize(..=40);
            builder.push(&vec![random.u8(b'a'..=b'c'); size]).unwrap();
        }
        builder.finish_into(random.u64(..), random.u64(..), random.u64(..), &mut out).unwrap();
    }
    out
}

fn reseal(batch: &mut [u8]) {
    let mut crc = Crc32c::new();
    crc.update(&batch[..CRC_POSITION]);
    crc.update(&batch[HEADER_BYTES..]);
    batch[CRC_POSITION..HEADER_BYTES].copy_from_slice(&crc.value().to_le_bytes());
}

fn agree(bytes: &[u8], random: &mut Rng) {
    let expected = parsed(bytes, &LIMITS);
    let piece_bytes_max = [3, 70, 1000][random.usize(..3)];
    assert_eq!(checked(pieces(bytes, piece_bytes_max, random), &LIMITS), expected);
    assert_eq!(checked([bytes], &LIMITS), expected);
    for batch in Batches::new(bytes, LIMITS).map_while(Result::ok) {
        keeps_its_promises(&batch, random);
    }
}

fn pieces<'a>(mut bytes: &'a [u8], piece_bytes_max: usize, random: &mut Rng) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(random.usize(..=piece_bytes_max).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fn keeps_its_promises(batch: &Batch<'_>, random: &mut Rng) {
    let header = *batch.header();
    assert_eq!(header.encode(), batch.bytes()[..HEADER_BYTES], "a header has one encoding");
    assert_eq!(batch.bytes().len() % 8, 0);
    let (trusted, _) = Batch::parse_prefix_trusted(batch.bytes(), &LIMITS).unwrap();
    assert_eq!(*trusted.header(), header);
    let mut scratch = Vec::new();
    let Ok(records) = batch.records(&mut scratch) else {
        assert_ne!(header.codec, Codec::None);
        return;
    };
    let records: Vec<&[u8]> = records.collect();
    assert_eq!(records.len(), header.records as usize);
    assert_eq!(records.iter().map(|record| record.len()).sum::<usize>(), header.raw_bytes as usize);
    if header.codec != Codec::None {
        return;
    }
    let from = random.u32(..header.records);
    let to = random.u32(from + 1..=header.records);
    let slice = batch.slice(from..to).unwrap();
    let [sizes, data] = [slice.sizes, slice.data].map(|range| &batch.bytes()[range]);
    let sent = [&slice.header, sizes, data, slice.padding].concat();
    let sliced = Batch::parse(&sent, &LIMITS).unwrap();
    let mut scratch = Vec::new();
    assert!(sliced.records(&mut scratch).unwrap().eq(records[from as usize..to as usize].iter().copied()));
}
