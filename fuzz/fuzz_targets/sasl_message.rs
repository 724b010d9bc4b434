//! Any bytes, as what a Kafka client sends to authenticate.

#![no_main]

#[path = "../../crates/kafka/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::authenticate(input));
