//! A large snapshot is stored in parts, and its root after them: a start reads all of them, or says which one is
//! missing.

use crate::merging::store;
use crate::support::{config, create, one, received};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_broker::SystemClock;
use rawline_broker::journal::{Journal, JournalConfig};
use rawline_broker::store::{Dated, MemoryStore, Store, StoreError, StoredIndex};
use rawline_journal::{Garbage, Listing, PartitionId, Place, PutResult, SnapshotName, SnapshotRoot, Source};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const TOPICS: u64 = 5;

/// Notes the requests for snapshots. The next ones may fail.
#[derive(Clone)]
struct Noting {
    store: Arc<MemoryStore>,
    created: Arc<Mutex<Vec<SnapshotName>>>,
    /// Number of requests for parts, from now on, that fail.
    failing: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    in_flight_max: Arc<AtomicUsize>,
}

impl Noting {
    fn new(store: &Arc<MemoryStore>) -> Noting {
        let none = Arc::<AtomicUsize>::default;
        Noting {
            store: store.clone(),
            created: Arc::default(),
            failing: none(),
            in_flight: none(),
            in_flight_max: none(),
        }
    }

    /// A request for a snapshot, which takes a while.
    async fn pass(&self, name: SnapshotName) -> Result<(), StoreError> {
        self.in_flight_max.fetch_max(self.in_flight.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        sleep(Duration::from_millis(10)).await;
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let fails = |count: usize| count.checked_sub(1);
        match self.failing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails) {
            Ok(_) if !name.is_root() => Err(StoreError::wait("this one fails")),
            _ => Ok(()),
        }
    }

    fn created(&self) -> Vec<SnapshotName> {
        self.created.lock().unwrap().clone()
    }
}

impl Store for Noting {
    fn settings(&self, settings: JournalConfig) -> JournalConfig {
        self.store.settings(settings)
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        self.store.create(source, parts)
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        self.store.index(source)
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        self.store.bytes(place, range)
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            this.pass(name).await?;
            this.store.snapshot(name).await
        })
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        self.store.newest_snapshot()
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            this.pass(name).await?;
            this.store.create_snapshot(name, bytes).await?;
            this.created.lock().unwrap().push(name);
            Ok(())
        })
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        self.store.list()
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        self.store.delete(garbage)
    }
}

/// A journal whose snapshots have a part for each topic and partition. It takes one at its end, and some time after an
/// append.
fn open(store: &Noting, run: u64) -> Journal {
    let hour = Duration::from_secs(3600);
    let config = JournalConfig {
        snapshot_part_bytes: 1,
        snapshot_objects: u64::MAX - 1,
        snapshot_interval: hour,
        garbage_interval: Duration::from_secs(60),
        check_interval: hour / 60,
        merge: None,
        ..config(run)
    };
    Journal::open(Arc::new(store.clone()), Arc::new(SystemClock), config)
}

fn partition(topic: u64) -> PartitionId {
    PartitionId { topic, number: 0 }
}

async fn append(journal: &Journal, topic: u64) {
    journal.append(partition(topic), None, received(&one(&["a"]))).await.unwrap();
}

/// Ends a journal, which stores a snapshot of [`TOPICS`] topics with a record each.
async fn filled(store: &Noting) -> Vec<SnapshotName> {
    let journal = open(store, 1);
    for topic in 1..=TOPICS {
        journal.change(create(&format!("t{topic}"), 1)).await.unwrap();
        append(&journal, topic).await;
    }
    ended(journal, store).await
}

/// Ends a journal. Returns what it has created since the last end.
async fn ended(journal: Journal, store: &Noting) -> Vec<SnapshotName> {
    drop(journal);
    sleep(Duration::from_secs(30)).await;
    std::mem::take(&mut store.created.lock().unwrap())
}

fn ends(journal: &Journal) -> Vec<Range<u64>> {
    (1..=TOPICS).map(|topic| journal.offsets(partition(topic))).collect()
}

