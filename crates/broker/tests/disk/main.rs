//! What a directory of segments survives, and how it uses files.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod damage;
mod end;
mod files;
mod journal;
mod partitions;
mod process;
mod support;
