//! Read by offset: whole batches as they are stored, slices at the ends, waiting for data that isn't there yet.

use crate::Kind;
use crate::budget::{Budget, Taken};
use crate::index::Found;
use crate::limits::{
    INDEX_BYTES_GUESS, PREFETCH_OBJECTS_MAX, READ_GATHER_MAX, READ_OBJECTS_MAX, READ_OBJECTS_PER_YIELD,
};
use crate::object::{self, BatchEntry, HEADER_BYTES, Header, ObjectError, ObjectIndex};
use crate::store::StoreError;
use crate::tasks;
use crate::topic::Topic;
use bytes::Bytes;
use rawline_batch::Slice;
use std::ops::Range;
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

/// What to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadRequest {
    /// Offset of the first record wanted.
    pub offset: u64,
    /// Maximum number of records; 0 for no limit.
    pub records_max: u64,
    /// Soft limit of the size of the records in bytes: at least one record is returned. 0 for the broker's own limit.
    pub bytes_max: u64,
    /// How long to wait for the record at `offset` if it isn't there yet.
    pub wait: Duration,
    /// Whether to compute the checksum of every batch again. For callers that pass records on without their batch's
    /// checksum: whoever gets whole batches checks them anyway. Slices are always checked.
    pub verify: bool,
}

/// What was read: nothing if `pieces` is empty.
#[derive(Debug)]
pub struct ReadAnswer {
    /// Offset of the first record in `pieces`. Lower than the requested one where that record is inside a compressed
    /// batch, which is returned whole.
    pub first_offset: u64,
    /// Offset after the last record in `pieces`.
    pub end_offset: u64,
    /// The topic's `next_offset`.
    pub next_offset: u64,
    /// The batches, in order.
    pub pieces: Vec<Piece>,
}

/// A run of batches.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Batches back to back, as stored.
    Whole(Bytes),
    /// Some records of one uncompressed batch, whose checksum was just verified.
    Slice {
        /// The batch, whole.
        batch: Bytes,
        /// The records' numbers in it.
        records: Range<u32>,
        /// They as a batch.
        slice: Slice,
    },
}

/// Why a read failed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The offset's records are deleted.
    #[error("offset {offset} is below the topic's first offset {first_offset}; read from there")]
    Deleted {
        /// The requested offset.
        offset: u64,
        /// The topic's first offset.
        first_offset: u64,
    },
    /// The store returned other bytes than were stored.
    #[error("the object at offset {first_offset} is damaged: {error}; restore it from a copy")]
    Damaged {
        /// The object's first offset.
        first_offset: u64,
        /// The damage.
        error: ObjectError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    /// What a caller can do.
    pub fn kind(&self) -> Kind {
        match self {
            ReadError::Deleted { .. } => Kind::FixRequest,
            ReadError::Damaged { .. } => Kind::TellHuman,
            ReadError::Store(error) => error.kind,
        }
    }
}

/// Objects up to this size are verified by the task that reads them, larger ones on a thread that may block.
const VERIFY_INLINE_BYTES_MAX: u64 = 256 << 10;

