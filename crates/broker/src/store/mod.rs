//! Where objects live: one small trait, and its implementations.
//!
//! An object is immutable and is created only if none has its number: creation is the commit. A store keeps no index
//! that a reader would need: it gets the place of a piece with every read.

pub mod cache;
pub mod disk;
mod lock;
mod mapping;
pub(crate) mod members;
mod only_journal;
mod piece;
pub mod s3;

pub use crate::store_error::{Setting, StoreError};
pub use mapping::{FileRange, Mappings};
pub use members::MemberStore;
pub use only_journal::OnlyJournal;
pub(crate) use piece::{verify as verify_piece, verify_batches, verify_object};

use crate::journal::JournalStore;
use crate::object::index_bytes;
use crate::storage_id::StorageId;
use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use rawline_journal::{BatchKind, Place};
use std::ops::Range;
use std::sync::Arc;

/// The name of a partition's log: the topic's name for partition 0, `TOPIC/NUMBER` for the others. No
/// topic's name has a slash.
pub(crate) fn log_name(topic: &str, partition: u32) -> String {
    assert!(!topic.contains('/'), "{topic:?} isn't the name of a topic");
    if partition == 0 { topic.to_owned() } else { format!("{topic}/{partition}") }
}

/// A part of a piece of a journal object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PiecePart {
    /// The entries of its batches in the object's index.
    Entries,
    /// Its batches.
    Batches,
}

/// Of which time a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchTime {
    /// The batch's number of records.
    pub records: u32,
    /// The format of its bytes.
    pub kind: BatchKind,
    /// Microseconds since the Unix epoch; 0 if unknown. Of one of ours, the time of its append, which is unknown if it
    /// is that of its object; of one of Kafka's, the time of its newest record by its producer's clock.
    pub time_us: u64,
}

/// Where the objects of journals live, and the bytes of pieces of them. Safe to call from many tasks.
///
/// To readers, a piece looks like an object with the same batches. What is called a topic here is a log: of partition 0
/// if it is a topic's name, and `TOPIC/NUMBER` of another partition.
pub trait Store: Send + Sync + 'static {
    /// Waits until it is known that the store can be used. It can be read before, and nothing may be stored.
    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    /// What tells this storage from others, if it keeps an id.
    fn id(&self) -> Option<StorageId> {
        None
    }

    /// The journals in which the topics are, by number: each has the topics that their names assign to it. At least
    /// one.
    fn journals(&self) -> Vec<Arc<dyn JournalStore>>;

    /// Where the brokers that share the store keep their cards; `None` if a store has one broker.
    fn members(&self) -> Option<Arc<dyn MemberStore>> {
        None
    }

    /// Bytes of a piece. `range` is in bytes from the first of its index and lies inside the piece's `bytes`. The
    /// answer borrows the store's memory where it can (a mapping, a cached file).
    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// One part of each of these pieces, up to the first that isn't in memory. For pieces that are wanted whole: one
    /// call serves many, and never blocks. A store that can't returns none.
    fn resident(&self, _pieces: &[Place], _part: PiecePart) -> Vec<Bytes> {
        Vec::new()
    }

    /// Whether [`Store::prefetch`] does anything.
    fn can_prefetch(&self) -> bool {
        false
    }

    /// Begins to bring pieces near that will be read soon. Best effort: a store may ignore some or all of them.
    fn prefetch(&self, _topic: &str, _objects: &[ObjectAt]) {}

    /// The batches of a piece with the time of each, in order.
    fn batch_times<'a>(&'a self, topic: &'a str, object: ObjectAt)
    -> BoxFuture<'a, Result<Vec<BatchTime>, StoreError>>;

    /// Drops the store's local copy of an object, because it turned out to be damaged. True if there was one: then
    /// reading the object again may help.
    fn discard<'a>(&'a self, _topic: &'a str, _object: ObjectAt) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    /// The mapped files of which [`Store::get`] returns parts, if it maps files.
    fn mappings(&self) -> Option<Arc<Mappings>> {
        None
    }
}

/// Names one piece of an object to its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectAt {
    /// Offset of its first record.
    pub first_offset: u64,
    /// Where its batches are.
    pub place: Place,
    /// The size of its index and its batches in bytes.
    pub bytes: u64,
}

impl ObjectAt {
    /// The piece that is there.
    pub fn new(first_offset: u64, place: Place) -> ObjectAt {
        ObjectAt { first_offset, place, bytes: index_bytes_of(&place) + u64::from(place.bytes) }
    }

    /// The size of its index in bytes.
    pub fn index_bytes(&self) -> u64 {
        index_bytes_of(&self.place)
    }
}

fn index_bytes_of(place: &Place) -> u64 {
    index_bytes(place.batches.count() as usize) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_named_by_its_topic_and_its_number() {
        for (topic, partition, log) in [("t", 0, "t"), ("t", 1, "t/1"), ("a.b-c", 1023, "a.b-c/1023")] {
            assert_eq!(log_name(topic, partition), log);
        }
    }
}
