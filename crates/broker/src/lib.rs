//! Topics on a store: append with group commit, read by offset, wait for data, recover at start.
//!
//! The broker sees batches, never the contents of records: it depends on `rawline-batch` and on nothing that knows a
//! record. It knows no HTTP either. `docs/format.md` describes the bytes it stores.

mod append;
mod broker;
mod clock;
pub mod cluster;
mod commit_thread;
mod coordinator;
mod end;
mod files_limit;
mod forget_deleted;
mod group_status;
mod index;
pub mod journal;
mod journaled;
mod journals;
mod life;
pub mod limits;
pub mod metrics;
mod object;
mod partition;
pub mod pool;
mod producer;
mod read;
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
mod topic;
mod transactions;
mod transactions_status;
mod trim;

pub use append::{AppendError, Appended};
pub use broker::{Broker, Config, FailedTopic};
pub use clock::{Clock, SteadyClock, SystemClock};
pub use commit_thread::CommitThread;
pub use coordinator::{Commit, GroupOffset, OFFSET_METADATA_BYTES_MAX, OffsetError};
pub use files_limit::raise_files_limit;
pub use group_status::{ConsumerShare, GroupState, GroupStatus, MemberShare, MemberStatus, TopicShare};
pub use metrics::{CommitCounts, commit_counts};
pub use object::ObjectError;
pub use partition::{Bounds, Partition, Status};
pub use producer::{OpenProducerError, ProducerInstance, is_named_id};
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
pub use topic::{Topic, TopicError, check_name, check_new_name};
pub use transactions::TransactionError;
pub use transactions_status::NamedPartitions;
pub use trim::{TrimError, Trimmed};
