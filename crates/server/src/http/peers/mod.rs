//! Connections between brokers: each proves to the other who it is, once (`handshake.rs`), and names the clients for
//! whom it sends requests (`caller.rs`).

mod caller;
mod connect;
mod handshake;
mod introduced;
mod requests;

pub(super) use caller::Named;
pub(super) use connect::ConnectError;
pub use handshake::PeerKey;
pub(super) use handshake::{Answering, Hello, MESSAGE_BYTES_MAX, Proof};
pub(super) use introduced::{Introduced, Proven, text};
pub(super) use requests::{Asker, Client, Exchanged, PeerBody, Peers, SendError, body};
