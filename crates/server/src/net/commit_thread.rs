//! A connection that is served on the commit thread for a while.

use crate::net::peer::Peer;
use rawline_broker::CommitThread;
use tokio::task::JoinHandle;

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
