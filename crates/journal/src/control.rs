//! Control records: changes of topics, merges, named producers and groups, which objects record next to appends.

use crate::partition_id::PartitionId;
use crate::place::MergedPiece;
use crate::transactions::TransactionEnd;
use std::sync::Arc;

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

/// The version of a group's members in which a change is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Fence {
    /// In any.
    #[default]
    Open,
    /// While the group has no members.
    NoMembers,
    /// In the version with this stamp.
    At(u64),
}

/// A group's committed offset in a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Committed {
    /// Offset of the next record to read. A negative number means no offset: Kafka's clients store such
    /// numbers to make their group begin at its default again.
    pub offset: i64,
    /// Metadata that its consumer stores with it.
    pub metadata: Arc<[u8]>,
}

impl Committed {
    /// Offset of the group's next record, unless it is negative.
    pub fn next_offset(&self) -> Option<u64> {
        u64::try_from(self.offset).ok()
    }
}
