//! Whether a topic still exists.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// The life of one topic. A topic that is created later under the same name has its own.
#[derive(Default)]
pub(crate) struct Life {
    is_deleted: AtomicBool,
    deleted: Notify,
}

impl Life {
    /// The topic is deleted.
    pub fn delete(&self) {
        let before = self.is_deleted.swap(true, Ordering::SeqCst);
        assert!(!before, "a topic is deleted twice");
        self.deleted.notify_waiters();
    }

    /// Whether nothing of the topic may be returned any more: its name may belong to another topic.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    /// Waits until nothing will ever be appended.
    pub async fn ended(&self) {
        // It sees a deletion from here on, the next line one before.
        let deleted = self.deleted.notified();
        if !self.is_deleted.load(Ordering::SeqCst) {
            deleted.await;
        }
    }
}
