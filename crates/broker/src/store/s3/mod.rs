//! Objects in a bucket of S3, Google Cloud Storage or Azure: one PUT per commit, which creates an object and never
//! overwrites one.
//!
//! A new storage has a journal, whose objects commit appends to all topics (`journal.rs`, `pieces.rs`). A storage that
//! an earlier version has written keeps its layout (`layout.rs`), in which each topic has its own objects: the key
//! is `PREFIX/TOPIC/FIRST_OFFSET.rwl`, the offset in 20 digits, so that keys sort like offsets.
//!
//! The bucket holds all state: a topic's index is read off its listing, or the journal's newest snapshot and the
//! objects after it. Conditional creation (`If-None-Match: *`, or what the service has instead) prevents two brokers
//! from using the same key, so a store that ignores the condition is refused before anything is stored
//! (`probe.rs`). What differs between services is in `connect/`.

mod address;
mod bucket;
mod connect;
mod date;
mod delete_topic;
mod explain;
mod failed;
mod journal;
mod layout;
mod listing;
mod members;
mod outage;
mod pieces;
mod probe;
mod requests;

use super::cache::{Cache, CopyName, Sink};
use super::{BatchTime, Begun, CommitError, Listed, Location, Mappings, ObjectAt, Store, StoreError};
use crate::cluster::MemberStore;
use crate::journal::JournalStore;
use crate::limits::{NEWEST_CHECK_INTERVAL, PREFETCH_OBJECTS_MAX, SETTINGS_BYTES_MAX};
use crate::object::{HEADER_BYTES, Object};
use crate::storage_id::StorageId;
pub use address::{Address, Service};
use bucket::Bucket;
use bytes::Bytes;
pub use connect::{Connected, connect};
use failed::Failed;
use futures_util::future::BoxFuture;
pub use journal::S3Journal;
use layout::Laid;
pub use layout::Layout;
use members::S3Members;
use object_store::path::Path;
use object_store::{ObjectStore, PutPayload};
use pieces::TAG_UNKNOWN;
use probe::Probe;
use rawline_journal::journal_of;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Maximum number of keys in one DeleteObjects request.
const DELETES_MAX: usize = 1000;

/// Where a bucket is, and its timeouts.
pub struct S3Config {
    /// The bucket, and the prefix of every key.
    pub address: Address,
    /// Local copies of what is in the bucket.
    pub cache: Cache,
    /// How long one request may make no progress. A PUT may take a second more for each MiB.
    pub request_timeout: Duration,
    /// How long transient failures are retried.
    pub retry_budget: Duration,
    /// A commit first looks whether the topic's newest object still exists if it was last seen this long ago.
    pub newest_check: Duration,
    /// The layout of a storage that is empty. Others keep theirs.
    pub new_layout: Layout,
    /// How long a journal's objects stay when nobody needs them any more, and the base of what brokers assume about
    /// each other's clocks: whole seconds. A storage that is created now gets it, by default an hour; another value
    /// than that of an existing storage is an error.
    pub deletion_delay: Option<Duration>,
    /// Number of journals, 1 to 64. A storage that is created now gets so many, by default one; another number than
    /// that of an existing storage is an error.
    pub journals: Option<u32>,
    /// Whether objects get the time of the bucket's responses if this machine's clock differs from it. If not, a test
    /// decides which time it is.
    pub has_clock: bool,
    /// Whether nothing is stored but the broker's card. Then the storage must exist, and have a journal.
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
            newest_check: NEWEST_CHECK_INTERVAL,
            new_layout: Layout::Journal,
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
    id: Option<StorageId>,
    bucket: Arc<Bucket>,
    /// What the broker's card waits for, and whoever wants a store that is ready.
    card_probe: Probe,
    cache: Cache,
    /// Foreign keys that the log has reported.
    foreign: Mutex<HashSet<String>>,
    /// The newest object of each topic as it was last seen in the bucket.
    newest: Mutex<HashMap<String, Newest>>,
    /// Names this store in the settings of topics that it deletes.
    deleter: String,
    newest_check: Duration,
    prefetching: Arc<Semaphore>,
    /// If they have the topics.
    journals: Vec<S3Journal>,
}

/// A topic's newest object.
#[derive(Clone, Copy)]
struct Newest {
    first_offset: u64,
    tag: u32,
    seen: Instant,
}