impl Topic {
    /// Reads records from an offset on, across objects, and waits for the first of them if it isn't there yet.
    ///
    /// A read that has something to return returns it: damage, failures and slow downloads later in its range are for
    /// the read that begins there.
    pub async fn read(&self, request: &ReadRequest) -> Result<ReadAnswer, ReadError> {
        self.wait(request.offset, request.wait).await;
        let gather_until = Instant::now() + READ_GATHER_MAX;
        let mut answer =
            ReadAnswer { first_offset: request.offset, end_offset: request.offset, next_offset: 0, pieces: Vec::new() };
        let mut budget = Budget::new(request);
        for visited in 0..READ_OBJECTS_MAX {
            if budget.is_used_up() {
                break;
            }
            if visited % READ_OBJECTS_PER_YIELD == READ_OBJECTS_PER_YIELD - 1 {
                tokio::task::yield_now().await;
            }
            let Some(found) = self.find(request, &mut answer)? else { break };
            if visited % (PREFETCH_OBJECTS_MAX / 2) == 0 && self.store.can_prefetch() {
                let ahead = self.index().after(answer.end_offset, PREFETCH_OBJECTS_MAX, budget.bytes_left());
                self.store.prefetch(&self.name, &ahead);
            }
            if answer.pieces.is_empty() {
                self.read_object(&found, request.verify, &mut budget, &mut answer).await?;
                continue;
            }
            let more = self.read_object(&found, request.verify, &mut budget, &mut answer);
            match timeout_at(gather_until, more).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(topic = self.name, %error, "a read ends before an object that can't be read");
                    break;
                }
                Err(_) => break,
            }
        }
        let (end, next) = (answer.end_offset, answer.next_offset);
        assert!(answer.pieces.is_empty() || end <= next, "records up to {end} of a topic that ends at {next}");
        Ok(answer)
    }

    /// The object with the next record that `answer` wants, if there is one.
    fn find(&self, request: &ReadRequest, answer: &mut ReadAnswer) -> Result<Option<Found>, ReadError> {
        let index = self.index();
        answer.next_offset = index.next_offset();
        let is_deleted = answer.end_offset < index.first_offset() && !index.is_empty();
        if is_deleted && answer.pieces.is_empty() {
            return Err(ReadError::Deleted { offset: request.offset, first_offset: index.first_offset() });
        }
        Ok(index.find(answer.end_offset))
    }

    /// Waits until the record at `offset` is there, or `wait` has passed.
    pub async fn wait(&self, offset: u64, wait: Duration) {
        if *self.next_offset.borrow() > offset || wait.is_zero() {
            return;
        }
        let mut next_offset = self.next_offset.clone();
        let arrived = async {
            if next_offset.wait_for(|&next| next > offset).await.is_err() {
                // The topic's task has failed: nothing will arrive, and callers must not poll in a loop.
                std::future::pending::<()>().await;
            }
        };
        // On a timeout the caller looks at what is there.
        let _ = tokio::time::timeout(wait, arrived).await;
    }

    /// The first offset whose record was appended at or after `time_us` (microseconds since the Unix epoch);
    /// `next_offset` if there is no such record yet.
    pub async fn offset_at(&self, time_us: u64) -> Result<u64, ReadError> {
        let (mut low, mut high) = (0, self.index().objects());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.appended_us(middle).await? < time_us {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let index = self.index();
        Ok(index.at(low).map_or(index.next_offset(), |found| found.at.first_offset))
    }

    /// Time of the append of the object at a position of the index, from its header if it isn't known yet.
    async fn appended_us(&self, position: usize) -> Result<u64, ReadError> {
        let found = {
            let index = self.index();
            match (index.appended_us_at(position), index.at(position)) {
                (Some(appended_us), _) => return Ok(appended_us),
                (None, Some(found)) => found,
                // Deleted meanwhile: older than anything that is left.
                (None, None) => return Ok(0),
            }
        };
        let bytes = self.get(&found, 0..found.at.bytes.min(HEADER_BYTES as u64)).await?;
        let header = Header::parse(&bytes).map_err(|error| damaged(&found, error))?;
        self.index_mut().set_appended_us(found.at.first_offset, header.appended_us);
        Ok(header.appended_us)
    }

    /// Adds what the answer still wants from one object. On an error it has added nothing.
    async fn read_object(
        &self,
        found: &Found,
        verify: bool,
        budget: &mut Budget,
        answer: &mut ReadAnswer,
    ) -> Result<(), ReadError> {
        match self.read_copy(found, verify, budget, answer).await {
            Err(ReadError::Damaged { error, .. }) if self.store.discard(&self.name, found.at).await => {
                let offset = found.at.first_offset;
                tracing::warn!(topic = self.name, offset, %error, "a local copy was damaged; reading the object again");
                self.read_copy(found, verify, budget, answer).await
            }
            read => read,
        }
    }

    /// As [`Topic::read_object`], of the object as the store has it at hand.
    async fn read_copy(
        &self,
        found: &Found,
        verify: bool,
        budget: &mut Budget,
        answer: &mut ReadAnswer,
    ) -> Result<(), ReadError> {
        let damage = if found.verified { None } else { self.verify(found).await? };
        let front = self.index_of(found).await?;
        let index = ObjectIndex::parse_verified(&front).map_err(|error| damaged(found, error))?;
        assert!(
            (found.at.first_offset..found.next_offset).contains(&answer.end_offset),
            "the object at {} does not hold offset {}",
            found.at.first_offset,
            answer.end_offset
        );
        let record = (answer.end_offset - found.at.first_offset) as u32;
        if record >= index.header.records {
            return Err(damaged(found, ObjectError::Header));
        }
        let first = index.entry_of(record);
        let intact = damage.as_ref().map_or(index.entries.len(), |(number, _)| *number);
        let entries = match (index.entries.get(first..intact), damage) {
            (Some(entries), _) if !entries.is_empty() => entries,
            (_, Some((_, error))) => return Err(damaged(found, error)),
            (_, None) => return Err(damaged(found, ObjectError::Header)),
        };
        let taken = entries.split_at(budget.entries(entries, record)).0;
        let (Some(one), Some(last)) = (taken.first(), taken.last()) else {
            unreachable!("no batch was chosen of {}", entries.len())
        };
        let range = one.range().start..last.range().end;
        if range.is_empty() || range.end > found.at.bytes {
            return Err(damaged(found, ObjectError::Header));
        }
        let bytes = self.get(found, range).await?;
        let numbered = (first..).zip(taken);
        take(found, record, numbered, &bytes, verify, budget, answer)
    }

    /// The bytes of an object's index, or more.
    async fn index_of(&self, found: &Found) -> Result<Bytes, ReadError> {
        let guess = found.at.bytes.min(INDEX_BYTES_GUESS);
        let front = self.get(found, 0..guess).await?;
        let header = Header::parse(&front).map_err(|error| damaged(found, error))?;
        if header.index_bytes() <= front.len() {
            return Ok(front);
        }
        let index_bytes = (header.index_bytes() as u64).min(found.at.bytes);
        Ok(self.get(found, 0..index_bytes).await?)
    }

    /// Bytes of an object from the store.
    async fn get(&self, found: &Found, range: Range<u64>) -> Result<Bytes, StoreError> {
        assert!(range.start < range.end && range.end <= found.at.bytes, "bytes {range:?} of {:?}", found.at);
        let bytes_wanted = range.end - range.start;
        let bytes = self.store.get(&self.name, found.at, range).await?;
        assert_eq!(bytes.len() as u64, bytes_wanted, "the store returned other bytes of {:?}", found.at);
        Ok(bytes)
    }

    /// Checks an object's checksums, once in this process' life. If its index is intact and one of its batches is not,
    /// returns that batch's number: those before it can be read.
    async fn verify(&self, found: &Found) -> Result<Option<(usize, ObjectError)>, ReadError> {
        let bytes = self.get(found, 0..found.at.bytes).await?;
        let checked = if found.at.bytes <= VERIFY_INLINE_BYTES_MAX {
            object::verify(&bytes)
        } else {
            let check = tasks::spawn_blocking(move || object::verify(&bytes));
            check.await.map_err(|error| StoreError::wait(format!("a check was aborted ({error}); retry")))?
        };
        let header = match checked {
            Ok(header) => header,
            Err(ObjectError::Batch { number, error }) => {
                return Ok(Some((number as usize, ObjectError::Batch { number, error })));
            }
            Err(error) => return Err(damaged(found, error)),
        };
        if header.first_offset != found.at.first_offset || header.next_offset() != found.next_offset {
            return Err(damaged(found, ObjectError::Header));
        }
        let mut index = self.index_mut();
        index.set_verified(found.at.first_offset);
        index.set_appended_us(found.at.first_offset, header.appended_us);
        Ok(None)
    }
}

