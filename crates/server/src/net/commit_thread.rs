//! A connection that is served on the commit thread for a while.

use crate::net::peer::Peer;
use rawline_broker::CommitThread;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::task::JoinHandle;

/// Maximum size of the records that are sent there at once in bytes, unless the first batch is larger: commits wait
/// while they are verified and written.
pub(crate) const DELIVERY_BYTES_MAX: u64 = 64 << 10;

/// So many small deliveries in a row let a reader move to the thread: one that is catching up, or whose records are
/// large or seldom, stays where it is.
const SMALL_BEFORE_MOVE: u32 = 4;

/// Counts the small deliveries to a reader since its last large or empty one.
#[derive(Debug, Default)]
pub(crate) struct SmallDeliveries(AtomicU32);

impl SmallDeliveries {
    /// Notes a delivery of this many bytes.
    pub fn note(&self, bytes: u64) {
        let is_small = (1..DELIVERY_BYTES_MAX).contains(&bytes);
        let count = if is_small { self.0.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.0.store(count, Ordering::Relaxed);
    }

    /// Whether the reader may wait on the thread.
    pub fn are_usual(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= SMALL_BEFORE_MOVE
    }
}

/// Does `work`, which uses the connection, on the thread. `None` if the connection must end: it couldn't be moved, or
/// the work has panicked.
pub(crate) async fn there<T: Send + 'static>(
    thread: &CommitThread,
    peer: &Peer,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let peer_there = peer.clone();
    let mut working = AbortOnDrop(thread.spawn(async move {
        moved(&peer_there)?;
        Some(work.await)
    }));
    // It can't have been aborted; after a panic, which the log has, the connection ends.
    let result = (&mut working.0).await.ok()??;
    moved(peer)?;
    Some(result)
}

/// Takes a connection over from another runtime.
fn moved(peer: &Peer) -> Option<()> {
    let moved = peer.move_here();
    moved.inspect_err(|error| tracing::warn!(%error, "a connection is closed: it could not be moved")).ok()
}

/// A task that ends when this is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
