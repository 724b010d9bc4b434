//! Small batches to test with, and ways to damage them.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_batch::header::CRC_POSITION;
use rawline_batch::{Batch, Builder, Codec, Crc32c, HEADER_BYTES, Limits};

pub const CREATED_US: u64 = 1_700_000_000_000_000;

/// A batch of these records.
pub fn build<R: AsRef<[u8]>>(codec: Codec, records: &[R]) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::FORMAT);
    for record in records {
        builder.push(record.as_ref()).unwrap();
    }
    let mut out = Vec::new();
    builder.finish_into(CREATED_US, 7, 1000, &mut out).unwrap();
    out
}

/// Five records, one of them empty; 17 bytes of data, so 64 + 20 + 17 + 3 of padding.
pub fn small() -> Vec<u8> {
    build(Codec::None, &["alpha", "b", "", "gamma-ray", "nu"])
}

/// A batch as a producer with other ideas would send it: `change` is made, then the checksum put right.
pub fn changed(mut batch: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    change(&mut batch);
    reseal(&mut batch);
    batch
}

/// Puts the checksum right, whatever the bytes say.
pub fn reseal(batch: &mut [u8]) {
    if batch.len() < HEADER_BYTES {
        return;
    }
    let mut crc = Crc32c::new();
    crc.update(&batch[..CRC_POSITION]);
    crc.update(&batch[HEADER_BYTES..]);
    batch[CRC_POSITION..HEADER_BYTES].copy_from_slice(&crc.value().to_le_bytes());
}

pub fn set_u32(batch: &mut [u8], position: usize, value: u32) {
    batch[position..position + 4].copy_from_slice(&value.to_le_bytes());
}

/// The records of the one batch in `bytes`.
pub fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let batch = Batch::parse(bytes, &Limits::FORMAT).unwrap();
    batch.records(&mut Vec::new()).unwrap().map(<[u8]>::to_vec).collect()
}

/// A seed for a run: from `RAWLINE_SEED` if that is set, so that a failed run can be had again. Print it.
#[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
pub fn seed() -> u64 {
    let seed = match std::env::var("RAWLINE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => 1,
    };
    println!("RAWLINE_SEED={seed}");
    seed
}
