//! `/v1/messages/json`: the WebSocket of Zeek's Broker, over topics of structured values. docs/zeek.md describes it.
//!
//! `session.rs` decides what a client's message means and does no I/O; `driver.rs` does what it says.

mod driver;
mod feed;
mod message;
mod publish;
mod session;
mod topic;

pub(crate) use driver::connect;
