//! `rawline bench requests`: small requests from a load program that costs little, to a broker and to its peers alike.

mod bare;
pub(crate) mod connection;
mod figures;
mod listener;
pub(crate) mod load;
mod nats;
pub(crate) mod redis;
pub(crate) mod reply;
pub(crate) mod side;
pub(crate) mod timer;

use super::args::RunArgs;
use super::data::Workload;
use super::environment::temporary_directory;
use super::local_broker::new_directory;
use super::report::Report;
use super::target::Target;
use super::tasks::blocking;
use super::topics::{self, topic_name};
use super::usage::own_cpu;
use crate::error::BenchError;
use bare::Bare;
use figures::{Figures, SideFigures};
use load::{End, Load, Outcome, Plan};
use rawline_broker::store::disk::Durability;
use serde::Serialize;
use side::{Peer, Side};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

/// Measure small requests, for Rawline, Redis and NATS alike, with a load program that costs little
///
/// Other benchmarks use Rawline's client. This one sends bytes that are made before the clock starts, from one thread
/// with non-blocking sockets, and reads no more of a response than whether it is an acknowledgement. The same program
/// measures every side, and its own CPU time is shown next to the server's. With --peer, sides take turns in each run.
///
/// Without --rate, a connection sends the next request when it has a reply (closed loop): the figures are requests per
/// second and CPU time per request. With --rate, requests are due at fixed times (open loop) and times count from the
/// due time, so that a server that stalls can't hide the requests that would have been sent in the meantime.
///
/// A request of several records is one batch for Rawline. Redis gets that many XADD and NATS that many messages, sent
/// together; the request ends with their last reply. After a run, a broker's topic is read back and compared with what
/// was acknowledged; of Redis and NATS the number of entries is compared. The appended records are then deleted.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench requests --durability page-cache
  rawline bench requests --synced --records-per-request 10 --runs 3
  rawline bench requests --rate 500 --connections 1 --with-limit
  rawline bench requests --peer redis://127.0.0.1:6379 --peer nats://127.0.0.1:4222 --runs 3 --json requests.json

Peers keep their settings; start them with those that are to be compared:
  redis-server --port 6379 --appendonly no --save ''               against --durability page-cache
  redis-server --port 6379 --appendonly yes --appendfsync always   against --durability fsync
  nats-server -p 4222 -js -sd DIR                                  against --durability page-cache
  nats-server -c FILE, with sync_interval: always                  against --durability fsync")]
pub struct Args {
    /// Number of connections
    #[arg(short, long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    connections: u32,

    /// Number of records per request
    #[arg(short = 'b', long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    records_per_request: u32,

    /// Size of a record in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    record_size: u32,

    /// Number of topics or streams; each connection appends to one, or to several in turns if they are more than the
    /// connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    topics: u32,

    /// Number of requests per second on each connection, evenly spaced [default: as many as possible]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: Option<u64>,

    /// Maximum number of requests in flight on a connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pipeline: u32,

    /// Length of a run in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Number of requests of a run, instead of --seconds
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// Length of the warm-up before each run in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    warmup_seconds: u64,

    /// Number of threads of the load program, which share the connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,

    /// Local broker: acknowledge an append after fdatasync; the same as --durability fsync, the default
    #[arg(long, conflicts_with = "durability")]
    synced: bool,

    /// Measure also a loop that appends the records to a file and syncs it, without a server
    #[arg(long)]
    with_limit: bool,

    /// Servers to compare with: redis://HOST:PORT, nats://HOST:PORT, or http://HOST:PORT of another broker
    #[arg(long, value_name = "URL", value_delimiter = ',', value_parser = Peer::parse)]
    peer: Vec<Peer>,

    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
}

/// Name of the bare loop in the figures.
const LIMIT: &str = "bare loop";

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    args.check()?;
    let RunArgs { output, target, .. } = &args.run;
    let report = Report::begin("requests", target.storage_directory().as_deref(), &args, output)?;
    let target = target.start().await?;
    match measure(&args, &target).await {
        Ok(figures) => report.finish(&figures),
        Err(error) => Err(target.explain(error)),
    }
}

impl Args {
    fn check(&self) -> Result<(), BenchError> {
        let usage = |reason: &str| Err(BenchError::Usage(reason.to_owned()));
        let names: BTreeSet<String> = self.peer.iter().map(Peer::to_string).collect();
        if names.len() < self.peer.len() {
            return usage("a --peer is given twice; omit one of them");
        }
        if self.with_limit && (!self.run.target.local_broker || self.run.target.bucket().is_some()) {
            return usage("--with-limit writes to the disk of a local broker; omit it for a remote broker or a bucket");
        }
        if u64::from(self.records_per_request) * u64::from(self.record_size) > u64::from(u32::MAX) {
            return usage("a request would have more than 4 GiB; give a smaller --record-size");
        }
        Ok(())
    }

    fn plan(&self) -> Plan {
        let seconds = End::After(Duration::from_secs(self.seconds));
        Plan { pipeline: self.pipeline as usize, rate: self.rate, end: self.requests.map_or(seconds, End::Requests) }
    }

