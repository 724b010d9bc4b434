//! Whether a topic goes on: a deletion ends its appends first, and its reads once it is certain.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Live,
    /// Its deletion has begun: nothing is appended or changed any more.
    Stopping,
    /// It could not be deleted. Whoever asks for it by name gets it anew.
    Abandoned,
    Deleted,
}

/// The life of one topic. A topic that is created later under the same name has its own.
pub(crate) struct Life {
    state: watch::Sender<State>,
    /// The same for reads, which ask for it often.
    is_deleted: AtomicBool,
}

impl Life {
    pub fn new() -> Life {
        Life { state: watch::Sender::new(State::Live), is_deleted: AtomicBool::new(false) }
    }

    /// The deletion has begun.
    pub fn stop(&self) {
        self.advance(State::Stopping);
    }

    /// The deletion has failed.
    pub fn abandon(&self) {
        self.advance(State::Abandoned);
    }

    /// The deletion is certain.
    pub fn delete(&self) {
        self.is_deleted.store(true, Ordering::Release);
        self.advance(State::Deleted);
    }

    fn advance(&self, next: State) {
        let before = self.state.send_replace(next);
        assert!(before < next, "a topic's life went from {before:?} to {next:?}");
    }

    /// Whether appends and changes are possible.
    pub fn is_live(&self) -> bool {
        *self.state.borrow() == State::Live
    }

    /// Whether nothing of the topic may be returned any more: its name may belong to another topic.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    /// Waits until nothing will ever be appended.
    pub async fn ended(&self) {
        // The sender lives as long as `self`.
        let _ = self.state.subscribe().wait_for(|&state| state >= State::Abandoned).await;
    }
}
