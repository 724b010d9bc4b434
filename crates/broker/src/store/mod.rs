//! Where objects live: one small trait, and its implementations.
//!
//! An object is immutable and is created only if none is there at its first offset: creation is the commit. A store
//! keeps no index that a reader would need: it issues a [`Location`] for every object, at commit and in listings, and
//! gets it back with every read.

pub mod cache;
pub mod disk;
mod lock;
mod mapping;
pub mod memory;
mod only_journal;
mod piece;
pub mod s3;

pub use mapping::{FileRange, Mappings};
pub use only_journal::OnlyJournal;
pub(crate) use piece::{verify as verify_piece, verify_batches, verify_object};

use crate::Kind;
use crate::cluster::MemberStore;
use crate::journal::JournalStore;
use crate::limits::INDEX_BYTES_GUESS;
use crate::object::{Object, index_bytes};
use crate::storage_id::StorageId;
use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use rawline_journal::{BatchKind, Place};
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// Name of a topic's settings, in its directory and under its prefix.
pub(crate) const SETTINGS_NAME: &str = "settings.json";

/// The name of a partition's log in a store: the topic's name for partition 0, `TOPIC/NUMBER` for the others. No
/// topic's name has a slash.
pub(crate) fn log_name(topic: &str, partition: u32) -> String {
    assert!(!topic.contains('/'), "{topic:?} isn't the name of a topic");
    if partition == 0 { topic.to_owned() } else { format!("{topic}/{partition}") }
}

/// The topic and the number in the name of a log. `None` if it isn't one.
pub(crate) fn parse_log_name(log: &str) -> Option<(&str, u32)> {
    let Some((topic, number)) = log.split_once('/') else { return Some((log, 0)) };
    let partition = number.parse().ok()?;
    (partition > 0 && log_name(topic, partition) == log).then_some((topic, partition))
}

/// What a store needs to find an object, besides its topic and its first offset. A store gets back only what it issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// Nothing else: the object is in memory.
    Memory,
    /// A part of a file in a directory.
    Segment {
        /// First offset of the segment that holds the object.
        segment: u64,
        /// Position of the object in that segment, in bytes.
        position: u32,
    },
    /// A key of a bucket.
    Key {
        /// Checksum of the object's ETag: it distinguishes the object from another that once had its key.
        tag: u32,
    },
    /// A part of a journal object. To readers it looks like an object with the same batches.
    Journal(Place),
}

impl Location {
    /// The segment's first offset and the position in it.
    pub(crate) fn segment(self) -> (u64, u32) {
        match self {
            Location::Segment { segment, position } => (segment, position),
            _ => unreachable!("{self:?} was not issued by a directory"),
        }
    }

    /// The tag of a key.
    pub(crate) fn tag(self) -> u32 {
        match self {
            Location::Key { tag } => tag,
            _ => unreachable!("{self:?} was not issued for a key of a bucket"),
        }
    }
}

/// A part of a piece of a journal object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PiecePart {
    /// The entries of its batches in the object's index.
    Entries,
    /// Its batches.
    Batches,
}

/// What a store knows of an object from a listing, and from its header if it read that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Offset of its first record.
    pub first_offset: u64,
    /// Its location.
    pub location: Location,
    /// Its size in bytes.
    pub bytes: u64,
    /// What its header says, if the store had to read it.
    pub known: Option<Known>,
}

/// What an index of objects needs from an object's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Offset after the object's last record.
    pub next_offset: u64,
    /// Time of its append, microseconds since the Unix epoch.
    pub appended_us: u64,
}

/// Of which time a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchTime {
    /// The batch's number of records.
    pub records: u32,
    /// Who defines its bytes.
    pub kind: BatchKind,
    /// Microseconds since the Unix epoch; 0 if unknown. Of one of ours, the time of its append, which is unknown if it
    /// is that of its object; of one of Kafka's, the time of its newest record by its producer's clock.
    pub time_us: u64,
}

