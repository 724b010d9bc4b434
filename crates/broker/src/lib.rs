//! Topics on a store: append with group commit, read by offset, wait for data, recover at start.
//!
//! The broker sees batches, never the contents of records: it depends on `rawline-batch` and on nothing that knows a
//! record. It knows no HTTP either. `docs/format.md` describes the bytes it stores.

mod aborted;
mod append;
pub mod backup;
mod broker;
mod checksums;
mod clock;
pub mod cluster;
mod commit_thread;
mod config;
mod coordinator;
pub mod doctor;
mod files_limit;
mod forget_deleted;
mod freed_memory;
mod group_status;
mod index;
pub mod journal;
mod journal_config;
mod journals;
mod life;
pub mod limits;
mod listed;
mod meter;
pub mod metrics;
pub mod notify;
mod object_error;
mod partition;
mod piece;
pub mod pool;
mod producer_ids;
mod read;
mod readers;
mod received;
mod record_times;
mod retention;
mod search;
mod settings;
mod stage;
mod storage_id;
pub mod store;
mod store_error;
pub mod subscriptions;
mod supervise;
mod tasks;
mod topic_error;
mod topics;
mod transaction_error;
mod trim;

pub use append::AppendError;
pub use broker::{Broker, FailedTopic, JournalStatus, NamedPartitions, OpenProducerError, is_named_id};
pub use clock::{Clock, SteadyClock, SystemClock};
pub use commit_thread::CommitThread;
pub use config::Config;
pub use coordinator::{Commit, Coordinator, GroupLag, GroupOffset, OFFSET_METADATA_BYTES_MAX, OffsetError};
pub use files_limit::raise_files_limit;
pub use freed_memory::{keep_freed_memory, limit_arenas};
pub use group_status::{ConsumerShare, GroupState, GroupStatus, MemberShare, MemberStatus, TopicShare};
pub use journal::request::{Appended, ProducerInstance};
pub use listed::ListedTopic;
pub use meter::Meter;
pub use object_error::ObjectError;
pub use partition::{Bounds, Partition, Status};
pub use rawline_batch::Kind;
pub use rawline_groups::consumer::{Assignor, ConsumerHeartbeat, Kept, Leaving, Partitions, Visible};
pub use rawline_groups::{
    CONSUMER_SESSION, GroupError, Identity, Join, Joined, Membership, Outcome, RANGE, RangeShare, Wanting,
    divide_by_range,
};
pub use rawline_journal::{
    BatchKind, Committed, PartitionProducer, TopicId, TransactionProgress, TransactionalProducer,
};
pub use read::{Cut, Piece, ReadAnswer, ReadError, ReadRequest, View};
pub use received::{ProducerError, Received};
pub use record_times::DatedBatch;
pub use settings::{Compaction, Retention, Settings};
pub use stage::STAGES;
pub use storage_id::StorageId;
pub use tasks::{Machine, spawn_on};
pub use topic_error::{TopicError, check_name, check_new_name};
pub use topics::Topic;
pub use transaction_error::TransactionError;
pub use trim::{TrimError, Trimmed};
