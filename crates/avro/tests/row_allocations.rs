//! Once their buffer has grown, rows allocate nothing.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use rawline_avro::RowBuffer;
use rawline_testkit::allocator::{Counting, allocations_of};
use support::{MEASUREMENT, measurement, plan};

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
