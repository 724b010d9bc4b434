//! Any bytes, as batches.

#![no_main]

#[path = "../../crates/batch/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::parse(input));
