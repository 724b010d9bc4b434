//! Kafka's protocol over a broker: accepts connections, reads requests as they arrive, writes the responses in order.
//!
//! `rawline-kafka` has the bytes of requests and responses. `docs/kafka.md` lists the supported features.

mod admin;
mod api_versions;
mod building;
mod client;
mod config;
mod connection;
mod error;
mod fetch;
mod groups;
mod incoming;
mod list_offsets;
mod lookup;
mod mechanisms;
mod metadata;
mod needs;
mod nodes;
mod operations;
mod produce;
mod producer_id;
mod reply;
mod sasl;
mod transactions;
mod watched;

pub use config::KafkaConfig;

use crate::net::listen::{self, Listener};
use crate::net::lobby::Manners;
use building::BUILDING_MAX;
use client::Kafka;
use futures_util::future::BoxFuture;
use mechanisms::Sasl;
use rawline_broker::Broker;
use rawline_broker::pool::Pool;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Compressed batches that are converted at once, outside the pool.
const CONVERTING_MAX: usize = 2;

/// Searches by the times of records at once. Each has the entries of an object's batches outside the pool, 4 MiB at
/// most.
const SEARCHING_MAX: usize = 4;

/// Large requests, other than Produce, at once. Each has at most 1 MiB outside the pool, and 16 times that when it is
/// read.
const LARGE_MAX: usize = 4;

/// The largest small Produce request in bytes if commits are synced. While the thread syncs, it receives nothing: with
/// batches of 16 KiB, the default of Java's producer, the others get more done.
pub const SMALL_SYNCED_BYTES_MAX: u64 = 8 << 10;

/// The same if they aren't. For much larger ones, copying takes longer than waking a thread, and others would wait
/// for it.
pub const SMALL_UNSYNCED_BYTES_MAX: u64 = 32 << 10;

/// Partitions that connections watch between their requests, and that large requests wait for: of 26 consumers of
/// 10,000 each, or of thousands of usual ones. Each has about 300 bytes outside the pool while a request waits, and
/// half of that between two. Without room, requests are served all the same: a connection finds its partitions anew
/// for each, and large ones wait as some of [`LARGE_MAX`].
const WATCHING_MAX: usize = 256 << 10;

/// Serves the protocol until `stop` turns true; then completes the requests in flight and returns. Boxed, so that the
/// code of all requests is compiled in this crate, not in each binary that serves.
pub fn serve(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    config: KafkaConfig,
    stop: watch::Receiver<bool>,
) -> BoxFuture<'static, ()> {
    Box::pin(run(listener, broker, pool, config, stop))
}

async fn run(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    config: KafkaConfig,
    stop: watch::Receiver<bool>,
) {
    let is_whole = if config.tls.is_some() { |_: &[u8]| true } else { incoming::is_whole };
    let manners = Manners { is_whole, wait: config.waits.head };
    let listener = Listener::new(listener, config.connections_max, manners);
    let (close, closing) = watch::channel(false);
    let shutdown_wait = config.shutdown_wait;
    let (converting, building) = (Semaphore::new(CONVERTING_MAX), Semaphore::new(BUILDING_MAX));
    let searching = Semaphore::new(SEARCHING_MAX);
    let large = Arc::new(Semaphore::new(LARGE_MAX));
    let watching = Arc::new(Semaphore::new(WATCHING_MAX));
    let sasl = Sasl::new(&config.access);
    let kafka = Arc::new(Kafka {
        broker,
        pool,
        config,
        sasl,
        stopping: stop.clone(),
        closing,
        crowd: listener.crowd(),
        converting,
        large,
        searching,
        watching,
        building,
    });
    listen::serve(listener, stop, close, shutdown_wait, &kafka, connection::serve).await;
}
