//! Kafka's batches whose headers and checksums are right, and whose records no consumer can read.

use rawline_batch::crc32c;

/// The header of each batch.
const RECORDS: u32 = 2;

/// A record of these fields, of which each number fits in a byte: its offset from the batch's, and its headers.
fn record(offset_delta: u8, headers: &[u8]) -> Vec<u8> {
    let mut fields = vec![0, 2, offset_delta * 2, 1, 2, b'v'];
    fields.extend_from_slice(headers);
    fields.insert(0, fields.len() as u8 * 2);
    fields
}

/// Sections after a header, each with what is wrong and the base of its times.
fn sections() -> Vec<(&'static str, i64, Vec<u8>)> {
    let now = 1_700_000_000_000;
    let [zero, one] = [0, 1].map(|delta| record(delta, &[0]));
    let pair = |second: Vec<u8>| [zero.clone(), second].concat();
    vec![
        ("a record is missing", now, zero.clone()),
        ("a record too many", now, [zero.clone(), one.clone(), record(2, &[0])].concat()),
        ("equal offsets", now, pair(zero.clone())),
        ("a header without a key", now, pair(record(1, &[2, 1, 1]))),
        ("a negative number of headers", now, pair(record(1, &[3]))),
        ("a time beyond all times", i64::MAX, pair(one.clone())),
        ("a key beyond the record", now, pair(vec![8, 0, 2, 2, 60])),
        ("a record that is cut", now, pair(one.split_at(3).0.to_vec())),
    ]
}

/// A batch with this codec's number.
fn batch(codec: u8, base_ms: i64, section: &[u8]) -> Vec<u8> {
    let mut batch = vec![0; 8];
    batch.extend((49 + section.len() as u32).to_be_bytes());
    batch.extend([0, 0, 0, 0, 2, 0, 0, 0, 0, 0, codec]);
    batch.extend((RECORDS - 1).to_be_bytes());
    batch.extend(base_ms.to_be_bytes());
    batch.extend(1_700_000_000_000_i64.to_be_bytes());
    batch.extend([0xff; 14]);
    batch.extend(RECORDS.to_be_bytes());
    batch.extend_from_slice(section);
    let (front, rest) = batch.split_at_mut(21);
    front.split_at_mut(17).1.copy_from_slice(&crc32c(rest).to_be_bytes());
    batch
}

/// An LZ4 frame whose one block isn't compressed.
fn lz4(section: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    frame.extend((section.len() as u32 | 1 << 31).to_le_bytes());
    frame.extend_from_slice(section);
    frame.extend([0; 4]);
    frame
}

/// Batches of two offsets each that aren't compressed: a broker refuses them.
pub fn plain() -> Vec<(&'static str, Vec<u8>)> {
    sections().into_iter().map(|(what, base_ms, section)| (what, batch(0, base_ms, &section))).collect()
}

/// The same, compressed, and some that can't be decompressed: a broker stores them, and readers notice.
pub fn compressed() -> Vec<(&'static str, Vec<u8>)> {
    let packed = sections().into_iter().map(|(what, base_ms, section)| (what, batch(3, base_ms, &lz4(&section))));
    let now = 1_700_000_000_000;
    let names = ["gzip that is none", "snappy that is none", "lz4 that is none", "zstd that is none"];
    packed.chain((1..).zip(names).map(|(codec, what)| (what, batch(codec, now, &[0xfe; 20])))).collect()
}
