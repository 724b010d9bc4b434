//! Prints the golden batches of `vectors/batch/batches.json`: `cargo run -p rawline-batch --example vectors`.
//!
//! A test holds the file against this. What each case must give is written here by hand and by the letter of
//! `docs/format.md`; no reader is asked. The compressed data stands here as bytes, not as calls to a codec: a codec's
//! next version may pack otherwise, and what was once written must stay readable.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_batch::header::{CRC_POSITION, padding};
use rawline_batch::{Codec, Crc32c, HEADER_BYTES, Header};
use serde_json::{Value, json};

fn main() {
    print!("{}", manifest());
}

const ABOUT: &[&str] = &[
    "Golden bytes of Rawline's batches; docs/format.md has the rules and the error codes.",
    "Each case is a stream of batches back to back, `hex`; with `one`, what must be exactly one batch.",
    "A reader that unpacks each batch before it continues gets `batches`, then `error` if there is one.",
    "`limits` are the reader's in that case, the others have none. Numbers of 64 bits are strings of digits.",
    "A writer that is given the fields and records of batches without a codec makes these very bytes.",
];

/// The whole file, a case a line.
pub fn manifest() -> String {
    let cases: Vec<String> = valid().into_iter().chain(malformed()).map(|case| line(&case)).collect();
    let about: Vec<String> = ABOUT.iter().map(|line| format!("  {}", json!(line))).collect();
    format!("{{\n\"about\": [\n{}\n],\n\"cases\": [\n{}\n]\n}}\n", about.join(",\n"), cases.join(",\n"))
}

/// A case in a line, after its name for readers of the file.
fn line(case: &Value) -> String {
    let fields = ["name", "error", "one", "limits", "hex", "batches"];
    let there = fields.iter().filter(|&&field| !case[field].is_null());
    let members: Vec<String> = there.map(|&field| format!("{}: {}", json!(field), case[field])).collect();
    format!("  {{ {} }}", members.join(", "))
}

const HEADER: Header = Header {
    codec: Codec::None,
    slice: false,
    records: 0,
    data_bytes: 0,
    raw_bytes: 0,
    created_us: 1_700_000_000_123_456,
    producer_id: 7,
    sequence: 1000,
    crc32c: 0,
};

fn valid() -> Vec<Value> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let mut cases = vec![
        case("one record", &[plain(&[b"hello, rawline"])]),
        case("one record of no bytes", &[plain(&[b""])]),
        case("three records of no bytes", &[plain(&[b"", b"", b""])]),
        case("every byte there is", &[plain(&[&every_byte, b"\r\n", b"\0"])]),
        case("five records", &[small()]),
    ];
    for size in 0..8 {
        let batch = plain(&[&b"padding"[..size]]);
        let name = format!("{} bytes of padding", batch.bytes.len() - HEADER_BYTES - 4 - size);
        cases.push(case(&name, &[batch]));
    }
    let largest = Header { created_us: u64::MAX, producer_id: u64::MAX, sequence: u64::MAX, ..HEADER };
    let smallest = Header { created_us: 0, producer_id: 0, sequence: 0, ..HEADER };
    let slice = Header { slice: true, sequence: 1001, ..HEADER };
    cases.extend([
        case("largest time, producer and sequence", &[batch(largest, &[b"x"], b"x")]),
        case("time, producer and sequence of zero", &[batch(smallest, &[b"x"], b"x")]),
        case("a slice", &[batch(slice, &[b"b", b""], b"b")]),
        case("LZ4", &[lz4()]),
        case("zstd", &[zstd()]),
        case("zstd without the content's size", &[batch(ZSTD, &[b"abc", b"def"], ZSTD_ABCDEF)]),
        case("two batches", &[small(), plain(&[b"second"])]),
        case("three batches, each with a codec of its own", &[plain(&[b"first"]), lz4(), zstd()]),
    ]);
    cases
}

