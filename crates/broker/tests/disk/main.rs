//! What a directory survives, with a journal or a log for each topic, and how it uses files.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod damage;
mod end;
mod files;
mod freeing;
mod journal;
mod journal_files;
mod journal_reads;
mod lost;
mod partitions;
mod process;
mod support;
