//! When a journal's task stores snapshots, and how it handles the watch's notices: a snapshot is stored only while
//! all objects that it covers exist.

use super::{Progress, Task};
use crate::journal::look::{Checked, Known, Lists, check};
use crate::journal::snapshots::{Taken, Unstored};
use crate::journal::watch::Noticed;
use crate::limits::SNAPSHOTS_SKIPPED_AT_START;
use crate::tasks;
use rawline_journal::{Event, ReadResult};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

#[cfg(test)]
thread_local! {
    /// A planted bug: an orderly end leaves no snapshot.
    pub(crate) static FORGETS_END: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Task {
    /// Whether this broker looks from time to time whether its storage was changed.
    pub(super) fn checks(&self) -> bool {
        !self.watch.is_checking() && self.writer.is_end_known() && self.config.tidies.load(Ordering::Relaxed)
    }

    /// The rules' reaction to a notice about the storage.
    pub(super) fn noticed(&mut self, noticed: Noticed) -> Event<usize> {
        let result = match noticed {
            Noticed::End => None,
            Noticed::Covered => Some(ReadResult::Covered),
            Noticed::Failed => Some(ReadResult::Failed),
            Noticed::GivenUp(given_up) if given_up.lost.start == self.writer.state().chain().next() => {
                self.watch.replace(self.writer.certain().into_state(), given_up);
                return Event::Tick;
            }
            Noticed::ReadAgain | Noticed::GivenUp(_) => {
                if let Some((number, _)) = self.watch.take_held() {
                    self.reads.want(number, self.writer.told());
                }
                return Event::Tick;
            }
            Noticed::Whole(snapshot) => {
                self.store_snapshot(snapshot);
                return Event::Tick;
            }
            Noticed::NewestDeleted(snapshot) => {
                self.newest = None;
                self.store_snapshot(snapshot);
                return Event::Tick;
            }
            Noticed::NoSnapshot(snapshot) => {
                tracing::warn!("the journal's newest snapshot is not in the storage; storing a new one");
                self.snapshots.is_lost = true;
                self.store_snapshot(snapshot);
                // Without a snapshot, a listing doesn't show what it lacks of the objects that the snapshot covered.
                let sources = self.catalog.read().unwrap_or_else(PoisonError::into_inner).sources();
                self.watch.compare(self.writer.state().chain().next(), sources);
                return Event::Tick;
            }
            Noticed::Unchecked => {
                self.snapshots.failed(self.config.snapshot_interval);
                return Event::Tick;
            }
            Noticed::Referred => return Event::Tick,
            Noticed::Missing(error) => {
                // From it, the next start knows the missing objects and the assigned offsets.
                let snapshot = self.build_snapshot();
                self.store_snapshot(Some(snapshot));
                self.watch.lost = Some(error);
                return Event::Tick;
            }
            Noticed::Lost(error) => {
                self.watch.lost = Some(error);
                return Event::Tick;
            }
        };
        match self.watch.take_held() {
            Some((number, date)) => Event::Read { number, result: result.unwrap_or(ReadResult::Missing { date }) },
            None => Event::Tick,
        }
    }

    /// When to try again after a snapshot that failed, even if nothing else happens.
    pub(super) fn retries_snapshot_at(&self) -> Option<Instant> {
        self.snapshots.retry_at.filter(|_| !self.is_taking_snapshot())
    }

    fn is_taking_snapshot(&self) -> bool {
        self.watch.is_checking() || self.snapshots.is_storing()
    }

    /// Takes a snapshot if it is time for one.
    pub(super) fn take_snapshot(&mut self) {
        let stored = self.snapshots.stored;
        let next = self.writer.state().chain().next();
        assert!(next >= stored.next, "a snapshot of the objects before {}, the next is {next}", stored.next);
        if self.is_taking_snapshot() || self.snapshots.retry_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        self.snapshots.retry_at = None;
        let new = next - stored.next;
        // While a start reads many objects, it takes few snapshots: each makes it longer.
        let is_reading = *self.progress.borrow() == Progress::Reading;
        let new = if is_reading { new / SNAPSHOTS_SKIPPED_AT_START } else { new };
        if self.snapshots.is_due(new, &self.config) {
            let (known, snapshot) = (self.known(), self.build_snapshot());
            self.watch.check(known, Some(snapshot));
        }
    }

    /// The objects known to be stored.
    pub(super) fn known(&self) -> Known {
        let next = self.writer.state().chain().next();
        let Taken { next: from, parts, .. } = self.snapshots.stored;
        Known { from, parts, next, newest: self.newest }
    }

    fn build_snapshot(&mut self) -> Box<Unstored> {
        self.writer.forget_old();
        let certain = self.writer.certain();
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        catalog.forget_producers(&certain);
        let taken = self.snapshots.taken(certain.next(), certain.entries_count() as u64);
        Box::new(Unstored { taken, certain, walk: catalog.walk() })
    }

    /// Begins to store a snapshot. One that is still being stored continues, and the later one counts.
    fn store_snapshot(&mut self, snapshot: Option<Box<Unstored>>) {
        let Some(unstored) = snapshot else { return };
        let (store, config, next) = (self.store.clone(), self.config.clone(), unstored.taken.next);
        self.snapshots.storing = Some(tasks::spawn(async move {
            unstored.store(&*store, &config).await.unwrap_or_else(|error| {
                tracing::warn!(next, %error, "a journal snapshot was not stored; retrying later");
                None
            })
        }));
    }

    /// At an orderly end, so that the next start knows how far the journal went.
    pub(super) async fn take_last_snapshot(&mut self) {
        self.snapshots.end(self.config.snapshot_interval).await;
        let next = self.writer.state().chain().next();
        let stores = self.config.snapshot_objects < u64::MAX && *self.progress.borrow() == Progress::Ready;
        if !stores || next == self.snapshots.stored.next && !self.snapshots.is_lost {
            return;
        }
        #[cfg(test)]
        if FORGETS_END.get() {
            return;
        }
        let known = self.known();
        match check(self.store.clone(), self.config.limits, known, Lists::All).await {
            Ok(Checked::Changed(error)) | Err(error) => {
                return tracing::warn!(next, %error, "the journal's last snapshot was not stored");
            }
            // From it, the next start knows the missing objects.
            Ok(Checked::Missing(error)) => tracing::error!(%error, "the storage has lost what it had confirmed"),
            Ok(Checked::Whole | Checked::NewestDeleted | Checked::NoSnapshot) => {}
        }
        let snapshot = self.build_snapshot();
        self.store_snapshot(Some(snapshot));
        self.snapshots.end(self.config.snapshot_interval).await;
    }
}
