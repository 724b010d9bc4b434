//! Batches for tests, and their records.

use rawline_batch::{Batch, Builder, Codec, Limits};

/// A batch of these records.
pub fn batch(codec: Codec, records: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::FORMAT);
    for record in records {
        builder.push(record).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(1_700_000_000_000_000, 0, 0, &mut bytes).unwrap();
    bytes
}

/// The records of batches that lie back to back; each batch is checked, its checksum too.
pub fn records_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let mut records = Vec::new();
    let mut scratch = Vec::new();
    while !rest.is_empty() {
        let (batch, after) = Batch::parse_prefix(rest, &Limits::FORMAT).unwrap();
        records.extend(batch.records(&mut scratch).unwrap().map(<[u8]>::to_vec));
        rest = after;
    }
    records
}

/// `count` records that differ, of `bytes` bytes each.
pub fn records(from: usize, count: usize, bytes: usize) -> Vec<Vec<u8>> {
    (from..from + count).map(|number| format!("{number:0bytes$}").into_bytes()).collect()
}