    fn warmup(&self) -> Plan {
        Plan { end: End::After(Duration::from_secs(self.warmup_seconds)), ..self.plan() }
    }
}

async fn measure(args: &Args, target: &Target) -> Result<Figures, BenchError> {
    let workload = Workload::new(args.run.seed, args.records_per_request, args.record_size);
    let mut sides = vec![Side::broker("rawline", &target.client, args.run.target.about())?];
    for peer in &args.peer {
        sides.push(Side::peer(peer).await?);
    }
    let mut figures: Vec<_> = sides.iter().map(|side| SideFigures::new(&side.name, &side.about)).collect();
    let mut limit = args.with_limit.then(|| SideFigures::new(LIMIT, "append to one file, without a server"));
    for side in figures.iter().chain(&limit) {
        println!("{:<16} {}", side.name, side.about);
    }
    println!();
    for number in 1..=args.run.runs {
        for (side, figures) in sides.iter().zip(&mut figures) {
            run_side(args, side, &workload, number, figures).await?;
        }
        if let Some(limit) = &mut limit {
            run_limit(args, &workload, limit).await?;
        }
    }
    figures.extend(limit);
    let figures = Figures { sides: figures };
    figures.print(args.rate.is_some());
    Ok(figures)
}

/// One run of one server: warm-up, measurement, and the check of its contents.
async fn run_side(
    args: &Args,
    side: &Side,
    workload: &Workload,
    number: u32,
    figures: &mut SideFigures,
) -> Result<(), BenchError> {
    let topics = topics::names(&topic_name("requests", number), args.topics);
    side.create(&topics).await?;
    let failed = |error: io::Error| BenchError::Failed(format!("{}: {error}", side.name));
    let turns = turns(args.connections as usize, &topics);
    let scripts = turns.iter().zip(0..).map(|(topics, connection)| side.script(topics, workload, connection));
    let scripts = scripts.collect::<Result<Vec<_>, _>>()?;
    let (address, threads, pipeline) = (side.address, args.threads as usize, args.pipeline as usize);
    let warmup = args.warmup();
    let warmed_up = blocking(move || {
        Ok(Load::open(address, &scripts, threads, pipeline).and_then(|mut load| {
            let outcome = load.run(warmup)?;
            Ok((load, outcome))
        }))
    });
    let (mut load, before) = warmed_up.await?.map_err(failed)?;
    refuse_errors(side, &before)?;

    let plan = args.plan();
    let (outcome, client_cpu, server_cpu) = side.measured(move || load.run(plan)).await?;
    let outcome = outcome.map_err(failed)?;
    refuse_errors(side, &outcome)?;

    // Of the warm-up and of the run, which have the same connections.
    let mut requests: BTreeMap<&String, u64> = BTreeMap::new();
    for (topics, (before, after)) in turns.iter().zip(before.by_connection.iter().zip(&outcome.by_connection)) {
        for (turn, topic) in (0..).zip(topics) {
            *requests.entry(topic).or_default() += (before + after).saturating_sub(turn).div_ceil(topics.len() as u64);
        }
    }
    side.check(workload, &requests).await?;
    side.remove(&topics).await?;
    figures.add(&outcome, workload.records_per_batch(), client_cpu, server_cpu);
    Ok(())
}

/// The topics to which each connection appends in turns.
fn turns(connections: usize, topics: &[String]) -> Vec<Vec<&String>> {
    let of = |connection| topics.iter().skip(connection % topics.len()).step_by(connections).collect();
    (0..connections).map(of).collect()
}

/// A run with errors has no figures.
fn refuse_errors(side: &Side, outcome: &Outcome) -> Result<(), BenchError> {
    let Outcome { requests, refused, refusal, .. } = outcome;
    match refusal {
        None => Ok(()),
        Some(text) => Err(BenchError::Failed(format!(
            "{} refused {refused} appends of {requests} requests; its first response: {text}",
            side.name
        ))),
    }
}

/// One run of the bare loop, on the disk of the local broker.
async fn run_limit(args: &Args, workload: &Workload, figures: &mut SideFigures) -> Result<(), BenchError> {
    let parent = args.run.target.storage_directory().unwrap_or_else(temporary_directory);
    let directory = new_directory(&parent)?;
    let path = directory.path().join("bare");
    let is_synced = args.run.target.durability == Durability::Fsync;
    let (request, connections, pipeline) = (workload.data(0), u64::from(args.connections), u64::from(args.pipeline));
    let (warmup, plan) = (args.warmup(), args.plan());
    let cpu_before = own_cpu();
    let outcome = blocking(move || {
        let run = || {
            let mut bare = Bare::create(&path, &request, connections, pipeline, is_synced)?;
            bare.run(warmup)?;
            bare.run(plan)
        };
        run().map_err(|error: io::Error| BenchError::Failed(format!("the bare loop failed: {error}")))
    });
    let outcome = outcome.await?;
    let client_cpu = (own_cpu() - cpu_before).as_secs_f64();
    figures.add(&outcome, workload.records_per_batch(), client_cpu, None);
    Ok(())
}
