//! A journal on a store: one object commits appends to any number of partitions, and several are in flight at once.
//!
//! The rules are `rawline-journal`'s; here is their driver. `task.rs` owns a [`Writer`](rawline_journal::Writer) and
//! executes its requests, `build.rs` lays out objects around the received batches, `catalog.rs` says where the
//! records are, `walk.rs` where they were, for a snapshot; `snapshots.rs` stores snapshots, `load.rs` reads them.
//! `expiry.rs` knows which transactions have timed out.
//! `watch.rs` checks whether stored objects still exist (`look.rs`). `reads.rs` reads the objects of others,
//! `catch_ups.rs` has the callers that wait for them. `merge.rs` merges small objects, which `copy.rs` copies, and
//! compacts topics by key; `collect.rs` deletes what isn't needed. `stored.rs` reads a journal that it doesn't drive.
//! `docs/storage.md` explains how it works.

mod alarm;
mod build;
mod catalog;
mod catch_ups;
mod collect;
pub(crate) mod copy;
mod error;
mod expiry;
mod handle;
pub(crate) mod load;
mod look;
mod merge;
mod reads;
pub(crate) mod request;
mod snapshots;
pub(crate) mod stored;
mod task;
mod together;
mod walk;
mod watch;

pub use crate::journal_config::{CompactLimits, JournalConfig, MergeConfig, MergeWait};
pub use crate::producer_ids::ProducerIds;
pub(crate) use catalog::{Extent, JournalTopic};
pub use error::JournalError;
pub use handle::Journal;
pub(crate) use handle::Submitted;
#[cfg(test)]
pub(crate) use task::FORGETS_END;
pub(crate) use together::{Together, Written};
