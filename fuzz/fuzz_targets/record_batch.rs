//! Any bytes as RecordBatches, and valid ones with some of their bytes changed.

#![no_main]

#[path = "../../crates/batch/tests/bodies/mod.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::record_batches(input));