fn malformed() -> Vec<Value> {
    let small = small();
    let cut = |bytes: usize| small.bytes[..bytes].to_vec();
    let sealed = |position: usize, bytes: &[u8]| sealed(&small.bytes, position, bytes);
    let with_u32 = |position: usize, value: u32| sealed(position, &value.to_le_bytes());
    let damaged = |position: usize| {
        let mut bytes = small.bytes.clone();
        bytes[position] ^= 0x10;
        bytes
    };
    let unpacks_to = |header: Header, records: &[&[u8]], data: &[u8]| batch(header, records, data).bytes;
    let truncated = "batch_truncated";
    let none: &[Golden] = &[];
    let one = std::slice::from_ref(&small);
    vec![
        wrong("nothing", "batch_empty", none, &[]),
        wrong("cut off inside the header", truncated, none, &cut(63)),
        wrong("truncated after the header", truncated, none, &cut(64)),
        wrong("cut off inside the sizes", truncated, none, &cut(66)),
        wrong("cut off inside the data", truncated, none, &cut(90)),
        wrong("cut off inside the padding", truncated, none, &cut(103)),
        wrong("second batch cut off", truncated, one, &cut(70)),
        with(wrong("a byte after the batch", "batch_trailing_bytes", one, &[0]), "one", json!(true)),
        with(wrong("a batch after the batch", "batch_trailing_bytes", one, &small.bytes), "one", json!(true)),
        wrong("another magic", "batch_magic", none, &sealed(3, b"C")),
        wrong("another version", "batch_version", none, &sealed(4, &[2])),
        wrong("an unknown codec", "batch_codec", none, &sealed(5, &[3])),
        wrong("an unknown flag in the low byte", "batch_reserved", none, &sealed(6, &[2])),
        wrong("an unknown flag in the high byte", "batch_reserved", none, &sealed(7, &[0x80])),
        wrong("first reserved byte", "batch_reserved", none, &sealed(48, &[1])),
        wrong("last reserved byte", "batch_reserved", none, &sealed(59, &[1])),
        wrong("padding that is not zero", "batch_reserved", none, &sealed(103, &[1])),
        wrong("no records", "batch_empty", none, &plain(&[]).bytes),
        wrong("a count that lies", "batch_length", none, &with_u32(12, 7)),
        wrong("a count that lies as much as it can", "batch_length", none, &with_u32(12, u32::MAX)),
        wrong("a batch that ends on no multiple of 8", "batch_length", none, &with_u32(8, 101)),
        wrong("a length of the data that lies", "batch_length", none, &with_u32(16, 25)),
        with(wrong("too long a batch", "batch_limit", none, &small.bytes), "limits", json!({"batch_bytes_max": 103})),
        with(wrong("too many records", "batch_limit", none, &small.bytes), "limits", json!({"records_max": 4})),
        with(wrong("too much data", "batch_limit", none, &small.bytes), "limits", json!({"raw_bytes_max": 16})),
        wrong("data longer than its records", "batch_data_length", none, &with_u32(20, 16)),
        wrong("a size too small", "batch_sizes_sum", none, &with_u32(64, 4)),
        wrong("a size too large", "batch_sizes_sum", none, &with_u32(64, 6)),
        // 2^32 - 1 and 7 instead of 5 and 1: the same sum modulo 2^32.
        wrong("sizes that overflow 32 bits", "batch_sizes_overflow", none, &sealed(64, b"\xff\xff\xff\xff\x07\0\0\0")),
        wrong("damaged time of creation", "batch_crc", none, &damaged(24)),
        wrong("damaged checksum", "batch_crc", none, &damaged(60)),
        wrong("damaged size", "batch_crc", none, &damaged(64)),
        wrong("damaged data", "batch_crc", none, &damaged(84)),
        wrong("damaged padding", "batch_crc", none, &damaged(102)),
        wrong("second batch damaged", "batch_crc", one, &damaged(84)),
        wrong("LZ4 data that is none", DECOMPRESS, none, &unpacks_to(LZ4, LZ4_RECORDS, &[0xff; 24])),
        wrong("LZ4 data longer than the sizes say", DECOMPRESS, none, &unpacks_to(LZ4, &[b"abc", b"a"], LZ4_DATA)),
        wrong("LZ4 data shorter than the sizes say", DECOMPRESS, none, &unpacks_to(LZ4, &[&[0; 121]], LZ4_DATA)),
        wrong("zstd data that is none", DECOMPRESS, none, &unpacks_to(ZSTD, &[b"abcdef"], &[0xff; 24])),
        wrong("zstd data longer than the sizes say", DECOMPRESS, none, &unpacks_to(ZSTD, &[b"abcde"], ZSTD_ABCDEF)),
        wrong("zstd data shorter than the sizes say", DECOMPRESS, none, &unpacks_to(ZSTD, &[&[0; 7]], ZSTD_ABCDEF)),
        wrong("two zstd frames", DECOMPRESS, none, &unpacks_to(ZSTD, &[&[0; 12]], &ZSTD_ABCDEF.repeat(2))),
        wrong("a zstd frame to be skipped", DECOMPRESS, none, &unpacks_to(ZSTD, &[b""], ZSTD_SKIPPABLE)),
    ]
}

