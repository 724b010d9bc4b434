//! Events through a broker: one process builds and appends them; another reads them and visits every field.

use super::dns::{self, Dns};
use super::small::build_event_of;
use super::visit;
use crate::BenchError;
use crate::environment::program;
use crate::report::progress;
use crate::statistics::Spread;
use crate::target::{Target, failed};
use crate::topic_name;
use crate::usage::{Meter, own_cpu};
use bytes::Bytes;
use indicatif::ProgressBar;
use rawline_client::{Client, ClientConfig, Consumer, ConsumerConfig, RetryPolicy};
use rawline_value::Decoder;
use serde::Serialize;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

/// Number of events in a batch.
const BATCH_EVENTS: u64 = 4096;
/// Number of appends in flight.
const APPENDS: u64 = 4;
/// Number of DNS events that the producer generates beforehand; it builds them repeatedly.
const DNS_EVENTS: usize = 10_000;

/// Which events are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Events {
    /// The small event of Zeek Broker's benchmark: a number and a string.
    Event1,
    /// DNS events as records.
    Dns,
}

impl Events {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Events::Event1 => "event1",
            Events::Dns => "dns",
        }
    }
}

/// One run.
#[derive(Debug, Serialize)]
pub struct Run {
    /// Seconds from the producer's start until the last event is visited.
    pub seconds: f64,
    /// Events per second.
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
    /// Number of events per run.
    pub count: u64,
    /// Mean size of an event in bytes.
    pub event_bytes: f64,
    /// The measured runs.
    pub runs: Vec<Run>,
    /// Their throughput.
    pub events_per_second: Spread,
}

/// Command line of the producer.
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
    /// How many events.
    #[arg(long)]
    count: u64,
    /// Seed of the DNS events.
    #[arg(long)]
    seed: u64,
    /// The broker's key, if it has one.
    #[arg(long, env = "RAWLINE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

/// Measures `runs` runs after a warm-up run.
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
            "  {what:<8} {:<7} {:>6.2} s  {:>10.0} events/s  {:>5.0} MB/s  \
             CPU s/M events: producer {:.2} broker {} consumer {:.2}",
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
    let mut producer = ProducerProcess::start(args)?;
    producer.line().await?;

    let bar = progress(format!("{} events", args.events.name()), args.count);
    let (broker_cpu, consumer_cpu, started) = (target.meter().map(Meter::cpu), own_cpu(), Instant::now());
    producer.go().await?;
    // The topic exists as soon as something was appended.
    let created = producer.line().await?;
    let visited = visit_all(target, args, &bar).await?;
    let seconds = started.elapsed().as_secs_f64();
    let consumer_cpu_seconds = (own_cpu() - consumer_cpu).as_secs_f64();
    let broker_cpu = target.meter().zip(broker_cpu).map(|(meter, before)| meter.cpu().saturating_sub(before));
    let producer_cpu = producer.meter.as_ref().map_or(Duration::ZERO, Meter::cpu);
    // Only now, so that the time of the check counts neither for the producer nor for the consumer.
    producer.go().await?;
    let sent = producer.line().await?;
    bar.finish_and_clear();
    let Visited { events, bytes, check } = visited;
    let expected = format!("sent {} events, check {check:016x}", args.count);
    if created != "appending" || sent != expected || events != args.count {
        return Err(BenchError::Failed(format!(
            "visited {events} events: expected {expected:?}, but the producer reported {sent:?}"
        )));
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

/// The producer as a child process. Dropping it kills the process.
struct ProducerProcess {
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    meter: Option<Meter>,
    _child: Child,
}

impl ProducerProcess {
    fn start(args: &ProducerArgs) -> Result<ProducerProcess, BenchError> {
        let program = program().map_err(|error| broken(error.to_string()))?;
        let mut command = Command::new(program);
        match &args.api_key {
            // In the environment, where a list of processes doesn't show it.
            Some(key) => command.env("RAWLINE_API_KEY", key),
            None => command.env_remove("RAWLINE_API_KEY"),
        };
        let (count, seed) = (args.count.to_string(), args.seed.to_string());
        let mut child = command
            .args(["bench", "values-producer", "--broker", &args.broker, "--topic", &args.topic])
            .args(["--events", args.events.name(), "--count", &count, "--seed", &seed])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| broken(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken("it has no pipes".to_owned()));
        };
        let meter = child.id().and_then(Meter::of);
        Ok(ProducerProcess { stdin, stdout: BufReader::new(stdout).lines(), meter, _child: child })
    }

    /// Lets it take its next step.
    async fn go(&mut self) -> Result<(), BenchError> {
        self.stdin.write_all(b"go\n").await.map_err(|error| broken(error.to_string()))
    }

    /// The next line that it prints.
    async fn line(&mut self) -> Result<String, BenchError> {
        match self.stdout.next_line().await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(broken("it exited before it was done".to_owned())),
            Err(error) => Err(broken(error.to_string())),
        }
    }
}

fn broken(what: String) -> BenchError {
    BenchError::Failed(format!("the producer's process failed: {what}"))
}

/// What the consumer has read.
struct Visited {
    events: u64,
    bytes: u64,
    check: u64,
}

/// Reads the whole topic and visits every field.
async fn visit_all(target: &Target, args: &ProducerArgs, bar: &ProgressBar) -> Result<Visited, BenchError> {
    let config = ConsumerConfig {
        start: rawline_client::Start::Offset(0),
        end_offset: Some(args.count),
        retries: RetryPolicy::NONE,
        wait: Duration::from_secs(10),
        ..ConsumerConfig::default()
    };
    let mut consumer =
        Consumer::new(target.client.clone(), &args.topic, config).await.map_err(|error| failed("a read", error))?;
    let mut decoder = Decoder::default();
    let mut visited = Visited { events: 0, bytes: 0, check: 0 };
    while let Some(fetched) = consumer.next().await.map_err(|error| failed("a read", error))? {
        let mut records = fetched.records();
        while let Some(record) = records.next_record().map_err(|error| failed("a read", error))? {
            let value = decoder
                .decode(record.bytes)
                .map_err(|error| BenchError::Failed(format!("record {}: {error}", record.offset)))?;
            visited.check = visited.check.wrapping_add(visit::view(&value));
            visited.bytes += record.bytes.len() as u64;
            visited.events += 1;
        }
        bar.set_position(visited.events);
    }
    Ok(visited)
}

/// The producer's process: prints that it is ready, waits for a line, appends, waits for another line, and prints what
/// it sent.
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
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let unreadable = |error| BenchError::Failed(format!("can't read stdin: {error}"));
    lines.next_line().await.map_err(unreadable)?;

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

    lines.next_line().await.map_err(unreadable)?;
    let mut decoder = Decoder::default();
    let (mut sizes, mut data, mut check) = (Vec::new(), Vec::new(), 0_u64);
    for batch in 0..batches {
        sizes.clear();
        data.clear();
        build(&dns, batch, &mut sizes, &mut data);
        let mut rest = data.as_slice();
        for size in &sizes {
            let (event, after) = rest.split_at_checked(*size as usize).unwrap_or_default();
            rest = after;
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

/// Writes the events of a batch back to back.
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
