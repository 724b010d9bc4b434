//! WebSockets (RFC 6455): the connection after the upgrade of a request.
//!
//! The library tungstenite, which reads and writes memory only (`wire.rs`), follows the protocol: it reads the client's
//! frames, joins fragments, checks, answers pings and the closing handshake. Our own data frames don't go through it:
//! stored pieces follow their header without being copied (`socket.rs`). No extensions, so no compression.

mod frames;
mod session;
mod socket;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use frames::FrameKind;
pub(crate) use session::Upgrade;
pub(crate) use socket::WebSocket;
pub(crate) use tungstenite::Message;
pub(crate) use tungstenite::protocol::frame::coding::CloseCode;

/// Maximum length of a client's message in bytes, and of each frame. A message and the frame that is joined to it lie
/// in the connection's own memory, which is as large as the library's buffer was before.
pub(crate) const MESSAGE_BYTES_MAX: usize = crate::http::limits::CONNECTION_BYTES / 2;
