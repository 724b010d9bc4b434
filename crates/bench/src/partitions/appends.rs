//! Appends to very many partitions: as fast as possible at first, and then one by one at a fixed rate.

use super::{Args, client};
use crate::error::BenchError;
use crate::latency::wait_until;
use crate::local_broker::LocalBroker;
use crate::report::progress;
use crate::statistics::{Latency, new_histogram, record};
use crate::target::failed;
use crate::tasks::blocking;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use rawline_client::{Client, ClientConfig};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Appends in flight while partitions are filled. A bucket takes them with one PUT.
const FILLING_MAX: usize = 4096;

/// Size of a record in bytes.
const RECORD_BYTES: usize = 100;

/// A step from one partition to another: all have their turn, and neighbors aren't together.
const STRIDE: u64 = 7_919;

/// Appends each partition's records. Returns the records per second.
pub(super) async fn fill(args: &Args, names: &[String], broker: &LocalBroker) -> Result<f64, BenchError> {
    let (client, began) = (client(broker)?, Instant::now());
    let count = names.len() as u64 * u64::from(args.partitions) * u64::from(args.records);
    let (bar, record) = (progress("appending records".to_owned(), count), record_of());
    let each =
        (0..args.records).flat_map(|_| names.iter().flat_map(|name| (0..args.partitions).map(move |p| (name, p))));
    stream::iter(each)
        .map(async |(name, partition)| {
            let to = (name.as_str(), partition);
            client
                .append_records(to, &[RECORD_BYTES as u32], record.clone())
                .await
                .map_err(|error| failed("an append", error))?;
            bar.inc(1);
            Ok::<_, BenchError>(())
        })
        .buffer_unordered(FILLING_MAX)
        .try_for_each(async |()| Ok(()))
        .await?;
    bar.finish_and_clear();
    let seconds = began.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    println!("appended {count} records in {seconds:.1} s, {rate:.0}/s");
    Ok(rate)
}

fn record_of() -> Bytes {
    Bytes::from(vec![b'r'; RECORD_BYTES])
}

/// Single appends at a fixed rate.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Lone {
    /// Response times from the due time.
    pub latency_us: Latency,
    /// Appends that took longer than a millisecond.
    over_1_ms: u64,
    /// Snapshots that the broker stored meanwhile.
    pub snapshots: u64,
}

impl Lone {
    /// Appends single records to the partitions in turns.
    pub async fn measure(client: &Client, args: &Args, names: &Arc<[String]>) -> Result<Lone, BenchError> {
        let before = snapshots(client).await?;
        let (config, names) = (client.config().clone(), names.clone());
        let (rate, count, partitions) = (args.rate, args.rate * args.seconds, args.partitions);
        let (latency_us, over_1_ms) = blocking(move || append_all(config, &names, partitions, rate, count)).await?;
        Ok(Lone { latency_us, over_1_ms, snapshots: snapshots(client).await? - before })
    }

    pub fn print(&self) {
        let Lone { latency_us, over_1_ms, snapshots } = self;
        println!("{} single appends next to {snapshots} snapshots, {over_1_ms} of them over 1 ms", latency_us.count);
        latency_us.print("from the due time");
    }
}

/// Number of snapshots that the broker has stored.
async fn snapshots(client: &Client) -> Result<u64, BenchError> {
    let metrics = client.metrics().await.map_err(|error| failed("reading the metrics", error))?;
    let line = metrics.lines().find_map(|line| line.strip_prefix("rawline_journal_snapshots_total "));
    let count = line.and_then(|value| value.parse().ok());
    count.ok_or_else(|| BenchError::Failed("the broker's metrics have no rawline_journal_snapshots_total".to_owned()))
}

fn append_all(
    config: ClientConfig,
    names: &[String],
    partitions: u32,
    rate: u64,
    count: u64,
) -> Result<(Latency, u64), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BenchError::Failed(format!("can't start a runtime: {error}")))?;
    let client = Client::new(config).map_err(|error| failed("starting the client", error))?;
    runtime.block_on(client.health()).map_err(|error| failed("the health check", error))?;
    let (bar, content) = (progress("appending single records".to_owned(), count), record_of());
    let (mut times, mut over_1_ms) = (new_histogram(), 0);
    let (start, interval) = (Instant::now() + Duration::from_millis(100), Duration::from_secs(1) / rate as u32);
    for number in 0..count {
        let place = number * STRIDE % (names.len() as u64 * u64::from(partitions));
        let name = names.get((place / u64::from(partitions)) as usize).map_or("", String::as_str);
        let to = (name, (place % u64::from(partitions)) as u32);
        let due = start + interval.mul_f64(number as f64);
        wait_until(due);
        runtime
            .block_on(client.append_records(to, &[RECORD_BYTES as u32], content.clone()))
            .map_err(|error| failed("an append", error))?;
        let took = due.elapsed();
        over_1_ms += u64::from(took > Duration::from_millis(1));
        record(&mut times, took);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((Latency::of(&times), over_1_ms))
}
