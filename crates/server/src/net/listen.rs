//! Accepts connections up to a maximum number of open ones.

use crate::net::activity::{Connections, Open};
use rustix::net::sockopt;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Pause after a failed accept: the process has no file descriptor left until a connection closes.
const ACCEPT_RETRY_WAIT: Duration = Duration::from_millis(50);

/// How long a new connection waits for a place when all are taken by requests. Once one has waited in vain, the others
/// don't wait until a place is free again.
const PLACE_WAIT: Duration = Duration::from_secs(1);

/// How often it looks for a connection that has become idle.
const PLACE_CHECK: Duration = Duration::from_millis(20);

/// A connection that is idle for less makes no room: its client has most likely just sent a request.
const IDLE_MIN: Duration = Duration::from_millis(50);

/// Places for connections beyond the maximum, which only learn whether the broker is healthy.
const RESERVE_MAX: usize = 16;

/// Accepts connections; each holds a place until it closes. Idle ones make room for new ones.
pub(crate) struct Listener {
    listener: TcpListener,
    regular: Places,
    reserve: Places,
    crowd: Arc<Crowd>,
}

/// So many connections at once.
pub(crate) struct Places {
    permits: Arc<Semaphore>,
    pub connections: Arc<Connections>,
}

/// Whether connections are refused because all places are taken by requests.
#[derive(Debug)]
pub(crate) struct Crowd {
    regular: Arc<Semaphore>,
    /// The last connection waited in vain for a place.
    is_overloaded: AtomicBool,
}

impl Crowd {
    /// Whether a connection was refused and none of the places has become free since.
    pub fn is_crowded(&self) -> bool {
        self.is_overloaded.load(Ordering::Relaxed) && self.free_places() == 0
    }

    /// How many more connections can be open.
    pub fn free_places(&self) -> usize {
        self.regular.available_permits()
    }
}

/// An accepted connection.
pub(crate) struct Accepted {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub place: Place,
}

/// A connection's place; another connection gets it when this is dropped.
pub(crate) struct Place {
    pub open: Open,
    /// Whether the connection is one too many.
    pub is_reserve: bool,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub fn new(places_max: usize) -> Places {
        Places { permits: Arc::new(Semaphore::new(places_max)), connections: Connections::new() }
    }

    fn try_take(&self, is_reserve: bool) -> Option<Place> {
        let permit = self.permits.clone().try_acquire_owned().ok()?;
        Some(Place { open: self.connections.open(), is_reserve, _permit: permit })
    }

    /// A place, as soon as there is one: the idle connection that was closed returns it.
    pub async fn take(&self, is_reserve: bool) -> Option<Place> {
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        Some(Place { open: self.connections.open(), is_reserve, _permit: permit })
    }
}

impl Listener {
    /// Accepts from `listener`, with at most `connections_max` connections open that can send any request.
    pub fn new(listener: TcpListener, connections_max: usize) -> Listener {
        assert!(connections_max > 0, "a listener that never accepts");
        if let Err(error) = keep_alive(&listener) {
            tracing::warn!(%error, "cannot enable TCP keepalive: clients that vanish are noticed late");
        }
        if listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            send_at_once(&listener);
        }
        let (regular, reserve) = (Places::new(connections_max), Places::new(RESERVE_MAX));
        let crowd = Arc::new(Crowd { regular: regular.permits.clone(), is_overloaded: AtomicBool::new(false) });
        Listener { listener, regular, reserve, crowd }
    }

    /// Whether connections are refused.
    pub fn crowd(&self) -> Arc<Crowd> {
        self.crowd.clone()
    }

    /// The next connection; none after a failure, which is logged.
    pub async fn accept(&self) -> Option<Accepted> {
        match self.listener.accept().await {
            Ok((stream, address)) => {
                set_options(&stream, address);
                Some(Accepted { stream, address, place: self.place().await? })
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of file descriptors, most likely.
                self.regular.connections.evict_idle(IDLE_MIN);
                tokio::time::sleep(ACCEPT_RETRY_WAIT).await;
                None
            }
        }
    }

    /// Accepts no more, and returns what closes the connections that are idle.
    pub fn close(self) -> impl Fn() {
        let Listener { listener, regular, reserve, .. } = self;
        drop(listener);
        move || {
            for places in [&regular, &reserve] {
                while places.connections.evict_idle(Duration::ZERO) {}
            }
        }
    }

    /// A free place, or that of the connection that is idle for the longest time, or a reserved one.
    async fn place(&self) -> Option<Place> {
        if let Some(place) = self.regular.try_take(false) {
            self.crowd.is_overloaded.store(false, Ordering::Relaxed);
            return Some(place);
        }
        let wait = if self.crowd.is_overloaded.load(Ordering::Relaxed) { Duration::ZERO } else { PLACE_WAIT };
        let give_up = Instant::now() + wait;
        loop {
            if self.regular.connections.evict_idle(IDLE_MIN) {
                return self.regular.take(false).await;
            }
            if Instant::now() >= give_up {
                break;
            }
            if let Ok(place) = tokio::time::timeout(PLACE_CHECK, self.regular.take(false)).await {
                return place;
            }
        }
        if !self.crowd.is_overloaded.swap(true, Ordering::Relaxed) {
            tracing::warn!("all connections are busy; further ones get 503");
        }
        if let Some(place) = self.reserve.try_take(true) {
            return Some(place);
        }
        // The requests on reserved connections take no time. If none is idle yet, this client connects again.
        if self.reserve.connections.evict_idle(Duration::ZERO) { self.reserve.take(true).await } else { None }
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
        let Accepted { stream, place: _place, .. } = listener.accept().await.unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), KEEPALIVE_IDLE);
    }
}