/// Where objects live. Safe to call from many tasks; commits to one log come from one task at a time.
///
/// What is called a topic here is a log: of partition 0 if it is a topic's name, and `TOPIC/NUMBER` of another
/// partition. Each has its own objects; its settings are of a topic, or have the first offset of another partition.
/// Deletions of topics take place with all partitions.
pub trait Store: Send + Sync + 'static {
    /// Waits until it is known that the store can be used. It can be read before, and nothing may be stored.
    fn ready(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    /// What tells this storage from others, if it keeps an id.
    fn id(&self) -> Option<StorageId> {
        None
    }

    /// The names of all topics that have an object or settings, in no order.
    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// The topic's objects whose first offset is `from` or greater, in order of offset. Foreign files and torn writes
    /// are left out and reported in the log. The first call for a topic recovers it.
    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>>;

    /// Begins to store an object if its topic has none at its first offset. When this returns, the next may begin. When
    /// [`Begun::confirmed`] resolves, the object is as durable as the store makes it, and so are all before it.
    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>>;

    /// Stores an object, as [`Store::begin`] does, and waits until it is confirmed.
    fn commit<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Location, CommitError>> {
        Box::pin(async move {
            let begun = self.begin(topic, object).await?;
            begun.confirmed.await?;
            Ok(begun.location)
        })
    }

    /// Bytes of an object. `range` is in bytes from the object's first and lies inside the object's `bytes`. The
    /// answer borrows the store's memory where it can (a mapping, a cached file).
    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// One part of each of these pieces of journal objects, up to the first that isn't in memory. For pieces that are
    /// wanted whole: one call serves many, and never blocks. A store that can't returns none.
    fn resident(&self, _pieces: &[Place], _part: PiecePart) -> Vec<Bytes> {
        Vec::new()
    }

    /// The topic's settings as they were last stored; `None` if they never were.
    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>>;

    /// Stores a topic's settings in place of those before, at most
    /// [`SETTINGS_BYTES_MAX`](crate::limits::SETTINGS_BYTES_MAX) bytes. They are as durable as the store makes a
    /// commit.
    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The journal in which the store's topics are. Without one, each topic has its own objects. Of topics in a
    /// journal, a store is asked for nothing but the bytes of pieces.
    fn journal(&self) -> Option<Arc<dyn JournalStore>> {
        None
    }

    /// The journals in which the store's topics are, by number: each has the topics that their names assign to it. None
    /// as in [`Store::journal`], which is the first.
    fn journals(&self) -> Vec<Arc<dyn JournalStore>> {
        self.journal().into_iter().collect()
    }

    /// Where the brokers that share the store keep their cards; `None` if a store has one broker.
    fn members(&self) -> Option<Arc<dyn MemberStore>> {
        None
    }

    /// Whether topics without a journal can have several partitions.
    fn has_partitions(&self) -> bool {
        true
    }

    /// Whether [`Store::prefetch`] does anything.
    fn can_prefetch(&self) -> bool {
        false
    }

    /// Begins to bring objects near that will be read soon. Best effort: a store may ignore some or all of them.
    fn prefetch(&self, _topic: &str, _objects: &[ObjectAt]) {}

    /// The batches of an object with the time of each, in order, if it is a piece of a journal object.
    fn batch_times<'a>(
        &'a self,
        _topic: &'a str,
        _object: ObjectAt,
    ) -> BoxFuture<'a, Result<Option<Vec<BatchTime>>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Drops the store's local copy of an object, because it turned out to be damaged. True if there was one: then
    /// reading the object again may help.
    fn discard<'a>(&'a self, _topic: &'a str, _object: ObjectAt) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    /// The mapped files of which [`Store::get`] returns parts, if it maps files.
    fn mappings(&self) -> Option<Arc<Mappings>> {
        None
    }

    /// Deletes objects from the topic's front whose records are all below `offset`. The newest object stays, because
    /// it says where the topic continues. A store may keep more: a segment is deleted as a whole. Returns the first
    /// offset that is left, or `offset` if the topic has no object.
    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Notes durably that a topic is deleted, all that it has. Until [`Store::delete_topic`] has returned, the topic's
    /// settings say so, also after a crash, or the store has nothing of the topic any more. Nothing else is done with
    /// the topic at the same time, except that it is read.
    fn mark_deleted<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes what is left of a topic that is marked as deleted, its settings last: then its name can be used again.
    /// Continues what an earlier run began. Bytes that readers hold stay valid.
    fn delete_topic<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// An object that is being stored.
