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
mod journal;
mod layout;
mod members;
mod outage;
mod probe;
mod requests;
mod tries;

use super::cache::Cache;
use super::{MemberStore, Storage, Store, StoreError};
pub use address::{Address, Service};
use bucket::Bucket;
pub use connect::{Connected, connect};
use futures_util::future::BoxFuture;
use journal::S3Store;
use members::S3Members;
use probe::Probe;
use std::sync::Arc;
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
    /// How long transient failures are retried.
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
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        })
    }
}

/// Opens the bucket and makes sure that it keeps the condition that commits rest on.
pub async fn open(config: S3Config) -> Result<Storage, StoreError> {
    let storage = open_early(config).await?;
    storage.journal().ready().await?;
    Ok(storage)
}

/// Opens the bucket so that it can be read while the condition is still being checked, which takes several round
/// trips. A journal's objects wait for it. Boxed, so that its code is compiled in this crate only.
pub fn open_early(config: S3Config) -> BoxFuture<'static, Result<Storage, StoreError>> {
    Box::pin(look(config))
}

async fn look(config: S3Config) -> Result<Storage, StoreError> {
    let bucket = Arc::new(Bucket::new(&config)?);
    bucket.check_credentials().await?;
    let (laid, probe, card_probe) = if config.is_read_only {
        let laid = layout::find(&bucket, &config).await?;
        let refusal = "a broker that is read-only stores nothing in the bucket";
        // A card is replaced without a condition.
        (laid, Probe::decided(Err(StoreError::human(refusal))), Probe::decided(Ok(())))
    } else {
        let probe = Probe::start(bucket.clone());
        match layout::find_or_decide(&bucket, &probe, &config).await {
            Ok(laid) => (laid, probe.clone(), probe),
            // If the probe fails too, its error says more: it asks for more.
            Err(error) => return Err(probe.passed().await.err().unwrap_or(error)),
        }
    };
    let journal = |number| {
        Arc::new(S3Store {
            number,
            bucket: bucket.clone(),
            cache: config.cache.clone(),
            probe: probe.clone(),
            card_probe: card_probe.clone(),
            laid,
            has_clock: config.has_clock,
        }) as Arc<dyn Store>
    };
    let journals = (0..laid.journals).map(journal).collect();
    let members = Some(Arc::new(S3Members::new(bucket.clone(), card_probe.clone())) as Arc<dyn MemberStore>);
    Ok(Storage { id: laid.id, journals, members, _lock: None })
}
