//! `/v1/messages/json`: the WebSocket of Zeek's Broker, over topics of structured values. docs/zeek.md describes it.
//!
//! `session.rs` interprets a client's messages without I/O; `driver.rs` executes the result.

mod driver;
mod feed;
mod message;
mod publish;
mod session;
mod topic;

pub(crate) use driver::connect;
