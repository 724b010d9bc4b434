//! Any bytes, as a message of a subscription.

#![no_main]

#[path = "../../crates/contract/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::message(input));