impl S3Store {
    /// Opens the bucket and makes sure that it keeps the condition that commits rest on.
    pub async fn open(config: S3Config) -> Result<S3Store, StoreError> {
        let store = S3Store::open_early(config).await?;
        store.ready().await?;
        Ok(store)
    }

    /// Opens the bucket so that it can be read while the condition is still being checked, which takes several round
    /// trips. Nothing may be stored before [`Store::ready`] returns; a journal's objects wait for it.
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

    async fn open_bucket(bucket: Bucket, config: S3Config) -> Result<S3Store, StoreError> {
        bucket.check_credentials().await?;
        let bucket = Arc::new(bucket);
        let (layout, probe, card_probe) = if config.is_read_only {
            let layout = layout::find_journal(&bucket, &config).await?;
            let refusal = "a broker that is read-only stores nothing in the bucket";
            // A card is replaced without a condition.
            (layout, Probe::decided(Err(StoreError::human(refusal))), Probe::decided(Ok(())))
        } else {
            let probe = Probe::start(bucket.clone());
            match layout::find_or_decide(&bucket, &probe, &config).await {
                Ok(layout) => (layout, probe.clone(), probe),
                // If the probe fails too, its error says more: it asks for more.
                Err(error) => return Err(probe.passed().await.err().unwrap_or(error)),
            }
        };
        let (journals, id) = match layout {
            Laid::Journal { journals, id, deletion_delay } => {
                let journal = |number| {
                    let (bucket, probe, cache, laid) = (bucket.clone(), probe.clone(), config.cache.clone(), layout);
                    S3Journal { number, bucket, cache, probe, laid, deletion_delay, has_clock: config.has_clock }
                };
                ((0..journals).map(journal).collect(), id)
            }
            Laid::Topics => (Vec::new(), None),
        };
        Ok(S3Store {
            id,
            bucket,
            card_probe,
            journals,
            cache: config.cache,
            foreign: Mutex::default(),
            newest: Mutex::default(),
            deleter: delete_topic::new_deleter(),
            newest_check: config.newest_check,
            prefetching: Arc::new(Semaphore::new(2 * PREFETCH_OBJECTS_MAX)),
        })
    }

    /// The journal that has a topic's objects.
    fn journal_of(&self, log: &str) -> Option<&S3Journal> {
        let journals = u32::try_from(self.journals.len()).ok().filter(|&journals| journals > 0)?;
        let topic = log.split_once('/').map_or(log, |(topic, _)| topic);
        self.journals.get(journal_of(topic, journals) as usize)
    }

    /// The name of the local copy that holds an object, or a piece of one.
    fn copy_of(&self, log: &str, object: ObjectAt) -> CopyName {
        match (object.location, self.journal_of(log)) {
            (Location::Journal(place), Some(journal)) => journal.copy_of(place),
            (location, _) => copy_name(log, object.first_offset, location),
        }
    }

