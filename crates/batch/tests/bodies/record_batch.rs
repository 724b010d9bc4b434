//! RecordBatches: records read from arbitrary bytes lie within these bytes, and within the limits.

use super::LIMITS;
use fastrand::Rng;
use rawline_batch::crc32c;
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordBatchChecker, RecordBatchHeader, RecordCodec, RecordError,
    Records, unpack,
};

/// Miri can't run the C code of zstd.
pub const CODECS: &[RecordCodec] = if cfg!(miri) { ALL_CODECS.split_at(4).0 } else { ALL_CODECS };
const ALL_CODECS: &[RecordCodec] =
    &[RecordCodec::None, RecordCodec::Gzip, RecordCodec::Snappy, RecordCodec::Lz4, RecordCodec::Zstd];

/// Headers with everything that they can have.
pub const HEADERS: [(&[u8], Option<&[u8]>); 4] =
    [(b"trace", Some(b"00-4bf92f3577b34da6a3ce929d0e0e4736")), (b"", Some(b"")), (b"\xff", None), (b"trace", None)];

/// Any bytes: after a header, as records, and as the output of each codec.
pub fn any(input: &[u8]) {
    let Some((front, section)) = input.split_first_chunk::<RECORD_BATCH_HEADER_BYTES>() else { return };
    let mut random = Rng::with_seed(u64::from(crc32c(input)));
    let header = RecordBatchHeader::parse_stored(front, &LIMITS).unwrap_or_else(|_| {
        let records = random.u32(1..10);
        let offsets = records + random.u32(0..2);
        RecordBatchHeader { records, offsets, ..sample(RecordCodec::None, &mut random).0 }
    });
    let _ = walk(&header, section);
    for &codec in CODECS {
        unpacked(&RecordBatchHeader { codec, ..header }, section, random.u32(0..1 << 16));
    }
}

/// Valid batches, some of whose bytes [`super::mutate`] changes.
pub fn mutate(input: &[u8]) {
    let Some((&seed, changes)) = input.split_first_chunk::<8>() else { return };
    let mut random = Rng::with_seed(u64::from_le_bytes(seed));
    let codec = CODECS[random.usize(..CODECS.len())];
    let (header, mut section) = sample(codec, &mut random);
    let whole = section.clone();
    for change in changes.chunks_exact(3) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]])) % section.len();
        section[position] = change[2];
    }
    let found = unpacked(&header, &section, LIMITS.raw_bytes_max);
    assert!(section != whole || found == Some(header.records), "{found:?} of {header:?}");
    arrives(&header, &section, &mut random);
    section.truncate(random.usize(..=section.len()));
    arrives(&header, &section, &mut random);
    let found = unpacked(&header, &section, LIMITS.raw_bytes_max);
    assert!(section.len() < whole.len() || changes.len() >= 3 || found.is_some(), "{found:?} of {header:?}");
}

/// A broker takes an uncompressed batch, in pieces, exactly if its records can be read.
fn arrives(header: &RecordBatchHeader, section: &[u8], random: &mut Rng) {
    if header.codec != RecordCodec::None {
        return;
    }
    let mut batch = whole(header, section);
    let crc = crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    let mut checker = RecordBatchChecker::new(LIMITS);
    let mut left = &batch[..];
    let mut pushed = Ok(());
    while !left.is_empty() && pushed.is_ok() {
        let bytes_max = left.len().min(1 << random.u8(0..8));
        let (piece, rest) = left.split_at(random.usize(1..=bytes_max));
        pushed = checker.push(piece);
        left = rest;
    }
    let taken = pushed.and_then(|()| checker.finish());
    let read = walk(header, section);
    assert_eq!(taken.is_ok(), read.is_ok(), "{taken:?}, and {read:?} of {header:?}");
}

/// A batch without its checksum, as a producer sends it.
fn whole(header: &RecordBatchHeader, section: &[u8]) -> Vec<u8> {
    let mut batch = vec![0; 8];
    batch.extend((49 + section.len() as u32).to_be_bytes());
    batch.extend([0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
    batch.extend((header.records - 1).to_be_bytes());
    batch.extend(header.base_timestamp_ms.to_be_bytes());
    batch.extend(header.max_timestamp_ms.to_be_bytes());
    batch.extend([0xff; 14]);
    batch.extend(header.records.to_be_bytes());
    batch.extend_from_slice(section);
    batch
}

/// A valid batch: its header, and the rest.
pub fn sample(codec: RecordCodec, random: &mut Rng) -> (RecordBatchHeader, Vec<u8>) {
    let mut builder = RecordBatchBuilder::new(codec, LIMITS);
    for _ in 0..random.u8(1..=20) {
        let value = vec![random.u8(b'a'..=b'c'); random.usize(..200)];
        let key = vec![random.u8(..); random.usize(..5)];
        let headers = HEADERS.into_iter().take(random.usize(..=HEADERS.len()));
        let time_ms = random.i64(-1..1_000_000);
        let (key, value) = (random.bool().then_some(&key[..]), random.bool().then_some(&value[..]));
        builder.push(time_ms, key, value, headers).unwrap();
    }
    let batch = builder.finish(None).unwrap();
    let mut checker = RecordBatchChecker::new(LIMITS);
    checker.push(batch).unwrap();
    (checker.finish().unwrap()[0].header, batch[RECORD_BATCH_HEADER_BYTES..].to_vec())
}

/// Unpacks and walks; the number of records if they are whole.
fn unpacked(header: &RecordBatchHeader, section: &[u8], raw_bytes_max: u32) -> Option<u32> {
    let mut out = Vec::new();
    let found = unpack(header.codec, section, raw_bytes_max, &mut out).and_then(|found| {
        assert!(header.codec == RecordCodec::None || found.len() <= raw_bytes_max as usize);
        walk(header, found)
    });
    let found = found.ok();
    assert!(out.capacity() <= raw_bytes_max as usize + 1, "{} bytes for {raw_bytes_max}", out.capacity());
    found
}

/// Walks over records, which borrow from `section` in its order, and returns how many there are, or the first error.
pub fn walk(header: &RecordBatchHeader, section: &[u8]) -> Result<u32, RecordError> {
    let (mut position, mut count, mut least) = (0, 0, 0);
    let mut records = Records::new(header, section);
    for record in records.by_ref() {
        let record = record.inspect_err(|error| assert!(!error.to_string().is_empty()))?;
        let delta = record.offset_delta;
        assert!(least <= delta && delta < header.offsets, "offset {delta} of {least}..{}", header.offsets);
        assert!(header.records < header.offsets || delta == count, "offset {delta} of record {count}");
        least = delta + 1;
        let headers = record.headers.flat_map(|(key, value)| [Some(key), value]);
        for part in [record.key, record.value].into_iter().chain(headers).flatten() {
            let start = part.as_ptr().addr() - section.as_ptr().addr();
            assert!(start >= position && start + part.len() <= section.len(), "{part:?} at {start}");
            position = start + part.len();
        }
        count += 1;
    }
    assert_eq!(records.next(), None);
    assert_eq!(count, header.records);
    Ok(count)
}
