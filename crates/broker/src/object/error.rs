//! Why bytes are not an object.

use rawline_batch::BatchError;
use rawline_batch::record_batch::RecordBatchError;
use thiserror::Error;

/// Why bytes are not an object.
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
    /// Not the first four bytes of an object.
    #[error("begins with {found:02x?}, not with \"RAWO\"")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version that this broker doesn't know.
    #[error("object version {found}; this broker knows version 1")]
    Version {
        /// The object's version.
        found: u8,
    },
    /// Header and entries contradict each other.
    #[error("the index contradicts itself")]
    Header,
    /// The checksum of header and entries is wrong.
    #[error("checksum mismatch in the index")]
    Crc,
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
    /// A journal object is damaged.
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
