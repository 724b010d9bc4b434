//! Batches for tests, and their records.

use bytes::Bytes;
use rawline_batch::record_batch::{
    RecordBatchBuilder, RecordBatchChecker, RecordCodec, RecordProducer, STAMPED_BYTES, stamp,
};
use rawline_batch::{Batch, Builder, Checker, Codec, Limits, crc32c};
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

/// A Kafka batch with these many records, whose bytes only a consumer looks into.
pub fn record_batch(records: u32, bytes: &[u8], producer: Option<RecordProducer>) -> Vec<u8> {
    // No codec, last offset, base and greatest time.
    let mut covered = 0_i16.to_be_bytes().to_vec();
    covered.extend((records as i32 - 1).to_be_bytes());
    covered.extend(1_000_i64.to_be_bytes());
    covered.extend(1_123_i64.to_be_bytes());
    let producer = producer.map(|RecordProducer { id, epoch, base_sequence }| (id as i64, epoch as i16, base_sequence));
    let (id, epoch, sequence) = producer.unwrap_or((-1, -1, u32::MAX));
    covered.extend(id.to_be_bytes());
    covered.extend(epoch.to_be_bytes());
    covered.extend(sequence.to_be_bytes());
    covered.extend(records.to_be_bytes());
    covered.extend(bytes);
    // Base offset, length, the leader's epoch as clients send it, magic, checksum.
    let mut batch = 0_i64.to_be_bytes().to_vec();
    batch.extend((covered.len() as u32 + 9).to_be_bytes());
    batch.extend((-1_i32).to_be_bytes());
    batch.push(2);
    batch.extend(crc32c(&covered).to_be_bytes());
    batch.extend(covered);
    batch
}

/// A Kafka batch with these records: keys, and values or tombstones.
pub fn keyed_batch(codec: RecordCodec, records: &[(Vec<u8>, Option<Vec<u8>>)]) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(codec, Limits::FORMAT);
    for (number, (key, value)) in records.iter().enumerate() {
        let header = (&b"number"[..], Some(&key[..]));
        builder.push(1_700_000_000_000 + number as i64, Some(key), value.as_deref(), [header]).unwrap();
    }
    builder.finish(None).unwrap().to_vec()
}

/// A Kafka batch as it is stored.
pub fn stamped(batch: &[u8], first_offset: u64) -> Vec<u8> {
    [&stamp(first_offset, batch.len() as u32)[..], &batch[STAMPED_BYTES..]].concat()
}

fn in_parts(bytes: &[u8]) -> Vec<Bytes> {
    let bytes = Bytes::copy_from_slice(bytes);
    (0..bytes.len()).step_by(100).map(|at| bytes.slice(at..(at + 100).min(bytes.len()))).collect()
}

/// Kafka's batches as they come from a socket, whatever their records are.
pub fn received_record_batches(batches: &[u8]) -> Received {
    let parts = in_parts(batches);
    let mut checker = RecordBatchChecker::stored(Limits::default());
    for part in &parts {
        checker.push(part).unwrap();
    }
    Received::of_record_batches(parts, checker.finish().unwrap()).unwrap()
}

/// Batches as they come from a socket: in pieces whose borders respect nothing.
pub fn received(batches: &[u8]) -> Received {
    let parts = in_parts(batches);
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
