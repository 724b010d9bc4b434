//! Why bytes are not an object.

use rawline_batch::BatchError;
use rawline_batch::record_batch::RecordBatchError;
use thiserror::Error;

/// Why bytes are not an object, or not the piece of one that they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// Too few bytes.
    #[error("truncated: {have} of {need} bytes")]
    Truncated {
        /// Bytes found.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// Header and entries contradict each other, or the batches.
    #[error("the index contradicts itself")]
    Header,
    /// A batch in it is damaged.
    #[error("batch {number} of the object: {error}")]
    Batch {
        /// Its number in the object, from 0.
        number: u32,
        /// The damage.
        error: BatchError,
    },
    /// One of Kafka's batches in it is damaged.
    #[error("batch {number} of the object: {error}")]
    RecordBatch {
        /// Its number in the object, from 0.
        number: u32,
        /// The damage.
        error: RecordBatchError,
    },
    /// Its index is damaged.
    #[error(transparent)]
    Journal(#[from] rawline_journal::ObjectError),
}

impl ObjectError {
    /// The number of the damaged batch, if the object is intact but for one.
    pub(crate) fn batch(&self) -> Option<usize> {
        match self {
            ObjectError::Batch { number, .. } | ObjectError::RecordBatch { number, .. } => Some(*number as usize),
            _ => None,
        }
    }
}
