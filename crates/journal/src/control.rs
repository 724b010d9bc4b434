//! Control records: changes of topics, merges, named producers and groups, which objects record next to appends.

use crate::groups::Fence;
use crate::offsets::Committed;
use crate::place::MergedPiece;
use crate::state::PartitionId;
use crate::transactions::TransactionEnd;
use std::sync::Arc;
use thiserror::Error;

/// A change of a topic, a step of a merge, a new instance of a named producer, or the end of its transaction, as an
/// object records it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// A topic is created.
    Create {
        /// Its id. A request for a new topic has 0.
        topic: u64,
        /// Its name: 1 to [`NAME_BYTES_MAX`](crate::limits::NAME_BYTES_MAX) bytes.
        name: Arc<str>,
        /// Its number of partitions, from 1 to [`PARTITIONS_MAX`](crate::limits::PARTITIONS_MAX).
        partitions: u32,
        /// Its settings, which the rules only keep: at most
        /// [`SETTINGS_BYTES_MAX`](crate::limits::SETTINGS_BYTES_MAX) bytes.
        settings: Arc<[u8]>,
    },
    /// A topic gets other settings, or more partitions.
    Alter {
        /// The topic's id.
        topic: u64,
        /// Its number of partitions, not less than before.
        partitions: u32,
        /// Its settings in place of those before.
        settings: Arc<[u8]>,
    },
    /// A topic and all its records are deleted.
    Delete {
        /// The topic's id.
        topic: u64,
    },
    /// A partition's records below an offset are deleted.
    Trim {
        /// The partition.
        partition: PartitionId,
        /// Offset of the first record that stays; nothing changes if it is not above the partition's.
        first_offset: u64,
    },
    /// A merge begins, unless one is open: its object will have this number.
    BeginMerge {
        /// Its number. A request for a merge has 0.
        merge: u64,
    },
    /// The open merge ends: these pieces replace their sources.
    EndMerge {
        /// Its number.
        merge: u64,
        /// The pieces, in order of partition and offset, from 1 to [`MERGED_PIECES_MAX`](crate::MERGED_PIECES_MAX).
        pieces: Arc<[MergedPiece]>,
    },
    /// The open merge is abandoned: it never ends.
    AbandonMerge {
        /// Its number.
        merge: u64,
    },
    /// A new instance of a named producer: from here on, no older one appends to any partition. An open transaction of
    /// the older one is aborted.
    OpenProducer {
        /// Its name: 1 to [`NAME_BYTES_MAX`](crate::limits::NAME_BYTES_MAX) bytes.
        name: Arc<str>,
        /// The name's id. A caller that opens an instance draws one at random from
        /// [`NAMED_IDS`](crate::NAMED_IDS), in case the name has none.
        id: u64,
        /// The instance's epoch, which grows with every instance. A caller that opens one leaves it 0.
        epoch: u16,
        /// Timeout of its transactions, in milliseconds; 0 without transactions.
        timeout_ms: u32,
        /// The name of the key that opens it: at most [`OWNER_BYTES_MAX`](crate::OWNER_BYTES_MAX) bytes; empty if it
        /// has none. The key that opens the first instance owns the name.
        owner: Arc<str>,
        /// The instance that it replaces, if the caller knows it: id and epoch.
        from: Option<(u64, u16)>,
        /// The id of the producer whose open transaction is aborted, or 0. A caller that opens an instance leaves it 0.
        ends: u64,
    },
    /// A transaction of a named producer ends. Its producer gets the name's next instance.
    EndTransaction {
        /// The producer's name.
        name: Arc<str>,
        /// Its id.
        id: u64,
        /// Its epoch.
        epoch: u16,
        /// How.
        end: TransactionEnd,
        /// The id and epoch of the next instance. A caller leaves the epoch 0, and draws an id as to open an instance.
        next: (u64, u16),
    },
    /// A group of consumers has come this far in a partition.
    CommitOffset {
        /// Its name: 1 to [`NAME_BYTES_MAX`](crate::limits::NAME_BYTES_MAX) bytes.
        group: Arc<str>,
        /// The partition.
        partition: PartitionId,
        /// The offset with its metadata, which has at most
        /// [`SETTINGS_BYTES_MAX`](crate::limits::SETTINGS_BYTES_MAX) bytes.
        committed: Committed,
        /// The name of the key that commits it, as of one that opens a producer. The key of the first commit owns the
        /// group.
        owner: Arc<str>,
        /// Id and epoch of the producer in whose transaction it is committed: it counts once that is.
        producer: Option<(u64, u16)>,
        /// The version of the group's members in which its committer may commit.
        fence: Fence,
    },
    /// A group's offset in a partition is deleted; without a partition, all of its offsets and its members.
    ForgetOffset {
        /// Its name.
        group: Arc<str>,
        /// The partition.
        partition: Option<PartitionId>,
        /// The version of the group's members in which the offset may be deleted.
        fence: Fence,
    },
    /// The members of a group change.
    StoreGroup {
        /// Its name: 1 to [`NAME_BYTES_MAX`](crate::limits::NAME_BYTES_MAX) bytes.
        group: Arc<str>,
        /// The version: the one before, and 1.
        version: u64,
        /// The stamp of the version before; 0 if the group isn't known.
        after: u64,
        /// The random stamp of this version: not 0, and different from all others.
        stamp: u64,
        /// Number of members.
        members: u32,
        /// The coordinator's state of the group, at most [`GROUP_STATE_BYTES_MAX`](crate::GROUP_STATE_BYTES_MAX) bytes.
        state: Arc<[u8]>,
    },
}