pub struct Begun {
    /// Its location.
    pub location: Location,
    /// Resolves when it is stored. The work goes on whether or not this is polled.
    pub confirmed: BoxFuture<'static, Result<(), StoreError>>,
}

impl Begun {
    /// An object that is already stored.
    pub fn done(location: Location) -> Begun {
        Begun { location, confirmed: Box::pin(std::future::ready(Ok(()))) }
    }
}

/// Names one object to its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectAt {
    /// Offset of its first record.
    pub first_offset: u64,
    /// Its location.
    pub location: Location,
    /// Its size in bytes.
    pub bytes: u64,
}

impl ObjectAt {
    /// A number of bytes that probably holds the object's index, or exactly that of a piece of a journal object.
    pub(crate) fn index_bytes_guess(&self) -> u64 {
        match self.location {
            Location::Journal(place) => index_bytes(place.batches.count() as usize) as u64,
            Location::Memory | Location::Segment { .. } | Location::Key { .. } => self.bytes.min(INDEX_BYTES_GUESS),
        }
    }
}

/// Why an object was not stored.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Another writer has an object at this offset; nothing was overwritten.
    #[error("another writer already committed at this offset")]
    Exists,
    /// The store failed. Whether the object is stored is unknown, unless the error's kind is `FixRequest`.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What went wrong in a store, in words for the log and for whoever runs the broker.
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct StoreError {
    /// What a caller can do.
    pub kind: Kind,
    /// What happened, where, and what to do.
    pub message: String,
    /// The setting that an operator can change, if there is one: a program adds what it calls it.
    pub setting: Option<Setting>,
    /// Whether an object is gone that was to be read: another broker has deleted it, because its records are deleted or
    /// elsewhere.
    pub is_gone: bool,
    /// Whether an object that was to be read has other bytes than were stored.
    pub is_damaged: bool,
}

/// A setting of a store. A library doesn't know how a program's users change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Where objects are stored: a directory, or `s3://BUCKET/PREFIX`.
    Storage,
    /// The cache's directory.
    CacheDir,
    /// Maximum size of the cache.
    CacheBytes,
    /// When an append to a local directory is acknowledged.
    Durability,
    /// How long a bucket's objects stay when nobody needs them any more.
    DeletionDelay,
    /// The number of journals.
    Journals,
    /// Where the other brokers on the storage reach this one.
    Advertise,
}

impl StoreError {
    /// An error of any kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        StoreError { kind, message: message.into(), setting: None, is_gone: false, is_damaged: false }
    }

    /// An object that was to be read is gone.
    pub fn gone(message: impl Into<String>) -> Self {
        StoreError { is_gone: true, ..StoreError::new(Kind::TryAgain, message) }
    }

    /// An object that was to be read has other bytes than were stored.
    pub fn damaged(message: impl Into<String>) -> Self {
        StoreError { is_damaged: true, ..StoreError::human(message) }
    }

    /// An error that passes by itself.
    pub fn wait(message: impl Into<String>) -> Self {
        StoreError::new(Kind::Wait, message)
    }

    /// An error that only an operator can resolve.
    pub fn human(message: impl Into<String>) -> Self {
        StoreError::new(Kind::TellHuman, message)
    }

    /// Names the setting that an operator can change.
    #[must_use]
    pub fn about(mut self, setting: Setting) -> Self {
        self.setting = Some(setting);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_named_by_its_topic_and_its_number() {
        for (topic, partition, log) in [("t", 0, "t"), ("t", 1, "t/1"), ("a.b-c", 1023, "a.b-c/1023")] {
            assert_eq!(log_name(topic, partition), log);
            assert_eq!(parse_log_name(log), Some((topic, partition)));
        }
        for wrong in ["t/", "t/0", "t/01", "t/+1", "t/x", "t/1/2", "t/-1", "t/5000000000", "/"] {
            assert_eq!(parse_log_name(wrong), None, "{wrong}");
        }
    }
}
