//! Brokers that are killed, started again, and put to sleep.

use crate::store::{Connection, DELETION_DELAY, SharedStore};
use rawline_broker::Clock;
use rawline_broker::journal::{Journal, JournalConfig, MergeConfig};
use rawline_journal::{Limits, MergeLimits};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A broker's own clock, which nothing may depend on.
struct Wrong;

impl Clock for Wrong {
    fn now_us(&self) -> u64 {
        42
    }
}

/// A broker, by the number of its machine.
pub struct Broker {
    store: Arc<SharedStore>,
    number: usize,
    runs: u64,
    running: Option<(Journal, JoinHandle<()>, Arc<Mutex<Instant>>)>,
}

impl Broker {
    pub fn new(store: Arc<SharedStore>, number: usize) -> Broker {
        Broker { store, number, runs: 0, running: None }
    }

    /// Its journal, if it runs.
    pub fn journal(&self) -> Option<Journal> {
        self.running.as_ref().map(|(journal, ..)| journal.clone())
    }

    pub fn start(&mut self) {
        assert!(self.running.is_none());
        self.runs += 1;
        let number = self.number;
        self.store.note(|| format!("broker {number}: starts"));
        let paused_until = Arc::new(Mutex::new(Instant::now()));
        let connection = Connection { store: self.store.clone(), broker: number, paused_until: paused_until.clone() };
        let config = JournalConfig {
            limits: Limits {
                batch_wait: Duration::from_millis(30),
                object_bytes: 600,
                in_flight_max: 4,
                concurrent_bytes: 0,
                retry_after: Duration::from_millis(200),
                give_up_after: Duration::from_secs(5),
                wait_max: Duration::from_secs(10),
                deletion_delay: DELETION_DELAY,
            },
            snapshot_objects: 20,
            snapshot_interval: Duration::from_secs(20),
            garbage_interval: Duration::from_secs(15),
            merge: Some(MergeConfig {
                limits: MergeLimits {
                    target_bytes: 6_000,
                    keep_bytes: 1_500,
                    keep_piece_bytes: u64::MAX,
                    objects_max: 12,
                    piece_bytes: 1_500,
                    piece_span_us: 3_600_000_000,
                },
                look_objects: 5,
                abandon_after: Duration::from_secs(20),
                ..MergeConfig::default()
            }),
            run: number as u64 * 1000 + self.runs,
            tidies: Arc::new(AtomicBool::new(true)),
        };
        let (journal, task) = Journal::new(Arc::new(connection), Arc::new(Wrong), config);
        self.running = Some((journal, tokio::spawn(task), paused_until));
    }

    /// Ends the broker's task wherever it is.
    pub fn kill(&mut self) {
        if let Some((_, task, _)) = self.running.take() {
            let number = self.number;
            self.store.note(|| format!("broker {number}: dies"));
            self.store.saw(|seen| seen.crashes += 1);
            task.abort();
        }
    }

    /// Whether its task has ended although it was not killed: it panicked.
    pub fn has_panicked(&self) -> bool {
        self.running.as_ref().is_some_and(|(_, task, _)| task.is_finished())
    }

    /// Nothing gets from or to the broker for a while.
    pub fn pause(&self, time: Duration) {
        if let Some((_, _, paused_until)) = &self.running {
            let number = self.number;
            self.store.note(|| format!("broker {number}: sleeps for {time:?}"));
            self.store.saw(|seen| seen.pauses += 1);
            *paused_until.lock().unwrap() = Instant::now() + time;
        }
    }

    /// Wakes it up.
    pub fn resume(&self) {
        if let Some((_, _, paused_until)) = &self.running {
            *paused_until.lock().unwrap() = Instant::now();
        }
    }
}
