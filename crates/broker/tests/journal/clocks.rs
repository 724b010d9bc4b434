//! Brokers on one store with clocks that differ by days: the store's dates decide what objects get.

use crate::support::{all, config, create, one, received};
use rawline_broker::Clock;
use rawline_broker::journal::Journal;
use rawline_broker::store::{MemoryStore, Store};
use rawline_journal::{PartitionId, Source};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const DAY_US: i64 = 24 * 3600 * 1_000_000;

/// Virtual time, off by so much.
struct Off {
    began: Instant,
    off_us: i64,
}

impl Clock for Off {
    fn now_us(&self) -> u64 {
        1_700_000_000_000_000_u64.saturating_add_signed(self.off_us) + self.began.elapsed().as_micros() as u64
    }
}

#[tokio::test(start_paused = true)]
async fn objects_get_the_stores_time_whatever_the_brokers_clocks_say() {
    let began = Instant::now();
    let clock = |off_us| Arc::new(Off { began, off_us });
    let store = Arc::new(MemoryStore::new(clock(0)).dated());
    let partition = PartitionId { topic: 1, number: 0 };
    let offsets = [DAY_US, -DAY_US, 3650 * DAY_US, 0];
    let journals = (1..).zip(offsets).map(|(run, off_us)| Journal::open(store.clone(), clock(off_us), config(run)));
    let journals: Vec<Journal> = journals.collect();
    for journal in &journals {
        journal.ready().await.unwrap();
    }
    journals[0].change(create("t", 1)).await.unwrap();
    for number in 0..100 {
        let journal = &journals[number % journals.len()];
        journal.append(partition, None, received(&one(&[&number.to_string()]))).await.unwrap();
        sleep(Duration::from_secs(7)).await;
    }
    let mut before_us = 0;
    let is_near = |one: u64, other: u64| one.abs_diff(other) <= 12_000_000;
    for number in 1..=101 {
        let stored = store.index(Source::Journal(number)).await.unwrap().found.unwrap();
        let appended_us = stored.index.header.appended_us;
        assert!(is_near(appended_us, stored.created * 1_000_000), "object {number}: {appended_us}");
        assert!(appended_us > before_us, "object {number}: {appended_us} after {before_us}");
        before_us = appended_us;
    }
    assert_eq!(all(&journals[3], partition).await.len(), 100, "of the one that has appended last");
}
