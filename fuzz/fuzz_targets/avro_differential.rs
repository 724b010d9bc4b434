//! Random Avro messages, some bytes changed, read by us and by `apache-avro`.

#![no_main]

#[path = "../../crates/avro/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::differential(input));
