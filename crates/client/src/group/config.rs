//! The settings of a consumer that is a member of a group.

use crate::consumer::{ConsumerConfig, Start};
use crate::limits::{COMMIT_INTERVAL, CONSUMER_READ_BYTES, POLL_INTERVAL_MAX};
use crate::retry::RetryPolicy;
use std::time::Duration;

/// The settings of a [`GroupConsumer`](super::GroupConsumer).
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// The first record of a partition in which the group has committed no offset.
    pub start: Start,
    /// How often the offsets of processed records are committed; none commits only what [`GroupConsumer::commit`]
    /// (super::GroupConsumer::commit) asks for.
    pub commit_interval: Option<Duration>,
    /// A name that no other member of the group has, under which this one comes back to its partitions after a restart
    /// of less than [`GroupConfig::session`].
    pub instance: Option<String>,
    /// The name of the program.
    pub client: String,
    /// The other members get the partitions when the broker has not heard of this one for so long: 6 s to 30 min.
    pub session: Duration,
    /// How long the broker waits for this member to join again when the partitions are divided anew.
    pub rebalance: Duration,
    /// The longest time between two calls of [`GroupConsumer::next`](super::GroupConsumer::next). A member that takes
    /// longer to process records is assumed to hang: it leaves the group, and joins again with the next call.
    pub poll_interval_max: Duration,
    /// Maximum size of one read in bytes. Partitions share it: twice as many bytes are held in memory.
    pub bytes_max: u64,
    /// How long the broker waits if no record is available.
    pub wait: Duration,
    /// How failed requests are retried.
    pub retries: RetryPolicy,
    /// Whether the broker converts Kafka's batches: see [`ReadOptions::values_only`](crate::ReadOptions::values_only).
    pub values_only: bool,
}

impl Default for GroupConfig {
    /// From the oldest record on, 4 MiB at a time, with a commit every 5 s.
    fn default() -> Self {
        let ConsumerConfig { start, wait, retries, values_only, .. } = ConsumerConfig::default();
        GroupConfig {
            start,
            commit_interval: Some(COMMIT_INTERVAL),
            instance: None,
            client: "rawline".to_owned(),
            session: Duration::from_millis(rawline_contract::session_ms()),
            rebalance: Duration::from_millis(rawline_contract::rebalance_ms()),
            poll_interval_max: POLL_INTERVAL_MAX,
            bytes_max: CONSUMER_READ_BYTES,
            wait,
            retries,
            values_only,
        }
    }
}
