//! `rawline bench delivery`: the time from an append to the moment when a waiting reader has the record.

mod figures;
mod kafka;
mod load;
mod reader;
mod waiter;

use super::args::RunArgs;
use super::data::Workload;
use super::report::Report;
use super::requests::connection::Script;
use super::requests::load::End;
use super::requests::reply::Protocol;
use super::requests::side::{Peer, Side, batch, resolve};
use super::target::Target;
use super::tasks::blocking;
use super::topics::{self, topic_name};
use crate::error::BenchError;
use figures::{Figures, SideFigures};
use load::{Load, Plan};
use rawline_broker::raise_files_limit;
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use waiter::{Waiter, Way};

/// How long new readers have to begin to wait, before the server's memory is read.
const SETTLE: Duration = Duration::from_secs(1);

/// Measure the time from an append to a waiting reader: by long polls, WebSockets, Kafka's Fetch, and next to Redis
///
/// Each topic has a connection that appends single records to it, and one that waits for them: a long poll, which asks
/// again after each response, a subscription on a WebSocket, or a Fetch request for at least one byte, with records
/// from Produce requests. Of Redis, XADD and XREAD BLOCK are measured. One thread with non-blocking sockets sends all
/// requests, from bytes that are made before the clock starts, and receives all records. Each one is compared with
/// what was appended.
///
/// Records are due at fixed times, evenly spaced, in the topics in turns. Times count from when a record is due until
/// its reader has all its bytes. The server's CPU time per record is for the append and the delivery together.
///
/// KiB/reader is what the server's memory grows by in the first run when the readers begin to wait; for exact values
/// measure one way at a time with many connections. A remote broker needs --connections-max for them.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench delivery --durability page-cache
  rawline bench delivery --rate 20000 --by long-poll,websocket --runs 3 --json delivery.json
  rawline bench delivery --by long-poll --connections 1000 --rate 100
  rawline bench delivery --storage s3://BUCKET/PREFIX --store-delay s3 --connections 100 --rate 200
  rawline bench delivery --durability page-cache --peer redis://127.0.0.1:6379
  rawline bench delivery --local-broker=false --kafka-address localhost:9092

A peer keeps its settings; start it with those that are to be compared:
  redis-server --port 6379 --appendonly no --save ''               against --durability page-cache
  redis-server --port 6379 --appendonly yes --appendfsync always   against --durability fsync")]
pub struct Args {
    /// Number of topics, each with a connection that appends and a waiting reader
    #[arg(short, long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=32_768))]
    connections: u32,

    /// Number of records per second, of all topics together
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: u64,

    /// How readers wait [default: all, Kafka's Fetch if the broker's address for it is known]
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    by: Vec<Way>,

    /// Size of a record in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    record_size: u32,

    /// Length of a run in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Number of records of a run, instead of --seconds
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    records: Option<u64>,

    /// Length of the warm-up before each run in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    warmup_seconds: u64,

    /// Remote broker: its address for Kafka's clients, HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    kafka_address: Option<String>,

    /// Servers to compare with: redis://HOST:PORT, or http://HOST:PORT of another broker
    #[arg(long, value_name = "URL", value_delimiter = ',', value_parser = parse_peer)]
    peer: Vec<Peer>,

    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
}

fn parse_peer(text: &str) -> Result<Peer, String> {
    let peer = Peer::parse(text)?;
    match peer.protocol() {
        Protocol::Nats => {
            Err("consumers of NATS aren't measured; give redis://HOST:PORT, or another broker".to_owned())
        }
        _ => Ok(peer),
    }
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    args.check()?;
    raise_files_limit();
    let RunArgs { output, target, .. } = &args.run;
    let report = Report::begin("delivery", target.storage_directory().as_deref(), &args, output)?;
    // A reader and a writer for each topic, and an eighth of the connections is left for requests that don't wait.
    let connections_max = (3 * args.connections).max(1024);
    let kafka = args.by.is_empty() || args.by.contains(&Way::Kafka);
    let target = target.start_for(kafka, Some(connections_max)).await?;
    match measure(&args, &target).await {
        Ok(figures) => report.finish(&figures),
        Err(error) => Err(target.explain(error)),
    }
}

impl Args {
    fn check(&self) -> Result<(), BenchError> {
        let usage = |reason: &str| Err(BenchError::Usage(reason.to_owned()));
        let target = &self.run.target;
        let wants_kafka = self.by.contains(&Way::Kafka);
        if target.local_broker && self.kafka_address.is_some() {
            return usage("--kafka-address is of a remote broker; add --local-broker=false, or omit it");
        }
        if !target.local_broker && wants_kafka && self.kafka_address.is_none() {
            return usage("--by kafka needs the remote broker's --kafka-address");
        }
        if target.remote_broker_api_key.is_some() && self.kafka_address.is_some() {
            return usage("a Kafka client with an API key isn't measured; omit --kafka-address");
        }
        Ok(())
    }

