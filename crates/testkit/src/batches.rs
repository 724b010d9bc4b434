//! Batches for tests, and their records.

use bytes::Bytes;
use rawline_batch::{Batch, Builder, Checker, Codec, Limits};
use rawline_broker::Received;

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

/// Batches as they come from a socket: in pieces whose borders respect nothing.
pub fn received(batches: &[u8]) -> Received {
    let bytes = Bytes::copy_from_slice(batches);
    let parts: Vec<_> = (0..bytes.len()).step_by(100).map(|at| bytes.slice(at..(at + 100).min(bytes.len()))).collect();
    let mut checker = Checker::new(Limits::default());
    for part in &parts {
        checker.push(part).unwrap();
    }
    Received::new(parts, checker).unwrap()
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
