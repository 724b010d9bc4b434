//! An open WebSocket: messages in, messages out, the closing handshake.

use super::wire::Wire;
use super::{CloseCode, FrameKind, MESSAGE_BYTES_MAX, Message};
use crate::net::pace::Paced;
use crate::net::pieces::write_pieces;
use crate::net::stream::Stream;
use bytes::{Buf, Bytes};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tungstenite::error::{CapacityError, Error};
use tungstenite::protocol::frame::CloseFrame;
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};

/// The size of one read in bytes.
const READ_BYTES: usize = 16 << 10;

/// Maximum length of a reason in a close frame, in bytes (RFC 6455: a control frame has 125, two of them the code).
const REASON_BYTES_MAX: usize = 123;

/// A WebSocket, on the broker's side.
pub(crate) struct WebSocket<S = Stream> {
    stream: Paced<S>,
    context: WebSocketContext,
    wire: Wire,
    /// How long the end of the closing handshake is waited for.
    close_wait: Duration,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// After the response to the upgrade; `arrived` is what followed the request.
    pub fn new(stream: Paced<S>, arrived: &[u8], close_wait: Duration) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let context = WebSocketContext::new(Role::Server, Some(config));
        let wire = Wire { received: arrived.into(), ..Wire::default() };
        WebSocket { stream, context, wire, close_wait }
    }

    /// The client's next message, or `None` when the connection has ended; then it is to be dropped. A client that
    /// violates the protocol gets a close frame with the reason. Cancel-safe.
    pub async fn receive(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.receive_now().await? {
                return Some(message);
            }
            self.wire.received.reserve(READ_BYTES);
            match self.stream.read_buf(&mut self.wire.received).await {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a WebSocket ended");
                    return None;
                }
            }
        }
    }

    /// The client's next message if it has arrived, `Some(None)` if it hasn't; `None` as [`WebSocket::receive`].
    pub async fn receive_now(&mut self) -> Option<Option<Message>> {
        loop {
            let read = self.context.read(&mut self.wire);
            match read {
                Ok(message @ (Message::Text(_) | Message::Binary(_))) => return Some(Some(message)),
                // The library has answered it.
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.flush().await.ok()?;
                    return Some(None);
                }
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                    self.flush().await.ok()?;
                    // The client closes when it has our close frame.
                    self.linger().await;
                    return None;
                }
                Err(error) => {
                    self.close(close_code(&error), &error.to_string()).await;
                    return None;
                }
            }
        }
    }

    /// Sends a message of these pieces, which aren't copied; `holds_buffers` says that some are buffers of the pool.
    /// After an error, or when it was dropped before its end, the connection is of no use.
    pub async fn send(&mut self, kind: FrameKind, pieces: Vec<Bytes>, holds_buffers: bool) -> io::Result<()> {
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        let mut header = Vec::new();
        kind.put_header(bytes, &mut header);
        self.send_frames(std::iter::once(header.into()).chain(pieces), holds_buffers).await
    }

    /// Sends whole frames, with the headers that [`FrameKind::put_header`] writes; otherwise as [`WebSocket::send`].
    pub async fn send_frames(
        &mut self,
        frames: impl IntoIterator<Item = Bytes>,
        holds_buffers: bool,
    ) -> io::Result<()> {
        self.stream.begin_message(holds_buffers);
        // Pongs go between two messages.
        let control = self.wire.sent.split().freeze();
        let pieces = std::iter::once(control).chain(frames).filter(|piece| !piece.is_empty());
        write_pieces(&mut self.stream, pieces.collect()).await
    }

    /// Sends a ping.
    pub async fn ping(&mut self) -> io::Result<()> {
        // Bytes that can't be written now are written with the next message.
        let _ = self.context.write(&mut self.wire, Message::Ping(Bytes::new()));
        self.flush().await
    }

    /// Closes the connection: sends the reason, and waits a moment for the client's own close frame, since a client
    /// that has sent more than we have read would otherwise not get the reason.
    pub async fn close(&mut self, code: CloseCode, reason: &str) {
        let end = reason.floor_char_boundary(REASON_BYTES_MAX);
        let (reason, _) = reason.split_at(end);
        tracing::debug!(%code, reason, "closing a WebSocket");
        let frame = CloseFrame { code, reason: reason.into() };
        // Closed already, if this fails.
        let _ = self.context.close(&mut self.wire, Some(frame));
        if self.flush().await.is_ok() {
            self.linger().await;
        }
    }

    /// Writes the library's pending frames.
    async fn flush(&mut self) -> io::Result<()> {
        if self.wire.sent.has_remaining() {
            self.stream.begin_message(false);
        }
        while self.wire.sent.has_remaining() {
            if self.stream.write_buf(&mut self.wire.sent).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        self.stream.flush().await
    }

    /// Reads and discards until the client closes.
    async fn linger(&mut self) {
        let rest = async {
            // Both sides have said that they send nothing more, or the client breaks the protocol.
            let _ = self.stream.shutdown().await;
            loop {
                self.wire.received.clear();
                self.wire.received.reserve(READ_BYTES);
                match self.stream.read_buf(&mut self.wire.received).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(self.close_wait, rest).await;
    }
}

/// The code of a close frame for a client's error (RFC 6455, section 7.4.1).
fn close_code(error: &Error) -> CloseCode {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { .. }) => CloseCode::Size,
        Error::Utf8(_) => CloseCode::Invalid,
        _ => CloseCode::Protocol,
    }
}
