//! `rawline bench`: measures a broker and the machine it runs on.

#![allow(clippy::disallowed_methods)] // Benchmarks measure the world outside.

mod append;
mod args;
mod bucket;
mod bucket_limits;
mod data;
mod delivery;
mod environment;
mod error;
mod history;
mod kafka;
mod latency;
mod limits;
mod local_broker;
mod loopback;
mod memory;
mod partitions;
mod proxy;
mod read;
mod read_back;
mod report;
mod requests;
mod runs;
mod start;
mod statistics;
mod store_delay;
mod subscribe;
mod target;
mod tasks;
mod time;
mod topics;
mod usage;
mod write;

pub use error::BenchError;

use futures_util::future::LocalBoxFuture;
use tokio::signal::unix::{SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  rawline bench limits                          what this machine achieves without a broker
  rawline bench write --runs 3                  appends to a local broker, started for the benchmark
  rawline bench read --runs 3 --with-limit      reads, compared with plain sendfile
  rawline bench latency --append history.jsonl  one more line in a file of results
  rawline bench requests --runs 3               small requests, and the CPU time of each; Redis and NATS with --peer
  rawline bench delivery --runs 3               from an append to a waiting reader, by each protocol
  rawline bench subscribe --runs 3              subscriptions of one topic, and the time to a delivery
  rawline bench partitions --topics 1000000     a broker with a million partitions: creation, starts, lists, appends
  rawline bench memory --svg memory.svg         the broker's memory while clients behave badly
  rawline bench proxy --store-delay s3          makes a test S3 server as slow as a bucket, for any broker

Every benchmark prints its commit, machine and settings first. --json writes every figure of \
one run to a file; --append adds one line per run to a file and never changes what is there.";

/// Measure a broker and this machine
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Write(write::Args),
    Read(read::Args),
    Latency(latency::Args),
    Requests(requests::Args),
    Delivery(delivery::Args),
    Subscribe(subscribe::Args),
    Start(start::Args),
    Partitions(partitions::Args),
    Limits(limits::Args),
    Memory(memory::Args),
    Proxy(proxy::Args),
}

/// Runs the benchmark. When it is interrupted, the local broker is stopped and its directory removed. Boxed, so that
/// the code of all benchmarks is compiled in this crate.
pub fn run(args: Args) -> LocalBoxFuture<'static, Result<(), BenchError>> {
    Box::pin(run_until_interrupted(args))
}

async fn run_until_interrupted(args: Args) -> Result<(), BenchError> {
    // A signal must not end the process by itself: that would leave the broker and its directory.
    let listen = |kind| signal(kind).map_err(|error| BenchError::Failed(format!("can't handle signals: {error}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let bench = async {
        match args.command {
            Command::Write(args) => write::run(args).await,
            Command::Read(args) => read::run(args).await,
            Command::Latency(args) => latency::run(args).await,
            Command::Requests(args) => requests::run(args).await,
            Command::Delivery(args) => delivery::run(args).await,
            Command::Subscribe(args) => subscribe::run(args).await,
            Command::Start(args) => start::run(args).await,
            Command::Partitions(args) => partitions::run(args).await,
            Command::Limits(args) => limits::run(args).await,
            Command::Memory(args) => memory::run(args).await,
            Command::Proxy(args) => proxy::run(args).await,
        }
    };
    tokio::select! {
        // The proxy ends by a signal, too.
        biased;
        done = bench => done,
        _ = interrupt.recv() => Err(BenchError::Failed("interrupted".to_owned())),
        _ = terminate.recv() => Err(BenchError::Failed("terminated".to_owned())),
    }
}
