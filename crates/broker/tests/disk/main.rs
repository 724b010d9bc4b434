//! What a directory survives, and how it uses files.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod busy;
mod freeing;
mod journal;
mod journal_files;
mod journal_reads;
mod lost;
mod support;
