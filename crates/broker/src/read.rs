//! Read by offset: whole batches as they are stored, slices at the ends, waiting for data that is not there yet.

use crate::Kind;
use crate::index::Found;
use crate::limits::{INDEX_BYTES_GUESS, READ_BYTES_MAX};
use crate::object::{self, Entry, HEADER_BYTES, Header, Index, ObjectError};
use crate::store::StoreError;
use crate::topic::Topic;
use bytes::Bytes;
use rawline_batch::{Batch, BatchError, Codec, HEADER_BYTES as BATCH_HEADER_BYTES, Limits};
use std::ops::Range;
use std::time::Duration;
use thiserror::Error;

/// What to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadRequest {
    /// Offset of the first record wanted.
    pub offset: u64,
    /// Most records; 0 for no limit.
    pub records_max: u64,
    /// Most bytes of sizes and data, softly: one record always comes. 0 for the broker's own limit.
    pub bytes_max: u64,
    /// How long to wait for the record at `offset` if it is not there yet.
    pub wait: Duration,
}

/// What was read: nothing if `pieces` is empty.
#[derive(Debug)]
pub struct ReadAnswer {
    /// Offset of the first record in `pieces`. Lower than asked for where that record is inside a compressed batch,
    /// which can be had whole only.
    pub first_offset: u64,
    /// The offset behind the last record in `pieces`.
    pub end_offset: u64,
    /// The topic's `next_offset`.
    pub next_offset: u64,
    /// The batches, in order.
    pub pieces: Vec<Piece>,
}

/// A run of an answer's batches.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Batches back to back, as stored.
    Whole(Bytes),
    /// Some records of one uncompressed batch.
    Slice {
        /// The batch, whole.
        batch: Bytes,
        /// The records' numbers in it.
        records: Range<u32>,
    },
}