const DECOMPRESS: &str = "batch_decompress";

const LZ4: Header = Header { codec: Codec::Lz4, ..HEADER };
const LZ4_RECORDS: &[&[u8]] = &[b"abcabcabc", b"", b"abcabcabcabc"];
/// Three literals; a match of 13 bytes (9 + 4) at distance 3; five literals, which the block format wants at its end.
const LZ4_DATA: &[u8] = b"\x39abc\x03\x00\x50bcabc";

const ZSTD: Header = Header { codec: Codec::Zstd, ..HEADER };
/// 300 times `z`: a frame of a single segment that states its content's size, with one RLE block.
const ZSTD_ZZZ: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x60, 44, 0, 0x63, 0x09, 0, b'z'];
/// `abcdef` in a raw block, in a frame with a window and without its content's size.
const ZSTD_ABCDEF: &[u8] = b"\x28\xb5\x2f\xfd\x00\x00\x31\x00\x00abcdef";
const ZSTD_SKIPPABLE: &[u8] = b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip";

/// A valid batch and what a reader must make of it.
#[derive(Clone)]
struct Golden {
    bytes: Vec<u8>,
    fields: Value,
}

/// 17 bytes of data: 64 + 20 + 17 and 3 of padding.
fn small() -> Golden {
    plain(&[b"alpha", b"b", b"", b"gamma-ray", b"nu"])
}

fn lz4() -> Golden {
    batch(LZ4, LZ4_RECORDS, LZ4_DATA)
}

fn zstd() -> Golden {
    batch(ZSTD, &[&[b'z'; 100], b"", &[b'z'; 200]], ZSTD_ZZZ)
}

fn plain(records: &[&[u8]]) -> Golden {
    batch(HEADER, records, &records.concat())
}

/// The batch of these records whose data is `data`.
fn batch(header: Header, records: &[&[u8]], data: &[u8]) -> Golden {
    let sizes: Vec<u8> = records.iter().flat_map(|record| (record.len() as u32).to_le_bytes()).collect();
    let header = Header {
        records: records.len() as u32,
        data_bytes: data.len() as u32,
        raw_bytes: records.concat().len() as u32,
        ..header
    };
    let front = header.seal([&sizes[..], data]);
    let bytes = [&front, &sizes[..], data, padding(header.padding_bytes())].concat();
    let fields = json!({
        "codec": header.codec.to_string(),
        "slice": header.slice,
        "batch_bytes": bytes.len(),
        "data_bytes": header.data_bytes,
        "raw_bytes": header.raw_bytes,
        "created_us": header.created_us.to_string(),
        "producer_id": header.producer_id.to_string(),
        "sequence": header.sequence.to_string(),
        "crc32c": u32::from_le_bytes(*bytes[CRC_POSITION..].first_chunk().unwrap()),
        "records": records.iter().map(|record| hex(record)).collect::<Vec<_>>(),
    });
    Golden { bytes, fields }
}

/// `bytes` written over a batch at `position`, and the checksum put right.
fn sealed(batch: &[u8], position: usize, bytes: &[u8]) -> Vec<u8> {
    let mut batch = batch.to_vec();
    batch[position..position + bytes.len()].copy_from_slice(bytes);
    let mut crc = Crc32c::new();
    crc.update(&batch[..CRC_POSITION]);
    crc.update(&batch[HEADER_BYTES..]);
    batch[CRC_POSITION..HEADER_BYTES].copy_from_slice(&crc.value().to_le_bytes());
    batch
}

fn case(name: &str, batches: &[Golden]) -> Value {
    let bytes: Vec<u8> = batches.iter().flat_map(|batch| batch.bytes.clone()).collect();
    let fields: Vec<&Value> = batches.iter().map(|batch| &batch.fields).collect();
    json!({ "name": name, "hex": hex(&bytes), "batches": fields })
}

/// These batches, then bytes that are none.
fn wrong(name: &str, error: &str, before: &[Golden], bytes: &[u8]) -> Value {
    let good = case(name, before);
    let hex = good["hex"].as_str().unwrap().to_owned() + &hex(bytes);
    with(with(good, "hex", json!(hex)), "error", json!(error))
}

fn with(mut case: Value, key: &str, value: Value) -> Value {
    case[key] = value;
    case
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
