//! The byte stream of a connection, plain or over TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::tls::Tls;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::client::TlsStream;

/// The stream below a connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Opens a stream to a host.
    pub(crate) async fn open(host: &str, port: u16, tls: Option<&Tls>) -> io::Result<Stream> {
        let socket = connect(host, port).await?;
        socket.set_nodelay(true)?;
        match tls {
            Some(tls) => Ok(Stream::Tls(tls.connect(socket).await?)),
            None => Ok(Stream::Plain(socket)),
        }
    }
}

/// Connects to the first reachable address of the host.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut failed = None;
    for address in tokio::net::lookup_host((host, port)).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        if address.ip().is_loopback() {
            send_unpaced(&socket);
        }
        match socket.connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::Error::other("the name has no address")))
}

/// Within one machine there is no network path to probe, and pacing (BBR) only costs timers. Best effort: a failure
/// only costs time. Other systems don't pace by default.
#[cfg(target_os = "linux")]
fn send_unpaced(socket: &TcpSocket) {
    let _ = rustix::net::sockopt::set_tcp_congestion(socket, "reno");
}

#[cfg(not(target_os = "linux"))]
fn send_unpaced(_: &TcpSocket) {}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_write_vectored(context, pieces),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(socket) => socket.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