    fn saw_newest(&self, topic: &str, first_offset: u64, tag: u32) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Newest { first_offset, tag, seen: Instant::now() };
        match newest.get_mut(topic) {
            Some(before) => *before = now,
            None => drop(newest.insert(topic.to_owned(), now)),
        }
    }

    /// Before a commit: makes sure that the topic's newest object still exists, unless it was seen recently. Otherwise
    /// the topic was deleted in the bucket, and an object at its old end would begin a topic with a hole.
    async fn check_newest(&self, topic: &str, first_offset: u64) -> Result<(), CommitError> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).get(topic).copied();
        let Some(Newest { first_offset: newest, tag, seen }) = newest else { return Ok(()) };
        if seen.elapsed() < self.newest_check || newest >= first_offset {
            return Ok(());
        }
        let path = self.bucket.object_path(topic, newest)?;
        match self.bucket.front(&path, HEADER_BYTES as u64).await? {
            Some((_, found)) if is_same(tag, found) => {
                self.saw_newest(topic, newest, tag);
                return Ok(());
            }
            Some(_) => return Err(CommitError::Store(self.bucket.replaced(&path))),
            None => {}
        }
        // Another broker may have written more and deleted the front. It keeps its newest object.
        if !self.list_keys(topic, newest..u64::MAX).await?.is_empty() {
            return Err(CommitError::Exists);
        }
        Err(CommitError::Store(StoreError::human(format!(
            "{} was the newest object of topic {topic} and is gone, and so is everything after it: somebody has \
             deleted the topic in the bucket. Nothing is stored at its old end; restore its objects, or restart the \
             broker to use the topic as the bucket has it now",
            self.bucket.url(&path)
        ))))
    }

    async fn put(&self, topic: &str, object: Object) -> Result<Location, CommitError> {
        let path = self.bucket.object_path(topic, object.header.first_offset)?;
        self.check_newest(topic, object.header.first_offset).await?;
        let payload: PutPayload = object.parts.iter().cloned().collect();
        let mut tries = self.bucket.tries();
        let tag = loop {
            let failed = match self.bucket.create(&path, payload.clone()).await {
                Ok(tag) => break tag,
                Err(failed) => failed,
            };
            if let Failed::Exists { in_progress } = failed {
                // Is it ours? An earlier try may have succeeded although its response was lost.
                match self.bucket.front(&path, object.header.index_bytes() as u64).await {
                    Ok(Some((front, tag))) => match object.parts.first() {
                        Some(index) if *index == front => break tag,
                        _ => return Err(CommitError::Exists),
                    },
                    // The other request has not created it.
                    Ok(None) if in_progress => {}
                    // It is gone already: others have written more and deleted the front, so our offset is old.
                    Ok(None) => return Err(CommitError::Exists),
                    Err(error) => tracing::warn!(%error, "can't see who has committed; retrying"),
                }
            }
            tries.again(failed).await.map_err(|failed| self.bucket.explain("store", &path, &failed))?;
        };
        let (first_offset, location) = (object.header.first_offset, Location::Key { tag });
        self.saw_newest(topic, first_offset, tag);
        self.cache.put(copy_name(topic, first_offset, location), object.parts);
        Ok(location)
    }

    async fn read(&self, topic: &str, object: ObjectAt, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if let Location::Journal(place) = object.location {
            let Some(journal) = self.journal_of(topic) else {
                unreachable!("{object:?} in a bucket without a journal")
            };
            return journal.read_piece(object.first_offset, place, range).await;
        }
        let path = self.bucket.object_path(topic, object.first_offset)?;
        let name = copy_name(topic, object.first_offset, object.location);
        // A search by time looks at many objects' headers: that must not download the objects.
        if range.start == 0 && range.end <= HEADER_BYTES as u64 && !self.cache.holds(&name) {
            let index = self.bucket.index(&path).await;
            let index = index.map_err(|error| self.bucket.unreadable(&path, error))?;
            return match index {
                Some((_, front, tag)) if is_same(name.tag, tag) => Ok(front.slice(..range.end as usize)),
                Some(_) => Err(self.bucket.replaced(&path)),
                None => Err(self.bucket.gone(&path)),
            };
        }
        let fetch = fetch(&self.bucket, path.clone(), object.bytes, object.location.tag());
        let read = self.cache.get(&name, object.bytes, range, fetch).await;
        read.map_err(|error| self.bucket.unreadable(&path, error))
    }

    async fn delete_front(&self, topic: &str, offset: u64) -> Result<u64, StoreError> {
        let listed = self.list_keys(topic, 0..offset).await?;
        let Some(newest) = listed.last() else { return Ok(offset) };
        // An object ends where the next begins; the newest stays, because it says where the topic goes on.
        let ends = listed.iter().skip(1).map(|next| next.first_offset);
        let count = ends.take_while(|&end| end <= offset).count();
        let (old, kept) = listed.split_at_checked(count).unwrap_or_default();
        // From the front, one request after the other, so that a failure leaves no hole.
        for old in old.chunks(DELETES_MAX) {
            self.delete_all(topic, old).await?;
        }
        Ok(kept.first().unwrap_or(newest).first_offset)
    }

    /// Deletes at most [`DELETES_MAX`] objects and their copies.
    async fn delete_all(&self, topic: &str, old: &[Listed]) -> Result<(), StoreError> {
        let paths: Result<Vec<Path>, StoreError> =
            old.iter().map(|old| self.bucket.object_path(topic, old.first_offset)).collect();
        self.delete_keys(topic, &paths?).await?;
        self.cache.remove(old.iter().map(|old| copy_name(topic, old.first_offset, old.location)).collect()).await;
        Ok(())
    }

    /// Deletes at most [`DELETES_MAX`] keys of a topic.
    async fn delete_keys(&self, topic: &str, paths: &[Path]) -> Result<(), StoreError> {
        assert!(paths.len() <= DELETES_MAX, "{} keys in one request", paths.len());
        let mut tries = self.bucket.tries();
        while let Err(failed) = self.bucket.delete(paths).await {
            let dir = self.bucket.topic_path(topic)?;
            tries.again(failed).await.map_err(|failed| self.bucket.explain("delete from", &dir, &failed))?;
        }
        Ok(())
    }
}

