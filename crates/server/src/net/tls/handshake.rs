//! Handshakes: a limited number at once, each for a limited time.

use super::hello::Hello;
use super::sender::TlsSender;
use super::{Protocol, Tls};
use crate::net::activity::Activity;
use crate::net::listen::{Place, Places};
use crate::net::peer::SharedStream;
use crate::net::sendfile::FileSender;
use crate::net::stream::Stream;
use rawline_broker::store::Mappings;
use rustls::AlertDescription;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// How long a handshake may take, from the connection's beginning on. Slow networks take seconds.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);

/// Handshakes at once, of clients that have begun theirs. Each may take 64 KiB for messages that a client sends in
/// pieces, 4 MiB in all, which is counted for no connection.
const HANDSHAKES_MAX: usize = 64;

/// A handshake that takes longer makes room for others.
const SLOW: Duration = Duration::from_secs(1);

/// How often a handshake that waits for a place looks for a slow one.
const PLACE_CHECK: Duration = Duration::from_millis(20);

/// Minimum time between two lines of the log about failures of one kind. Anyone can make a handshake fail.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// The response to a client that uses HTTP without TLS.
const PLAIN_HTTP: &str = "this port speaks TLS; use https:// in the broker's address\n";

pub(super) struct Handshakes {
    places: Places,
    refused: Sparse,
    failed: Sparse,
}

/// Why a handshake failed.
enum Failed {
    /// The client speaks something else.
    Hello(Hello),
    Handshake(io::Error),
    /// It took too long.
    Time,
    /// The connection makes room for another, or the broker stops.
    Evicted,
}

impl Handshakes {
    pub fn new() -> Handshakes {
        Handshakes { places: Places::new(HANDSHAKES_MAX), refused: Sparse::new(), failed: Sparse::new() }
    }

    /// A place; the slowest handshake makes room if all are taken.
    async fn place(&self) -> Option<Place> {
        loop {
            match tokio::time::timeout(PLACE_CHECK, self.places.take(false)).await {
                Ok(place) => return place,
                Err(_) => _ = self.places.connections.evict_idle(SLOW),
            }
        }
    }
}

impl Tls {
    /// The stream of a connection, after its handshake. `None`, and a line in the log, if it fails.
    pub(crate) async fn accept(
        &self,
        protocol: Protocol,
        socket: SharedStream,
        address: SocketAddr,
        activity: &Activity,
        mappings: Option<Arc<Mappings>>,
    ) -> Option<Stream> {
        let accepted = tokio::select! {
            accepted = tokio::time::timeout(HANDSHAKE_WAIT, self.begin(protocol, &socket, mappings)) => accepted,
            () = activity.evicted() => Ok(Err(Failed::Evicted)),
        };
        match accepted.unwrap_or(Err(Failed::Time)) {
            Ok(stream) => Some(stream),
            Err(failed) => {
                self.log(protocol, address, &failed);
                match failed {
                    Failed::Hello(Hello::Http) => refuse(socket, &plain_http()).await,
                    // The client got an alert with the reason.
                    Failed::Handshake(_) => refuse(socket, "").await,
                    Failed::Hello(_) | Failed::Time | Failed::Evicted => {}
                }
                None
            }
        }
    }

    async fn begin(
        &self,
        protocol: Protocol,
        socket: &SharedStream,
        mappings: Option<Arc<Mappings>>,
    ) -> Result<Stream, Failed> {
        // Without a place: one that sends nothing takes no memory.
        let hello = Hello::of(first_byte(socket).await.map_err(Failed::Handshake)?);
        if hello != Hello::Tls {
            return Err(Failed::Hello(hello));
        }
        let Some(place) = self.0.handshakes.place().await else { return Err(Failed::Evicted) };
        let acceptor = TlsAcceptor::from(self.config(protocol));
        let accepted = tokio::select! {
            accepted = acceptor.accept(FileSender::new(socket.clone(), None)) => accepted.map_err(Failed::Handshake),
            () = place.open.activity.evicted() => Err(Failed::Time),
        };
        Ok(Stream::Tls(TlsSender::new(accepted?, mappings)))
    }

    fn log(&self, protocol: Protocol, address: SocketAddr, failed: &Failed) {
        let hint = match (failed, protocol) {
            (Failed::Evicted, _) => return,
            (Failed::Time, _) => {
                return tracing::debug!(%address, "closed a connection: its TLS handshake took too long");
            }
            (Failed::Handshake(error), _) if error.get_ref().is_none_or(|inner| !inner.is::<rustls::Error>()) => {
                // Also those that only look whether the port is open.
                return tracing::debug!(%address, %error, "a connection ended in its TLS handshake");
            }
            (Failed::Handshake(error), _) => {
                let hint = hint(error);
                if self.0.handshakes.failed.is_due() {
                    tracing::warn!(%address, %error, "a TLS handshake failed{hint}");
                }
                return;
            }
            (Failed::Hello(Hello::Http), Protocol::Http) => "HTTP without TLS; use https:// in the broker's address",
            (Failed::Hello(Hello::Kafka), Protocol::Kafka) => {
                "Kafka's protocol without TLS; set its security.protocol to SSL or SASL_SSL"
            }
            (Failed::Hello(_), Protocol::Http) => "something else; is it a client of HTTP?",
            (Failed::Hello(_), Protocol::Kafka) => "something else; is it one of Kafka's clients?",
        };
        if self.0.handshakes.refused.is_due() {
            tracing::warn!(%address, "closed a connection: the port speaks TLS, and the client {hint}");
        }
    }
}

/// Advice for a failed handshake, if the cause is known.
fn hint(error: &io::Error) -> &'static str {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::NoCertificatesPresented) => {
            ": the client has to present a certificate that an authority in the file of tls-client-ca has signed"
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            ": the client's certificate is not one that an authority in the file of tls-client-ca has signed"
        }
        Some(rustls::Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired,
        )) => ": the client doesn't trust the broker's certificate; configure its authority, and check names and dates",
        _ => "",
    }
}

/// The first byte that arrives, which stays where it is.
async fn first_byte(socket: &SharedStream) -> io::Result<u8> {
    let mut byte = [0];
    let count = poll_fn(|context| socket.lock().poll_peek(context, &mut ReadBuf::new(&mut byte))).await?;
    if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(u8::from_be_bytes(byte)) }
}

/// The response to a client that speaks HTTP without TLS.
fn plain_http() -> String {
    format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{PLAIN_HTTP}",
        PLAIN_HTTP.len()
    )
}

/// Sends the last bytes of a connection, and waits a moment for the client to close it: one that is closed with unread
/// bytes may lose what was sent.
async fn refuse(socket: SharedStream, last: &str) {
    let mut sender = FileSender::new(socket, None);
    let sending = async {
        sender.write_all(last.as_bytes()).await?;
        sender.shutdown().await?;
        let mut rest = [0; 512];
        while sender.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(SLOW, sending).await;
}

/// Limits how often something is logged.
struct Sparse {
    epoch: Instant,
    /// When the next line is due, in milliseconds.
    next: AtomicU64,
}

impl Sparse {
    fn new() -> Sparse {
        Sparse { epoch: Instant::now(), next: AtomicU64::new(0) }
    }

    fn is_due(&self) -> bool {
        let now = self.epoch.elapsed().as_millis() as u64;
        let due = |next| (next <= now).then_some(now + LOG_EVERY.as_millis() as u64);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
    }
}
