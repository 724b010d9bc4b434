//! Notices that the client of a connection has disconnected while no protocol reads from it.
//!
//! The HTTP library reads nothing while a request is being handled, beyond what it has buffered. A client that sends
//! one byte of a next request and closes the connection would keep its place until the end of a long wait.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use rawline_broker::pool::Holder;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// How often it is checked while unread bytes hide the end: a place is lost to a client that is gone for about this
/// long.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// A socket that a connection shares with the code that watches its client. Both run in the connection's one task, so
/// the lock is never contended.
#[derive(Debug, Clone)]
pub(crate) struct SharedStream(Arc<Mutex<TcpStream>>);

impl SharedStream {
    pub fn new(stream: TcpStream) -> Self {
        SharedStream(Arc::new(Mutex::new(stream)))
    }

    /// Lets the current runtime watch the socket, instead of the one that has until now.
    fn move_here(&self) -> io::Result<()> {
        let mut stream = self.lock();
        let socket: std::net::TcpStream = stream.as_fd().try_clone_to_owned()?.into();
        *stream = TcpStream::from_std(socket)?;
        Ok(())
    }

    pub fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client of a connection.
#[derive(Clone)]
pub(crate) struct Peer {
    stream: SharedStream,
    /// The account of its network address.
    pub holder: Arc<Holder>,
    /// The client's address.
    pub address: IpAddr,
}

/// A peer: an IPv4 address, or an IPv6 network of 64 bits, of which one machine can use every address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

impl Peer {
    pub fn new(stream: SharedStream, holder: Arc<Holder>, address: IpAddr) -> Self {
        Peer { stream, holder, address }
    }

    /// The client at this address whose request another broker forwards on this connection.
    pub fn forwarding(&self, address: IpAddr) -> Self {
        Peer { address, ..self.clone() }
    }

    /// Lets the current runtime watch the connection, instead of the one that has until now.
    pub fn move_here(&self) -> io::Result<()> {
        self.stream.move_here()
    }

    /// Returns when the client is gone. Until it has sent something that isn't read, this needs no timer.
    pub async fn gone(&self) {
        loop {
            // An error is the end, too.
            let _ = poll_fn(|context| self.stream.lock().poll_read_ready(context)).await;
            if self.is_gone() {
                return;
            }
            tokio::time::sleep(CHECK_EVERY).await;
        }
    }

    /// Whether the client has closed its side of the connection, or the connection is broken.
    pub fn is_gone(&self) -> bool {
        // The state known to the runtime, without a system call. It doesn't count bytes that are not read yet.
        match self.stream.lock().ready(Interest::READABLE).now_or_never() {
            Some(Ok(ready)) => ready.is_read_closed(),
            Some(Err(_)) => true,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_broker::pool::Pool;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    async fn connection() -> (Peer, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let holder = Pool::new(1 << 20).holder(server.peer_addr().unwrap().ip());
        (Peer::new(SharedStream::new(server), holder, IpAddr::from([127, 0, 0, 1])), client)
    }

    /// Defect 8: the unread byte hid the end from the HTTP library.
    #[tokio::test]
    async fn a_client_that_leaves_a_byte_behind_is_noticed() {
        let (peer, mut client) = connection().await;
        assert!(!peer.is_gone());
        client.write_all(b"G").await.unwrap();
        drop(client);
        peer.gone().await;
    }

    #[tokio::test]
    async fn a_client_that_sends_the_next_request_is_not_gone() {
        let (peer, mut client) = connection().await;
        client.write_all(b"GET /").await.unwrap();
        std::future::poll_fn(|context| peer.stream.lock().poll_read_ready(context)).await.unwrap();
        assert!(!peer.is_gone());
    }

    #[test]
    fn a_peer_is_an_ipv4_address_or_an_ipv6_network() {
        let network = |address: &str| network(address.parse().unwrap()).to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }
}
