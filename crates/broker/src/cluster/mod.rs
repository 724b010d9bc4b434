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
mod exchange;
mod forward;
mod hex;
mod identity;
mod members;
mod strangers;
mod takeover;
mod task;
mod twins;
mod zones;

pub use crate::store::members::BrokerId;
pub use card::{Card, Endpoint};
pub use exchange::{Peers, Unanswered};
pub use forward::{Forwarded, OwnerLost, Sent};
pub use identity::{Fingerprint, PublicKey};
pub use members::{Brokers, Member, MemberState};
pub use task::Cluster;