/// Takes from the batches of one object, which lie back to back in `bytes`, what the budget allows. `record` is the
/// first wanted of the object.
fn take<'a>(
    found: &Found,
    record: u32,
    entries: impl Iterator<Item = (usize, &'a BatchEntry)>,
    bytes: &Bytes,
    verify: bool,
    budget: &mut Budget,
    answer: &mut ReadAnswer,
) -> Result<(), ReadError> {
    let (mut whole, mut position, mut is_first) = (0..0, 0, true);
    for (number, entry) in entries {
        let batch = position..position + (entry.range().end - entry.range().start) as usize;
        position = batch.end;
        let first = entry.record_first();
        assert_eq!(is_first, record >= first, "record {record} is wanted, batch {number} begins at {first}");
        let from = if is_first { record - first } else { 0 };
        let taken = budget.take(|| bytes.slice(batch.clone()), entry, number, from, verify);
        let taken = match taken {
            Ok(Taken::Nothing) => break,
            Ok(taken) => taken,
            Err(error) if is_first => return Err(damaged(found, error)),
            Err(_) => {
                // The read that begins at this batch reports the damage.
                budget.end();
                break;
            }
        };
        let cut = match &taken {
            Taken::Slice { records, .. } => records.clone(),
            _ => 0..entry.records(),
        };
        let begins = found.at.first_offset + u64::from(first + cut.start);
        let ends = found.at.first_offset + u64::from(first + cut.end);
        let end_offset = answer.end_offset;
        if answer.pieces.is_empty() && whole.is_empty() {
            assert!(begins <= end_offset, "records from {begins} on for offset {end_offset}");
            answer.first_offset = begins;
        } else {
            assert_eq!(begins, end_offset, "a gap in a response after batch {number} of an object");
        }
        assert!(ends > end_offset, "records up to {ends} after {end_offset}");
        is_first = false;
        answer.end_offset = ends;
        if let Taken::Slice { records, slice } = taken {
            push_whole(answer, bytes, &mut whole);
            answer.pieces.push(Piece::Slice { batch: bytes.slice(batch), records, slice });
        } else {
            whole = if whole.is_empty() { batch } else { whole.start..batch.end };
        }
        if budget.is_used_up() {
            break;
        }
    }
    push_whole(answer, bytes, &mut whole);
    Ok(())
}

fn damaged(found: &Found, error: ObjectError) -> ReadError {
    ReadError::Damaged { first_offset: found.at.first_offset, error }
}

fn push_whole(answer: &mut ReadAnswer, bytes: &Bytes, whole: &mut Range<usize>) {
    if whole.start < whole.end {
        answer.pieces.push(Piece::Whole(bytes.slice(whole.clone())));
        *whole = 0..0;
    }
}