impl Control {
    /// Whether it may free space; settings can delete records too. A store that is full for all other changes
    /// takes it.
    pub fn makes_room(&self) -> bool {
        match self {
            Control::Delete { .. }
            | Control::Trim { .. }
            | Control::Alter { .. }
            | Control::BeginMerge { .. }
            | Control::EndMerge { .. }
            | Control::AbandonMerge { .. } => true,
            Control::Create { .. }
            | Control::OpenProducer { .. }
            | Control::EndTransaction { .. }
            | Control::CommitOffset { .. }
            | Control::ForgetOffset { .. }
            | Control::StoreGroup { .. } => false,
        }
    }

    /// The id of the topic that changes or of the producer, the number of the merge, or the version of the group.
    pub fn id(&self) -> u64 {
        match self {
            Control::Create { topic, .. } | Control::Alter { topic, .. } | Control::Delete { topic } => *topic,
            Control::Trim { partition, .. } => partition.topic,
            Control::BeginMerge { merge } | Control::EndMerge { merge, .. } | Control::AbandonMerge { merge } => *merge,
            Control::OpenProducer { id, .. } | Control::EndTransaction { id, .. } => *id,
            Control::CommitOffset { partition, .. } => partition.topic,
            // No topic has the id 0.
            Control::ForgetOffset { partition, .. } => partition.map_or(0, |partition| partition.topic),
            Control::StoreGroup { version, .. } => *version,
        }
    }

    /// The name of the key that makes the change, where that matters.
    pub(crate) fn owner(&self) -> &str {
        match self {
            Control::OpenProducer { owner, .. } | Control::CommitOffset { owner, .. } => owner,
            _ => "",
        }
    }

    /// Its name, and its settings or state; empty without any.
    pub(crate) fn texts(&self) -> (&[u8], &[u8]) {
        match self {
            Control::Create { name, settings, .. } => (name.as_bytes(), settings),
            Control::OpenProducer { name, .. } | Control::EndTransaction { name, .. } => (name.as_bytes(), &[]),
            Control::CommitOffset { group, committed, .. } => (group.as_bytes(), &committed.metadata),
            Control::ForgetOffset { group, .. } => (group.as_bytes(), &[]),
            Control::StoreGroup { group, state, .. } => (group.as_bytes(), state),
            Control::Alter { settings, .. } => (&[], settings),
            Control::Delete { .. }
            | Control::Trim { .. }
            | Control::BeginMerge { .. }
            | Control::EndMerge { .. }
            | Control::AbandonMerge { .. } => (&[], &[]),
        }
    }
}