impl Store for S3Store {
    fn id(&self) -> Option<StorageId> {
        self.id
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.card_probe.passed())
    }

    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(self.bucket.topics())
    }

    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        Box::pin(self.list_from(topic, from))
    }

    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        Box::pin(async move { self.put(topic, object).await.map(Begun::done) })
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(self.read(topic, object, range))
    }

    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async move {
            let path = self.bucket.settings_path(topic)?;
            Ok(self.bucket.front(&path, SETTINGS_BYTES_MAX as u64).await?.map(|(settings, _)| settings))
        })
    }

    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let path = self.bucket.settings_path(topic)?;
            self.bucket.replace(&path, settings).await
        })
    }

    fn journal(&self) -> Option<Arc<dyn JournalStore>> {
        self.journals.first().map(|journal| Arc::new(journal.clone()) as Arc<dyn JournalStore>)
    }

    fn journals(&self) -> Vec<Arc<dyn JournalStore>> {
        self.journals.iter().map(|journal| Arc::new(journal.clone()) as Arc<dyn JournalStore>).collect()
    }

    fn members(&self) -> Option<Arc<dyn MemberStore>> {
        self.journals.first()?;
        Some(Arc::new(S3Members::new(self.bucket.clone(), self.card_probe.clone())))
    }

    fn has_partitions(&self) -> bool {
        false
    }

    fn can_prefetch(&self) -> bool {
        true
    }

    fn prefetch(&self, topic: &str, objects: &[ObjectAt]) {
        for object in objects {
            let name = self.copy_of(topic, *object);
            if self.cache.holds(&name) {
                continue;
            }
            let Ok(permit) = self.prefetching.clone().try_acquire_owned() else { return };
            let (path, bytes, tag) = match (object.location, self.journal_of(topic)) {
                (Location::Journal(place), Some(journal)) => {
                    (journal.object_path(place.source), u64::from(place.object_bytes), TAG_UNKNOWN)
                }
                (location, _) => (self.bucket.object_path(topic, object.first_offset), object.bytes, location.tag()),
            };
            let Ok(path) = path else { return };
            self.cache.prefetch(name, bytes, permit, fetch(&self.bucket, path, bytes, tag));
        }
    }

    fn batch_times<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
    ) -> BoxFuture<'a, Result<Option<Vec<BatchTime>>, StoreError>> {
        Box::pin(async move {
            match (object.location, self.journal_of(topic)) {
                (Location::Journal(place), Some(journal)) => journal.batch_times(place).await.map(Some),
                _ => Ok(None),
            }
        })
    }

    fn discard<'a>(&'a self, topic: &'a str, object: ObjectAt) -> BoxFuture<'a, bool> {
        Box::pin(self.cache.remove(vec![self.copy_of(topic, object)]))
    }

    fn mappings(&self) -> Option<Arc<Mappings>> {
        Some(self.cache.mappings())
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.delete_front(topic, offset))
    }

    fn mark_deleted<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.mark_topic(topic))
    }

    fn delete_topic<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.delete_marked(topic))
    }
}

/// Fetches an object into a sink, as often as it is called.
fn fetch(
    bucket: &Arc<Bucket>,
    path: Path,
    bytes: u64,
    tag: u32,
) -> impl Fn(Sink) -> BoxFuture<'static, Result<(), StoreError>> + Clone + Send + Sync + 'static {
    let bucket = bucket.clone();
    move |sink| {
        let (bucket, path) = (bucket.clone(), path.clone());
        Box::pin(async move { bucket.fetch(&path, bytes, tag, sink).await })
    }
}

/// Whether tags are those of one object; 0 is not known.
fn is_same(tag: u32, found: u32) -> bool {
    tag == found || tag == 0 || found == 0
}

fn copy_name(topic: &str, first_offset: u64, location: Location) -> CopyName {
    CopyName { topic: topic.to_owned(), first_offset, tag: location.tag() }
}
