//! The server over real sockets: HTTP and Kafka's protocol. Tests that count allocations, or use up the process's
//! files, are separate programs.

// Helpers of tests may fail the test.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod cluster;
#[macro_use]
mod commit_thread;
mod compaction;
mod connections;
mod failed_topic;
mod failing_disk;
mod groups;
mod kafka;
mod kafka_access;
mod kafka_acks;
mod kafka_admin;
mod kafka_consumer_groups;
mod kafka_fetch;
mod kafka_groups;
mod kafka_random;
mod kafka_sasl;
mod kafka_times;
mod kafka_topic_ids;
mod kafka_transactions;
mod lost;
mod memory;
mod metrics;
mod polls;
mod search;
mod slow;
mod small;
mod subscribe;
#[path = "../support/mod.rs"]
mod support;
mod unreadable;
mod zeek;
