//! Every row reads what it writes, and what the other rows of its format write, on every case; the first messages'
//! bytes are the published ones.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lab_formats::codec::Operation;
use lab_formats::work::{Entry, Load};
use lab_formats::{conform, rows};

/// Enough to include absent, empty, escaped and non-ASCII fields; a debug build is slow.
const MESSAGES: usize = 100;

/// The cases' messages, from the laboratory's generator.
fn messages(case: &str, size: &str) -> String {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/generate.py");
        let made = Command::new("python3").arg(script).arg("--out").arg(&folder).output().expect("python3 runs");
        assert!(made.status.success(), "the generator failed: {}", String::from_utf8_lossy(&made.stderr));
        folder
    });
    std::fs::read_to_string(folder.join(format!("{case}.{size}.jsonl"))).expect("the generator made the case")
}

fn load(entry: &Entry, size: &str, count_max: usize) -> Box<dyn Load> {
    entry.load(&messages(entry.case, size), count_max).unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn every_row_reads_what_every_row_of_its_format_writes() {
    let mut formats: BTreeMap<(&str, bool, &str), Vec<Entry>> = BTreeMap::new();
    for entry in rows::all() {
        formats.entry((entry.row.format, conform::packed(entry.row.variant), entry.case)).or_default().push(entry);
    }
    for size in ["base", "100"] {
        for ((format, _, case), entries) in &formats {
            let loads: Vec<Box<dyn Load>> = entries.iter().map(|entry| load(entry, size, MESSAGES)).collect();
            for (writer, written) in entries.iter().zip(&loads).filter(|(entry, _)| entry.row.has(Operation::Encode)) {
                let wires: Vec<&[u8]> = written.wires().iter().map(|wire| wire.as_slice()).collect();
                for (reader, load) in entries.iter().zip(&loads) {
                    let names =
                        format!("{} reads {format} of {case}.{size} by {}", reader.row.name(), writer.row.name());
                    if reader.row.has(Operation::Decode) {
                        load.verify(&wires).unwrap_or_else(|error| panic!("{names}: {error:#}"));
                    }
                    load.verify_fields(&wires).unwrap_or_else(|error| panic!("{names}: {error:#}"));
                }
            }
        }
    }
}

#[test]
fn first_messages_have_the_published_bytes() {
    let avro = "02043c52616e646f6d206d657373616765202d203136303030303030303030303001060c4a6f686e2d300c4a6f686e2d310c4a\
                6f686e2d32000a022c9a05b84586e406000adcd8ec48f51df23f8ecef9298ee30040c1ff56b263830a40a52a12b81a7e1040\
                50de09eeee7e144000";
    let protobuf = "080110021a1e52616e646f6d206d657373616765202d203136303030303030303030303020012a064a6f686e2d302a064a\
                    6f686e2d312a064a6f686e2d3232090116cd02dc2283b2033a28dcd8ec48f51df23f8ecef9298ee30040c1ff56b26383\
                    0a40a52a12b81a7e104050de09eeee7e1440";
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut checked = 0;
    for entry in rows::all().iter().filter(|entry| entry.row.has(Operation::Encode)) {
        let first = || hex(&load(entry, "base", 1).wires()[0]);
        let (expected, bytes) = match (entry.row.format, entry.case) {
            ("avro", "pingpong") => (Some(avro), 110),
            ("protobuf", "pingpong") => (Some(protobuf), 115),
            ("protobuf", "doubles") => (None, 87),
            ("protobuf", "strings") => (None, 289),
            ("avro", "measurement") => (None, 81),
            _ => continue,
        };
        let found = first();
        assert_eq!(found.len(), bytes * 2, "{} {}", entry.row.name(), entry.case);
        assert!(expected.is_none_or(|expected| expected == found), "{} writes {found}", entry.row.name());
        checked += 1;
    }
    assert!(checked > 10, "only {checked} rows were checked");
}

#[test]
fn a_row_that_misreads_is_found() {
    let entries = rows::all();
    let of =
        |case| entries.iter().find(|entry| entry.row.format == "json" && entry.case == case).expect("a row of JSON");
    let load = load(of("pingpong"), "base", 2);
    let [first, second] = load.wires() else { panic!("two messages were asked for") };
    assert!(load.verify(&[first, second]).is_ok());
    assert!(load.verify(&[second, first]).is_err());
    assert!(load.verify(&[first]).is_err());
    assert!(load.verify_fields(&[second, first]).is_err());
    let other = String::from_utf8_lossy(first).replace("1.132314", "1.1323140000000002");
    assert!(load.verify(&[other.as_bytes(), second]).is_err(), "a float's last bit counts");
}

#[test]
fn each_row_is_there_once_and_on_every_case() {
    let mut seen = BTreeSet::new();
    let mut cases: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for entry in rows::all() {
        let row = (entry.row.format, entry.row.library, entry.row.variant);
        assert!(seen.insert((row, entry.case)), "{row:?} is listed twice on {}", entry.case);
        assert!(!entry.row.operations.is_empty(), "{row:?} measures nothing");
        assert_ne!(lab_formats::versions::of(entry.row.library), "unknown", "{row:?} is of no known version");
        cases.entry(row).or_default().insert(entry.case);
    }
    for (row, cases) in cases {
        assert_eq!(cases.len(), 6, "{row:?} lacks cases");
    }
    let figures = lab_formats::bench::names();
    assert_eq!(figures.len(), figures.iter().collect::<BTreeSet<_>>().len(), "two figures have one name");
}
