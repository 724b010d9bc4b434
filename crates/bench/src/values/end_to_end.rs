//! Events through a broker: one process builds and appends them, another reads them and visits every field.

use super::dns::{self, Dns};
use super::small::build_event_of;
use super::visit;
use crate::BenchError;
use crate::report::{Spread, progress};
use crate::target::{Target, failed};
use crate::topic_name;
use crate::usage::{Meter, own_cpu};
use bytes::Bytes;
use rawline_client::{Client, ClientConfig, Consumer, ConsumerConfig, RetryPolicy};
use rawline_value::Decoder;
use serde::Serialize;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinSet;

/// Events of one batch.
const BATCH_EVENTS: u64 = 4096;
/// Appends on their way at once.
const APPENDS: u64 = 4;
/// DNS events that the producer has before it begins; it builds them over and over.
const DNS_EVENTS: usize = 10_000;

/// Which events are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Events {
    /// The small event of the original's benchmark, a number and a text.
    Event1,
    /// DNS events as records.
    Dns,
}

impl Events {
    fn name(self) -> &'static str {
        match self {
            Events::Event1 => "event1",
            Events::Dns => "dns",
        }
    }
}

/// One run.
#[derive(Debug, Serialize)]
pub struct Run {
    /// From telling the producer to begin until the last event is visited.
    pub seconds: f64,
    /// Events a second.
    pub events_per_second: f64,
    /// CPU seconds of the consumer.
    pub consumer_cpu_seconds: f64,
    /// CPU seconds of the producer.
    pub producer_cpu_seconds: f64,
    /// CPU seconds of the broker.
    pub broker_cpu_seconds: Option<f64>,
}

/// All runs with one kind of events.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// The events.
    pub events: Events,
    /// How many a run.
    pub count: u64,
    /// Bytes of one, on average.
    pub event_bytes: f64,
    /// The runs that count.
    pub runs: Vec<Run>,
    /// What they come to.
    pub events_per_second: Spread,
}

