//! `rawline bench partitions`: measures a broker with very many partitions: their creation, starts, lists, an idle
//! broker, and appends next to snapshots.

mod appends;
mod lists;

use super::args::OutputArgs;
use super::environment::{temporary_directory, variables};
use super::history::{MainFigures, Measured};
use super::kafka::{Connection, Fields};
use super::local_broker::{LocalBroker, Place, Settings};
use super::report::{Report, progress};
use super::store_delay::DelayArgs;
use super::target::{as_name, durability, failed};
use super::tasks::blocking;
use super::topics;
use crate::error::BenchError;
use appends::Lone;
use lists::Lists;
use rawline_broker::store::disk::Durability;
use rawline_broker::store::s3::Service;
use rawline_client::{Client, ClientConfig, RetryPolicy};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Maximum time that a broker may take to start.
const READY_WAIT_MAX: Duration = Duration::from_secs(600);

/// Time from a start until the broker counts as idle: what a start leaves to do later is done.
const SETTLE_WAIT: Duration = Duration::from_secs(5);

/// How long an idle broker is measured.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// Topics that one request creates.
const CREATED_AT_ONCE: usize = 1000;

/// Connections that create topics: a bucket takes as many of these requests with one PUT.
const CREATING_CONNECTIONS: usize = 8;

const CREATE_TOPICS: (i16, i16) = (19, 2);

/// Measure a broker with very many partitions
///
/// A local broker gets the topics, with CreateTopics of Kafka's protocol, and one record in each partition. It is
/// stopped and started, then its lists are read, and it is measured while it is idle and while single records are
/// appended at a fixed rate, to one partition after the other, as it stores snapshots. At last it is killed and started
/// once more.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench partitions
  rawline bench partitions --topics 1000000
  rawline bench partitions --topics 10000 --partitions 100 --storage s3://BUCKET/PREFIX --store-delay 50ms
  rawline bench partitions --topics 100000 --rate 500 --seconds 300 --append history.jsonl")]
pub struct Args {
    /// Number of topics
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    topics: u32,

    /// Number of partitions of each topic
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    partitions: u32,

    /// Number of records in each partition before the broker is measured
    #[arg(long, value_name = "N", default_value_t = 1)]
    records: u32,

    /// Number of single records per second that are appended next to snapshots
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rate: u64,

    /// How long they are appended, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,

    /// When to acknowledge an append, after fdatasync or after the write into the page cache
    #[arg(long, value_name = "WHEN", default_value_t, value_parser = durability())]
    #[serde(serialize_with = "as_name")]
    durability: Durability,

    /// Directory to create the broker's directory in, or a bucket such as s3://BUCKET/PREFIX, where objects stay
    /// [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR|URL")]
    storage: Option<String>,

    /// How slow the bucket is.
    #[command(flatten)]
    #[serde(flatten)]
    delay: DelayArgs,

    /// Where the figures go.
    #[command(flatten)]
    #[serde(flatten)]
    output: OutputArgs,
}

/// One start.
#[derive(Debug, Clone, Copy, Serialize)]
struct Start {
    /// Seconds until the broker listened.
    seconds: f64,
    /// CPU time of the broker until then, user and system.
    cpu_seconds: f64,
    /// Maximum resident memory until then.
    peak_rss_bytes: u64,
    /// Resident memory without files when it listened.
    anonymous_bytes: u64,
}

/// Contents of `--json`.
#[derive(Debug, Serialize)]
struct Figures {
    partitions: u64,
    /// Partitions created per second.
    created_per_second: f64,
    /// Records appended per second, one to each partition.
    filled_per_second: Option<f64>,
    /// Seconds that the broker took to stop, with its last snapshot.
    stop_seconds: f64,
    /// After that.
    start: Start,
    lists: Lists,
    /// CPU time of the idle broker, in parts of one core.
    idle_cores: f64,
    /// Single appends.
    appends: Option<Lone>,
    /// After the broker was killed.
    killed_start: Start,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let bucket = args.storage.as_deref().filter(|storage| Service::of(storage).is_some());
    let directory = bucket.is_none().then(|| args.storage.as_ref().map_or_else(temporary_directory, PathBuf::from));
    let report = Report::begin("partitions", directory.as_deref(), &args, &args.output)?;
    let delay = args.delay.start(args.storage.as_deref(), &variables()).await?;
    // The directory is removed when this is dropped, after the broker.
    let (place, _directory) = Place::new(args.storage.as_deref())?;
    let endpoint = delay.as_ref().map(|delay| delay.endpoint.clone());
    let names = topics::names("topic", args.topics).into();
    let figures = Bench { args, names, place, endpoint }.measure().await?;
    report.finish(&figures)
}

