//! Read by offset: whole batches as they are stored, slices at the ends, waiting for data that isn't there yet.

mod ahead;
mod answer;
mod committed;
mod cut;
mod run;
mod take;

pub use answer::{Piece, ReadAnswer, ReadError, ReadRequest, View};
pub use cut::Cut;

use crate::aborted::AbortedRecords;
use crate::index::Found;
use crate::limits::{CACHE_GET_BYTES_MAX, READ_GATHER_MAX, READ_OBJECTS_MAX, READ_OBJECTS_PER_YIELD};
use crate::object_error::ObjectError;
use crate::partition::Partition;
use crate::piece::Entries;
use crate::readers::Ahead;
use crate::store::Mappings;
use crate::store_error::StoreError;
use crate::tasks;
use bytes::Bytes;
use cut::Cutter;
use rawline_journal::{BatchKind, Place};
use std::ops::Range;
use std::time::Duration;
use take::{Budget, take};
use tokio::time::{Instant, timeout_at};

/// Objects up to this size are verified by the task that reads them, larger ones on a thread that may block.
const VERIFY_INLINE_BYTES_MAX: u64 = 256 << 10;

impl Partition {
    /// Reads records from an offset on, across objects, and waits for the first of them if it isn't there yet.
    ///
    /// A read that has something to return returns it: damage, failures and slow downloads later in its range are for
    /// the read that begins there.
    pub async fn read(&self, request: &ReadRequest) -> Result<ReadAnswer, ReadError> {
        self.read_as(request, View::Committed).await
    }

