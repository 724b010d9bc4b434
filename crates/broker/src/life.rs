//! Whether a topic still exists.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// The life of one topic. A topic that is created later under the same name has its own.
pub(crate) struct Life {
    ended: watch::Sender<bool>,
    /// The same for reads, which check it often.
    is_deleted: AtomicBool,
}

impl Life {
    pub fn new() -> Life {
        Life { ended: watch::Sender::new(false), is_deleted: AtomicBool::new(false) }
    }

    /// The topic is deleted.
    pub fn delete(&self) {
        self.is_deleted.store(true, Ordering::Release);
        let before = self.ended.send_replace(true);
        assert!(!before, "a topic is deleted twice");
    }

    /// Whether nothing of the topic may be returned any more: its name may belong to another topic.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    /// Waits until nothing will ever be appended.
    pub async fn ended(&self) {
        // The sender lives as long as `self`.
        let _ = self.ended.subscribe().wait_for(|&ended| ended).await;
    }
}
