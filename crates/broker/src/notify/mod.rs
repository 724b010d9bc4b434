//! Whom a commit concerns.
//!
//! ```text
//! commit ─► Subject (one per topic) ─► Registry: who matches? ─► Inbox (one per subscription)
//! ```
//!
//! A commit notes in the inboxes of the topic's subscriptions which partition has records from which offset on, and
//! wakes them. It never waits for one, and holds no records for one. `registry.rs` has the subscriptions, `matching.rs`
//! matches names and prefixes with topics. A reader that waits for partitions that it knows is found by the partition's
//! number (`watchers.rs`), and other partitions of the topic don't wake it.

mod inbox;
mod matching;
mod registry;
mod subject;
mod watchers;

pub(crate) use inbox::{Inbox, Key};
pub use matching::Matching;
pub use registry::{Registered, Registry, Wanted};
pub use subject::Subject;
pub(crate) use watchers::Noted;
