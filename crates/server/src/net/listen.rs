//! Accepts connections up to a maximum number of open ones, until the broker stops; then lets those end that are open.

use crate::net::activity::{Connections, Open};
use crate::net::lobby::{Guest, Lobby, Looked, Manners, Sent};
use rawline_broker::raise_files_limit;
use rustix::net::sockopt;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// How often connections are closed that have become idle, once the broker stops.
const IDLE_CHECK: Duration = Duration::from_millis(20);

/// Pause after a failed accept: the process has no file descriptor left until a connection closes.
const ACCEPT_RETRY_WAIT: Duration = Duration::from_millis(50);

/// How long a new connection with a request waits for a place when all are taken by requests. Once one has waited in
/// vain, the others don't wait until a place is free again.
const PLACE_WAIT: Duration = Duration::from_secs(1);

/// How often a connection that has become idle is looked for.
const PLACE_CHECK: Duration = Duration::from_millis(20);

/// A connection that is idle for less makes no room: its client has most likely just sent a request.
const IDLE_MIN: Duration = Duration::from_millis(50);

/// The same for a new connection that has not sent a request yet.
const IDLE_FOR_PARTIAL_MIN: Duration = Duration::from_secs(1);

/// This part of the places is for connections that have sent a whole request: clients that send slowly, however many,
/// leave these to others, which need them for milliseconds.
const KEPT_PART: usize = 8;

/// Maximum number of connections without a place. Each takes about a kilobyte; further ones wait in the kernel.
const LOBBY_MAX: usize = 4096;

/// And this part of the files that the process may open: the others are for connections with a place, of up to four
/// listeners, and for the storage.
const LOBBY_FILES_PART: usize = 8;

/// Places for connections beyond the maximum, which only learn whether the broker is healthy.
const RESERVE_MAX: usize = 16;

/// Accepts connections; each holds a place until it closes. Idle ones make room for new ones.
pub(crate) struct Listener {
    listener: TcpListener,
    regular: Places,
    reserve: Places,
    /// Number of places that are for connections with a whole request.
    kept: usize,
    crowd: Arc<Crowd>,
    lobby: Lobby,
    lobby_max: usize,
    /// Number of idle connections that make room and whose places are not given away yet.
    leaving: usize,
    /// When to look for idle connections if others wait for a place.
    check_at: Instant,
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
    /// Number of connections that have sent a request and wait for a place.
    waiting: AtomicUsize,
    /// The last connection timed out while it waited for a place.
    is_overloaded: AtomicBool,
}

impl Crowd {
    fn new(regular: Arc<Semaphore>) -> Crowd {
        Crowd { regular, waiting: AtomicUsize::new(0), is_overloaded: AtomicBool::new(false) }
    }

    /// Maximum number of waiting connections.
    #[cfg(test)]
    pub fn of(waiting: usize) -> Arc<Crowd> {
        let crowd = Crowd::new(Arc::new(Semaphore::new(0)));
        crowd.waiting.store(waiting, Ordering::Relaxed);
        Arc::new(crowd)
    }

    /// Whether a connection waits for a place, or was refused and none has become free since.
    pub fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
            || self.is_overloaded.load(Ordering::Relaxed) && self.free_places() == 0
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
        Some(self.place(self.permits.clone().try_acquire_owned().ok()?, is_reserve))
    }

    /// A place, as soon as there is one: the idle connection that was closed returns it.
    pub async fn take(&self, is_reserve: bool) -> Option<Place> {
        Some(self.place(self.permits.clone().acquire_owned().await.ok()?, is_reserve))
    }

    fn place(&self, permit: OwnedSemaphorePermit, is_reserve: bool) -> Place {
        Place { open: self.connections.open(), is_reserve, _permit: permit }
    }
}

