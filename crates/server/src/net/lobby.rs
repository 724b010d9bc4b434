//! Accepted connections that wait for a place. The bytes that their clients have sent determine which is next.
//!
//! ```text
//! accepted ─► partial: nothing, or a part of a request ─► whole: a request
//!                                                      └► full: more of a larger request than is looked at
//! places: to whole ones first, then full, then partial ones, each in the order of arrival
//! ```
//!
//! Without it, the kernel's queue decides: clients that send slowly, and connect again when they are refused, are as
//! early in it as others, and an honest client waits for all that have connected before it.

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rustix::net::{RecvFlags, recv};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, sleep};

/// How much of a connection is looked at, in bytes: a request that is larger reads as full. Small requests fit; the
/// bytes stay in the system's buffer.
const LOOK_BYTES: usize = 8 << 10;

/// A protocol's rules for connections without a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    /// Whether the first bytes of a connection have a whole request.
    pub is_whole: fn(&[u8]) -> bool,
    /// How long a connection may be without a whole request.
    pub wait: Duration,
}

/// A connection without a place.
pub(super) struct Guest {
    pub stream: TcpStream,
    pub address: SocketAddr,
    /// When it is refused, once it has sent enough for a place.
    pub refused_at: Instant,
}

/// How much a connection has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// A request.
    Whole,
    /// A part of a request that exceeds the inspected bytes.
    Full,
}

/// How the wait of a connection that had sent less has ended.
pub(super) enum Looked {
    /// It is closed, has taken too long, or is turned away.
    Gone,
    /// It has sent enough.
    Ready(Guest, Sent),
    /// It has a place.
    Admitted(Guest, OwnedSemaphorePermit),
}

/// The connections without a place.
pub(super) struct Lobby {
    manners: Manners,
    whole: VecDeque<Guest>,
    full: VecDeque<Guest>,
    /// Those that have sent less: each is looked at until it has sent enough, or gets a place.
    looks: FuturesUnordered<BoxFuture<'static, Looked>>,
    /// For the places of these; none for one that is turned away. Of one whose look has ended, the receiver is gone.
    partial: VecDeque<oneshot::Sender<Option<OwnedSemaphorePermit>>>,
}

impl Lobby {
    pub fn new(manners: Manners) -> Lobby {
        Lobby {
            manners,
            whole: VecDeque::new(),
            full: VecDeque::new(),
            looks: FuturesUnordered::new(),
            partial: VecDeque::new(),
        }
    }

    /// Number of connections that have sent enough for a place.
    pub fn ready(&self) -> usize {
        self.whole.len() + self.full.len()
    }

    pub fn len(&self) -> usize {
        self.ready() + self.looks.len()
    }

    /// Whether a request waits.
    pub fn has_whole(&self) -> bool {
        !self.whole.is_empty()
    }

    /// A new connection.
    pub fn enter(&mut self, stream: TcpStream, address: SocketAddr) {
        let (sender, place) = oneshot::channel();
        if self.partial.len() > 2 * self.looks.len() {
            self.partial.retain(|sender| !sender.is_closed());
        }
        self.partial.push_back(sender);
        let guest = Guest { stream, address, refused_at: Instant::now() };
        self.looks.push(Box::pin(look(guest, place, self.manners)));
    }

    /// The next connection whose look has ended; `None` if none is looked at.
    pub async fn looked(&mut self) -> Option<Looked> {
        self.looks.next().await
    }

    /// A connection that has sent this much waits for a place.
    pub fn wait(&mut self, guest: Guest, sent: Sent) {
        match sent {
            Sent::Whole => self.whole.push_back(guest),
            Sent::Full => self.full.push_back(guest),
        }
    }

    /// When the first connection that has sent enough for a place is refused.
    pub fn refused_at(&self) -> Option<Instant> {
        let first = |queue: &VecDeque<Guest>| queue.front().map(|guest| guest.refused_at);
        [first(&self.whole), first(&self.full)].into_iter().flatten().min()
    }

    /// A connection that has waited for long enough, and how much it has sent.
    pub fn refused(&mut self, now: Instant) -> Option<(Guest, Sent)> {
        let mut refused =
            |queue: fn(&mut Self) -> &mut VecDeque<Guest>| queue(self).pop_front_if(|guest| guest.refused_at <= now);
        if let Some(guest) = refused(|lobby| &mut lobby.whole) {
            return Some((guest, Sent::Whole));
        }
        refused(|lobby| &mut lobby.full).map(|guest| (guest, Sent::Full))
    }

    /// Gives a place away: to the next connection with a whole request or, if it `is_for_any`, to any. One that has
    /// sent less is returned by [`Lobby::looked`].
    pub fn admit(&mut self, permit: OwnedSemaphorePermit, is_for_any: bool) -> Option<(Guest, OwnedSemaphorePermit)> {
        if let Some(guest) = self.whole.pop_front() {
            return Some((guest, permit));
        }
        if !is_for_any {
            return None;
        }
        if let Some(guest) = self.full.pop_front() {
            return Some((guest, permit));
        }
        self.end_partial(Some(permit));
        None
    }

