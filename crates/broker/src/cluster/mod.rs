//! The brokers on one storage: which are live, and which own the journals.
//!
//! Each broker keeps a small key in the storage up to date, `.brokers/ID.json` (`card.rs`). From the cards of all, and
//! from whether they respond, each broker decides for itself which of them owns which journal, and appends to it for
//! the others (`members.rs` and `assign.rs`, without I/O). Brokers may disagree at any time, and an owner may be gone:
//! a journal's chain alone keeps what is stored right. A wrong owner costs lost races, never records. `task.rs` does
//! the requests to the storage, `exchange.rs` asks the other brokers, and `forward.rs` sends them what is theirs.

mod addresses;
mod assign;
mod card;
mod ends;
mod exchange;
mod forward;
mod hex;
mod identity;
mod members;
mod strangers;
mod takeover;
mod task;
mod twins;

pub use card::{BrokerId, Card, Endpoint};
pub use exchange::{Peers, Unanswered};
pub use forward::{Forwarded, OwnerLost, Sent};
pub use identity::{Fingerprint, PublicKey};
pub use members::{Brokers, Member, MemberState};
pub use task::Cluster;

use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// Where brokers keep their cards. Each call is one request.
pub trait MemberStore: Send + Sync + 'static {
    /// Stores a broker's card in place of the one before.
    fn put(&self, id: BrokerId, card: Bytes) -> BoxFuture<'static, Result<(), StoreError>>;

    /// A broker's card, and how long ago it was stored by the store's own clock; `None` if it has no card.
    fn get(&self, id: BrokerId) -> BoxFuture<'static, Result<Option<(Bytes, Duration)>, StoreError>>;

    /// The brokers that have a card.
    fn list(&self) -> BoxFuture<'static, Result<Vec<BrokerId>, StoreError>>;

    /// Deletes a card. One that is gone already doesn't matter.
    fn delete(&self, id: BrokerId) -> BoxFuture<'static, Result<(), StoreError>>;
}
