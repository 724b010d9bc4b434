//! The HTTP API over a broker: accepts connections, and shuts down gracefully.
//!
//! `respond.rs` hands requests to their handlers, which share what is in `api.rs`. `routes.rs` is the table of all
//! routes, `error.rs` alone turns errors into responses, and names and shapes that clients share are in
//! `rawline-contract`. `docs/http.md` describes the API to its users, `openapi.json` to their tools.

mod api;
mod append;
mod auth;
mod body;
mod browser;
mod cluster;
mod config;
mod connection;
mod console;
mod cors;
#[cfg(feature = "profiling")]
pub mod debug;
mod draft;
mod error;
mod groups;
mod limits;
mod long_poll;
mod measurements;
mod multipart;
mod offsets;
mod parameters;
mod peers;
mod producer;
mod query;
mod read;
mod render;
mod respond;
mod response;
mod routes;
mod scrape;
mod search;
mod select;
mod small;
mod stats;
mod steps;
mod subscribe;
mod tally;
mod ticket;
mod tickets;
mod topics;
mod upgrade;
mod websocket;
mod whole;
mod zeek;

pub use crate::net::pace::Waits;
pub use config::HttpConfig;
pub use cors::{AllowedOrigin, OriginInvalid};
pub use draft::request_buffers_max;
pub use limits::{CONNECTION_BYTES, IDLE_CONNECTION_BYTES};
pub use peers::PeerKey;
pub use response::ResponseBody;

use crate::http::api::Api;
use crate::http::limits::{METRICS_UNREAD_MAX, UNPACKING_MAX};
use crate::http::peers::Peers;
use crate::http::steps::Stats;
use crate::http::tickets::Tickets;
use crate::net::listen::{self, Listener};
use crate::net::lobby::Manners;
use crate::net::read_size::LargeReads;
use crate::net::tls;
use futures_util::future::BoxFuture;
use rawline_broker::pool::Pool;
use rawline_broker::{Broker, Clock};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Serves the API until `stop` turns true; then completes the requests in flight and returns. Boxed, so that the code
/// of all requests is compiled in this crate, not in each binary that serves.
pub fn serve(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    config: HttpConfig,
    stop: watch::Receiver<bool>,
) -> BoxFuture<'static, ()> {
    Box::pin(run(listener, broker, pool, clock, config, stop))
}

async fn run(
    listener: TcpListener,
    broker: Arc<Broker>,
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    config: HttpConfig,
    stop: watch::Receiver<bool>,
) {
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    // Of an encrypted request, nothing can be said.
    let is_whole = if config.tls.is_some() { |_: &[u8]| true } else { whole::is_whole };
    let manners = Manners { is_whole, wait: config.waits.head };
    let listener = Listener::new(listener, config.connections_max, manners);
    let (close, closing) = watch::channel(false);
    let shutdown_wait = config.shutdown_wait;
    let started_us = clock.now_us();
    let waits_max = long_poll::waits_max(config.connections_max);
    let cluster = broker.cluster().map(|cluster| &**cluster);
    let peers = Peers::new(cluster, config.peer_key.clone(), config.tls.clone());
    let api = Arc::new(Api {
        broker,
        pool,
        clock,
        stopping: stop.clone(),
        closing,
        metrics: config.metrics.clone(),
        crowd: listener.crowd(),
        large_reads: LargeReads::new(),
        unpacking: Semaphore::new(UNPACKING_MAX),
        selecting: Semaphore::new(select::SELECTING_MAX),
        searches: Arc::new(Semaphore::new(search::SEARCHES_MAX)),
        scans: Semaphore::new(search::SCANS_MAX),
        queries: Arc::new(Semaphore::new(measurements::QUERIES_MAX)),
        waits: Arc::new(Semaphore::new(waits_max)),
        waits_max,
        metrics_unread: Arc::new(Semaphore::new(METRICS_UNREAD_MAX)),
        tickets: Tickets::of_this_run(),
        peers,
        stats: Stats::new(),
        started_us,
        is_local,
        config,
    });
    let present = |certificates| cluster::present(api.clone(), certificates);
    tokio::select! {
        () = listen::serve(listener, stop, close, shutdown_wait, &api, connection::serve) => {}
        () = tls::reload(api.config.tls.as_ref(), present) => {
            unreachable!("looking for new certificates ends with the server")
        }
        () = stats::sample(&api) => unreachable!("sampling ends with the server"),
        () = follow_others(&api) => unreachable!("the broker follows the others until the server ends"),
    }
}

/// Requests changes from the other brokers, if there can be any.
async fn follow_others(api: &Arc<Api>) {
    if let Some(cluster) = api.broker.cluster() {
        let certificates = async {
            match &api.config.tls {
                Some(tls) => cluster::follow_certificates(tls, cluster).await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(cluster.exchange(&api.peers), certificates);
    }
    std::future::pending().await
}
