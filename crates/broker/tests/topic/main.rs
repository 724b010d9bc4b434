//! A broker's topics over every store: append, group commit, read, wait, recover.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod append;
mod clocks;
mod damage;
mod delete;
mod golden;
mod kafka;
mod partitions;
mod read;
mod retention;
mod subscriptions;
mod supervise;
mod support;
mod topics;
mod trim;
mod watch;
