//! Merging on a store in memory: few objects are left, every record is where it was, and brokers don't disturb each
//! other.

use crate::support::{all, config, create, merging, one, received};
use rawline_broker::journal::{Journal, JournalConfig, JournalError, MergeConfig, MergeWait};
use rawline_broker::store::MemoryStore;
use rawline_broker::{Clock, SystemClock};
use rawline_journal::{Control, MergeLimits, PartitionId, Refused, Source};
use rawline_testkit::batches::{received_record_batches, record_batch, stamped};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The runtime's time.
struct Virtual(Instant);

impl Clock for Virtual {
    fn now_us(&self) -> u64 {
        1_000_000_000_000 + self.0.elapsed().as_micros() as u64
    }
}

pub(crate) fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::new(Virtual(Instant::now()))))
}

fn open(store: &Arc<MemoryStore>, config: JournalConfig) -> Journal {
    Journal::open(store.clone(), Arc::new(Virtual(Instant::now())), config)
}

fn text(number: u32, n: usize) -> String {
    format!("record {n} of {number}")
}

async fn fill(journal: &Journal, topic: u64, partitions: u32, records: std::ops::Range<usize>) {
    for n in records {
        let appends = (0..partitions).map(|number| async move {
            let records = one(&[&text(number, n)]);
            journal.append(PartitionId { topic, number }, None, received(&records)).await.unwrap()
        });
        futures_util::future::join_all(appends).await;
    }
}

async fn assert_all(journal: &Journal, topic: u64, partitions: u32, records: usize) {
    for number in 0..partitions {
        let found = all(journal, PartitionId { topic, number }).await;
        assert_eq!(found, (0..records).map(|n| text(number, n)).collect::<Vec<_>>());
    }
}

fn merged(store: &MemoryStore) -> usize {
    store.sources().iter().filter(|source| source.is_merged()).count()
}

/// Waits for something that happens in the background.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(100_000);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn small_objects_become_few_large_ones() {
    let store = store();
    let journal = open(&store, merging(1));
    let topic = journal.change(create("t", 3)).await.unwrap();
    fill(&journal, topic, 3, 0..200).await;
    assert_all(&journal, topic, 3, 200).await;
    until("nothing was merged", || merged(&store) >= 5).await;
    assert_all(&journal, topic, 3, 200).await;
    let before = store.objects();
    // Snapshots follow, and the deletion delay passes.
    for n in 200..210 {
        sleep(Duration::from_secs(1000)).await;
        fill(&journal, topic, 3, n..n + 1).await;
    }
    until("what was merged is not deleted", || store.objects() < before / 4).await;
    assert_all(&journal, topic, 3, 210).await;
    drop(journal);
    let fresh = open(&store, config(2));
    fill(&fresh, topic, 3, 210..211).await;
    assert_all(&fresh, topic, 3, 211).await;
}

