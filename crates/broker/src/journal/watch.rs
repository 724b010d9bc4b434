//! Watches the storage for a journal's task: at the start, at takeovers, before snapshots and from time to time. The
//! looks themselves are in `look.rs`.

use crate::journal::look::{AtEnd, Checked, GivenUp, Known, Lists, at_end, check, referred, replace};
use crate::journal::snapshots::Unstored;
use crate::store::Store;
use crate::store_error::StoreError;
use futures_util::future::{BoxFuture, OptionFuture};
use rawline_journal::{Limits, Source, State};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A broker without snapshots lists all objects every this many checks.
const CHECKS_PER_LISTING: u64 = 10;

/// A snapshot that is stored if the storage is whole.
type Pending = Option<Box<Unstored>>;

/// A notice.
pub(super) enum Noticed {
    /// The number that was missing is the journal's end.
    End,
    /// The number has to be read again.
    ReadAgain,
    /// A newer snapshot covers the number.
    Covered,
    /// A look failed.
    Failed,
    /// Objects from the next one on were given up.
    GivenUp(GivenUp),
    /// The storage is whole; this snapshot can be stored.
    Whole(Pending),
    /// The newest object was deleted because no snapshot needs it.
    NewestDeleted(Pending),
    /// The snapshots are gone.
    NoSnapshot(Pending),
    /// The check before a snapshot failed, so the snapshot isn't stored.
    Unchecked,
    /// The newest snapshot refers to existing objects only.
    Referred,
    /// Acknowledged records are lost, as a running broker has found.
    Missing(StoreError),
    /// Acknowledged records are lost.
    Lost(StoreError),
}

/// The looks of one journal.
pub(super) struct Watch {
    store: Arc<dyn Store>,
    limits: Limits,
    interval: Duration,
    /// Whether a number that is missing counts as the end only after a look.
    is_due: bool,
    /// Not before this time, unless a read waits for it.
    not_before: Instant,
    look: Option<BoxFuture<'static, Result<AtEnd, StoreError>>>,
    /// The missing number that waits for the look, with the date of its read.
    held: Option<(u64, u64)>,
    referred: Option<BoxFuture<'static, Option<StoreError>>>,
    check: Option<BoxFuture<'static, (Result<Checked, StoreError>, Pending)>>,
    check_at: Instant,
    checks: u64,
    /// The number of the next object when it was checked last.
    checked_next: u64,
    /// Why nothing more may be stored.
    pub lost: Option<StoreError>,
}

impl Watch {
    /// Looks before the first end counts.
    pub fn new(store: Arc<dyn Store>, limits: Limits, interval: Duration) -> Watch {
        Watch {
            is_due: true,
            not_before: Instant::now(),
            look: None,
            held: None,
            referred: None,
            check: None,
            check_at: Instant::now() + interval,
            checks: 0,
            checked_next: 0,
            lost: None,
            store,
            limits,
            interval,
        }
    }

    /// The next number that is missing counts as the end only after a look.
    pub fn look_again(&mut self) {
        self.is_due = true;
    }

    /// Whether a look at the end is due or running.
    pub fn is_looking(&self) -> bool {
        self.is_due
    }

    /// Whether it is unknown whether all objects of the loaded snapshot exist.
    pub fn is_comparing(&self) -> bool {
        self.referred.is_some()
    }

    /// Whether [`Watch::next`] has to be polled.
    pub fn is_busy(&self) -> bool {
        self.look.is_some() || self.referred.is_some() || self.check.is_some()
    }

    /// Holds the result of a read until the look has ended.
    pub fn hold(&mut self, number: u64, date: u64) {
        assert!(self.held.is_none(), "object {number} is missing while {:?} is held", self.held);
        self.held = Some((number, date));
    }

    /// The missing number that was held, with the date of its read.
    pub fn take_held(&mut self) -> Option<(u64, u64)> {
        self.held.take()
    }

    /// Looks after the first number that isn't known, if it is time for it. `has_missed`: some number was missing.
    pub fn look(&mut self, next: u64, has_missed: bool) {
        let is_time = self.held.is_some() || has_missed && Instant::now() >= self.not_before;
        if self.is_due && self.look.is_none() && is_time {
            self.look = Some(Box::pin(at_end(self.store.clone(), next)));
        }
    }