    /// Refuses the oldest connection that has sent less than a request. False without such a connection.
    pub fn turn_away(&mut self) -> bool {
        self.end_partial(None)
    }

    /// Ends the wait of the oldest connection that has sent less than a request. False without such a connection.
    fn end_partial(&mut self, place: Option<OwnedSemaphorePermit>) -> bool {
        let mut place = place;
        while let Some(sender) = self.partial.pop_front() {
            match sender.send(place) {
                Ok(()) => return true,
                Err(unused) => place = unused,
            }
        }
        false
    }
}

/// Looks at a connection until it has sent enough, or gets a place.
async fn look(guest: Guest, place: oneshot::Receiver<Option<OwnedSemaphorePermit>>, manners: Manners) -> Looked {
    tokio::select! {
        biased;
        Ok(place) = place => place.map_or(Looked::Gone, |permit| Looked::Admitted(guest, permit)),
        sent = sent(&guest.stream, manners.is_whole) => sent.map_or(Looked::Gone, |sent| Looked::Ready(guest, sent)),
        () = sleep(manners.wait) => Looked::Gone,
    }
}

/// Waits until a connection has sent enough; `None` if it is closed first.
async fn sent(stream: &TcpStream, is_whole: fn(&[u8]) -> bool) -> Option<Sent> {
    loop {
        let ready = stream.ready(Interest::READABLE).await.ok()?;
        let looked = stream.try_io(Interest::READABLE, || {
            let mut bytes = [0; LOOK_BYTES];
            let (count, _) = recv(stream, &mut bytes, RecvFlags::PEEK)?;
            match bytes.get(..count) {
                Some([]) | None => Ok(None),
                Some(received) if is_whole(received) => Ok(Some(Sent::Whole)),
                Some(received) if received.len() == LOOK_BYTES => Ok(Some(Sent::Full)),
                // The next bytes make it readable again.
                Some(_) => Err(io::ErrorKind::WouldBlock.into()),
            }
        });
        match looked {
            Ok(sent) => return sent,
            // Unread bytes hide the end.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !ready.is_read_closed() => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;

    /// Adds a connection that has sent this. Returns the client's side.
    async fn enter(lobby: &mut Lobby, listener: &TcpListener, sent: &[u8]) -> TcpStream {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(sent).await.unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        lobby.enter(stream, address);
        client
    }

    async fn ready(lobby: &mut Lobby) -> Sent {
        let Some(Looked::Ready(guest, sent)) = lobby.looked().await else { panic!("it has sent enough") };
        lobby.wait(guest, sent);
        sent
    }

    #[tokio::test]
    async fn places_go_to_whole_requests_first() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let manners = Manners { is_whole: |received| received.ends_with(b"!"), wait: Duration::from_secs(3600) };
        let (mut lobby, places) = (Lobby::new(manners), Arc::new(Semaphore::new(9)));
        let place = || places.clone().try_acquire_owned().unwrap();
        let silent = enter(&mut lobby, &listener, b"").await;
        let mut partial = enter(&mut lobby, &listener, b"GET").await;
        let full = enter(&mut lobby, &listener, &[b'x'; LOOK_BYTES + 1]).await;
        assert_eq!(ready(&mut lobby).await, Sent::Full);
        let whole = enter(&mut lobby, &listener, b"GET!").await;
        assert_eq!(ready(&mut lobby).await, Sent::Whole);
        assert_eq!((lobby.len(), lobby.ready()), (4, 2));
        let address = |admitted: Option<(Guest, OwnedSemaphorePermit)>| admitted.unwrap().0.address;
        assert_eq!(address(lobby.admit(place(), false)), whole.local_addr().unwrap());
        assert!(lobby.admit(place(), false).is_none(), "the place is for whole requests");
        assert_eq!(address(lobby.admit(place(), true)), full.local_addr().unwrap());
        partial.write_all(b" /!").await.unwrap();
        assert_eq!(ready(&mut lobby).await, Sent::Whole);
        assert_eq!(address(lobby.admit(place(), true)), partial.local_addr().unwrap());
        assert!(lobby.admit(place(), true).is_none());
        let Some(Looked::Admitted(guest, _)) = lobby.looked().await else { panic!("it has a place") };
        assert_eq!(guest.address, silent.local_addr().unwrap());
        assert!(!lobby.turn_away(), "no connection has sent less than a request");
        let mut first = enter(&mut lobby, &listener, b"GET").await;
        let _second = enter(&mut lobby, &listener, b"GET").await;
        assert!(lobby.turn_away());
        assert!(matches!(lobby.looked().await, Some(Looked::Gone)));
        let closed = first.read(&mut [0]).await;
        assert!(closed.is_err() || closed.is_ok_and(|count| count == 0), "the first is turned away");
        assert_eq!(lobby.len(), 1);
        let gone = enter(&mut lobby, &listener, b"GET").await;
        drop(gone);
        assert!(matches!(lobby.looked().await, Some(Looked::Gone)));
        assert_eq!(lobby.len(), 1);
    }
}
