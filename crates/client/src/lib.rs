//! Producer and consumer for a Rawline broker, over HTTP.
//!
//! - [`Client`] speaks the broker's requests one by one: append, read, what topics there are;
//! - [`Producer`] gathers records into batches and sends them in order, with bounded memory;
//! - [`Consumer`] follows a topic and yields records as slices of the bytes received.
//!
//! A batch that a producer makes is the batch that a consumer receives: the client checks its checksum, so damage
//! anywhere between the two is seen here.

mod append;
mod body;
mod client;
mod clock;
mod connection;
mod consumer;
mod error;
mod fetched;
mod pool;
mod producer;
mod read;
mod retry;
mod stream;
mod topic;

pub use append::Appended;
pub use client::{Client, ClientConfig};
pub use consumer::{Consumer, ConsumerConfig, Start};
pub use error::{ClientError, Kind};
pub use fetched::{Fetched, FetchedRecords, Record};
pub use producer::{Producer, ProducerConfig, Receipt};
pub use rawline_batch::{Batch, Codec};
pub use read::ReadOptions;
pub use retry::RetryPolicy;
pub use topic::{Payload, TopicInfo};