    /// As [`Partition::read`], of the records that belong to a view.
    pub async fn read_as(&self, request: &ReadRequest, view: View) -> Result<ReadAnswer, ReadError> {
        self.note_reader();
        self.wait_as(request.offset, request.wait, view).await;
        if self.topic.stored.life.is_deleted() {
            return Err(self.deleted());
        }
        let gather_until = Instant::now() + READ_GATHER_MAX;
        let (kind, first_offset, end_offset) = (BatchKind::Rawline, request.offset, request.offset);
        let mut answer = ReadAnswer { kind, first_offset, end_offset, next_offset: 0, pieces: Vec::new() };
        // Before the read: the stable end now stays valid, and so do aborted ranges.
        let end_offset = match view {
            View::Stored => u64::MAX,
            View::Stable | View::Committed => self.index().stable_offset(),
        };
        let mut budget = Budget::new(request, end_offset);
        let mut has_caught_up = false;
        let ahead_bytes_max = self.store().ahead_bytes_max();
        let mut ahead = if ahead_bytes_max > 0 { self.readers.take(request.offset) } else { Ahead::default() };
        let mut visited = 0;
        while visited < READ_OBJECTS_MAX && !budget.is_used_up() {
            if visited % READ_OBJECTS_PER_YIELD == READ_OBJECTS_PER_YIELD - 1 {
                tokio::task::yield_now().await;
            }
            let Some(found) = self.find(request, end_offset, &mut answer)? else { break };
            if found.piece.first_offset == answer.end_offset {
                let taken = self.read_run(request.verify, READ_OBJECTS_MAX - visited, &mut budget, &mut answer);
                visited += taken;
                if taken > 0 {
                    tokio::task::yield_now().await;
                    continue;
                }
            }
            visited += 1;
            if answer.pieces.is_empty() {
                match self.read_object(&found, request.verify, &mut budget, &mut ahead, &mut answer).await {
                    // Another broker has deleted the object, because its records are elsewhere, or deleted.
                    Err(ReadError::Store(error)) if error.is_gone && !has_caught_up => {
                        has_caught_up = true;
                        self.catch_up().await?;
                    }
                    Err(ReadError::Store(error)) => {
                        return Err(self.or_deleted(request.offset, ReadError::lost(&found, error)));
                    }
                    read => read.map_err(|error| self.or_deleted(request.offset, error))?,
                }
                continue;
            }
            let more = self.read_object(&found, request.verify, &mut budget, &mut ahead, &mut answer);
            match timeout_at(gather_until, more).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(topic = self.log, %error, "a read ends before an object that can't be read");
                    break;
                }
                Err(_) => break,
            }
        }
        if ahead_bytes_max > 0 {
            match answer.pieces.is_empty() {
                true => self.readers.put(request.offset, ahead),
                false => self.readers.put_after(answer.end_offset, ahead, ahead_bytes_max),
            }
        }
        let (end, next) = (answer.end_offset, answer.next_offset);
        assert!(answer.pieces.is_empty() || end <= next, "records up to {end} of a topic that ends at {next}");
        if view == View::Committed && answer.kind == BatchKind::Kafka {
            self.leave_out(&mut answer)?;
        }
        Ok(answer)
    }

    /// Leaves out what belongs to aborted transactions, and markers.
    fn leave_out(&self, answer: &mut ReadAnswer) -> Result<(), ReadError> {
        let first_offset = answer.first_offset;
        let aborted = {
            let index = self.index();
            let offsets = first_offset..answer.end_offset;
            let Some(transactions) = index.transactions().filter(|found| found.may_concern(&offsets)) else {
                return Ok(());
            };
            AbortedRecords::new(transactions.aborted_among(offsets))
        };
        if let Some(mappings) = self.store().mappings() {
            touched(&mappings, &answer.pieces);
        }
        committed::leave_out(answer, &aborted).map_err(|error| {
            let error = ObjectError::RecordBatch { number: 0, error };
            ReadError::Damaged { first_offset, error }
        })
    }

    /// The last stable offset: transactions that have records before it have ended.
    pub fn stable_offset(&self) -> u64 {
        self.index().stable_offset()
    }

    /// The aborted transactions with records among these offsets: the producer's id, and the first offset.
    pub fn aborted_among(&self, offsets: Range<u64>) -> Vec<(u64, u64)> {
        let index = self.index();
        let aborted = index.transactions().into_iter().flat_map(|found| found.aborted_among(offsets.clone()));
        aborted.map(|aborted| (aborted.producer, aborted.first_offset)).collect()
    }

    /// The object with the next record that `answer` wants, if there is one.
    fn find(
        &self,
        request: &ReadRequest,
        end_offset: u64,
        answer: &mut ReadAnswer,
    ) -> Result<Option<Found>, ReadError> {
        let index = self.index();
        answer.next_offset = index.next_offset().min(end_offset);
        if answer.end_offset < index.first_offset() {
            // A read that has returned something ends where records were deleted meanwhile.
            let deleted = ReadError::Deleted { offset: request.offset, first_offset: index.first_offset() };
            return if answer.pieces.is_empty() { Err(deleted) } else { Ok(None) };
        }
        Ok(index.find(answer.end_offset).filter(|_| answer.end_offset < end_offset))
    }

    /// The reason why a read at `offset` failed: its records may have been deleted while they were read.
    fn or_deleted(&self, offset: u64, error: ReadError) -> ReadError {
        let first_offset = self.index().first_offset();
        if offset < first_offset { ReadError::Deleted { offset, first_offset } } else { error }
    }

    /// Waits until the record at `offset` is stored, `wait` has passed, or the topic is deleted.
    pub async fn wait(&self, offset: u64, wait: Duration) {
        self.wait_as(offset, wait, View::Committed).await;
    }

    /// As [`Partition::wait`], for a record that belongs to a view.
    pub async fn wait_as(&self, offset: u64, wait: Duration, view: View) {
        if wait.is_zero() || self.index().next_offset() > offset && self.is_seen(offset, view) {
            return;
        }
        self.note_reader();
        let mut next_offset = self.extent.end();
        let arrived = async {
            let mut seen = offset;
            loop {
                let arrived = next_offset.wait_for(|&next| next > seen).await.map(|next| *next);
                match arrived {
                    Ok(next) => seen = next,
                    // The topic's task has ended: nothing will arrive, and callers must not poll in a loop.
                    Err(_) => std::future::pending::<()>().await,
                }
                // A transaction that ends adds a marker.
                if self.is_seen(offset, view) {
                    break;
                }
            }
        };
        // In each case the caller returns whatever is available.
        tokio::select! {
            _ = tokio::time::timeout(wait, arrived) => {}
            () = self.topic.stored.life.ended() => {}
        }
    }

    /// Whether no open transaction hides the record at an offset.
    fn is_seen(&self, offset: u64, view: View) -> bool {
        let index = self.index();
        let open = index.transactions().filter(|transactions| view != View::Stored && transactions.has_open());
        open.is_none_or(|transactions| transactions.stable_offset(index.offsets()) > offset)
    }

    /// Adds the records that the response still needs from one object. On an error it has added nothing.
    async fn read_object(
        &self,
        found: &Found,
        verify: bool,
        budget: &mut Budget,
        ahead: &mut Ahead,
        answer: &mut ReadAnswer,
    ) -> Result<(), ReadError> {
        match self.read_copy(found, verify, budget, ahead, answer).await {
            Err(ReadError::Damaged { error, .. }) if self.store().discard(*found.place()).await => {
                let offset = found.piece.first_offset;
                tracing::warn!(topic = self.log, offset, %error, "a local copy was damaged; reading the object again");
                let read = self.read_copy(found, verify, budget, ahead, answer).await;
                read.map_err(|error| self.damaged_in_store(found, error))
            }
            read => read,
        }
    }

    /// The error of an object that was fetched again.
    fn damaged_in_store(&self, found: &Found, error: ReadError) -> ReadError {
        let ReadError::Damaged { error, .. } = error else { return error };
        let name = self.store().name_of(found.place().source);
        StoreError::damaged(format!("{name} is damaged: {error}; restore it from a copy")).into()
    }

    /// As [`Partition::read_object`], of the object as the store has it at hand.
    async fn read_copy(
        &self,
        found: &Found,
        verify: bool,
        budget: &mut Budget,
        ahead: &mut Ahead,
        answer: &mut ReadAnswer,
    ) -> Result<(), ReadError> {
        let place = found.place();
        let is_fetched = self.store().ahead_bytes_max() > 0;
        let part_bytes_max = if is_fetched { CACHE_GET_BYTES_MAX } else { u64::MAX };
        let records = found.next_offset - found.piece.first_offset;
        let all = budget.reach_all(place, records, found.next_offset, part_bytes_max);
        let all = all.filter(|_| is_fetched && answer.end_offset == found.piece.first_offset);
        let entries = self.bytes(place, place.entries());
        // What the read waits for is requested first.
        let (entries, ()) = tokio::join!(entries, async {
            if let Some(all) = &all {
                self.store().prefetch(*place, place.batches());
                self.fetch_ahead(found, all, ahead);
            }
        });
        let entries = self.checked_entries(found, entries?)?;
        let damage = if found.verified { None } else { self.verify(found, &entries).await? };
        let (offset, offsets) = (answer.end_offset, found.offsets());
        assert!(offsets.contains(&offset), "the object with {offsets:?} doesn't hold offset {offset}");
        let intact = damage.as_ref().map_or(usize::MAX, |(number, _)| *number);
        let wanted = || {
            let from = entries.batches().skip_while(move |batch| batch.next_offset() <= offset);
            from.take_while(move |batch| batch.number < intact)
        };
        let Some(reached) = budget.reach(wanted(), offset, part_bytes_max) else {
            let Some((_, error)) = damage else { unreachable!("no batch of {offsets:?} holds offset {offset}") };
            return Err(damaged(found, error));
        };
        let (begin, range) = (place.batches().start, &reached.range);
        let bytes = self.bytes(place, begin + range.start as u64..begin + range.end as u64);
        let (bytes, ()) = tokio::join!(bytes, async {
            if is_fetched && all.is_none() {
                self.fetch_ahead(found, &reached, ahead);
            }
        });
        let bytes = bytes?;
        let intact_end = self.verify_part(found, &entries, range, &bytes, offset).await?;
        let batches = wanted().take_while(|batch| batch.range().end <= intact_end);
        let pieces = answer.pieces.len();
        let mappings = self.store().mappings();
        let cutter = Cutter { checksums: (!verify).then_some(&self.checksums), mappings: mappings.as_deref() };
        let taken = take(&cutter, batches, &bytes, budget, answer);
        if let (true, Some(mappings)) = (verify, &mappings) {
            touched(mappings, answer.pieces.iter().skip(pieces));
        }
        taken.map_err(|error| damaged(found, error))
    }

    /// Bytes of an object from the store.
    async fn bytes(&self, place: &Place, range: Range<u64>) -> Result<Bytes, ReadError> {
        let bytes_wanted = range.end - range.start;
        match self.store().bytes(*place, range).await {
            // A topic that was deleted meanwhile isn't read any more.
            _ if self.topic.stored.life.is_deleted() => Err(self.deleted()),
            Ok(bytes) => {
                assert_eq!(bytes.len() as u64, bytes_wanted, "the store returned other bytes of {place:?}");
                Ok(bytes)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The entries of a piece. No object is fetched for them.
    pub(crate) async fn entries(&self, found: &Found) -> Result<Entries, ReadError> {
        match self.checked_entries(found, self.store().entries(*found.place()).await?) {
            Err(ReadError::Damaged { .. }) if self.store().discard(*found.place()).await => {
                let entries = self.checked_entries(found, self.store().entries(*found.place()).await?);
                entries.map_err(|error| self.damaged_in_store(found, error))
            }
            entries => entries,
        }
    }

    fn checked_entries(&self, found: &Found, entries: Bytes) -> Result<Entries, ReadError> {
        Entries::check(found.offsets(), found.place(), entries).map_err(|error| damaged(found, error))
    }

    pub(crate) fn deleted(&self) -> ReadError {
        ReadError::TopicDeleted { topic: self.topic.name.clone() }
    }

    /// Checks the batches in this part of a piece, which are read from an offset on, unless the store knows that
    /// `bytes` are they. Returns where the intact ones end: at least one is, or the first is an error.
    async fn verify_part(
        &self,
        found: &Found,
        entries: &Entries,
        part: &Range<usize>,
        bytes: &Bytes,
        offset: u64,
    ) -> Result<usize, ReadError> {
        let place = *found.place();
        if self.store().is_verified(place, bytes, offset) {
            return Ok(part.end);
        }
        let (entries, store, part, bytes) = (entries.clone(), self.store().clone(), part.clone(), bytes.clone());
        let is_short = bytes.len() as u64 <= VERIFY_INLINE_BYTES_MAX;
        let check = move || {
            let checked = entries.verify_part(&part, &bytes);
            store.touched(&bytes);
            let end = checked.as_ref().map_or_else(|(damaged, _)| damaged.range().start, |()| part.end);
            store.set_verified(place, &bytes.slice(..end - part.start));
            match checked {
                Err((_, error)) if end == part.start => Err(error),
                _ => Ok(end),
            }
        };
        let checked = if is_short { check() } else { blocking(check).await? };
        checked.map_err(|error| damaged(found, error))
    }

    /// Checks a piece's checksums, once in this process' life. If one of its batches is damaged, returns that batch's
    /// number: those before it can be read.
    async fn verify(&self, found: &Found, entries: &Entries) -> Result<Option<(usize, ObjectError)>, ReadError> {
        let place = found.place();
        let batches = self.bytes(place, place.batches()).await?;
        let (entries, mappings) = (entries.clone(), self.store().mappings());
        let check = move || {
            let checked = entries.verify(&batches);
            // All of it is mapped now, and the next reads send it without reading it.
            if let Some(mappings) = mappings {
                mappings.touched(&batches);
            }
            checked
        };
        let checked = if u64::from(place.bytes) <= VERIFY_INLINE_BYTES_MAX { check() } else { blocking(check).await? };
        if let Err(error) = checked {
            return match error.batch() {
                Some(number) => Ok(Some((number, error))),
                None => Err(damaged(found, error)),
            };
        }
        self.index_mut().set_verified(&found.piece);
        Ok(None)
    }
}

async fn blocking<T: Send + 'static>(check: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    let checked = tasks::spawn_blocking(check).await;
    checked.map_err(|error| StoreError::wait(format!("a check was aborted ({error}); retry")))
}

/// Notes that this process has read the whole batches among these pieces.
fn touched<'a>(mappings: &Mappings, pieces: impl IntoIterator<Item = &'a Piece>) {
    for piece in pieces {
        if let Piece::Whole(bytes) = piece {
            mappings.touched(bytes);
        }
    }
}

fn damaged(found: &Found, error: ObjectError) -> ReadError {
    ReadError::Damaged { first_offset: found.piece.first_offset, error }
}
