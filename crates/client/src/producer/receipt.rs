//! The result of a batch, for the senders of its records.

use crate::error::ClientError;
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// The future offset of a record: resolves when the record is stored. Needs no allocation; may be dropped.
#[derive(Debug, Clone)]
pub struct Receipt {
    pub(super) delivery: Arc<Delivery>,
    /// The record's index in its batch.
    pub(super) index: u32,
}

impl Receipt {
    /// Waits until the record is stored, and returns its offset in its partition.
    pub async fn offset(&self) -> Result<u64, ClientError> {
        self.position().await.map(|position| position.offset)
    }

    /// Waits until the record is stored, and returns where.
    pub async fn position(&self) -> Result<Position, ClientError> {
        loop {
            let mut resolved = std::pin::pin!(self.delivery.resolved.notified());
            resolved.as_mut().enable();
            if let Some(done) = self.delivery.done.get() {
                let (partition, first_offset) = done.clone()?;
                return Ok(Position { partition, offset: first_offset + u64::from(self.index) });
            }
            resolved.await;
        }
    }
}

/// The position of a stored record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The partition.
    pub partition: u32,
    /// The offset in it.
    pub offset: u64,
}

/// The result of a batch, for the receipts of its records.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// The batch's partition, and the offset of its first record.
    done: OnceLock<Result<(u32, u64), ClientError>>,
    resolved: Notify,
}

impl Delivery {
    /// Called once: the caller has taken the batch out of the state.
    pub(super) fn resolve(&self, done: Result<(u32, u64), ClientError>) {
        if let Err(second) = self.done.set(done) {
            unreachable!("a batch has the result {:?} and got {second:?}", self.done.get())
        }
        self.resolved.notify_waiters();
    }
}
