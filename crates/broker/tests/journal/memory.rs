//! On a store in memory.

use crate::support::{all, config, create, one, open, received};
use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use rawline_broker::journal::{Journal, JournalConfig, JournalError};
use rawline_broker::store::{Dated, MemoryStore, Store, StoreError, StoredIndex};
use rawline_broker::{Clock, SystemClock};
use rawline_journal::{
    Control, Garbage, Listing, PartitionId, Place, Producer, PutResult, Refused, Rejected, SnapshotName, Source,
};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock)))
}

#[tokio::test(start_paused = true)]
async fn one_object_commits_many_partitions() {
    let store = store();
    let journal = open(store.clone(), 1);
    let topic = journal.change(create("t", 1000)).await.unwrap();
    let before = store.objects();
    let appends = (0..1000).map(|number| {
        let journal = journal.clone();
        async move {
            let (partition, record) = (PartitionId { topic, number }, format!("record of {number}"));
            journal.append(partition, None, received(&one(&[&record]))).await.unwrap()
        }
    });
    let appended = futures_util::future::join_all(appends).await;
    assert!(appended.iter().all(|appended| (appended.first_offset, appended.next_offset) == (0, 1)));
    assert!(store.objects() - before <= 2, "{} objects", store.objects() - before);
    for number in [0, 1, 500, 999] {
        assert_eq!(all(&journal, PartitionId { topic, number }).await, [format!("record of {number}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn batches_are_stored_verbatim() {
    let journal = open(store(), 1);
    let topic = journal.change(create("t", 1)).await.unwrap();
    let partition = PartitionId { topic, number: 0 };
    let batches = [one(&["a", "", "ccc"]), one(&["d"]), one(&["e", "f"])];
    let two = [&batches[0][..], &batches[1]].concat();
    let first = journal.append(partition, None, received(&two)).await.unwrap();
    let second = journal.append(partition, None, received(&batches[2])).await.unwrap();
    assert_eq!((first.first_offset, first.next_offset, second.first_offset), (0, 4, 4));
    let piece = journal.read(partition, 3).await.unwrap().unwrap();
    assert_eq!((piece.first_offset, piece.next_offset, &piece.batches[..]), (0, 4, &two[..]));
    let piece = journal.read(partition, 4).await.unwrap().unwrap();
    assert_eq!((piece.first_offset, &piece.batches[..]), (4, &batches[2][..]));
    assert_eq!(journal.read(partition, 6).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_broker_knows_everything() {
    let store = store();
    let partition = PartitionId { topic: 1, number: 0 };
    let producer = |sequence| Some(Producer { id: 7, epoch: 0, sequence, wraps: false });
    {
        let mut config = config(1);
        config.snapshot_objects = 5;
        let journal = Journal::open(store.clone(), Arc::new(SystemClock), config);
        assert_eq!(journal.change(create("t", 1)).await.unwrap(), 1);
        for sequence in 0..12 {
            let text = sequence.to_string();
            journal.append(partition, producer(sequence), received(&one(&[&text]))).await.unwrap();
        }
        journal.change(Control::Trim { partition, first_offset: 10 }).await.unwrap();
    }
    let journal = open(store.clone(), 2);
    let again = journal.append(partition, producer(11), received(&one(&["11"]))).await.unwrap();
    assert_eq!((again.first_offset, again.next_offset), (11, 12), "a duplicate has its original offsets");
    assert_eq!(all(&journal, partition).await, ["10", "11"]);
    let gap = journal.append(partition, producer(13), received(&one(&["13"]))).await.unwrap_err();
    assert!(matches!(gap, JournalError::Rejected(Rejected::Gap { expected: 12, found: 13 })), "{gap}");
    let exists = journal.change(create("t", 1)).await.unwrap_err();
    assert!(matches!(exists, JournalError::Refused(Refused::Exists { topic: 1 })), "{exists}");
}

/// A clock that a test sets.
#[derive(Default)]
struct Days(AtomicU64);

impl Clock for Days {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed) * 24 * 3600 * 1_000_000
    }
}

#[tokio::test(start_paused = true)]
async fn producers_are_forgotten_after_seven_days_and_their_names_are_not() {
    let (store, days) = (store(), Arc::new(Days(AtomicU64::new(100))));
    let open = |run| {
        let config = JournalConfig { snapshot_objects: 2, ..config(run) };
        Journal::open(store.clone(), days.clone(), config)
    };
    let partition = PartitionId { topic: 1, number: 0 };
    let append = async |journal: &Journal, id, epoch, sequence| {
        let producer = Some(Producer { id, epoch, sequence, wraps: false });
        let appended = journal.append(partition, producer, received(&one(&["x"]))).await;
        appended.map(|appended| appended.first_offset).map_err(|error| match error {
            JournalError::Rejected(rejected) => rejected,
            error => panic!("{error}"),
        })
    };
    let first = {
        let journal = open(1);
        journal.change(create("t", 1)).await.unwrap();
        let first = journal.open_producer("orders", "").await.unwrap();
        assert_eq!(append(&journal, first.id, first.epoch, 0).await, Ok(0));
        assert_eq!(append(&journal, 7, 0, 0).await, Ok(1));
        let second = journal.open_producer("orders", "").await.unwrap();
        assert_eq!((second.id, second.epoch), (first.id, first.epoch + 1));
        first
    };
    let journal = open(2);
    // However far a clock goes, an object makes the journal older by a day at most.
    for day in 1..=7 {
        days.0.store(if day == 1 { 4000 } else { 100 + day }, Ordering::Relaxed);
        assert_eq!(append(&journal, 8, 0, day - 1).await, Ok(1 + day));
    }
    // The last append is in an object of the seventh day, but for a moment: the producers are not older than that.
    assert_eq!(append(&journal, 7, 0, 5).await, Err(Rejected::Gap { expected: 1, found: 5 }));
    days.0.store(108, Ordering::Relaxed);
    assert_eq!(append(&journal, 8, 0, 7).await, Ok(9));
    days.0.store(109, Ordering::Relaxed);
    assert_eq!(append(&journal, 8, 0, 8).await, Ok(10));
    drop(journal);
    let journal = open(3);
    assert_eq!(append(&journal, 7, 0, 5).await, Ok(11), "nothing is known of it any more");
    assert_eq!(append(&journal, 8, 0, 8).await, Ok(10), "a duplicate");
    let fenced = Err(Rejected::Fenced { current: 1, found: 0 });
    assert_eq!(append(&journal, first.id, 0, 1).await, fenced);
    assert_eq!(append(&journal, first.id, 1, 0).await, Ok(12));
    assert_eq!(journal.open_producer("orders", "").await.unwrap().epoch, 2);
}

#[tokio::test(start_paused = true)]
async fn two_writers_share_one_chain() {
    let store = store();
    let writers = [open(store.clone(), 1), open(store.clone(), 2)];
    let topic = writers[0].change(create("t", 2)).await.unwrap();
    let exists = writers[1].change(create("t", 2)).await.unwrap_err();
    assert!(matches!(exists, JournalError::Refused(Refused::Exists { topic: found }) if found == topic), "{exists}");
    let appends = (0..40).map(|n: u32| {
        let journal = writers[n as usize % 2].clone();
        async move {
            let partition = PartitionId { topic, number: n / 2 % 2 };
            let appended = journal.append(partition, None, received(&one(&[&n.to_string()]))).await.unwrap();
            (partition, appended.first_offset, n.to_string())
        }
    });
    let appended = futures_util::future::join_all(appends).await;
    let fresh = open(store, 3);
    for number in 0..2 {
        let partition = PartitionId { topic, number };
        fresh.append(partition, None, received(&one(&["last"]))).await.unwrap();
        let records = all(&fresh, partition).await;
        assert_eq!(records.len(), 21);
        for (_, offset, record) in appended.iter().filter(|(found, ..)| *found == partition) {
            assert_eq!(&records[*offset as usize], record);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_to_a_deleted_topic_is_rejected() {
    let journal = open(store(), 1);
    let topic = journal.change(create("t", 1)).await.unwrap();
    let partition = PartitionId { topic, number: 0 };
    journal.append(partition, None, received(&one(&["a"]))).await.unwrap();
    journal.change(Control::Delete { topic }).await.unwrap();
    let rejected = journal.append(partition, None, received(&one(&["b"]))).await.unwrap_err();
    let expected = Rejected::Partition(Refused::NoTopic { topic });
    assert!(matches!(rejected, JournalError::Rejected(found) if found == expected), "{rejected}");
    assert_eq!(journal.read(partition, 0).await.unwrap(), None);
    let successor = journal.change(create("t", 1)).await.unwrap();
    assert_ne!(successor, topic, "an id is never used again");
    let appended = journal.append(PartitionId { topic: successor, number: 0 }, None, received(&one(&["c"]))).await;
    assert_eq!(appended.unwrap().first_offset, 0);
}

/// A store whose requests take 50 ms.
pub(crate) struct Slow(pub(crate) Arc<MemoryStore>, pub(crate) Arc<Open>);

/// Counts reads of indexes.
#[derive(Default)]
pub(crate) struct Open {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A read of an index, which ends when it is dropped.
struct OpenRead(Arc<Open>);

impl OpenRead {
    fn begin(open: Arc<Open>) -> OpenRead {
        open.begun.fetch_add(1, Ordering::Relaxed);
        OpenRead(open)
    }
}

impl Drop for OpenRead {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) const REQUEST: Duration = Duration::from_millis(50);

/// Carries a request out after its way to the store.
fn late<T: Send + 'static>(request: impl FnOnce() -> BoxFuture<'static, T> + Send + 'static) -> BoxFuture<'static, T> {
    Box::pin(async move {
        tokio::time::sleep(REQUEST).await;
        request().await
    })
}

impl Store for Slow {
    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let store = self.0.clone();
        late(move || store.create(source, parts))
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        let (store, read) = (self.0.clone(), OpenRead::begin(self.1.clone()));
        late(move || {
            Box::pin(async move {
                let index = store.index(source).await;
                drop(read);
                index
            })
        })
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        let store = self.0.clone();
        late(move || store.bytes(place, range))
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        let store = self.0.clone();
        late(move || store.snapshot(name))
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        let store = self.0.clone();
        late(move || store.newest_snapshot())
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let store = self.0.clone();
        late(move || store.create_snapshot(name, bytes))
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        let store = self.0.clone();
        late(move || store.list())
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        let store = self.0.clone();
        late(move || store.delete(garbage))
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_journal_is_read_in_few_round_trips() {
    let store = store();
    let partition = PartitionId { topic: 1, number: 0 };
    {
        let journal = open(store.clone(), 1);
        journal.change(create("t", 1)).await.unwrap();
        for _ in 0..2000 {
            journal.append(partition, None, received(&one(&["a"]))).await.unwrap();
        }
    }
    assert!(store.objects() > 2000, "{} objects", store.objects());
    let began = Instant::now();
    let mut config = config(2);
    config.snapshot_objects = u64::MAX;
    let journal = Journal::open(Arc::new(Slow(store, Arc::default())), Arc::new(SystemClock), config);
    let appended = journal.append(partition, None, received(&one(&["b"]))).await.unwrap();
    assert_eq!(appended.first_offset, 2000);
    // Virtual time: a listing, 64, 64, 128 and six times 256 objects, the rest, the end, a PUT.
    let requests = began.elapsed().as_millis() / REQUEST.as_millis();
    assert!(requests <= 14, "{requests} round trips");
}

#[tokio::test(start_paused = true)]
async fn no_read_stays_open_after_the_end() {
    let (store, open_reads) = (store(), Arc::<Open>::default());
    let partition = PartitionId { topic: 1, number: 0 };
    let journal = open(store.clone(), 1);
    journal.change(create("t", 1)).await.unwrap();
    for _ in 0..10 {
        journal.append(partition, None, received(&one(&["a"]))).await.unwrap();
    }
    drop(journal);
    let slow = Slow(store.clone(), open_reads.clone());
    let journal = Journal::open(Arc::new(slow), Arc::new(SystemClock), config(2));
    journal.ready().await.unwrap();
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(count(&open_reads.begun), count(&open_reads.ended));
    // 64 at once, two more for each that was found, and the missing one once more.
    let (begun, objects) = (count(&open_reads.begun), store.objects() as u64);
    assert!((objects + 1..=2 * objects + 65).contains(&begun), "{begun} reads of {objects} objects");
}

/// A store that is down.
struct Down;

fn down<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(ready(Err(StoreError::wait("the store is down"))))
}

impl Store for Down {
    fn create(&self, _: Source, _: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        Box::pin(ready(PutResult::Unknown))
    }

    fn index(&self, _: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        down()
    }

    fn bytes(&self, _: Place, _: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        down()
    }

    fn snapshot(&self, _: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        down()
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        down()
    }

    fn create_snapshot(&self, _: SnapshotName, _: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        down()
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        down()
    }

    fn delete(&self, _: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        down()
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_forever_for_a_store_that_is_down() {
    let journal = open(Arc::new(Down), 1);
    let began = Instant::now();
    let partition = PartitionId { topic: 1, number: 0 };
    let failed = journal.append(partition, None, received(&one(&["a"]))).await.unwrap_err();
    assert!(matches!(failed, JournalError::NotStored), "{failed}");
    let wait_max = config(1).limits.wait_max;
    assert!(began.elapsed() >= wait_max, "it waits for the store to come back");
    let again = Instant::now();
    let failed = journal.append(partition, None, received(&one(&["b"]))).await.unwrap_err();
    assert!(matches!(failed, JournalError::NotStored), "{failed}");
    assert_eq!(again.elapsed(), Duration::ZERO, "now it is known to be down");
}
