//! The HTTP API from a client's point of view: over real sockets, mostly against the real binary.

// A test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod access;
mod append;
mod auth;
mod broker;
mod client;
mod cost;
mod delete;
mod describe;
mod malformed;
#[cfg(feature = "full")]
mod measurements;
mod metrics;
mod monitoring;
mod partitions;
mod queries;
mod read;
mod serve;
mod slow;
mod testing;
mod topics;
mod trim;
mod wait;
