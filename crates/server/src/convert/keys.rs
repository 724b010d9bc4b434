//! The check that records have keys, which a compacted topic needs.

use super::ConvertError;
use rawline_broker::{AppendError, Received};
use tokio::sync::Semaphore;

/// Why records can't be appended to a compacted topic.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error(transparent)]
    Missing(#[from] AppendError),
    #[error("the keys of the records can't be read, and this topic is compacted: {0}")]
    Unreadable(#[from] ConvertError),
}

/// The received batches, if each record has a key. No batch may unpack to more than
/// `raw_bytes_max` bytes.
pub(crate) async fn checked(
    unpacking: &Semaphore,
    received: Received,
    raw_bytes_max: u32,
) -> Result<Received, KeysError> {
    let check = move || Ok((received.has_keys(raw_bytes_max)?, received));
    let ((has_keys, received), _permit) = super::run(unpacking, check).await?;
    if has_keys { Ok(received) } else { Err(AppendError::NoKeys.into()) }
}
