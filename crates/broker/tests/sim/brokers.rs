//! Brokers that are killed, started again, and put to sleep.

use crate::clocks::LocalClock;
use crate::settings::small;
use crate::store::{Connection, Lie, SharedStore};
use rawline_broker::journal::{Journal, JournalConfig};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Longer than any world.
const NEVER: Duration = Duration::from_secs(1 << 30);

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
        let connection = Connection::new(self.store.clone(), number, paused_until.clone());
        let mut config = small(JournalConfig::new(number as u64 * 1000 + self.runs));
        if self.store.divides_snapshots() {
            // Every topic and partition is a part.
            config.snapshot_part_bytes = 1;
        }
        if self.store.lie == Some(Lie::NoCheck) {
            (config.check_interval, config.snapshot_objects) = (NEVER, u64::MAX);
            config.snapshot_interval = NEVER;
        }
        let clock = LocalClock::new(self.store.clone(), number, self.runs);
        let (journal, task) = Journal::new(Arc::new(connection), Arc::new(clock), config);
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

    /// Ends the broker in order, once all other handles of its journal are gone.
    pub async fn end(&mut self) {
        if let Some((journal, task, _)) = self.running.take() {
            let number = self.number;
            self.store.note(|| format!("broker {number}: ends"));
            drop(journal);
            let _ = task.await;
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
