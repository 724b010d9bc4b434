//! What the S3 store promises beyond every store's promises: races, lost responses, bad servers, and its cache.
// Helpers may fail a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod bucket;
mod cache;
mod cold;
mod copies;
mod damage;
mod fake;
mod full;
mod hedges;
mod holes;
mod journal;
mod journals;
mod machine;
mod partitions;
mod servers;
mod start;
mod writers;
