//! Valid values with some of their bytes changed.

#![no_main]

#[path = "../../crates/value/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::mutate(input));
