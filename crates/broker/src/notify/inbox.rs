//! Commits reported to a subscription since its last look.

use super::subject::Subject;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Maximum number of partitions that are noted one by one. If more have new records, the subscription looks at all: so
/// one that isn't served for a while takes no more memory.
const NOTED_MAX: usize = 4096;

/// A partition: its topic's number and its own.
pub(crate) type Key = (u64, u32);

/// The inbox of a subscription.
#[derive(Default)]
pub(crate) struct Inbox {
    news: Mutex<News>,
    arrived: Notify,
}

/// The events so far.
#[derive(Default)]
pub(crate) struct News {
    /// Partitions with new records, and the offset of the first.
    pub committed: BTreeMap<Key, (Arc<Subject>, u64)>,
    /// Topics that were deleted.
    pub deleted: Vec<Arc<Subject>>,
    /// Whether more has happened than is noted.
    pub is_incomplete: bool,
}

impl News {
    fn is_empty(&self) -> bool {
        self.committed.is_empty() && self.deleted.is_empty() && !self.is_incomplete
    }
}

impl Inbox {
    pub fn committed(&self, subject: &Arc<Subject>, partition: u32, first_offset: u64) {
        self.note(|news| {
            let key = (subject.number, partition);
            if news.committed.contains_key(&key) || news.is_incomplete {
                return;
            }
            if news.committed.len() == NOTED_MAX {
                news.is_incomplete = true;
                news.committed.clear();
                return;
            }
            news.committed.insert(key, (subject.clone(), first_offset));
        });
    }

    pub fn deleted(&self, subject: &Arc<Subject>) {
        self.note(|news| {
            if news.deleted.len() == NOTED_MAX {
                news.is_incomplete = true;
                return;
            }
            news.deleted.push(subject.clone());
        });
    }

    /// Returns the events so far, and clears them.
    pub fn take(&self) -> News {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until something has happened. Cancel-safe.
    pub async fn arrived(&self) {
        while self.news.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            self.arrived.notified().await;
        }
    }

    fn note(&self, note: impl FnOnce(&mut News)) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = news.is_empty();
        note(&mut news);
        drop(news);
        // Once, however much is noted until the subscription looks.
        if was_empty {
            self.arrived.notify_one();
        }
    }
}
