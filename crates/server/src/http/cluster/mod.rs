//! Several brokers on one storage, over HTTP: changes reach the owner of their journal, brokers report stored objects
//! to each other, and clients can list the brokers.
//!
//! The broker chooses the owner (`rawline_broker::cluster`). A request is forwarded at most once: the broker that
//! receives it from another one handles it, even if the owner has changed since. That is always safe, because a
//! broker that isn't the owner can append too. So there are no loops, and a dead owner costs one attempt to connect.
//!
//! Brokers prove to each other who they are, once for each connection (`http/peers/`). A forwarded request names its
//! client, whom the owner judges as if the client had asked there (`sender.rs`).

mod brokers;
mod certificates;
mod changes;
mod crossing;
mod forward;
mod groups;
mod hello;
mod nearer;
mod sender;

pub(super) use brokers::brokers;
pub(super) use certificates::{follow_certificates, present};
pub(super) use changes::changes;
pub(super) use crossing::crossing;
pub(super) use forward::{ByOwner, forward};
pub(super) use groups::groups_of_others;
pub(super) use hello::{hello, proof};
pub(super) use nearer::ZonedRead;
pub(super) use sender::{Sender, Via, sender};