    /// Puts objects in the place of those that were given up, after this state.
    pub fn replace(&mut self, state: State, given_up: GivenUp) {
        let store = self.store.clone();
        self.look = Some(Box::pin(replace(store, state, given_up)));
    }

    /// Compares the existing objects with those of a loaded snapshot, until that succeeds.
    pub fn compare(&mut self, next: u64, sources: BTreeSet<Source>) {
        let (store, retry_after) = (self.store.clone(), self.limits.retry_after);
        self.referred = Some(Box::pin(async move {
            loop {
                match referred(store.clone(), next, sources.clone()).await {
                    Ok(lost) => return lost,
                    Err(error) => tracing::warn!(%error, "can't list the journal's objects; retrying"),
                }
                sleep(retry_after).await;
            }
        }));
    }

    /// When the next check is due.
    pub fn check_at(&self) -> Instant {
        self.check_at
    }

    /// Whether a check is running.
    pub fn is_checking(&self) -> bool {
        self.check.is_some()
    }

    /// Begins a check that is due.
    pub fn check_if_due(&mut self, known: Known) {
        if self.check_at > Instant::now() || self.check.is_some() {
            return;
        }
        self.checks += 1;
        let lists = if self.checks.is_multiple_of(CHECKS_PER_LISTING) {
            Lists::All
        } else if known.next != self.checked_next {
            Lists::New
        } else {
            Lists::Nothing
        };
        self.checked_next = known.next;
        self.begin_check(known, lists, None);
    }

    /// Begins a check of all objects, before a snapshot is stored or without one.
    pub fn check(&mut self, known: Known, snapshot: Pending) {
        self.begin_check(known, Lists::All, snapshot);
    }

    fn begin_check(&mut self, known: Known, lists: Lists, snapshot: Pending) {
        assert!(self.check.is_none(), "two checks at once");
        self.check_at = Instant::now() + self.interval;
        let (store, limits) = (self.store.clone(), self.limits);
        self.check = Some(Box::pin(async move { (check(store, limits, known, lists).await, snapshot) }));
    }

    /// The next notice. Cancel-safe.
    pub async fn next(&mut self) -> Noticed {
        tokio::select! {
            biased;
            Some(looked) = OptionFuture::from(self.look.as_mut()) => {
                self.look = None;
                self.looked(looked)
            }
            Some(lost) = OptionFuture::from(self.referred.as_mut()) => {
                self.referred = None;
                lost.map_or(Noticed::Referred, Noticed::Lost)
            }
            Some((checked, snapshot)) = OptionFuture::from(self.check.as_mut()) => {
                self.check = None;
                match checked {
                    Ok(Checked::Whole) => Noticed::Whole(snapshot),
                    Ok(Checked::NewestDeleted) => Noticed::NewestDeleted(snapshot),
                    Ok(Checked::NoSnapshot) => Noticed::NoSnapshot(snapshot),
                    Ok(Checked::Missing(error)) => Noticed::Missing(error),
                    Ok(Checked::Changed(error)) => Noticed::Lost(error),
                    Err(error) => {
                        tracing::warn!(%error, "can't look whether the storage is as it should be; looking later");
                        if snapshot.is_some() { Noticed::Unchecked } else { Noticed::Whole(None) }
                    }
                }
            }
            else => std::future::pending().await,
        }
    }

    fn looked(&mut self, looked: Result<AtEnd, StoreError>) -> Noticed {
        self.not_before = Instant::now() + self.limits.retry_after;
        match looked {
            Ok(AtEnd::End) => {
                self.is_due = false;
                Noticed::End
            }
            Ok(AtEnd::Sound) => {
                self.is_due = false;
                Noticed::ReadAgain
            }
            Ok(AtEnd::Appeared) => Noticed::ReadAgain,
            Ok(AtEnd::Covered) => Noticed::Covered,
            Ok(AtEnd::GivenUp(given_up)) => Noticed::GivenUp(given_up),
            Ok(AtEnd::Lost(error)) => Noticed::Lost(error),
            Err(error) => {
                tracing::warn!(%error, "can't look after the journal's end; retrying");
                Noticed::Failed
            }
        }
    }
}
