//! Tests of roll-ups and queries, in one binary: each binary links Arrow and Parquet anew.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

mod evolution;
mod pipeline;
mod query;
mod topic;
