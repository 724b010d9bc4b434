//! Deletes records from a partition's front: the new first offset is stored first, then objects are deleted.
//!
//! From the moment when the first offset is stored, records below it are never readable again, whatever fails later: a
//! restart reads it. Objects that could not be deleted are hidden, and the next pass of `retention.rs` deletes them.

use crate::Kind;
use crate::end::End;
use crate::limits::TRIM_WAIT_MAX;
use crate::metrics::METRICS;
use crate::partition::Partition;
use crate::settings::Settings;
use crate::store::StoreError;
use std::sync::atomic::Ordering;
use thiserror::Error;
use tokio::time::timeout;

/// A partition's extent after a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// Offset of the first record.
    pub first_offset: u64,
    /// The offset the next record will get.
    pub next_offset: u64,
}

/// Why a topic was not trimmed.
#[derive(Debug, Clone, Error)]
pub enum TrimError {
    /// The offset is not written yet.
    #[error(
        "can't delete the records before offset {offset}: the topic's next offset is {next_offset}; use at most that"
    )]
    AboveEnd {
        /// The requested first offset.
        offset: u64,
        /// The topic's next offset.
        next_offset: u64,
    },
    /// The topic's deletion has begun.
    #[error("topic {topic:?} was deleted")]
    TopicDeleted {
        /// The topic.
        topic: String,
    },
    /// The store failed. Unless the first offset was stored all the same, nothing is deleted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TrimError {
    /// What a caller can do.
    pub fn kind(&self) -> Kind {
        match self {
            TrimError::AboveEnd { .. } | TrimError::TopicDeleted { .. } => Kind::FixRequest,
            TrimError::Store(error) => error.kind,
        }
    }
}

impl Partition {
    /// Makes `offset` the partition's first one and deletes the objects below it. A lower offset than the first
    /// changes nothing. Objects that the store can't delete now, or not within a few seconds, are deleted later.
    pub async fn trim(&self, offset: u64) -> Result<Trimmed, TrimError> {
        let _one_at_a_time = self.changing.lock().await;
        self.check_live()?;
        let next_offset = *self.next_offset.borrow();
        if offset > next_offset {
            return Err(TrimError::AboveEnd { offset, next_offset });
        }
        let first_offset = self.index().first_offset();
        if offset > first_offset {
            match &self.end {
                End::Journal(end) => end.trim(offset).await?,
                End::Own(_) => {
                    let trimmed = |settings: Settings| {
                        let stored = settings.first_offset();
                        settings.at(stored.max(offset))
                    };
                    self.store_settings(trimmed).await?;
                }
            }
            METRICS.trims.records.add(offset - first_offset);
        }
        match timeout(TRIM_WAIT_MAX, self.delete_hidden()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(
                topic = self.log, %error,
                "records are deleted, but their objects still take room in the store; deleting them again later"
            ),
            // The task of the broker continues.
            Err(_) => self.topic.shared.settings_changed.notify_one(),
        }
        let first_offset = self.index().first_offset();
        assert!(first_offset >= offset, "trimmed to {first_offset} instead of {offset}");
        Ok(Trimmed { first_offset, next_offset })
    }

    /// Whether objects are left whose records are all deleted.
    pub(crate) fn has_hidden(&self) -> bool {
        self.leftover.load(Ordering::Relaxed) || self.index().hidden() > 0
    }

    /// Deletes objects whose records are all deleted.
    pub(crate) async fn delete_leftover(&self) -> Result<(), TrimError> {
        let _one_at_a_time = self.changing.lock().await;
        self.check_live()?;
        Ok(self.delete_hidden().await?)
    }

    /// The name of a deleted topic may belong to another one, whose objects must stay. The caller holds the lock.
    fn check_live(&self) -> Result<(), TrimError> {
        if self.is_live() { Ok(()) } else { Err(TrimError::TopicDeleted { topic: self.topic.name.clone() }) }
    }

    /// Deletes objects whose records are all deleted. The caller holds the lock.
    async fn delete_hidden(&self) -> Result<(), StoreError> {
        if !self.has_hidden() {
            return Ok(());
        }
        let first_offset = self.index().first_offset();
        let left = self.store().delete_before(&self.log, first_offset).await?;
        self.leftover.store(false, Ordering::Relaxed);
        let mut index = self.index_mut();
        // Another broker may have deleted more.
        let left = left.min(index.next_offset());
        index.trim(left);
        let bytes = index.delete_hidden();
        METRICS.trims.bytes.add(bytes);
        Ok(())
    }
}
