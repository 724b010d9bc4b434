//! Converts batches of one kind to the other, for readers that accept only that kind, and as a step to other forms.
//!
//! A batch is made the same way each time. Nothing of it is stored.

mod batches;
pub(crate) mod keys;
mod record_batches;
mod times;

pub(crate) use batches::{Conversion, Converted, Unpacked, to_batches, without_records};
pub(crate) use record_batches::to_record_batches;
pub(crate) use times::{DatedRecord, Wanted, find_time};

use rawline_batch::BatchError;
use rawline_batch::record_batch::{RecordBatchError, RecordError};
use rawline_broker::pool::PoolError;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Why batches can't be converted: invalid records, or no free buffers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConvertError {
    #[error(transparent)]
    Batch(#[from] BatchError),
    #[error(transparent)]
    RecordBatch(#[from] RecordBatchError),
    #[error(transparent)]
    Records(#[from] RecordError),
    /// A batch that no reader can read: the next one begins at `next_offset`.
    #[error("the records from offset {first_offset} to {} can't be read: {error}", next_offset - 1)]
    Unreadable { first_offset: u64, next_offset: u64, error: RecordError },
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error("the conversion was aborted ({0}); retry")]
    Aborted(#[from] tokio::task::JoinError),
}

/// Runs `work` on a thread that may block, while it has one of the few places of `unpacking`: what it makes lies
/// outside the pool.
async fn run<T: Send + 'static>(
    unpacking: &Semaphore,
    work: impl FnOnce() -> Result<T, ConvertError> + Send + 'static,
) -> Result<(T, Option<SemaphorePermit<'_>>), ConvertError> {
    let permit = unpacking.acquire().await.ok();
    #[expect(clippy::disallowed_methods, reason = "decompression would stall a worker")]
    let made = tokio::task::spawn_blocking(work).await??;
    Ok((made, permit))
}
