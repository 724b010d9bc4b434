//! Any bytes as the front of a journal object.

#![no_main]

#[path = "../../crates/journal/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::object(input));
