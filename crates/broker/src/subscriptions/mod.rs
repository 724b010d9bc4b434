//! Subscriptions: which of them a commit concerns, and where each subscriber is.
//!
//! ```text
//! commit ─► Subject (one per topic) ─► Registry: who matches? ─► Inbox (one per subscription) ─► Subscription
//! ```
//!
//! A commit notes in the inboxes of the topic's subscriptions which partition has records from which offset on, and
//! wakes them. It never waits for one, and holds no records for one: a subscription reads from the log, as far as its
//! subscriber takes what it sends. `registry.rs` matches names and prefixes with topics, `positions.rs` is a
//! subscription's state without I/O, `subscription.rs` drives it.
//!
//! A reader that waits for partitions that it knows has a watch (`watch.rs`): a commit finds it by the partition's
//! number (`watchers.rs`), and other partitions of the topic don't wake it.

mod inbox;
mod matching;
mod positions;
mod registry;
mod subject;
mod subscription;
mod watch;
mod watchers;

pub use matching::Matching;
pub use positions::{Slow, Turn};
pub use registry::{Registered, Registry, Wanted};
pub use subject::Subject;
pub use subscription::{Event, Introduction, Position, Records, Subscribe, Subscription};
pub use watch::Watch;
