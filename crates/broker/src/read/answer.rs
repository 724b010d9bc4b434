//! A read's request and result.

use crate::index::Found;
use crate::object_error::ObjectError;
use crate::read::cut::Cut;
use crate::store_error::StoreError;
use bytes::Bytes;
use rawline_batch::Kind;
use rawline_journal::BatchKind;
use std::ops::Range;
use std::time::Duration;
use thiserror::Error;

/// The range and limits of a read.
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
    /// checksum: readers of batches check them anyway.
    pub verify: bool,
}

/// Which records a read returns while there are transactions. Without any, it makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Those of committed transactions, and those of none, up to the first open transaction.
    Committed,
    /// The same range, with aborted records and markers, as stored.
    Stable,
    /// All, as stored.
    Stored,
}

/// The result of a read: empty if `pieces` is empty.
#[derive(Debug)]
pub struct ReadAnswer {
    /// The format of the batches in `pieces`: a read ends where batches of another kind begin.
    pub kind: BatchKind,
    /// Offset of the first record in `pieces`. Lower than the requested one where that record is inside a compressed
    /// batch or one of Kafka's, which are returned whole.
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
    /// Some records of one uncompressed batch, with a checksum that follows from the batch's.
    Slice {
        /// The batch, whole.
        batch: Bytes,
        /// The records' numbers in it.
        records: Range<u32>,
        /// Them as a batch. Boxed: a read has two slices at most, and may have many pieces.
        cut: Box<Cut>,
    },
}

// See `READ_OBJECTS_MAX`.
const _: () = assert!(size_of::<Piece>() <= 56 && size_of::<Bytes>() <= 32);

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
    /// The topic was deleted.
    #[error("topic {topic:?} was deleted; if a topic of that name exists now, it is another one, from offset 0 on")]
    TopicDeleted {
        /// The topic.
        topic: String,
    },
    /// The store returned other bytes than were stored.
    #[error("the object at offset {first_offset} is damaged: {error}; restore it from a copy")]
    Damaged {
        /// The object's first offset.
        first_offset: u64,
        /// The damage.
        error: ObjectError,
    },
    /// The records are lost.
    #[error(
        "the records from offset {first_offset} to {next_offset} are lost: {why}; to skip them, read from \
             offset {next_offset}"
    )]
    Lost {
        /// The first of them.
        first_offset: u64,
        /// The offset after them.
        next_offset: u64,
        /// The missing records.
        why: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            ReadError::Deleted { .. } | ReadError::TopicDeleted { .. } => Kind::FixRequest,
            ReadError::Damaged { .. } | ReadError::Lost { .. } => Kind::TellHuman,
            ReadError::Store(error) => error.kind,
        }
    }

    /// Of an object that isn't there although this broker has seen everything that others have stored: no broker has
    /// deleted it because its records are elsewhere.
    pub(crate) fn lost(found: &Found, error: StoreError) -> ReadError {
        if !error.is_gone {
            return ReadError::Store(error);
        }
        ReadError::Lost { first_offset: found.piece.first_offset, next_offset: found.next_offset, why: error.message }
    }
}
