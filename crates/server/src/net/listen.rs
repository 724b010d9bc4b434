//! Accepts connections up to a maximum number of open ones.

use rustix::net::sockopt;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pause after a failed accept: the process has no file descriptor left until a connection closes.
const ACCEPT_RETRY_WAIT: Duration = Duration::from_millis(50);

/// Accepts connections; each holds a permit until it closes.
pub struct Listener {
    listener: TcpListener,
    connections: Arc<Semaphore>,
}

impl Listener {
    /// Accepts from `listener`, with at most `connections_max` connections open.
    pub fn new(listener: TcpListener, connections_max: usize) -> Listener {
        assert!(connections_max > 0, "a listener that never accepts");
        if let Err(error) = keep_alive(&listener) {
            tracing::warn!(%error, "cannot enable TCP keepalive: clients that vanish are noticed late");
        }
        if listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            send_at_once(&listener);
        }
        Listener { listener, connections: Arc::new(Semaphore::new(connections_max)) }
    }

    /// The next connection; none after a failure, which is logged.
    pub async fn accept(&self) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let permit = self.connections.clone().acquire_owned().await.ok()?;
        match self.listener.accept().await {
            Ok((stream, address)) => {
                set_options(&stream, address);
                Some((stream, address, permit))
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_WAIT).await;
                None
            }
        }
    }
}

/// Best effort: a failure only costs time.
fn set_options(stream: &TcpStream, peer: SocketAddr) {
    // The response to an append is smaller than a TCP segment and must not wait for more data.
    let _ = stream.set_nodelay(true);
    if peer.ip().is_loopback() {
        send_at_once(stream);
    }
}

/// Within one machine there is no network path to probe. A congestion control that paces (BBR) would spend a third of
/// the broker's time on timers; Reno, which every kernel has, sends at once. Accepted connections inherit the choice
/// from the listener, before pacing begins.
fn send_at_once(socket: impl AsFd) {
    let _ = sockopt::set_tcp_congestion(socket, "reno");
}

/// The first probe of an idle connection, the time between probes, and how many may stay unanswered: a client whose
/// machine or network is gone loses its connection after two minutes. Accepted connections inherit this.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEPALIVE_PROBES: u32 = 3;

fn keep_alive(socket: impl AsFd) -> rustix::io::Result<()> {
    sockopt::set_tcp_keepidle(&socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&socket, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&socket, KEEPALIVE_PROBES)?;
    sockopt::set_socket_keepalive(&socket, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_are_probed_while_they_are_idle() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listener = Listener::new(listener, 1);
        let _client = TcpStream::connect(address).await.unwrap();
        let (stream, _, _permit) = listener.accept().await.unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), KEEPALIVE_IDLE);
    }
}
