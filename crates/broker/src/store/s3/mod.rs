//! Objects in a bucket of S3, Google Cloud Storage or Azure: one PUT per commit, which creates an object and never
//! overwrites one.
//!
//! The bucket holds all state: the journals' newest snapshots and the objects after them (`journal.rs`).
//! `layout.rs` has what a storage says of itself. Conditional creation (`If-None-Match: *`, or what the service has
//! instead) prevents two brokers from using the same key, so a store that ignores the condition is refused before
//! anything is stored (`probe.rs`). What differs between services is in `connect/`.

mod address;
mod bucket;
mod connect;
mod date;
mod explain;
mod failed;
mod hedge;
mod journal;
mod layout;
mod list;
mod members;
mod open;
mod outage;
mod probe;
mod readers;
mod requests;
mod tries;

pub use address::{Address, Service};
pub use connect::{Connected, connect};
pub use open::{open, open_early, probe};

use super::cache::Cache;
use super::{Purpose, StoreError};
use std::time::Duration;

/// Maximum number of keys in one DeleteObjects request.
const DELETES_MAX: usize = 1000;

/// Where a bucket is, and its timeouts.
pub struct S3Config {
    /// The bucket, and the prefix of every key.
    pub address: Address,
    /// Local copies of objects in the bucket.
    pub cache: Cache,
    /// How long one request may make no progress. A PUT may take a second more for each MiB.
    pub request_timeout: Duration,
    /// How long transient failures are retried; those of a start for twice as long.
    pub retry_budget: Duration,
    /// Minimum time to keep unreferenced objects of a journal, and the base of what brokers assume about
    /// each other's clocks: whole seconds. A storage that is created now gets it, by default an hour; another value
    /// than that of an existing storage is an error.
    pub deletion_delay: Option<Duration>,
    /// Number of journals, 1 to 64. A storage that is created now gets so many, by default one; another number than
    /// that of an existing storage is an error.
    pub journals: Option<u32>,
    /// Whether objects get the time of the bucket's responses if this machine's clock differs from it. If not, a test
    /// decides which time it is.
    pub has_clock: bool,
    /// Whether nothing is stored but the broker's card. Then the storage must exist.
    pub is_read_only: bool,
    /// What the storage is opened for.
    pub purpose: Purpose,
    /// The service's usual variables, among them its endpoint and credentials: those that `object_store` knows of
    /// `AWS_…`, `GOOGLE_…` or `AZURE_…`, and `STORAGE_EMULATOR_HOST` and `AZURE_STORAGE_CONNECTION_STRING`.
    pub variables: Vec<(String, String)>,
}

impl S3Config {
    /// The bucket and prefix of `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`, with the
    /// variables of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the variables of the service's tools configure the store; a caller may replace them"
    )]
    pub fn new(url: &str, cache: Cache) -> Result<S3Config, StoreError> {
        Ok(S3Config {
            address: Address::parse(url)?,
            cache,
            request_timeout: Duration::from_secs(10),
            retry_budget: Duration::from_secs(30),
            deletion_delay: None,
            journals: None,
            has_clock: true,
            is_read_only: false,
            purpose: Purpose::Broker,
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        })
    }
}
