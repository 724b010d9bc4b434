//! The result of a batch, for the senders of its records.

use crate::ClientError;
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
    /// Waits until the record is stored, and returns its offset.
    pub async fn offset(&self) -> Result<u64, ClientError> {
        loop {
            let mut resolved = std::pin::pin!(self.delivery.resolved.notified());
            resolved.as_mut().enable();
            if let Some(done) = self.delivery.done.get() {
                return done.clone().map(|first_offset| first_offset + u64::from(self.index));
            }
            resolved.await;
        }
    }
}

/// The result of a batch, for the receipts of its records.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Offset of the batch's first record.
    done: OnceLock<Result<u64, ClientError>>,
    resolved: Notify,
}

impl Delivery {
    /// Called once: the caller has taken the batch out of the state.
    pub(super) fn resolve(&self, done: Result<u64, ClientError>) {
        if let Err(second) = self.done.set(done) {
            unreachable!("a batch has the result {:?} and got {second:?}", self.done.get())
        }
        self.resolved.notify_waiters();
    }
}
