//! A journal that others extend faster than it is read.

use crate::memory::{REQUEST, Slow, store};
use crate::support::{config, create, one, open, received};
use rawline_broker::SystemClock;
use rawline_broker::journal::Journal;
use rawline_journal::PartitionId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::JoinSet;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_start_reads_what_was_stored_before_it_and_not_up_to_an_end_that_moves() {
    let store = store();
    let mut quick = config(1);
    quick.limits.batch_wait = REQUEST / 10;
    let busy = Journal::open(store.clone(), Arc::new(SystemClock), quick);
    let topic = busy.change(create("t", 1)).await.unwrap();
    let (partition, acknowledged) = (PartitionId { topic, number: 0 }, Arc::new(AtomicU64::new(0)));
    let counted = acknowledged.clone();
    let mut appending = JoinSet::new();
    appending.spawn(async move {
        loop {
            let appended = busy.append(partition, None, received(&one(&["a"]))).await.unwrap();
            counted.store(appended.next_offset, Ordering::Relaxed);
        }
    });
    // Several objects appear while one is read.
    for round in 2..5 {
        tokio::time::sleep(20 * REQUEST).await;
        let (before, began) = (acknowledged.load(Ordering::Relaxed), Instant::now());
        assert!(before > 150 * (round - 1), "{before} appends");
        let reader = Journal::open(Arc::new(Slow(store.clone(), Arc::default())), Arc::new(SystemClock), config(round));
        reader.ready().await.unwrap();
        let requests = began.elapsed().as_millis() / REQUEST.as_millis();
        assert!(requests <= 12, "{requests} round trips");
        assert!(reader.offsets(partition).end >= before, "{:?} of {before}", reader.offsets(partition));
    }
    appending.shutdown().await;
    // It reads on.
    let reader = Journal::open(Arc::new(Slow(store.clone(), Arc::default())), Arc::new(SystemClock), config(9));
    reader.ready().await.unwrap();
    assert_eq!(
        reader.offsets(partition).end,
        open(store, 10).append(partition, None, received(&one(&["b"]))).await.unwrap().first_offset
    );
}
