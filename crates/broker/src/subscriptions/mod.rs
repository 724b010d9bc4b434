//! Subscriptions: where each subscriber is, and what it gets next.
//!
//! A commit wakes the subscriptions that it concerns (`notify/`). A subscription reads from the log, as far as its
//! subscriber takes what it sends: `positions.rs` is its state without I/O, `subscription.rs` drives it. A reader that
//! waits for partitions that it knows has a watch (`watch.rs`).

mod positions;
mod subscription;
mod watch;

pub use positions::{Slow, Turn};
pub use subscription::{Event, Introduction, Position, Records, Subscribe, Subscription};
pub use watch::Watch;
