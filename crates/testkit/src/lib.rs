//! Shared helpers for the tests of several crates: stores, a real S3 server, brokers, batches, a counting allocator.
//!
//! Only tests depend on it, so that its helpers may fail the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::disallowed_methods)] // Tests start real processes.
#![allow(missing_docs)] // Names of helpers in tests speak for themselves.

pub mod allocator;
#[cfg(feature = "broker")]
pub mod azure_server;
#[cfg(feature = "broker")]
pub mod batches;
pub mod child;
#[cfg(feature = "broker")]
pub mod cloud_bucket;
#[cfg(feature = "broker")]
pub mod directory_bucket;
#[cfg(feature = "broker")]
pub mod faulty;
#[cfg(feature = "broker")]
pub mod gcs_server;
#[cfg(feature = "broker")]
pub mod http;
pub mod process;
#[cfg(feature = "broker")]
pub mod s3_server;
pub mod seeds;
#[cfg(feature = "server")]
pub mod served;
#[cfg(feature = "broker")]
pub mod server;
#[cfg(feature = "broker")]
pub mod stores;
#[cfg(feature = "broker")]
pub mod unreadable;
