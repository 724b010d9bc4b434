//! Any bytes, as a value.

#![no_main]

#[path = "../../crates/value/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::agree(input));
