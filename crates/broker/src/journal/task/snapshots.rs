//! When a journal's task takes snapshots, and what it makes of what its watch notices: a snapshot is stored only while
//! everything that it stands for is there.

use super::{Progress, Task};
use crate::journal::handle::JournalConfig;
use crate::journal::look::{Checked, Known, Lists, check};
use crate::journal::watch::Noticed;
use crate::limits::{SNAPSHOT_PIECES_PER_INTERVAL, SNAPSHOT_PIECES_PER_OBJECT, SNAPSHOTS_SKIPPED_AT_START};
use crate::tasks;
use bytes::Bytes;
use rawline_journal::{Event, ReadResult, Snapshot, build_snapshot};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

#[cfg(test)]
thread_local! {
    /// A planted bug: an orderly end leaves no snapshot.
    pub(crate) static FORGETS_END: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A snapshot that was taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// Number of the next object.
    pub next: u64,
    pub at: Instant,
    /// Number of pieces in it.
    pub pieces: u64,
    /// Whether it is gone from the storage: another is taken at once.
    pub is_lost: bool,
}

impl Task {
    /// Whether this broker looks from time to time whether its storage was changed.
    pub(super) fn checks(&self) -> bool {
        !self.watch.is_checking() && self.writer.is_end_known() && self.config.tidies.load(Ordering::Relaxed)
    }

    /// What the rules make of what was noticed in the storage.
    pub(super) fn noticed(&mut self, noticed: Noticed) -> Event<usize> {
        let result = match noticed {
            Noticed::End => None,
            Noticed::Covered => Some(ReadResult::Covered),
            Noticed::Failed => Some(ReadResult::Failed),
            Noticed::GivenUp(given_up) if given_up.lost.start == self.writer.state().chain().next() => {
                self.watch.replace(self.writer.certain(), given_up);
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
                self.snapshot_taken.is_lost = snapshot.is_none();
                self.store_snapshot(snapshot);
                // Without a snapshot, a listing doesn't show what it lacks of the objects that the snapshot covered.
                let state = self.writer.certain();
                let pieces = self.catalog.read().unwrap_or_else(PoisonError::into_inner).pieces(&state);
                let next = state.chain().next();
                self.watch.compare(next, Snapshot { state, pieces }.sources());
                return Event::Tick;
            }
            Noticed::Referred => return Event::Tick,
            Noticed::Missing(error) => {
                // The next start knows by it what is missing, and which offsets were given out.
                let (next, snapshot) = (self.writer.state().chain().next(), self.build_snapshot());
                self.store_snapshot(Some((next, snapshot)));
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

    /// Takes a snapshot if it is time for one. If it fails, the next one covers more.
    pub(super) fn take_snapshot(&mut self) {
        let taken = self.snapshot_taken;
        let next = self.writer.state().chain().next();
        assert!(next >= taken.next, "a snapshot of the objects before {}, the next is {next}", taken.next);
        let new = next - taken.next;
        // While a start reads many objects, it takes few snapshots: each makes it longer.
        let is_reading = *self.progress.borrow() == Progress::Reading;
        if !taken.is_followed(if is_reading { new / SNAPSHOTS_SKIPPED_AT_START } else { new }, &self.config) {
            return;
        }
        if self.watch.is_checking() {
            return;
        }
        let known = self.known();
        let snapshot = self.build_snapshot();
        self.watch.check(known, Some((next, snapshot)));
    }

    /// What is known to be stored.
    pub(super) fn known(&self) -> Known {
        let next = self.writer.state().chain().next();
        Known { from: self.snapshot_taken.next, next, newest: self.newest }
    }

    fn build_snapshot(&mut self) -> Bytes {
        self.writer.forget_old();
        let state = self.writer.certain();
        self.catalog.write().unwrap_or_else(PoisonError::into_inner).forget_producers(&state);
        let pieces = self.catalog.read().unwrap_or_else(PoisonError::into_inner).pieces(&state);
        let count = pieces.values().map(|pieces| pieces.len() as u64).sum();
        self.snapshot_taken = Taken { next: state.chain().next(), at: Instant::now(), pieces: count, is_lost: false };
        Bytes::from(build_snapshot(&state, &pieces))
    }

    fn store_snapshot(&self, snapshot: Option<(u64, Bytes)>) {
        let Some((next, snapshot)) = snapshot else { return };
        let create = self.store.create_snapshot(next, snapshot);
        tasks::spawn(async move {
            if let Err(error) = create.await {
                tracing::warn!(next, %error, "a snapshot of the journal was not stored");
            }
        });
    }

    /// At an orderly end, so that the next start knows how far the journal went.
    pub(super) async fn take_last_snapshot(&mut self) {
        let (taken, next) = (self.snapshot_taken, self.writer.state().chain().next());
        let stores = self.config.snapshot_objects < u64::MAX && *self.progress.borrow() == Progress::Ready;
        if !stores || next == taken.next {
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
            // The next start knows by it what is missing.
            Ok(Checked::Missing(error)) => tracing::error!(%error, "the storage has lost what it had confirmed"),
            Ok(Checked::Whole | Checked::NewestDeleted | Checked::NoSnapshot) => {}
        }
        let snapshot = self.build_snapshot();
        if let Err(error) = self.store.create_snapshot(next, snapshot).await {
            tracing::warn!(next, %error, "the journal's last snapshot was not stored");
        }
    }
}

impl Taken {
    /// Whether it is time for another, `new` objects later. A large one is worth its bytes less often.
    fn is_followed(&self, new: u64, config: &JournalConfig) -> bool {
        let objects = config.snapshot_objects.max(self.pieces / SNAPSHOT_PIECES_PER_OBJECT);
        let parts = 1 + self.pieces / SNAPSHOT_PIECES_PER_INTERVAL;
        let interval = config.snapshot_interval.saturating_mul(u32::try_from(parts).unwrap_or(u32::MAX));
        self.is_lost || new >= objects || new > 0 && self.at.elapsed() >= interval
    }
}
