//! Any bytes as an object, and an object of the batches in any bytes.

#![no_main]

#[path = "../../crates/broker/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::object(input));
