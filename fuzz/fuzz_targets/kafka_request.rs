//! Any bytes, as a request and a response of Kafka's protocol.

#![no_main]

#[path = "../../crates/kafka/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::read(input));
