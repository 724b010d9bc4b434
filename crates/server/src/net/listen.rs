//! Accepts connections, as many at once as the limit says.

use rustix::net::sockopt::set_tcp_congestion;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pause after a failed accept: file descriptors are exhausted until connections close.
const ACCEPT_RETRY_WAIT: Duration = Duration::from_millis(50);

/// Accepts connections; each holds a permit until it closes.
pub struct Listener {
    listener: TcpListener,
    connections: Arc<Semaphore>,
}

impl Listener {
    /// Accepts from `listener`, at most `connections_max` at once.
    pub fn new(listener: TcpListener, connections_max: usize) -> Listener {
        if listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            send_at_once(&listener);
        }
        Listener { listener, connections: Arc::new(Semaphore::new(connections_max)) }
    }

    /// The next connection. `None` after a failure, which is logged.
    pub async fn accept(&self) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        let permit = self.connections.clone().acquire_owned().await.ok()?;
        match self.listener.accept().await {
            Ok((stream, _)) => {
                set_options(&stream);
                Some((stream, permit))
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_WAIT).await;
                None
            }
        }
    }
}

/// A failure costs time, nothing else.
fn set_options(stream: &TcpStream) {
    // The response to a lone append is smaller than a segment and must not wait for more.
    let _ = stream.set_nodelay(true);
    if stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) {
        send_at_once(stream);
    }
}

/// Inside one machine there is no path to probe. A congestion control that paces (BBR) would spend a third of the
/// broker's time on timers; Reno, which every kernel has, sends at once. A listener passes the choice on to the
/// connections that it accepts, before pacing has begun.
fn send_at_once(socket: impl AsFd) {
    let _ = set_tcp_congestion(socket, "reno");
}
