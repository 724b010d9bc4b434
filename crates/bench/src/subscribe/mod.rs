//! `rawline bench subscribe`: subscriptions of one topic by many, the time from an append to its delivery, and the
//! search for the subscriptions that match a topic.

mod catch_up;
mod delivery;
mod events;
mod matching;
pub(crate) mod messages;

use super::append::{Appends, append_all, check_dense};
use super::args::RunArgs;
use super::data::Workload;
use super::error::BenchError;
use super::history::{MainFigures, Measured};
use super::report::Report;
use super::target::Target;
use super::topics::topic_name;
use catch_up::CatchUp;
use delivery::Delivery;
use matching::Search;
use serde::Serialize;
use std::sync::Arc;

/// Measure subscriptions: many of one topic, from an append to its delivery, and the search for those that match
///
/// First, --subscribers WebSockets get all records of a topic from the first to the last, then as many clients get
/// the same records by sequential requests in the same run. Each client checks the checksums of the batches.
/// Then the same with small records as server-sent events. Then single records are appended at a fixed rate, and a
/// subscriber notes when each arrives. Last, without a broker, topics are compared with prefixes.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench subscribe
  rawline bench subscribe --runs 3 --subscribers 10 --json subscribe.json
  rawline bench subscribe --append history.jsonl")]
pub struct Args {
    /// Number of subscribers of one topic
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    subscribers: u32,

    /// Size of the topic in binary messages, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    topic_mib: u64,

    /// Size of a record in binary messages in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    record_size: u32,

    /// Number of records of 100 bytes in the topic of the events
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    events: u64,

    /// Number of records per second while their delivery time is measured
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rate: u64,

    /// Length of the measurement of delivery times in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// What every benchmark that appends has.
    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
}

/// Size of a record in events in bytes.
const EVENT_RECORD_BYTES: u32 = 100;

/// Number of records per batch.
const RECORDS_PER_BATCH: u32 = 1024;

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = Report::begin("subscribe", args.run.target.storage_directory().as_deref(), &args, &args.run.output)?;
    if !args.run.target.local_broker {
        return Err(BenchError::Usage("this benchmark measures a local broker; omit --local-broker=false".to_owned()));
    }
    let target = args.run.target.start().await?;
    match measure(&args, &target).await {
        Ok(figures) => report.finish(&figures),
        Err(error) => Err(target.explain(error)),
    }
}

async fn measure(args: &Args, target: &Target) -> Result<Figures, BenchError> {
    let mut figures = Figures { binary: Vec::new(), events: Vec::new(), delivery: Vec::new(), search: Vec::new() };
    let batches = (args.topic_mib << 20).div_ceil(u64::from(args.record_size) * u64::from(RECORDS_PER_BATCH));
    let large = fill(args, target, args.record_size, batches).await?;
    let small = fill(args, target, EVENT_RECORD_BYTES, args.events.div_ceil(RECORDS_PER_BATCH.into())).await?;
    for run in 1..=args.run.runs {
        println!("run {run}");
        figures.binary.push(catch_up::binary(target, &large, args.subscribers).await?);
        figures.events.push(catch_up::events(target, &small, args.subscribers).await?);
        figures.delivery.push(delivery::measure(target, args.rate, args.seconds, run).await?);
        for prefixes in [10, 1_000, 100_000] {
            figures.search.push(matching::measure(prefixes, args.run.seed));
        }
    }
    Ok(figures)
}

/// A topic that is delivered.
#[derive(Debug, Clone)]
struct Filled {
    topic: Arc<str>,
    records: u64,
    record_bytes: u64,
}

async fn fill(args: &Args, target: &Target, record_size: u32, batches: u64) -> Result<Filled, BenchError> {
    let topic = topic_name("subscribe", record_size);
    let workload = Arc::new(Workload::new(args.run.seed, RECORDS_PER_BATCH, record_size));
    let appends = Appends {
        what: "filling a topic".to_owned(),
        topics: vec![topic.clone()],
        batches,
        workers: 4,
        sizes: workload.sizes().to_vec(),
        data: Box::new(move |number| workload.stamped_data(number)),
    };
    let (mut appended, _) = append_all(&target.client, appends).await?;
    check_dense(&mut appended, RECORDS_PER_BATCH.into())?;
    let records = batches * u64::from(RECORDS_PER_BATCH);
    println!("filled topic {topic} with {records} records of {record_size} bytes\n");
    Ok(Filled { topic: topic.into(), records, record_bytes: record_size.into() })
}

/// Every figure.
#[derive(Debug, Serialize)]
struct Figures {
    binary: Vec<CatchUp>,
    events: Vec<CatchUp>,
    delivery: Vec<Delivery>,
    search: Vec<Search>,
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            sum / count
        };
        figures.add("binary_bytes_per_second", mean(&mut self.binary.iter().map(CatchUp::bytes_per_second)));
        let read = |run: &CatchUp| run.read.as_ref().map(|read| run.bytes_per_second() / read.bytes_per_second());
        figures.add("binary_by_read", mean(&mut self.binary.iter().filter_map(read)));
        figures.add("events_per_second", mean(&mut self.events.iter().map(CatchUp::records_per_second)));
        figures.add("append_p50_us", mean(&mut self.delivery.iter().map(|run| run.append_us.p50)));
        figures.add("delivery_p50_us", mean(&mut self.delivery.iter().map(|run| run.delivery_us.p50)));
        for prefixes in [10, 1_000, 100_000] {
            let of = |search: &&Search| search.prefixes == prefixes;
            let rates = |rate: fn(&Search) -> f64| mean(&mut self.search.iter().filter(of).map(rate));
            figures.add(&format!("searches_per_second_{prefixes}"), rates(|search| search.searches_per_second));
        }
        figures
    }
}