/// Why a read failed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The offset's records are deleted.
    #[error("offset {offset} is below the topic's first offset {first_offset}; read from there")]
    Deleted {
        /// The offset asked for.
        offset: u64,
        /// The first there is.
        first_offset: u64,
    },
    /// What the store gave back is not what was stored.
    #[error("the object at offset {first_offset} is damaged: {error}; restore it from a copy")]
    Damaged {
        /// The object's first offset.
        first_offset: u64,
        /// What is wrong.
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

/// Objects up to this size are verified where they are asked for; larger ones on a thread that may block.
const VERIFY_INLINE_BYTES_MAX: u64 = 256 << 10;

impl Topic {
    /// Reads records from an offset on, across objects, waiting for the first of them if need be.
    pub async fn read(&self, request: &ReadRequest) -> Result<ReadAnswer, ReadError> {
        self.wait(request.offset, request.wait).await;
        let mut answer =
            ReadAnswer { first_offset: request.offset, end_offset: request.offset, next_offset: 0, pieces: Vec::new() };
        let mut budget = Budget::new(request);
        while !budget.is_used_up() {
            let found = {
                let index = self.index();
                answer.next_offset = index.next_offset();
                if request.offset < index.first_offset() && !index.is_empty() {
                    return Err(ReadError::Deleted { offset: request.offset, first_offset: index.first_offset() });
                }
                index.find(answer.end_offset)
            };
            let Some(found) = found else { break };
            self.read_object(&found, &mut budget, &mut answer).await?;
        }
        Ok(answer)
    }

    /// Waits until the record at `offset` is there, or the time is over.
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
    /// `next_offset` if there is none yet.
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

    /// Time of the append of the object at a position of the index, from its header if nobody has asked before.
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
        let bytes = self.store.get(&self.name, found.at, 0..HEADER_BYTES as u64).await?;
        let header = Header::parse(&bytes).map_err(|error| damaged(&found, error))?;
        self.index_mut().set_appended_us(found.at.first_offset, header.appended_us);
        Ok(header.appended_us)
    }

    /// Adds what the answer still wants from one object.
    async fn read_object(&self, found: &Found, budget: &mut Budget, answer: &mut ReadAnswer) -> Result<(), ReadError> {
        if !found.verified {
            self.verify(found).await?;
        }
        let guess = found.at.bytes.min(INDEX_BYTES_GUESS);
        let mut front = self.store.get(&self.name, found.at, 0..guess).await?;
        let header = Header::parse(&front).map_err(|error| damaged(found, error))?;
        if header.index_bytes() > front.len() {
            let index_bytes = (header.index_bytes() as u64).min(found.at.bytes);
            front = self.store.get(&self.name, found.at, 0..index_bytes).await?;
        }
        let index = Index::parse_trusted(&front).map_err(|error| damaged(found, error))?;
        let record = (answer.end_offset - found.at.first_offset) as u32;
        let first = index.entry_of(record);
        let Some(entries) = index.entries.get(first..) else { return Ok(()) };
        let take = budget.entries(entries, record);
        let Some((first, last)) = entries.get(..take).and_then(|taken| Some((taken.first()?, taken.last()?))) else {
            return Err(damaged(found, ObjectError::Header));
        };
        let range = first.range().start..last.range().end;
        let bytes = self.store.get(&self.name, found.at, range.clone()).await?;
        let mut whole = 0..0;
        for entry in entries.iter().take(take) {
            let position = (entry.range().start - range.start) as usize..(entry.range().end - range.start) as usize;
            let batch = || bytes.slice(position.clone());
            let from = record.saturating_sub(entry.record_first());
            let cut = budget
                .take(batch, entry, from)
                .map_err(|error| damaged(found, ObjectError::Batch { number: entry.record_first(), error }))?;
            if cut.is_empty() {
                break;
            }
            if answer.pieces.is_empty() && whole.is_empty() {
                answer.first_offset = found.at.first_offset + u64::from(entry.record_first() + cut.start);
            }
            answer.end_offset = found.at.first_offset + u64::from(entry.record_first() + cut.end);
            if cut == (0..entry.records()) {
                whole = if whole.is_empty() { position } else { whole.start..position.end };
            } else {
                push_whole(answer, &bytes, &mut whole);
                answer.pieces.push(Piece::Slice { batch: batch(), records: cut });
            }
            if budget.is_used_up() {
                break;
            }
        }
        push_whole(answer, &bytes, &mut whole);
        Ok(())
    }

    /// Checks an object's checksums, once in this process' life.
    async fn verify(&self, found: &Found) -> Result<(), ReadError> {
        let bytes = self.store.get(&self.name, found.at, 0..found.at.bytes).await?;
        let checked = if found.at.bytes <= VERIFY_INLINE_BYTES_MAX {
            object::verify(&bytes)
        } else {
            let check = tokio::task::spawn_blocking(move || object::verify(&bytes));
            check.await.map_err(|error| StoreError::wait(format!("a check was given up: {error}")))?
        };
        let header = checked.map_err(|error| damaged(found, error))?;
        if header.first_offset != found.at.first_offset || header.next_offset() != found.next_offset {
            return Err(damaged(found, ObjectError::Header));
        }
        let mut index = self.index_mut();
        index.set_verified(found.at.first_offset);
        index.set_appended_us(found.at.first_offset, header.appended_us);
        Ok(())
    }
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

/// What a read may still take.
struct Budget {
    records: u64,
    /// Bytes of records.
    bytes: u64,
    /// Bytes of the answer: bounds answers of many empty records.
    answer_bytes: u64,
    is_fresh: bool,
}

impl Budget {
    fn new(request: &ReadRequest) -> Self {
        let or_unlimited = |limit: u64| if limit == 0 { u64::MAX } else { limit };
        Budget {
            records: or_unlimited(request.records_max),
            bytes: or_unlimited(request.bytes_max),
            answer_bytes: READ_BYTES_MAX,
            is_fresh: true,
        }
    }

    fn is_used_up(&self) -> bool {
        self.records == 0 || self.bytes == 0 || self.answer_bytes == 0
    }

    /// How many of the entries the budget can reach, at least one; `record` is the first wanted of the object.
    fn entries(&self, entries: &[Entry], record: u32) -> usize {
        let mut bytes = 0;
        let mut count = 0;
        for entry in entries {
            let records = u64::from(entry.record_first().saturating_sub(record));
            if count > 0 && (records >= self.records || bytes >= self.bytes.min(self.answer_bytes)) {
                break;
            }
            bytes += data_bytes(entry);
            count += 1;
        }
        count
    }

    /// Takes records of one batch from number `from` on and gives their numbers, none if the next does not fit. A
    /// compressed batch is taken whole.
    fn take(&mut self, batch: impl Fn() -> Bytes, entry: &Entry, from: u32) -> Result<Range<u32>, BatchError> {
        let batch_bytes = entry.range().end - entry.range().start;
        let bytes_max = self.bytes.min(self.answer_bytes);
        if from == 0 && u64::from(entry.records()) <= self.records && data_bytes(entry) <= bytes_max {
            self.charge(entry.records(), data_bytes(entry), batch_bytes);
            return Ok(0..entry.records());
        }
        let batch = batch();
        let (batch, _) = Batch::parse_prefix_trusted(&batch, &Limits::FORMAT)?;
        let sizes = batch.sizes().get(from as usize..).unwrap_or_default();
        if batch.header().codec != Codec::None {
            if !self.is_fresh && data_bytes(entry) > bytes_max {
                self.bytes = 0;
                return Ok(0..0);
            }
            self.charge(sizes.len() as u32, data_bytes(entry), batch_bytes);
            return Ok(0..entry.records());
        }
        let (mut count, mut bytes) = (0u32, 0u64);
        for size in sizes {
            let size = u64::from(size.get());
            let fits = bytes + size <= bytes_max || (self.is_fresh && count == 0);
            if !fits || u64::from(count) >= self.records {
                break;
            }
            count += 1;
            bytes += size;
        }
        if (count as usize) < sizes.len() {
            self.bytes = 0;
        }
        self.charge(count, bytes, bytes + u64::from(count) * 4);
        Ok(from..from + count)
    }

    fn charge(&mut self, records: u32, bytes: u64, answer_bytes: u64) {
        self.records = self.records.saturating_sub(u64::from(records));
        self.bytes = self.bytes.saturating_sub(bytes);
        self.answer_bytes = self.answer_bytes.saturating_sub(answer_bytes);
        self.is_fresh &= records == 0;
    }
}

/// Length of a batch's data with its padding, in bytes.
fn data_bytes(entry: &Entry) -> u64 {
    let batch_bytes = entry.range().end - entry.range().start;
    batch_bytes.saturating_sub(BATCH_HEADER_BYTES as u64 + u64::from(entry.records()) * 4)
}
