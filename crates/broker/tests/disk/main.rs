//! What a directory of segments survives, and how it uses files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // Helpers of tests may fail the test.

mod damage;
mod end;
mod files;
mod partitions;
mod process;
mod support;
