//! After an orderly end, a stored snapshot says how far the journal went, whatever was in flight at that moment. Only
//! then can the next start tell that objects at the end are gone.

use crate::memory::store;
use crate::support::{config, create, one, received};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_broker::journal::{Journal, JournalConfig};
use rawline_broker::store::{Dated, MemoryStore, Store, StoreError, StoredIndex};
use rawline_broker::{Clock, SystemClock};
use rawline_journal::{Garbage, Listing, PartitionId, Place, PutResult, Snapshot, SnapshotName, Source};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// How long a listing or a snapshot takes.
const REQUEST: Duration = Duration::from_secs(10);

/// Listings and snapshots take their time, and the first ones can fail.
struct Failing {
    store: Arc<MemoryStore>,
    lists: Requests,
    snapshots: Requests,
}

#[derive(Default)]
struct Requests {
    begun: AtomicU64,
    /// The first so many fail.
    fail: AtomicU64,
}

impl Failing {
    fn new() -> Arc<Failing> {
        Arc::new(Failing { store: store(), lists: Requests::default(), snapshots: Requests::default() })
    }
}

impl Requests {
    async fn pass(&self) -> Result<(), StoreError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        sleep(REQUEST).await;
        if number < self.fail.load(Ordering::Relaxed) { Err(StoreError::wait("this one fails")) } else { Ok(()) }
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The next one fails.
    fn fail_next(&self) {
        self.fail.store(self.begun() + 1, Ordering::Relaxed);
    }

    /// Waits until another one is in flight.
    async fn another(&self, before: u64) {
        while self.begun() == before {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// The store, in an `Arc` that its requests share.
struct Shared(Arc<Failing>);

impl Store for Shared {
    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        self.0.store.create(source, parts)
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        self.0.store.index(source)
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        self.0.store.bytes(place, range)
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        self.0.store.snapshot(name)
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        self.0.store.newest_snapshot()
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let failing = self.0.clone();
        Box::pin(async move {
            failing.snapshots.pass().await?;
            failing.store.create_snapshot(name, bytes).await
        })
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        let failing = self.0.clone();
        Box::pin(async move {
            failing.lists.pass().await?;
            failing.store.list().await
        })
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        self.0.store.delete(garbage)
    }
}

const PARTITION: PartitionId = PartitionId { topic: 1, number: 0 };

/// A journal that takes a snapshot after every five objects, and not for the time that has passed.
fn open(failing: &Arc<Failing>, clock: &Arc<dyn Clock>) -> Journal {
    let config = JournalConfig { snapshot_objects: 5, snapshot_interval: Duration::from_secs(3600), ..config(1) };
    Journal::open(Arc::new(Shared(failing.clone())), clock.clone(), config)
}

async fn append(journal: &Journal, records: u64) {
    for _ in 0..records {
        journal.append(PARTITION, None, received(&one(&["a"]))).await.unwrap();
    }
}

/// Ends a journal, and returns the number after its newest object and that in its newest snapshot.
async fn ended(journal: Journal, clock: &Arc<dyn Clock>, failing: &Failing) -> (u64, u64) {
    drop(journal);
    // Only the task holds the clock.
    while Arc::strong_count(clock) > 1 {
        sleep(Duration::from_millis(1)).await;
    }
    let newest = failing.store.newest_snapshot().await.unwrap().found;
    let covered = newest.map_or(1, |bytes| Snapshot::parse(&bytes).unwrap().state.chain().next());
    (failing.store.objects() as u64 + 1, covered)
}

async fn begun() -> (Arc<Failing>, Arc<dyn Clock>, Journal) {
    let (failing, clock): (_, Arc<dyn Clock>) = (Failing::new(), Arc::new(SystemClock));
    let journal = open(&failing, &clock);
    journal.change(create("t", 1)).await.unwrap();
    (failing, clock, journal)
}

#[tokio::test(start_paused = true)]
async fn while_a_snapshot_is_being_checked() {
    let (failing, clock, journal) = begun().await;
    let before = failing.lists.begun();
    append(&journal, 4).await;
    failing.lists.another(before).await;
    let (next, covered) = ended(journal, &clock, &failing).await;
    assert_eq!(covered, next);
}

#[tokio::test(start_paused = true)]
async fn while_a_snapshot_is_being_stored_and_fails() {
    let (failing, clock, journal) = begun().await;
    failing.snapshots.fail_next();
    append(&journal, 4).await;
    failing.snapshots.another(0).await;
    let (next, covered) = ended(journal, &clock, &failing).await;
    assert_eq!(covered, next);
}

#[tokio::test(start_paused = true)]
async fn while_a_snapshot_is_being_stored_and_more_follows() {
    let (failing, clock, journal) = begun().await;
    append(&journal, 4).await;
    failing.snapshots.another(0).await;
    append(&journal, 1).await;
    let (next, covered) = ended(journal, &clock, &failing).await;
    assert_eq!(covered, next);
}

#[tokio::test(start_paused = true)]
async fn after_a_check_that_failed() {
    let (failing, clock, journal) = begun().await;
    let before = failing.lists.begun();
    failing.lists.fail_next();
    append(&journal, 4).await;
    failing.lists.another(before).await;
    sleep(2 * REQUEST).await;
    assert_eq!(failing.snapshots.begun(), 0, "a snapshot was stored without a check");
    let (next, covered) = ended(journal, &clock, &failing).await;
    assert_eq!(covered, next);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_failed_is_retried_without_an_append() {
    for fails in ["check", "store"] {
        let (failing, clock, journal) = begun().await;
        match fails {
            "check" => failing.lists.fail_next(),
            _ => failing.snapshots.fail_next(),
        }
        append(&journal, 4).await;
        sleep(Duration::from_secs(2 * 3600)).await;
        let newest = failing.store.newest_snapshot().await.unwrap().found.expect(fails);
        let covered = Snapshot::parse(&newest).unwrap().state.chain().next();
        assert_eq!(covered, failing.store.objects() as u64 + 1, "{fails}");
        assert!(failing.snapshots.begun() <= 2, "{fails}: {} snapshots", failing.snapshots.begun());
        let (next, covered) = ended(journal, &clock, &failing).await;
        assert_eq!(covered, next, "{fails}");
    }
}