#[tokio::test(start_paused = true)]
async fn the_root_is_stored_after_its_parts_and_a_start_reads_several_at_a_time() {
    let store = Noting::new(&store());
    let created = filled(&store).await;
    let (root, parts) = created.split_last().unwrap();
    assert!(root.is_root() && parts.iter().all(|part| !part.is_root()), "{created:?}");
    assert_eq!(parts.len() as u64, 2 * TOPICS);
    let bytes = store.store.snapshot(*root).await.unwrap().unwrap();
    let root = SnapshotRoot::parse(&bytes).unwrap();
    let named: Vec<_> = root.separate_parts().iter().map(|entry| entry.name).collect();
    assert!(named.iter().all(|name| parts.contains(name)), "{named:?}, stored are {parts:?}");
    store.in_flight_max.store(0, Ordering::Relaxed);
    let journal = open(&store, 2);
    journal.ready().await.unwrap();
    assert_eq!(ends(&journal), vec![0..1; TOPICS as usize]);
    assert!(store.in_flight_max.load(Ordering::Relaxed) > 1, "one part after the other");
}

#[tokio::test(start_paused = true)]
async fn parts_that_fail_for_a_moment_are_repeated_and_without_one_there_is_no_root() {
    let store = Noting::new(&store());
    store.failing.store(3, Ordering::Relaxed);
    let created = filled(&store).await;
    assert_eq!(created.len() as u64, 2 * TOPICS + 1);
    store.failing.store(3, Ordering::Relaxed);
    let journal = open(&store, 2);
    journal.ready().await.unwrap();
    append(&journal, 1).await;
    store.failing.store(usize::MAX, Ordering::Relaxed);
    let created = ended(journal, &store).await;
    assert_eq!(created, [], "a part is missing");
    store.failing.store(0, Ordering::Relaxed);
    let journal = open(&store, 3);
    journal.ready().await.unwrap();
    assert_eq!(journal.offsets(partition(1)), 0..2, "of the snapshot before, and the object after it");
}

#[tokio::test(start_paused = true)]
async fn a_start_without_a_part_waits_for_it() {
    let store = Noting::new(&store());
    let part = filled(&store).await[3];
    let bytes = store.store.snapshot(part).await.unwrap().unwrap();
    store.store.delete(Garbage { snapshots: vec![part], ..Garbage::default() }).await.unwrap();
    let journal = open(&store, 2);
    assert!(timeout(Duration::from_secs(30), journal.ready()).await.is_err(), "{part} is missing");
    store.store.create_snapshot(part, bytes).await.unwrap();
    journal.ready().await.unwrap();
    assert_eq!(ends(&journal), vec![0..1; TOPICS as usize]);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_goes_missing_is_stored_again() {
    let store = Noting::new(&store());
    let part = filled(&store).await[3];
    let journal = open(&store, 2);
    journal.ready().await.unwrap();
    store.store.delete(Garbage { snapshots: vec![part], ..Garbage::default() }).await.unwrap();
    sleep(Duration::from_secs(3600)).await;
    assert!(store.created().contains(&part), "{:?}", store.created());
    drop(journal);
}

#[tokio::test(start_paused = true)]
async fn parts_without_a_root_are_deleted_after_a_newer_snapshot() {
    let store = Noting::new(&store());
    let created = filled(&store).await;
    let old = created[0].next_number;
    // A broker that was killed has left one; another is storing a snapshot that is newer than all.
    let (left, new) = (SnapshotName::part(old, 77, 7), SnapshotName::part(old + 100, 0, 7));
    for part in [left, new] {
        store.store.create_snapshot(part, "part".into()).await.unwrap();
    }
    let listed = async || {
        let Listing { snapshots, mut parts, .. } = store.store.list().await.unwrap().found;
        parts.sort_unstable();
        (snapshots.iter().map(|key| key.number).max(), parts)
    };
    let day = Duration::from_secs(86_400);
    let journal = open(&store, 2);
    journal.ready().await.unwrap();
    sleep(day).await;
    let (newest, parts) = listed().await;
    assert!(newest == Some(old) && parts.contains(&left), "{parts:?} next to the decisive one");
    append(&journal, 1).await;
    sleep(day).await;
    let (newest, parts) = listed().await;
    let newest = newest.unwrap();
    assert!(newest > old, "{newest}");
    assert!(parts.iter().all(|part| part.next_number >= newest), "{parts:?} before {newest}");
    assert_eq!((parts.len() as u64, parts.last()), (2 * TOPICS + 1, Some(&new)));
    drop(journal);
}