impl Listener {
    /// Accepts from `listener`, with at most `connections_max` connections open that can send any request.
    pub fn new(listener: TcpListener, connections_max: usize, manners: Manners) -> Listener {
        assert!(connections_max > 0, "a listener that never accepts");
        if let Err(error) = keep_alive(&listener) {
            tracing::warn!(%error, "cannot enable TCP keepalive: clients that vanish are noticed late");
        }
        if listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            send_at_once(&listener);
        }
        let (regular, reserve) = (Places::new(connections_max), Places::new(RESERVE_MAX));
        let crowd = Arc::new(Crowd::new(regular.permits.clone()));
        let lobby_max = LOBBY_MAX.min(raise_files_limit() / LOBBY_FILES_PART);
        let kept = connections_max / KEPT_PART;
        let (lobby, check_at) = (Lobby::new(manners), Instant::now());
        Listener { listener, regular, reserve, kept, crowd, lobby, lobby_max, leaving: 0, check_at }
    }

    /// Whether connections are refused.
    pub fn crowd(&self) -> Arc<Crowd> {
        self.crowd.clone()
    }

    /// The next connection with a place; none after a failure, which is logged.
    pub async fn accept(&mut self) -> Option<Accepted> {
        loop {
            self.crowd.waiting.store(self.lobby.ready(), Ordering::Relaxed);
            // A place that is free is for connections with a whole request if few others are.
            let wants_place = self.lobby.has_whole() || self.lobby.len() > 0 && self.has_place_for_any();
            let has_guests = self.lobby.len() > 0;
            let has_room = self.lobby.ready() < self.lobby_max;
            let check_at = self.lobby.refused_at().map_or(self.check_at, |at| at.min(self.check_at));
            let permits = self.regular.permits.clone();
            tokio::select! {
                biased;
                Some(looked) = self.lobby.looked(), if has_guests => match looked {
                    Looked::Gone => {}
                    Looked::Ready(guest, sent) => self.wait(guest, sent),
                    Looked::Admitted(guest, permit) => return Some(self.admitted(guest, permit)),
                },
                Ok(permit) = permits.acquire_owned(), if wants_place => {
                    // Without this one, as it was before.
                    let is_for_any = self.crowd.free_places() >= self.kept;
                    if let Some((guest, permit)) = self.lobby.admit(permit, is_for_any) {
                        return Some(self.admitted(guest, permit));
                    }
                }
                () = sleep_until(check_at), if has_guests => {
                    if let Some((guest, sent)) = self.lobby.refused(Instant::now()) {
                        return self.refuse(guest, sent).await;
                    }
                    if self.check_at <= Instant::now() {
                        self.check_at = Instant::now() + PLACE_CHECK;
                        self.make_room();
                    }
                }
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((stream, address)) => {
                        set_options(&stream, address);
                        if !has_guests && self.has_place_for_any() && let Some(place) = self.regular.try_take(false) {
                            self.gave_place();
                            return Some(Accepted { stream, address, place });
                        }
                        // A client that sends its request at once is looked at, however many slow ones came before.
                        if self.lobby.len() >= self.lobby_max {
                            self.lobby.turn_away();
                        }
                        self.lobby.enter(stream, address);
                    }
                    Err(error) => {
                        tracing::warn!(
                            %error,
                            "cannot accept a connection; if too many files are open, raise the limit with `ulimit -n`"
                        );
                        // Out of file descriptors, most likely.
                        self.regular.connections.evict_idle(IDLE_MIN);
                        tokio::time::sleep(ACCEPT_RETRY_WAIT).await;
                        return None;
                    }
                },
            }
        }
    }

    /// Whether a place is free for a connection that has not sent a whole request.
    fn has_place_for_any(&self) -> bool {
        self.crowd.free_places() > self.kept
    }

    /// A connection that has sent this much waits for a place.
    fn wait(&mut self, guest: Guest, sent: Sent) {
        let has_place = self.crowd.free_places() > if sent == Sent::Whole { 0 } else { self.kept };
        let waits = has_place || self.evict_idle(IDLE_MIN) || !self.crowd.is_overloaded.load(Ordering::Relaxed);
        let refused_at = Instant::now() + if waits { PLACE_WAIT } else { Duration::ZERO };
        self.lobby.wait(Guest { refused_at, ..guest }, sent);
    }

    /// Closes idle connections for those that wait.
    fn make_room(&mut self) {
        if self.lobby.has_whole() && self.crowd.free_places() > 0 || self.has_place_for_any() {
            return;
        }
        let idle_min = if self.lobby.ready() > 0 { IDLE_MIN } else { IDLE_FOR_PARTIAL_MIN };
        while self.leaving < self.lobby.ready().max(1) && self.evict_idle(idle_min) {}
    }

    /// Closes the connection that is idle for the longest time. False if none is idle for at least `idle_min`.
    fn evict_idle(&mut self, idle_min: Duration) -> bool {
        let is_evicted = self.regular.connections.evict_idle(idle_min);
        self.leaving += usize::from(is_evicted);
        is_evicted
    }

    fn gave_place(&mut self) {
        self.leaving = self.leaving.saturating_sub(1);
        self.crowd.is_overloaded.store(false, Ordering::Relaxed);
    }

    fn admitted(&mut self, Guest { stream, address, .. }: Guest, permit: OwnedSemaphorePermit) -> Accepted {
        self.gave_place();
        Accepted { stream, address, place: self.regular.place(permit, false) }
    }

    /// A connection whose wait timed out gets a reserved place, if one is free, for the response that refuses it.
    async fn refuse(&mut self, Guest { stream, address, .. }: Guest, sent: Sent) -> Option<Accepted> {
        if sent == Sent::Whole && !self.crowd.is_overloaded.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "all connections are busy, and further ones get 503; raise the maximum number of connections"
            );
        }
        let place = match self.reserve.try_take(true) {
            Some(place) => place,
            // The requests on reserved connections take no time. If none is idle yet, this client connects again.
            None if self.reserve.connections.evict_idle(Duration::ZERO) => self.reserve.take(true).await?,
            None => return None,
        };
        Some(Accepted { stream, address, place })
    }

    /// Stops accepting, and returns the handle that closes idle connections. Waiting connections are closed.
    pub fn close(self) -> impl Fn() {
        let Listener { listener, regular, reserve, lobby, .. } = self;
        drop((listener, lobby));
        move || {
            for places in [&regular, &reserve] {
                while places.connections.evict_idle(Duration::ZERO) {}
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
/// from the listener, before pacing begins. Other systems don't pace by default.
#[cfg(target_os = "linux")]
fn send_at_once(socket: impl AsFd) {
    let _ = sockopt::set_tcp_congestion(socket, "reno");
}

#[cfg(not(target_os = "linux"))]
fn send_at_once(_: impl AsFd) {}

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

/// Serves each connection with `connection`, which gets `shared`, until `stop` turns true. Then `close` turns true,
/// idle connections are closed, and the others may take `shutdown_wait`.
pub(crate) async fn serve<S, C: Future<Output = ()> + Send + 'static>(
    mut listener: Listener,
    mut stop: watch::Receiver<bool>,
    close: watch::Sender<bool>,
    shutdown_wait: Duration,
    shared: &Arc<S>,
    connection: impl Fn(Arc<S>, Accepted) -> C,
) {
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => break,
        };
        let Some(accepted) = accepted else { continue };
        let (connection, alive) = (connection(shared.clone(), accepted), alive.clone());
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
        while timeout(IDLE_CHECK, ended.recv()).await.is_err() {
            close_idle();
        }
    };
    if timeout(shutdown_wait, all_ended).await.is_err() {
        tracing::warn!("some requests were still in flight after {shutdown_wait:?}; closed their connections");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_are_probed_while_they_are_idle() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let manners = Manners { is_whole: |_| true, wait: Duration::MAX };
        let mut listener = Listener::new(listener, 1, manners);
        let _client = TcpStream::connect(address).await.unwrap();
        let Accepted { stream, place: _place, .. } = listener.accept().await.unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), KEEPALIVE_IDLE);
    }
}
