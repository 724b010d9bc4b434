//! Appends wait for nothing that grows with the journal's state: the journal's task takes a snapshot at the same cost
//! however many topics there are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // A test.

use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::SystemClock;
use rawline_broker::journal::{Journal, JournalConfig};
use rawline_broker::store::{MemoryStore, Store};
use rawline_journal::{Control, PartitionId, Snapshot};
use rawline_testkit::allocator::{Counting, allocations_of};
use rawline_testkit::batches::{batch, received};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::{advance, sleep};

#[global_allocator]
static COUNTING: Counting = Counting;

const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(3600);

async fn append(journal: &Journal, topic: u64) {
    let records = received(&batch(Codec::None, &[b"record".to_vec()]));
    journal.append(PartitionId { topic, number: 0 }, None, records).await.unwrap();
}

async fn newest(store: &MemoryStore) -> Option<Snapshot> {
    let found = store.newest_snapshot().await.unwrap().found;
    found.map(|bytes| Snapshot::parse(&bytes).unwrap())
}

/// Number of allocations on the journal's thread for an append after which a snapshot of so many topics is taken, and
/// for some more until it is stored.
fn allocations(topics: u64) -> u64 {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let config = JournalConfig {
        merge: None,
        snapshot_objects: u64::MAX - 1,
        snapshot_interval: SNAPSHOT_INTERVAL,
        check_interval: 100 * SNAPSHOT_INTERVAL,
        ..JournalConfig::new(1)
    };
    let journal = runtime.block_on(async {
        let journal = Journal::open(store.clone(), Arc::new(SystemClock), config);
        for some in (1..=topics).collect::<Vec<_>>().chunks(1000) {
            let create = |topic: &u64| {
                let name = format!("topic {topic}").as_str().into();
                journal.change(Control::Create { topic: 0, name, partitions: 1, settings: [].into() })
            };
            join_all(some.iter().map(create)).await.into_iter().for_each(|created| _ = created.unwrap());
            join_all(some.iter().map(|topic| append(&journal, *topic))).await;
        }
        assert!(newest(&store).await.is_none(), "a snapshot before it is time for one");
        advance(2 * SNAPSHOT_INTERVAL).await;
        journal
    });
    let ((), counted) = allocations_of(|| {
        runtime.block_on(async {
            for _ in 0..10 {
                append(&journal, 1).await;
                yield_now().await;
            }
        });
    });
    runtime.block_on(async {
        let snapshot = loop {
            match newest(&store).await {
                Some(snapshot) => break snapshot,
                None => sleep(Duration::from_millis(1)).await,
            }
        };
        assert_eq!(snapshot.pieces.len() as u64, topics, "of the partitions");
        drop(journal);
    });
    counted
}

#[test]
fn a_snapshot_costs_appends_the_same_however_many_topics_there_are() {
    // Both are too many for the task to build the snapshot itself.
    let [few, many] = [3_000, 30_000].map(allocations);
    assert!(many < few + 200, "{few} allocations with 3,000 topics, {many} with 30,000");
}