/// Why a control record can't be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Refused {
    /// A topic has that name.
    #[error("a topic with this name exists, with the id {topic}; use it, or choose another name")]
    Exists {
        /// The topic's id.
        topic: u64,
    },
    /// No topic has that id.
    #[error("no topic has the id {topic}; it was deleted, or never existed")]
    NoTopic {
        /// The id.
        topic: u64,
    },
    /// The number of partitions is out of range, or less than before.
    #[error("a topic can't have {found} partitions here: between {least} and {most} are possible")]
    Partitions {
        /// The requested number.
        found: u32,
        /// The minimum: the topic's current number.
        least: u32,
        /// The maximum.
        most: u32,
    },
    /// The topic has no partition of that number.
    #[error("the topic has the partitions 0 to {last}; {found} is none of them")]
    NoPartition {
        /// The requested number.
        found: u32,
        /// The number of the topic's last partition.
        last: u32,
    },
    /// The partition has no records up to that offset.
    #[error("offset {found} is after the partition's end, {next_offset}; trim at most up to the end")]
    AfterEnd {
        /// The requested offset.
        found: u64,
        /// The offset that the partition's next record gets.
        next_offset: u64,
    },
    /// A merge is open.
    #[error("merge {merge} is open; wait until it ends, or abandon it")]
    MergeOpen {
        /// Its number.
        merge: u64,
    },
    /// The merge isn't open.
    #[error("merge {merge} is not the open one; it has ended, or was abandoned")]
    MergeClosed {
        /// Its number.
        merge: u64,
    },
    /// An object begins a merge with a number that isn't the next.
    #[error("the next merge gets the number {expected}, not {found}")]
    MergeNumber {
        /// The number that comes next.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// Too many producers have names, and each of them was in use lately.
    #[error(
        "there are {limit} named producers, and no key has more of them than this one, or all were in use lately; use \
         fewer names, or unnamed producers"
    )]
    Names {
        /// The maximum.
        limit: usize,
    },
    /// An object opens an instance of a producer that isn't the next.
    #[error("the producer's next instance has id {expected_id} and epoch {expected}, not {id} and {epoch}")]
    Instance {
        /// The id that comes next.
        expected_id: u64,
        /// The epoch that comes next.
        expected: u16,
        /// The id found.
        id: u64,
        /// The epoch found.
        epoch: u16,
    },
    /// An object gives a name an id that another has, or that names can't have.
    #[error("the id {id} can't be given to a producer's name; draw another")]
    ProducerId {
        /// The id.
        id: u64,
    },
    /// A newer instance of the producer was opened.
    #[error("a newer instance of this producer has epoch {current}, this one has {found}; stop this instance")]
    Fenced {
        /// The newest instance's epoch.
        current: u16,
        /// The caller's epoch.
        found: u16,
    },
    /// This isn't an instance of the producer.
    #[error("no instance with id {id} and epoch {found} is open under this name; open a new one")]
    NotOpen {
        /// The id.
        id: u64,
        /// The epoch.
        found: u16,
    },
    /// The producer was opened without transactions.
    #[error("producer {id} has no transactions; open it with a transactional id")]
    NoTransactions {
        /// The id.
        id: u64,
    },
    /// There is nothing to commit.
    #[error("no transaction of this producer is open; nothing was committed")]
    NoTransaction,
    /// The transaction has ended as requested: not an error for the caller.
    #[error("the transaction has ended already; its producer continues with id {id} and epoch {epoch}")]
    AlreadyEnded {
        /// The id that the producer has since.
        id: u64,
        /// Its epoch.
        epoch: u16,
    },
    /// The transaction has ended, but not as requested.
    #[error("the transaction has ended the other way: committed instead of aborted, or the reverse")]
    OtherEnd,
    /// A producer is opened or forgotten, and its open transaction isn't ended.
    #[error("producer {id} has an open transaction, which would stay open; end it first")]
    OpenTransaction {
        /// The id.
        id: u64,
    },
    /// Groups have too many offsets, and those of no other key have to make room.
    #[error(
        "groups may have {limit} offsets here, and {bytes} bytes committed with them, and no other key has more than \
         this one; all of its groups have committed in the last seven days: delete those that are not used any more"
    )]
    Committed {
        /// The maximum.
        limit: usize,
        /// Maximum size of their metadata in bytes.
        bytes: usize,
    },
    /// The group has no such offset.
    #[error("the group has no such offset; nothing was deleted")]
    NoCommitted,
    /// The group's members have changed since the request was checked, or another broker has changed them.
    #[error("the group's members have changed to version {version} since this was checked; retry")]
    GroupChanged {
        /// The newest version.
        version: u64,
    },
    /// The group has members.
    #[error("the group has {members} members; stop them first")]
    Members {
        /// Their number.
        members: u32,
    },
    /// Too many groups have members.
    #[error("{limit} groups can have members here, which take {bytes} bytes at most; use fewer or smaller groups")]
    Groups {
        /// The maximum.
        limit: usize,
        /// Maximum size of their members' state in bytes.
        bytes: usize,
    },
    /// An object creates a topic with an id that isn't the next.
    #[error("the next topic gets the id {expected}, not {found}")]
    Id {
        /// The id that comes next.
        expected: u64,
        /// The id found.
        found: u64,
    },
}