struct Bench {
    args: Args,
    names: Arc<[String]>,
    place: Place,
    endpoint: Option<String>,
}

impl Bench {
    fn partitions(&self) -> u64 {
        u64::from(self.args.topics) * u64::from(self.args.partitions)
    }

    async fn measure(&self) -> Result<Figures, BenchError> {
        let broker = self.broker(0).await?;
        let created = self.create(&broker).await.map_err(|error| explain(error, &broker))?;
        let filled_per_second = match self.args.records {
            0 => None,
            _ => Some(appends::fill(&self.args, &self.names, &broker).await.map_err(|error| explain(error, &broker))?),
        };
        let began = Instant::now();
        blocking(move || broker.end()).await?;
        let stop_seconds = began.elapsed().as_secs_f64();
        println!("stopped in {stop_seconds:.1} s");
        let (broker, start) = self.start(1).await?;
        let running = self.measure_running(&broker).await.map_err(|error| explain(error, &broker))?;
        let (lists, idle_cores, appends) = running;
        drop(broker);
        let (_, killed_start) = self.start(2).await?;
        Ok(Figures {
            partitions: self.partitions(),
            created_per_second: self.partitions() as f64 / created.as_secs_f64(),
            filled_per_second,
            stop_seconds,
            start,
            lists,
            idle_cores,
            appends,
            killed_start,
        })
    }

    /// Starts a broker with its own empty cache.
    async fn broker(&self, number: u32) -> Result<LocalBroker, BenchError> {
        let settings = Settings {
            storage: None,
            durability: self.args.durability,
            memory: None,
            batch_wait: None,
            batch_bytes: None,
            connections_max: None,
            endpoint: self.endpoint.clone(),
            cgroup: None,
            kafka: true,
        };
        let place = Place { cache: self.place.cache.join(number.to_string()), ..self.place.clone() };
        LocalBroker::start_at(&settings, &place, READY_WAIT_MAX).await
    }

    async fn start(&self, number: u32) -> Result<(LocalBroker, Start), BenchError> {
        let began = Instant::now();
        let broker = self.broker(number).await?;
        let (seconds, cpu, memory) = (began.elapsed().as_secs_f64(), broker.meter.cpu(), broker.meter.memory());
        let start = Start {
            seconds,
            cpu_seconds: cpu.as_secs_f64(),
            peak_rss_bytes: memory.peak_rss_bytes,
            anonymous_bytes: memory.anonymous_bytes,
        };
        start.print(if number == 1 { "started" } else { "started after a kill" });
        Ok((broker, start))
    }

    /// Creates the topics. Returns how long that took.
    async fn create(&self, broker: &LocalBroker) -> Result<Duration, BenchError> {
        let (began, bar) = (Instant::now(), progress("creating topics".to_owned(), u64::from(self.args.topics)));
        let (names, partitions, kafka) = (self.names.clone(), self.args.partitions, kafka_of(broker)?.to_owned());
        // At most as many partitions in one object as topics with one.
        let at_once = (CREATED_AT_ONCE / partitions as usize).max(1);
        let created = blocking({
            let bar = bar.clone();
            move || {
                let next = std::sync::Mutex::new(names.chunks(at_once));
                let create = || -> Result<(), BenchError> {
                    let mut connection = Connection::open(&kafka)?;
                    loop {
                        let chunk = next.lock().ok().and_then(|mut chunks| chunks.next());
                        let Some(chunk) = chunk else { return Ok(()) };
                        create_topics(&mut connection, chunk, partitions)?;
                        bar.inc(chunk.len() as u64);
                    }
                };
                std::thread::scope(|scope| {
                    let creating: Vec<_> = (0..CREATING_CONNECTIONS).map(|_| scope.spawn(create)).collect();
                    creating.into_iter().try_for_each(|creating| {
                        creating.join().unwrap_or_else(|_| Err(BenchError::Failed("a thread stopped".to_owned())))
                    })
                })
            }
        });
        created.await?;
        bar.finish_and_clear();
        let took = began.elapsed();
        let rate = self.partitions() as f64 / took.as_secs_f64();
        println!("created {} partitions in {:.1} s, {rate:.0}/s", self.partitions(), took.as_secs_f64());
        Ok(took)
    }

