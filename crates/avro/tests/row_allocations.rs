//! Once their buffers have grown, rows and lines of JSON allocate nothing.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use rawline_avro::{LineEncoder, RowBuffer};
use rawline_testkit::allocator::{Counting, allocations_of};
use support::{MEASUREMENT, measurement, plan, schema};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn rows_of_several_plans_share_one_buffer() {
    let reader = r#"{"type":"record","name":"Measurement","fields":[{"name":"value","type":["null","double"]},
        {"name":"unit","type":"string","default":"none"},{"name":"tags","type":{"type":"map","values":["string",
            "null"]}}]}"#;
    let plans = [plan(MEASUREMENT, MEASUREMENT), plan(MEASUREMENT, reader)];
    let message = measurement();
    let mut buffer = RowBuffer::new();
    let hasher = RandomState::new();
    let mut sum = 0;
    for round in 0..100 {
        let ((), allocations) = allocations_of(|| {
            for plan in &plans {
                let row = plan.row(&mut buffer, &message).unwrap();
                for (_, field) in row.datum().fields() {
                    sum ^= hasher.hash_one(field.as_str());
                    field.entries().for_each(|(key, value)| sum ^= hasher.hash_one((key, value.as_str())));
                }
            }
        });
        assert!(round == 0 || allocations == 0, "{allocations} in round {round}");
    }
    assert_ne!(sum, 1);
}

#[test]
fn lines_of_json_become_records_and_lines_again() {
    let json = r#"{"type":"record","name":"Event","fields":[{"name":"ts","type":{"type":"long",
        "logicalType":"timestamp-micros"}},{"name":"rtt","type":["null","double"],"default":null},{"name":"host","type":
        "string"},{"name":"answers","type":{"type":"array","items":"string"}},{"name":"port","type":["null","int"]}]}"#;
    let mut encoder = LineEncoder::new(schema(json), &[("host", "id.host")], &[]).unwrap();
    let plan = plan(json, json);
    let (mut row, mut record, mut text) = (RowBuffer::new(), Vec::new(), Vec::new());
    let line = r#"{"ts":"2018-03-24T17:15:20.865716Z","port":53,"answers":["a","b"],"id.host":"x"}"#;
    let mut convert = || {
        record.clear();
        text.clear();
        assert!(encoder.encode(line.as_bytes(), &mut record));
        plan.row(&mut row, &record).unwrap().datum().write_json(&mut text);
    };
    convert();
    assert_eq!(allocations_of(convert).1, 0);
    let wanted = r#"{"ts":"2018-03-24T17:15:20.865716Z","rtt":null,"host":"x","answers":["a","b"],"port":53}"#;
    assert_eq!(String::from_utf8(text).unwrap(), wanted);
}