    fn plan(&self) -> Plan {
        let seconds = End::After(Duration::from_secs(self.seconds));
        Plan { rate: self.rate, end: self.records.map_or(seconds, End::Requests) }
    }
}

/// One server and one way to wait.
struct Lane {
    name: String,
    way: Way,
    side: Arc<Side>,
    /// Where readers and writers connect.
    address: SocketAddr,
}

/// Those of a broker.
fn lanes(args: &Args, prefix: &str, side: Side, kafka: Option<&str>) -> Result<Vec<Lane>, BenchError> {
    let side = Arc::new(side);
    let mut lanes = Vec::new();
    for way in [Way::LongPoll, Way::WebSocket, Way::Kafka] {
        let address = match (way, kafka) {
            (Way::Kafka, None) => continue,
            (Way::Kafka, Some(kafka)) => resolve(kafka)?,
            _ => side.address,
        };
        if args.by.is_empty() || args.by.contains(&way) {
            lanes.push(Lane { name: format!("{prefix}{}", way.name()), way, side: side.clone(), address });
        }
    }
    Ok(lanes)
}

async fn measure(args: &Args, target: &Target) -> Result<Figures, BenchError> {
    let workload = Workload::new(args.run.seed, 1, args.record_size);
    let side = Side::broker("rawline", &target.client, args.run.target.about())?;
    let mut all = lanes(args, "", side, target.kafka().or(args.kafka_address.as_deref()))?;
    for peer in &args.peer {
        let side = Side::peer(peer).await?;
        let name = side.name.clone();
        if side.protocol == Protocol::Redis {
            let (way, address) = (Way::Redis, side.address);
            all.push(Lane { name: format!("{name} {}", way.name()), way, side: Arc::new(side), address });
        } else {
            all.extend(lanes(args, &format!("{name} "), side, None)?);
        }
    }
    let mut figures: Vec<_> = all.iter().map(|lane| SideFigures::new(&lane.name, &lane.side.about)).collect();
    for side in &figures {
        println!("{:<26} {}", side.name, side.about);
    }
    println!();
    for number in 1..=args.run.runs {
        for (lane, figures) in all.iter().zip(&mut figures) {
            lane.run(args, &workload, number, figures).await?;
        }
    }
    let figures = Figures { sides: figures };
    figures.print();
    Ok(figures)
}

impl Lane {
    /// One run: readers that wait, warm-up, measurement.
    async fn run(
        &self,
        args: &Args,
        workload: &Workload,
        number: u32,
        figures: &mut SideFigures,
    ) -> Result<(), BenchError> {
        let Lane { name, side, address, .. } = self;
        let topics = topics::names(&topic_name("delivery", number), args.connections);
        side.create(&topics).await?;
        let failed = |error: io::Error| BenchError::Failed(format!("{name}: {error}"));
        let pairs = topics.iter().map(|topic| self.pair(topic, workload)).collect::<Result<Vec<_>, _>>()?;
        let (waiters, scripts): (Vec<_>, Vec<Script>) = pairs.into_iter().unzip();

        let memory = || side.meter().map(|meter| meter.memory().anonymous_bytes);
        let before = memory();
        let address = *address;
        let readers = blocking(move || Ok(load::wait(address, waiters))).await?.map_err(failed)?;
        tokio::time::sleep(SETTLE).await;
        if let (Some(before), Some(after), true) = (before, memory(), figures.runs.is_empty()) {
            figures.server_bytes_per_reader = Some((after as f64 - before as f64) / f64::from(args.connections));
        }
        let warmup = Plan { end: End::After(Duration::from_secs(args.warmup_seconds)), ..args.plan() };
        let warmed_up = blocking(move || {
            Ok(Load::open(address, &scripts, readers).and_then(|mut load| {
                load.run(warmup)?;
                Ok(load)
            }))
        });
        let mut load = warmed_up.await?.map_err(failed)?;

        let plan = args.plan();
        let (outcome, client_cpu, server_cpu) = side.measured(move || load.run(plan)).await?;
        figures.add(&outcome.map_err(failed)?, client_cpu, server_cpu);
        side.remove(&topics).await
    }

    /// A topic's reader, and what its writer sends.
    fn pair(&self, topic: &String, workload: &Workload) -> Result<(Waiter, Script), BenchError> {
        let (sent, script) = match self.way {
            Way::LongPoll | Way::WebSocket => {
                let batch = batch(workload)?;
                let request = self.side.post_batch(topic, &batch);
                let plain = Script {
                    protocol: Protocol::Http,
                    greeting: Vec::new(),
                    welcome: b"",
                    requests: vec![request],
                    replies: 1,
                };
                (batch, plain)
            }
            Way::Kafka => {
                let batch = kafka::batch(workload)?;
                let script = kafka::produces(topic, &batch);
                (batch, script)
            }
            Way::Redis => (workload.data(0).to_vec(), self.side.script(&[topic], workload, 0)?),
        };
        Ok((Waiter::new(self.way, topic, self.side.headers(), sent), script))
    }
}
