//! Objects in a bucket of S3, Google Cloud Storage or Azure: one PUT per commit, which creates an object and never
//! overwrites one.
//!
//! The bucket holds all state: the journals' newest snapshots and the objects after them (`journal.rs`, `pieces.rs`).
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
mod pieces;
mod probe;
mod requests;
mod tries;

use super::cache::{Cache, Sink};
use super::{BatchTime, Mappings, ObjectAt, Store};
use crate::journal::JournalStore;
use crate::limits::PREFETCH_OBJECTS_MAX;
use crate::storage_id::StorageId;
use crate::store::MemberStore;
use crate::store_error::StoreError;
pub use address::{Address, Service};
use bucket::Bucket;
use bytes::Bytes;
pub use connect::{Connected, connect};
use futures_util::future::BoxFuture;
pub use journal::S3Journal;
use layout::Laid;
use members::S3Members;
use object_store::ObjectStore;
use object_store::path::Path;
use probe::Probe;
use rawline_journal::journal_of;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

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

/// Topics in a bucket.
pub struct S3Store {
    laid: Laid,
    bucket: Arc<Bucket>,
    /// What the broker's card waits for, and callers that want a store that is ready.
    card_probe: Probe,
    cache: Cache,
    prefetching: Arc<Semaphore>,
    /// By number.
    journals: Vec<S3Journal>,
}

impl S3Store {
    /// Opens the bucket and makes sure that it keeps the condition that commits rest on.
    pub async fn open(config: S3Config) -> Result<S3Store, StoreError> {
        let store = S3Store::open_early(config).await?;
        store.ready().await?;
        Ok(store)
    }

    /// Opens the bucket so that it can be read while the condition is still being checked, which takes several round
    /// trips. A journal's objects wait for it.
    pub async fn open_early(config: S3Config) -> Result<S3Store, StoreError> {
        S3Store::open_bucket(Bucket::new(&config)?, config).await
    }

    /// Opens a store that stands in for a bucket: for tests and simulations. `config` names it in messages.
    pub async fn open_over(store: Arc<dyn ObjectStore>, config: S3Config) -> Result<S3Store, StoreError> {
        let endpoint = store.to_string();
        let store = S3Store::open_bucket(Bucket::over(store, endpoint, &config), config).await?;
        store.ready().await?;
        Ok(store)
    }

    /// Boxed, so that its code is compiled in this crate only.
    fn open_bucket(bucket: Bucket, config: S3Config) -> BoxFuture<'static, Result<S3Store, StoreError>> {
        Box::pin(S3Store::look(bucket, config))
    }

    async fn look(bucket: Bucket, config: S3Config) -> Result<S3Store, StoreError> {
        bucket.check_credentials().await?;
        let bucket = Arc::new(bucket);
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
            let (bucket, probe, cache) = (bucket.clone(), probe.clone(), config.cache.clone());
            S3Journal { number, bucket, cache, probe, laid, has_clock: config.has_clock }
        };
        Ok(S3Store {
            journals: (0..laid.journals).map(journal).collect(),
            laid,
            bucket,
            card_probe,
            cache: config.cache,
            prefetching: Arc::new(Semaphore::new(2 * PREFETCH_OBJECTS_MAX)),
        })
    }

    /// The journal that has a topic's objects.
    fn journal_of(&self, log: &str) -> &S3Journal {
        let topic = log.split_once('/').map_or(log, |(topic, _)| topic);
        let number = journal_of(topic, self.laid.journals);
        let Some(journal) = self.journals.get(number as usize) else { unreachable!("journal {number} of {log:?}") };
        journal
    }
}

impl Store for S3Store {
    fn id(&self) -> Option<StorageId> {
        self.laid.id
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.card_probe.passed())
    }

    fn journals(&self) -> Vec<Arc<dyn JournalStore>> {
        self.journals.iter().map(|journal| Arc::new(journal.clone()) as Arc<dyn JournalStore>).collect()
    }

    fn members(&self) -> Option<Arc<dyn MemberStore>> {
        Some(Arc::new(S3Members::new(self.bucket.clone(), self.card_probe.clone())))
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        if range.is_empty() {
            return Box::pin(std::future::ready(Ok(Bytes::new())));
        }
        Box::pin(self.journal_of(topic).read_piece(object.first_offset, object.place, range))
    }

    fn can_prefetch(&self) -> bool {
        true
    }

    fn prefetch(&self, topic: &str, objects: &[ObjectAt]) {
        let journal = self.journal_of(topic);
        for ObjectAt { place, .. } in objects {
            let name = journal.copy_of(*place);
            if self.cache.holds(&name) {
                continue;
            }
            let Ok(permit) = self.prefetching.clone().try_acquire_owned() else { return };
            let Ok(path) = journal.object_path(place.source) else { return };
            let bytes = u64::from(place.object_bytes);
            self.cache.prefetch(name, bytes, permit, fetch(&self.bucket, path, bytes));
        }
    }

    fn batch_times<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
    ) -> BoxFuture<'a, Result<Vec<BatchTime>, StoreError>> {
        Box::pin(self.journal_of(topic).batch_times(object.place))
    }

    fn discard<'a>(&'a self, topic: &'a str, object: ObjectAt) -> BoxFuture<'a, bool> {
        Box::pin(self.cache.remove(vec![self.journal_of(topic).copy_of(object.place)]))
    }

    fn mappings(&self) -> Option<Arc<Mappings>> {
        Some(self.cache.mappings())
    }
}

/// Fetches an object into a sink, as often as it is called.
fn fetch(
    bucket: &Arc<Bucket>,
    path: Path,
    bytes: u64,
) -> impl Fn(Sink) -> BoxFuture<'static, Result<(), StoreError>> + Clone + Send + Sync + 'static {
    let bucket = bucket.clone();
    move |sink| {
        let (bucket, path) = (bucket.clone(), path.clone());
        Box::pin(async move { bucket.fetch(&path, bytes, sink).await })
    }
}
