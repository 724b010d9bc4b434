//! Any bytes, as an Avro message.

#![no_main]

#[path = "../../crates/avro/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::decode(input));
