//! The HTTP API as its clients meet it: over real sockets, mostly against the real binary.

mod append;
mod auth;
mod broker;
mod client;
mod describe;
mod malformed;
mod metrics;
mod read;
mod serve;
mod slow;
mod topics;
mod wait;
