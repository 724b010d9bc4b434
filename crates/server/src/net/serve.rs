//! Accepts connections until the broker stops, then lets those end that are open.

use crate::net::listen::{Accepted, Listener};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How often connections are closed that have become idle, once the broker stops.
const IDLE_CHECK: Duration = Duration::from_millis(20);

/// Serves each connection with `connection` until `stop` turns true. Then `close` turns true, idle connections are
/// closed, and the others may take `shutdown_wait`.
pub(crate) async fn serve<C: Future<Output = ()> + Send + 'static>(
    mut listener: Listener,
    mut stop: watch::Receiver<bool>,
    close: watch::Sender<bool>,
    shutdown_wait: Duration,
    connection: impl Fn(Accepted) -> C,
) {
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => break,
        };
        let Some(accepted) = accepted else { continue };
        let (connection, alive) = (connection(accepted), alive.clone());
        #[expect(clippy::disallowed_methods, reason = "a task for each connection")]
        tokio::spawn(async move {
            connection.await;
            drop(alive);
        });
    }
    // Stop listening first: a client whose connection was closed can't open another one.
    let close_idle = listener.close();
    close.send_replace(true);
    drop(alive);
    let all_ended = async {
        close_idle();
        // Nothing is ever sent: `recv` returns when the last connection has ended. A connection that completes a
        // request meanwhile becomes idle.
        while tokio::time::timeout(IDLE_CHECK, ended.recv()).await.is_err() {
            close_idle();
        }
    };
    if tokio::time::timeout(shutdown_wait, all_ended).await.is_err() {
        tracing::warn!("some requests were still in flight after {shutdown_wait:?}; closed their connections");
    }
}
