//! Why a control record can't be.

use thiserror::Error;

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