/// What the producer is told on its command line.
#[derive(Debug, Clone, clap::Args)]
pub struct ProducerArgs {
    /// The broker.
    #[arg(long)]
    broker: String,
    /// The topic.
    #[arg(long)]
    topic: String,
    /// Which events.
    #[arg(long, value_enum)]
    events: Events,
    /// How many.
    #[arg(long)]
    count: u64,
    /// The DNS events follow from it.
    #[arg(long)]
    seed: u64,
    /// The broker's key, if it has one.
    #[arg(long, env = "RAWLINE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

/// Measures `runs` runs after one that warms up.
pub async fn measure(target: &Target, events: Events, count: u64, runs: u32, seed: u64) -> Result<Figures, BenchError> {
    let mut all = Vec::new();
    let mut bytes = 0;
    for number in 0..=runs {
        let args = ProducerArgs {
            broker: target.client.config().broker.clone(),
            topic: topic_name("values", number),
            events,
            count: count.next_multiple_of(BATCH_EVENTS),
            seed,
            api_key: target.client.config().api_key.clone(),
        };
        let (run, run_bytes) = one_run(target, &args).await?;
        let what = if number == 0 { "warm-up".to_owned() } else { format!("run {number}") };
        println!(
            "  {what:<8} {:<7} {:>6.2} s  {:>10.0} events/s  {:>5.0} MB/s  CPU s/M events: producer {:.2} broker {} consumer {:.2}",
            events.name(),
            run.seconds,
            run.events_per_second,
            run_bytes as f64 / run.seconds / 1e6,
            run.producer_cpu_seconds / args.count as f64 * 1e6,
            run.broker_cpu_seconds.map_or("-".to_owned(), |cpu| format!("{:.2}", cpu / args.count as f64 * 1e6)),
            run.consumer_cpu_seconds / args.count as f64 * 1e6,
        );
        if number > 0 {
            bytes += run_bytes;
            all.push(run);
        }
    }
    let count = count.next_multiple_of(BATCH_EVENTS);
    Ok(Figures {
        events,
        count,
        event_bytes: bytes as f64 / (count * u64::from(runs.max(1))) as f64,
        events_per_second: Spread::of(all.iter().map(|run| run.events_per_second)).unwrap_or_default(),
        runs: all,
    })
}

async fn one_run(target: &Target, args: &ProducerArgs) -> Result<(Run, u64), BenchError> {
    let broken = |what: String| BenchError::Failed(format!("the producer's process failed: {what}"));
    let program = std::env::current_exe().map_err(|error| broken(error.to_string()))?;
    let mut command = tokio::process::Command::new(program);
    match &args.api_key {
        // Where a list of processes does not show it.
        Some(key) => command.env("RAWLINE_API_KEY", key),
        None => command.env_remove("RAWLINE_API_KEY"),
    };
    let mut producer = command
        .args(["bench", "values-producer", "--broker", &args.broker, "--topic", &args.topic])
        .args(["--events", args.events.name(), "--count", &args.count.to_string(), "--seed", &args.seed.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| broken(error.to_string()))?;
    let (Some(mut go), Some(said)) = (producer.stdin.take(), producer.stdout.take()) else {
        return Err(broken("it has no pipes".to_owned()));
    };
    let meter = producer.id().and_then(Meter::of);
    let mut said = BufReader::new(said).lines();
    let mut line = async move || match said.next_line().await {
        Ok(Some(line)) => Ok(line),
        Ok(None) => Err(broken("it ended before it was done".to_owned())),
        Err(error) => Err(broken(error.to_string())),
    };
    line().await?;

    let bar = progress(format!("{} events", args.events.name()), args.count);
    let config = ConsumerConfig {
        start: rawline_client::Start::Offset(0),
        end_offset: Some(args.count),
        retries: RetryPolicy::NONE,
        wait: Duration::from_secs(10),
        ..ConsumerConfig::default()
    };
    let (broker_cpu, consumer_cpu, started) = (target.meter().map(Meter::cpu), own_cpu(), Instant::now());
    let deaf = |error| BenchError::Failed(format!("the producer does not listen: {error}"));
    go.write_all(b"go\n").await.map_err(deaf)?;
    // The topic is there once something was appended.
    let created = line().await?;
    let mut consumer =
        Consumer::new(target.client.clone(), &args.topic, config).await.map_err(|error| failed("a read", error))?;
    let mut decoder = Decoder::default();
    let (mut events, mut bytes, mut check) = (0_u64, 0_u64, 0_u64);
    while let Some(fetched) = consumer.next().await.map_err(|error| failed("a read", error))? {
        let mut records = fetched.records();
        while let Some(record) = records.next_record().map_err(|error| failed("a read", error))? {
            let value = decoder
                .decode(record.bytes)
                .map_err(|error| BenchError::Failed(format!("record {}: {error}", record.offset)))?;
            check = check.wrapping_add(visit::view(&value));
            bytes += record.bytes.len() as u64;
            events += 1;
        }
        bar.set_position(events);
    }
    let seconds = started.elapsed().as_secs_f64();
    let consumer_cpu_seconds = (own_cpu() - consumer_cpu).as_secs_f64();
    let broker_cpu = target.meter().zip(broker_cpu).map(|(meter, before)| meter.cpu().saturating_sub(before));
    let producer_cpu = meter.map_or(Duration::ZERO, |meter| meter.cpu());
    // Only now, so that what it takes to tell counts neither as producing nor against the consumer.
    go.write_all(b"tell\n").await.map_err(deaf)?;
    let sent = line().await?;
    bar.finish_and_clear();
    let expected = format!("sent {} events, check {check:016x}", args.count);
    if created != "appending" || sent != expected || events != args.count {
        return Err(BenchError::Failed(format!("visited {events} events: {expected}, but the producer {sent}")));
    }
    let run = Run {
        seconds,
        events_per_second: events as f64 / seconds,
        consumer_cpu_seconds,
        producer_cpu_seconds: producer_cpu.as_secs_f64(),
        broker_cpu_seconds: broker_cpu.map(|cpu| cpu.as_secs_f64()),
    };
    Ok((run, bytes))
}

/// The producer's process: gets ready, says so, waits for a line, appends, waits for another, and says what it sent.
pub async fn produce(args: ProducerArgs) -> Result<(), BenchError> {
    let mut config = ClientConfig::new(args.broker.clone());
    config.api_key = args.api_key.clone();
    config.retries = RetryPolicy::NONE;
    let client = Client::new(config).map_err(|error| BenchError::Usage(error.to_string()))?;
    let dns = match args.events {
        Events::Dns => dns::generate(args.seed, DNS_EVENTS).0,
        Events::Event1 => Vec::new(),
    };
    let dns = Arc::new(dns);
    println!("ready");
    let mut told = BufReader::new(tokio::io::stdin()).lines();
    let unheard = |error| BenchError::Failed(format!("can't read stdin: {error}"));
    told.next_line().await.map_err(unheard)?;

    let batches = args.count / BATCH_EVENTS;
    append(&client, &args, &dns, 0).await?;
    println!("appending");
    let mut workers = JoinSet::new();
    for worker in 0..APPENDS.min(batches) {
        let (client, args, dns) = (client.clone(), args.clone(), dns.clone());
        workers.spawn(async move {
            for batch in (1 + worker..batches).step_by(APPENDS as usize) {
                append(&client, &args, &dns, batch).await?;
            }
            Ok::<(), BenchError>(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))??;
    }

    told.next_line().await.map_err(unheard)?;
    let mut decoder = Decoder::default();
    let (mut sizes, mut data, mut check) = (Vec::new(), Vec::new(), 0_u64);
    for batch in 0..batches {
        sizes.clear();
        data.clear();
        build(&dns, batch, &mut sizes, &mut data);
        let mut rest = data.as_slice();
        for size in &sizes {
            let (event, behind) = rest.split_at_checked(*size as usize).unwrap_or_default();
            rest = behind;
            check = check.wrapping_add(decoder.decode(event).map_or(0, |value| visit::view(&value)));
        }
    }
    println!("sent {} events, check {check:016x}", args.count);
    Ok(())
}

async fn append(client: &Client, args: &ProducerArgs, dns: &[Dns], batch: u64) -> Result<(), BenchError> {
    let mut sizes = Vec::with_capacity(BATCH_EVENTS as usize);
    let mut data = Vec::with_capacity(1 << 20);
    build(dns, batch, &mut sizes, &mut data);
    client.append_records(&args.topic, &sizes, Bytes::from(data)).await.map_err(|error| failed("an append", error))?;
    Ok(())
}

/// Writes the events of a batch, one behind the other.
fn build(dns: &[Dns], batch: u64, sizes: &mut Vec<u32>, data: &mut Vec<u8>) {
    for number in batch * BATCH_EVENTS..(batch + 1) * BATCH_EVENTS {
        let begin = data.len();
        match dns.get((number % DNS_EVENTS as u64) as usize) {
            Some(event) => event.put_record(data),
            None => build_event_of(data, number.cast_signed(), "test"),
        }
        sizes.push((data.len() - begin) as u32);
    }
}