    async fn measure_running(&self, broker: &LocalBroker) -> Result<(Lists, f64, Option<Lone>), BenchError> {
        let client = client(broker)?;
        let lists = Lists::measure(&client, kafka_of(broker)?, &self.args, &self.names).await?;
        lists.print();
        sleep(SETTLE_WAIT).await;
        let before = broker.meter.cpu();
        sleep(IDLE_TIME).await;
        let idle_cores = (broker.meter.cpu() - before).as_secs_f64() / IDLE_TIME.as_secs_f64();
        println!("idle: {:.1} % of a core", idle_cores * 100.0);
        let appends = match self.args.seconds {
            0 => None,
            _ => Some(Lone::measure(&client, &self.args, &self.names).await?),
        };
        if let Some(appends) = &appends {
            appends.print();
        }
        Ok((lists, idle_cores, appends))
    }
}

fn kafka_of(broker: &LocalBroker) -> Result<&str, BenchError> {
    broker.kafka.as_deref().ok_or_else(|| BenchError::Failed("the broker has no address for Kafka's clients".into()))
}

/// Creates topics with one request.
fn create_topics(connection: &mut Connection, names: &[String], partitions: u32) -> Result<(), BenchError> {
    let mut body = (names.len() as i32).to_be_bytes().to_vec();
    for name in names {
        body.extend((name.len() as i16).to_be_bytes());
        body.extend(name.as_bytes());
        body.extend((partitions as i32).to_be_bytes());
        // The broker's number of replicas, and neither assignments nor settings.
        body.extend((-1_i16).to_be_bytes());
        body.extend([0; 8]);
    }
    body.extend(60_000_i32.to_be_bytes());
    body.push(0);
    let response = connection.call(CREATE_TOPICS, &body)?;
    let mut fields = Fields(&response);
    let mut check = || {
        // The throttle time.
        fields.int32()?;
        let count = fields.int32()?;
        let mut refused = None;
        for _ in 0..count {
            let (name, error, message) = (fields.text()?, fields.int16()?, fields.text()?);
            if error != 0 {
                refused.get_or_insert_with(|| format!("{name} wasn't created: {message} (error {error})"));
            }
        }
        Some(refused.map_or(Ok(count), Err))
    };
    match check() {
        Some(Ok(count)) if count as usize == names.len() => Ok(()),
        Some(Err(refused)) => Err(BenchError::Failed(refused)),
        _ => Err(BenchError::Failed("the response to CreateTopics can't be read".to_owned())),
    }
}

fn client(broker: &LocalBroker) -> Result<Client, BenchError> {
    let mut config = ClientConfig::new(broker.url.clone());
    config.retries = RetryPolicy::NONE;
    Client::new(config).map_err(|error| failed("starting the client", error))
}

/// Adds the broker's last log lines to a failure.
fn explain(error: BenchError, broker: &LocalBroker) -> BenchError {
    BenchError::Failed(format!("{error}\n{}", broker.last_lines()))
}

impl Start {
    fn print(&self, what: &str) {
        let (peak, anonymous) = (self.peak_rss_bytes as f64 / 1e6, self.anonymous_bytes as f64 / 1e6);
        let Start { seconds, cpu_seconds, .. } = self;
        println!(
            "{what} in {seconds:.2} s  CPU {cpu_seconds:.2} s  peak RSS {peak:.0} MB, {anonymous:.0} MB anonymous"
        );
    }

    fn add_to(&self, figures: &mut MainFigures, prefix: &str) {
        figures.add(&format!("{prefix}seconds"), self.seconds);
        figures.add(&format!("{prefix}cpu_seconds"), self.cpu_seconds);
        figures.add(&format!("{prefix}peak_rss_bytes"), self.peak_rss_bytes as f64);
        figures.add(&format!("{prefix}anonymous_bytes"), self.anonymous_bytes as f64);
    }
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        figures.add("created_per_second", self.created_per_second);
        figures.add_some("filled_per_second", self.filled_per_second);
        figures.add("stop_seconds", self.stop_seconds);
        self.start.add_to(&mut figures, "start_");
        self.killed_start.add_to(&mut figures, "killed_start_");
        self.lists.add_to(&mut figures);
        figures.add("idle_cores", self.idle_cores);
        if let Some(appends) = &self.appends {
            appends.latency_us.add_to(&mut figures, "append_");
            figures.add("snapshots", appends.snapshots as f64);
        }
        figures
    }
}
