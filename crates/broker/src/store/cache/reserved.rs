//! Room that is reserved for bytes while they are written.

use super::Inner;
use super::name::CopyName;
use std::sync::Arc;

/// Room reserved in the cache; given back unless a copy has taken it.
pub(super) struct Reserved {
    inner: Arc<Inner>,
    bytes: u64,
}

impl Reserved {
    /// Reserves room; `None` if there is too little. Blocks.
    pub fn new(inner: &Arc<Inner>, bytes: u64) -> Option<Reserved> {
        inner.make_room(bytes).then(|| Reserved { inner: inner.clone(), bytes })
    }

    /// Lists a new copy in this room, in the place of another.
    pub fn admit(mut self, name: &CopyName) {
        let bytes = std::mem::take(&mut self.bytes);
        assert!(bytes > 0, "the copy {name:?} takes no room");
        let mut state = self.inner.state();
        state.room.release(bytes);
        state.room.insert(name.clone(), bytes);
        state.open.pop(name);
    }

    /// Adds it to the room of a copy. One that was evicted meanwhile takes none: its file goes with its readers.
    pub fn grow(self, name: &CopyName, number: u64) {
        let mut state = self.inner.state();
        let bytes = self.bytes;
        state.room.resize(name, number, |before| before + bytes);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.inner.state().room.release(self.bytes);
        }
    }
}
