//! The golden bytes in `vectors/batch/`, which every language's reader and writer must agree on, and the example in
//! `docs/format.md`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "../examples/vectors.rs"]
mod generator;

use rawline_batch::{Batch, BatchError, Checker, Codec, HEADER_BYTES, Header, Limits};
use serde_json::Value;

const MANIFEST: &str = include_str!("../../../vectors/batch/batches.json");

fn cases() -> Vec<Value> {
    let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    manifest["cases"].as_array().unwrap().clone()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn bytes_of(case: &Value) -> Vec<u8> {
    unhex(case["hex"].as_str().unwrap())
}

fn limits_of(case: &Value) -> Limits {
    let limit = |name: &str| case["limits"][name].as_u64().map_or(u32::MAX, |limit| limit as u32);
    Limits {
        batch_bytes_max: limit("batch_bytes_max"),
        records_max: limit("records_max"),
        raw_bytes_max: limit("raw_bytes_max"),
    }
}

fn integer<T: std::str::FromStr<Err: std::fmt::Debug>>(value: &Value) -> T {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).parse().unwrap()
}

/// The header that a batch of the manifest describes.
fn header_of(fields: &Value) -> Header {
    Header {
        codec: fields["codec"].as_str().unwrap().parse().unwrap(),
        slice: fields["slice"].as_bool().unwrap(),
        records: fields["records"].as_array().unwrap().len() as u32,
        data_bytes: integer(&fields["data_bytes"]),
        raw_bytes: integer(&fields["raw_bytes"]),
        created_us: integer(&fields["created_us"]),
        producer_id: integer(&fields["producer_id"]),
        sequence: integer(&fields["sequence"]),
        crc32c: integer(&fields["crc32c"]),
    }
}

fn records_of(fields: &Value) -> Vec<Vec<u8>> {
    fields["records"].as_array().unwrap().iter().map(|record| unhex(record.as_str().unwrap())).collect()
}

type Read = (Header, Vec<Vec<u8>>);

/// Reads a case as its consumer would: each batch is unpacked before the next is looked at.
fn read(case: &Value, bytes: &[u8]) -> (Vec<Read>, Option<BatchError>) {
    let mut batches = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let parsed = Batch::parse_prefix(rest, &limits_of(case)).and_then(|(batch, rest)| {
            let records: Vec<Vec<u8>> = batch.records(&mut Vec::new())?.map(<[u8]>::to_vec).collect();
            Ok((*batch.header(), records, rest))
        });
        match parsed {
            Ok((header, records, after)) => {
                batches.push((header, records));
                rest = after;
            }
            Err(error) => return (batches, Some(error)),
        }
    }
    let error = batches.is_empty().then_some(BatchError::Empty);
    (batches, error)
}

#[test]
#[cfg_attr(miri, ignore = "it takes minutes and tries nothing new")]
fn the_file_is_what_the_generator_prints() {
    let hint = "cargo run -p rawline-batch --example vectors > vectors/batch/batches.json";
    let [committed, generated] =
        [MANIFEST, &generator::manifest()].map(|text| -> Value { serde_json::from_str(text).unwrap() });
    assert!(committed == generated, "vectors/batch/batches.json and its generator differ; see `{hint}`");
}

#[test]
#[cfg_attr(miri, ignore = "zstd is C code")]
fn golden_bytes_are_read() {
    for case in cases() {
        let name = case["name"].as_str().unwrap();
        let bytes = bytes_of(&case);
        if case["one"] == true {
            let error = Batch::parse(&bytes, &limits_of(&case)).unwrap_err();
            assert_eq!(Some(error.code()), case["error"].as_str(), "{name}: {error}");
            continue;
        }
        let (batches, error) = read(&case, &bytes);
        assert_eq!(error.as_ref().map(BatchError::code), case["error"].as_str(), "{name}: {error:?}");
        let expected = case["batches"].as_array().unwrap();
        assert_eq!(batches.len(), expected.len(), "{name}");
        for ((header, records), fields) in batches.into_iter().zip(expected) {
            assert_eq!(header, header_of(fields), "{name}");
            assert_eq!(header.batch_bytes(), integer::<u64>(&fields["batch_bytes"]), "{name}");
            assert_eq!(records, records_of(fields), "{name}");
        }
    }
}

#[test]
fn golden_bytes_are_checked_in_pieces() {
    for case in cases().iter().filter(|case| case["one"] != true && case["error"] != "batch_decompress") {
        for length in [1, 5, 64, 1000] {
            let mut checker = Checker::new(limits_of(case));
            let result = bytes_of(case).chunks(length).try_for_each(|piece| checker.push(piece));
            assert_eq!(checker.batches().len(), case["batches"].as_array().unwrap().len(), "{}", case["name"]);
            let error = result.and_then(|()| checker.finish().map(|_| ())).err();
            assert_eq!(error.as_ref().map(BatchError::code), case["error"].as_str(), "{}", case["name"]);
        }
    }
}

#[test]
fn golden_bytes_are_written() {
    let mut written = 0;
    for case in cases() {
        let mut position = 0;
        for fields in case["batches"].as_array().unwrap() {
            let header = header_of(fields);
            let bytes_before = position;
            position += header.batch_bytes() as usize;
            if header.codec == Codec::None {
                let records = records_of(fields);
                let sizes: Vec<u8> = records.iter().flat_map(|record| (record.len() as u32).to_le_bytes()).collect();
                let data = records.concat();
                let front = Header { crc32c: 0, ..header }.seal([&sizes[..], &data]);
                let padding = rawline_batch::header::padding(header.padding_bytes());
                let bytes = [&front, &sizes[..], &data, padding].concat();
                assert_eq!(bytes, bytes_of(&case)[bytes_before..position], "{}", case["name"]);
                written += 1;
            }
        }
    }
    assert!(written >= 20, "{written} batches without a codec");
}

#[test]
fn every_error_of_a_reader_has_a_golden_case() {
    let codes: Vec<String> = cases().iter().filter_map(|case| case["error"].as_str().map(str::to_owned)).collect();
    for code in [
        "batch_truncated",
        "batch_trailing_bytes",
        "batch_magic",
        "batch_version",
        "batch_codec",
        "batch_reserved",
        "batch_empty",
        "batch_length",
        "batch_sizes_overflow",
        "batch_sizes_sum",
        "batch_data_length",
        "batch_crc",
        "batch_limit",
        "batch_decompress",
    ] {
        assert!(codes.iter().any(|found| found == code), "{code}");
    }
}

/// The bytes between ```` ```hex ```` and the end of that block: the part before `│` of each line.
#[test]
fn the_example_in_the_documentation_is_a_batch() {
    let text = include_str!("../../../docs/format.md");
    let block = text.split("```hex\n").nth(1).unwrap().split("```").next().unwrap();
    let digits: String = block.lines().flat_map(|line| line.split('│').next().unwrap().split_whitespace()).collect();
    let bytes = unhex(&digits);
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    let mut scratch = Vec::new();
    assert_eq!(batch.records(&mut scratch).unwrap().collect::<Vec<_>>(), [&b"hello"[..], b"", b"world!"]);
    let header = *batch.header();
    assert_eq!((header.created_us, header.producer_id, header.sequence), (1_700_000_000_000_000, 7, 1000));
    assert_eq!(bytes.len(), 88);
    assert!(text.contains(&format!("`0x{:08x}`", header.crc32c)));
    assert_eq!(Header { crc32c: 0, ..header }.seal([&bytes[HEADER_BYTES..87]]), bytes[..HEADER_BYTES]);
}
