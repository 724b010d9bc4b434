//! The rules of the journal, in which one object commits appends to any number of partitions. No I/O, no tasks, no
//! clock, no randomness: a driver reports events and executes the rules' requests. The broker's task is
//! one driver, the model checker in `model/` another.
//!
//! The journal is a chain of objects numbered 1, 2, 3, …, each created once and never overwritten. An object has an id
//! and names the id of the object before it; [`Chain`] says which objects are valid. [`State`] is what the valid ones
//! add up to, and [`Writer`] extends the chain, whatever other writers do at the same time. [`Index`] is the beginning
//! of an object's bytes: its place in the chain and what it changes. [`Snapshot`] is the state at one moment, as bytes.
//!
//! A merge copies batches of many objects into one: [`choose`] says of which, [`join`] which of their pieces become
//! one, and [`Merges`] that one happens at a time.

mod chain;
mod changes;
mod checksum;
mod control;
mod described;
mod garbage;
mod groups;
mod hedge;
mod journals;
mod limits;
mod lost;
mod merge;
mod merges;
mod missing;
#[cfg(test)]
mod model;
mod names;
mod needed;
mod object;
mod offsets;
mod partition;
mod partition_id;
mod place;
mod producers;
mod refused;
mod rules;
mod shared_map;
mod shares;
mod snapshot;
mod sparse;
mod state;
mod times;
mod topic_id;
mod topics;
mod transactions;
mod writer;

pub use chain::{Chain, Id, Link};
pub use changes::{Changes, Entry};
pub use control::{Committed, Control, Fence};
pub use described::{PartitionProducer, TransactionProgress, TransactionalProducer};
pub use garbage::{Garbage, Key, Listing};
pub use groups::{Groups, StoredGroup};
pub use hedge::{FoundId, Hedge, Next};
pub use journals::{JOURNALS_MAX, hash_of, journal_of, journal_of_topic, mix};
pub use limits::{
    CLOCK_BACK_US, GROUP_STATE_BYTES_MAX, Limits, MERGED_PIECES_MAX, NAME_BYTES_MAX, NAMED_IDS, OWNER_BYTES_MAX,
    PARTITIONS_MAX, PRODUCER_NAMES_MAX,
};
pub use lost::Lost;
pub use merge::{Joined, Joining, MergeLimits, Used, Uses, choose};
pub use merges::Merges;
pub use missing::Missing;
pub use needed::Needed;
pub use object::{
    Batch, BatchKind, HEADER_BYTES, Header, Index, ObjectError, Section, build_index, build_merged_index, index_bytes,
};
pub use offsets::Offsets;
pub use partition_id::PartitionId;
pub use place::{BatchCount, MergedPiece, Piece, Place, Source};
pub use producers::{Content, Producer, Rejected, content_checksum};
pub use refused::Refused;
pub use shared_map::SharedMap;
pub use snapshot::{
    JoinedParts, PartEntry, Snapshot, SnapshotError, SnapshotName, SnapshotPart, SnapshotRoot, build_snapshot,
    build_snapshot_in_parts, build_snapshot_of,
};
pub use sparse::{SharedFile, SparseFile};
pub use state::{Contradiction, Expired, State, Wrong};
pub use times::{Times, next_time};
pub use topic_id::TopicId;
pub use topics::Topic;
pub use transactions::{Aborted, PartitionTransactions, TransactionEnd, TransactionPart};
pub use writer::{Action, Answer, Append, Certain, Event, Outcome, PutResult, ReadResult, Size, Writer};
