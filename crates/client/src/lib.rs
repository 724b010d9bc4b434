//! Producer and consumer for a Rawline broker, over HTTP.
//!
//! - [`Client`] sends single requests: append, read, describe topics;
//! - [`Producer`] collects records in batches and sends them in order, with bounded memory;
//! - [`Consumer`] follows a topic and returns records as slices of the received bytes;
//! - [`GroupConsumer`] does so as a member of a group, which shares the partitions of topics;
//! - [`Subscription`] receives the records of topics, and of all topics with a prefix, as they are stored.
//!
//! A consumer receives the batch exactly as the producer made it, and checks its checksum: damage anywhere between the
//! two is detected here.

mod address;
mod addresses;
mod append;
mod body;
mod bucket_usage;
mod call;
mod checked;
mod client;
mod config;
mod connection;
mod consumer;
mod environment;
mod error;
mod exchange;
mod fetched;
mod group;
mod kafka_records;
mod limits;
mod liveness;
mod owners;
mod partition;
mod peer;
mod pipeline;
mod pool;
mod producer;
mod read;
mod refusal;
mod retry;
mod selected;
mod small;
mod stream;
mod subscription;
mod tasks;
mod tls;
mod topic;

pub use bucket_usage::BucketUsage;
pub use client::Client;
pub use config::ClientConfig;
pub use consumer::{Consumer, ConsumerConfig, PartitionRange, Start};
pub use environment::{Environment, SystemEnvironment};
pub use error::ClientError;
pub use fetched::{Fetched, FetchedRecords, Record, RecordRun};
pub use group::{GroupConfig, GroupConsumer};
pub use partition::{TopicPartition, partition_of_key};
pub use producer::{Message, Position, Producer, ProducerConfig, Receipt};
pub use rawline_batch::record_batch::{Headers, RecordBatchBuilder, RecordCodec};
pub use rawline_batch::{Batch, Codec, Kind};
pub use rawline_contract::subscription::Selection;
pub use rawline_contract::{
    Appended, BrokerInfo, BrokerState, CleanupPolicy, CommitOffset, Extent, GroupInfo, GroupOffset, GroupPartition,
    GroupState, GroupSummary, Hours, MemberInfo, Partitions, Payload, ProducerInstance, Settings, TopicInfo, TopicList,
    Trimmed,
};
pub use read::ReadOptions;
pub use retry::RetryPolicy;
pub use subscription::{Delivered, Slow, Subscription, SubscriptionConfig, cursor_at};
pub use tls::TlsConfig;