/// Kafka's batches and others in turns; then only Kafka's.
#[tokio::test(start_paused = true)]
async fn kafkas_batches_keep_their_bytes_and_offsets() {
    let store = store();
    let journal = open(&store, merging(1));
    let topic = journal.change(create("t", 2)).await.unwrap();
    let kafka = |n: u64| record_batch(1 + n as u32 % 3, &vec![n as u8; 20 + n as usize], None);
    let mut expected = [Vec::new(), Vec::new()];
    for n in 0..120 {
        for (number, expected) in (0..2).zip(&mut expected) {
            let partition = PartitionId { topic, number };
            if number == 0 && n % 3 == 0 {
                let plain = one(&[&text(number, n as usize)]);
                journal.append(partition, None, received(&plain)).await.unwrap();
                expected.extend(plain);
                continue;
            }
            let batch = kafka(n);
            let appended = journal.append(partition, None, received_record_batches(&batch)).await.unwrap();
            expected.extend(stamped(&batch, appended.first_offset));
        }
    }
    until("nothing was merged", || merged(&store) >= 5).await;
    drop(journal);
    for journal in [open(&store, merging(2)), open(&store, config(3))] {
        journal.append(PartitionId { topic, number: 0 }, None, received(&one(&["x"]))).await.unwrap();
        expected[0].extend(one(&["x"]));
        for (number, expected) in (0..2).zip(&expected) {
            let (partition, mut found) = (PartitionId { topic, number }, Vec::new());
            let offsets = journal.offsets(partition);
            let mut offset = offsets.start;
            while offset < offsets.end {
                let piece = journal.read(partition, offset).await.unwrap().unwrap();
                found.extend_from_slice(&piece.batches);
                offset = piece.next_offset;
            }
            assert!(found == *expected, "partition {number}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_trimmed_or_deleted_stays_so() {
    let store = store();
    let journal = open(&store, merging(1));
    let topic = journal.change(create("t", 2)).await.unwrap();
    let gone = journal.change(create("gone", 1)).await.unwrap();
    fill(&journal, gone, 1, 0..10).await;
    fill(&journal, topic, 2, 0..15).await;
    let partition = PartitionId { topic, number: 1 };
    journal.change(Control::Trim { partition, first_offset: 7 }).await.unwrap();
    journal.change(Control::Delete { topic: gone }).await.unwrap();
    fill(&journal, topic, 2, 15..60).await;
    until("nothing was merged", || merged(&store) >= 2).await;
    let expected: Vec<_> = (7..60).map(|n| text(1, n)).collect();
    assert_eq!(all(&journal, partition).await, expected);
    journal.change(Control::Trim { partition, first_offset: 9 }).await.unwrap();
    drop(journal);
    let fresh = open(&store, merging(2));
    fresh.append(partition, None, received(&one(&["last"]))).await.unwrap();
    assert_eq!(fresh.offsets(partition), 9..61);
    assert_eq!(all(&fresh, partition).await[..51], expected[2..]);
    assert_eq!(fresh.offsets(PartitionId { topic: gone, number: 0 }), 0..0);
}

/// Of each object, one topic's records are left, and nothing is appended any more.
#[tokio::test(start_paused = true)]
async fn small_objects_that_are_dead_together_are_merged_without_an_append() {
    const OBJECTS: usize = 30;
    let store = store();
    let config = config(1);
    let merge = config.merge.clone().unwrap();
    // Neither their number nor their bytes is worth a merge.
    let limits = MergeLimits { keep_bytes: 40_000, ..merge.limits };
    let journal = open(&store, JournalConfig { merge: Some(MergeConfig { limits, ..merge }), ..config });
    let kept = journal.change(create("kept", 1)).await.unwrap();
    let deleted = journal.change(create("deleted", 1)).await.unwrap();
    let large = "-".repeat(2_000);
    for n in 0..OBJECTS {
        let appends = [(kept, text(0, n)), (deleted, large.clone())].map(|(topic, record)| {
            let journal = &journal;
            async move {
                let partition = PartitionId { topic, number: 0 };
                journal.append(partition, None, received(&one(&[&record]))).await.unwrap()
            }
        });
        futures_util::future::join_all(appends).await;
    }
    sleep(Duration::from_secs(2 * 3600)).await;
    assert!(store.objects() >= OBJECTS && merged(&store) == 0, "{:?}", store.sources());
    journal.change(Control::Delete { topic: deleted }).await.unwrap();
    until("what is dead is not deleted", || store.objects() < 8).await;
    assert_eq!(merged(&store), 1, "{:?}", store.sources());
    assert_all(&journal, kept, 1, OBJECTS).await;
}

#[tokio::test(start_paused = true)]
async fn a_merge_that_nobody_ends_is_abandoned_and_never_ends() {
    let store = store();
    let dead = open(&store, config(1));
    let topic = dead.change(create("t", 2)).await.unwrap();
    assert_eq!(dead.change(Control::BeginMerge { merge: 0 }).await.unwrap(), 1);
    let second = dead.change(Control::BeginMerge { merge: 0 }).await.unwrap_err();
    assert!(matches!(second, JournalError::Refused(Refused::MergeOpen { merge: 1 })), "{second}");
    let journal = open(&store, merging(2));
    fill(&journal, topic, 2, 0..100).await;
    assert_eq!(merged(&store), 0, "a merge is open");
    let began = Instant::now();
    until("the merge is still open", || merged(&store) > 0).await;
    assert!(began.elapsed() > Duration::from_secs(500), "after {:?}", began.elapsed());
    let late = dead.change(Control::AbandonMerge { merge: 1 }).await.unwrap_err();
    assert!(matches!(late, JournalError::Refused(Refused::MergeClosed { merge: 1 })), "{late}");
    assert!(!store.sources().contains(&Source::Merged(1)), "its number is never used");
    assert_all(&journal, topic, 2, 100).await;
}

#[tokio::test(start_paused = true)]
async fn brokers_that_share_a_store_merge_in_turns() {
    let store = store();
    let journals = [open(&store, merging(1)), open(&store, merging(2))];
    let topic = journals[0].change(create("t", 3)).await.unwrap();
    for n in 0..150 {
        fill(&journals[n % 2], topic, 3, n..n + 1).await;
    }
    until("nothing was merged", || merged(&store) >= 4).await;
    for journal in &journals {
        // An append catches up with the other broker.
        journal.append(PartitionId { topic, number: 0 }, None, received(&one(&["more"]))).await.unwrap();
        let found = all(journal, PartitionId { topic, number: 1 }).await;
        assert_eq!(found, (0..150).map(|n| text(1, n)).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_merge_without_anyone_who_waits_does_not_keep_the_journal_open() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let weak = Arc::downgrade(&store);
    let journal = Journal::open(store, Arc::new(SystemClock), merging(1));
    let topic = journal.change(create("t", 3)).await.unwrap();
    fill(&journal, topic, 3, 0..30).await;
    drop(journal);
    until("a task holds the store", || weak.upgrade().is_none()).await;
}

/// While thousands of objects a second are stored, those that are not merged wait up to a limit. Without appends they
/// are merged at once.
#[tokio::test(start_paused = true)]
async fn merges_wait_for_a_pause_in_the_appends_up_to_a_limit() {
    let store = store();
    let mut config = merging(1);
    config.limits.batch_wait = Duration::ZERO;
    let wait = Some(MergeWait { pieces_max: 1_000, bytes_max: u64::MAX });
    config.merge = config.merge.map(|merge| MergeConfig { wait, ..merge });
    let journal = open(&store, config);
    let topic = journal.change(create("t", 1)).await.unwrap();
    let busily = async |records: std::ops::Range<usize>| {
        for n in records {
            fill(&journal, topic, 1, n..n + 1).await;
            if n % 4 == 0 {
                sleep(Duration::from_millis(1)).await;
            }
        }
    };
    busily(0..900).await;
    assert_eq!(merged(&store), 0, "appends continue");
    until("nothing was merged in a pause", || merged(&store) >= 5).await;
    sleep(Duration::from_secs(10)).await;
    let in_pause = merged(&store);
    busily(900..1_800).await;
    assert_eq!(merged(&store), in_pause, "appends continue");
    busily(1_800..3_600).await;
    assert!(merged(&store) > in_pause, "more than the limit is not merged");
    assert_all(&journal, topic, 1, 3_600).await;
}
