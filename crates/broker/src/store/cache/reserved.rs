//! Room that is reserved for a copy while it is written.

use super::room::Copied;
use super::{CopyName, Inner};
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

    /// Lists a copy in this room.
    pub fn admit(mut self, name: &CopyName, verified: bool) {
        let bytes = std::mem::take(&mut self.bytes);
        assert!(bytes > 0, "the copy {name:?} takes no room");
        self.inner.state().room.admit(name.clone(), Copied { bytes, verified });
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.inner.state().room.release(self.bytes);
        }
    }
}
