//! `rawline bench start`: measures how long a broker takes to start on storage that holds topics and commits.

use super::args::OutputArgs;
use super::bucket::BucketFolder;
use super::environment::{temporary_directory, variables};
use super::history::{MainFigures, Measured};
use super::local_broker::{LocalBroker, Place, Settings};
use super::report::{Report, progress};
use super::statistics::Spread;
use super::store_delay::DelayArgs;
use super::target::failed;
use super::topics;
use crate::error::BenchError;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use rawline_broker::store::disk::Durability;
use rawline_broker::store::s3::Service;
use rawline_client::{BucketUsage, Client, ClientConfig, Fetched, ReadOptions, RetryPolicy};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum time that a broker may take: a bucket with many topics and a long delay is what this benchmark is about.
const READY_WAIT_MAX: Duration = Duration::from_secs(1800);

/// Number of commits in flight while the storage is prepared: a broker that stores many topics with one PUT has this
/// many PUTs in flight, and so each append becomes a commit.
const APPENDS_MAX: usize = 8;

/// Where the snapshots of a storage's journal are.
const SNAPSHOTS: &str = ".journal/0000/snapshots";

/// Which of the journal's snapshots a start finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Snapshots {
    /// All snapshots that the broker has stored: one for every thousand commits, and some more.
    All,
    /// The oldest snapshot, after the first thousand commits. A start reads all later commits.
    First,
    /// No snapshot: a start reads all commits.
    None,
}

impl Snapshots {
    /// How many are kept, if not all.
    fn kept(self) -> Option<usize> {
        match self {
            Snapshots::All => None,
            Snapshots::First => Some(1),
            Snapshots::None => Some(0),
        }
    }
}

/// Measure the start of a broker on storage with topics and commits
///
/// A broker fills the storage: it creates the topics and stores the commits, each of one record, in turns. It is
/// killed, and restarted with an empty cache for each run. Three times are measured, all from the start of its process:
/// until it listens, until it responds to a health check, and until it has returned the newest record, read from
/// storage. After each run, every topic must end at the right offset. With --store-delay, the storage is filled without
/// delay.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench start --topics 1000
  rawline bench start --topics 1000 --commits 5000 --storage s3://BUCKET/PREFIX --store-delay 50ms
  rawline bench start --topics 10000 --snapshots none --storage s3://BUCKET/PREFIX --store-delay 50ms
  rawline bench start --runs 5 --append history.jsonl")]
pub struct Args {
    /// Number of topics
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    topics: u32,

    /// Number of commits, to all topics together
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    commits: u64,

    /// Delete some of the journal's snapshots before each start, in a bucket, so that it reads more commits
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Snapshots::All)]
    snapshots: Snapshots,

    /// Number of measured starts
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

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
    listening_seconds: f64,
    /// Seconds until it had responded to a health check.
    healthy_seconds: f64,
    /// Seconds until it had returned the newest record.
    first_read_seconds: f64,
    /// CPU time of the broker until then, user and system.
    cpu_seconds: f64,
    /// Maximum resident memory of the broker until then.
    peak_rss_bytes: u64,
    /// GET requests to the bucket until then, if it stores in one.
    gets: Option<u64>,
    /// LIST requests.
    lists: Option<u64>,
    /// PUT requests.
    puts: Option<u64>,
}

/// Contents of `--json`.
#[derive(Debug, Serialize)]
struct Figures {
    /// PUT requests that filled the storage, if it is a bucket.
    prepared_puts: Option<u64>,
    starts: Vec<Start>,
    listening_seconds: Spread,
    healthy_seconds: Spread,
    first_read_seconds: Spread,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let bucket = args.storage.as_deref().filter(|storage| Service::of(storage).is_some());
    let directory = bucket.is_none().then(|| args.storage.as_ref().map_or_else(temporary_directory, PathBuf::from));
    let report = Report::begin("start", directory.as_deref(), &args, &args.output)?;
    let delay = args.delay.start(args.storage.as_deref(), &variables()).await?;
    let (place, folder) = Place::new(args.storage.as_deref())?;
    let bench = Bench { topics: topics::names("topic", args.topics), commits: args.commits, place };
    if args.snapshots.kept().is_some() && bucket.is_none() {
        return Err(BenchError::Usage(
            "only a bucket's snapshots can be deleted; give --storage a bucket, s3://BUCKET/PREFIX".into(),
        ));
    }
    let prepared = bench.prepare().await?;
    let mut starts = Vec::new();
    for number in 1..=args.runs {
        if let Some(kept) = args.snapshots.kept() {
            // The start before has stored one.
            let storage = BucketFolder::storage(&bench.place.storage.to_string_lossy(), &variables())?;
            storage.delete_after(SNAPSHOTS, kept).await.map_err(super::bucket::failed)?;
        }
        // Each start has an empty cache. On a directory this one isn't used.
        let place = Place { cache: folder.path().join(format!("cache-{number}")), ..bench.place.clone() };
        let endpoint = delay.as_ref().map(|delay| delay.endpoint.clone());
        let start = bench.start(&place, endpoint, bucket.is_some()).await?;
        start.print(number);
        starts.push(start);
    }
    let spread = |of: fn(&Start) -> f64| Spread::of(starts.iter().map(of)).unwrap_or_default();
    let figures = Figures {
        prepared_puts: bucket.is_some().then_some(prepared.puts),
        listening_seconds: spread(|start| start.listening_seconds),
        healthy_seconds: spread(|start| start.healthy_seconds),
        first_read_seconds: spread(|start| start.first_read_seconds),
        starts,
    };
    figures.print();
    report.finish(&figures)
}

struct Bench {
    topics: Vec<String>,
    commits: u64,
    place: Place,
}

impl Bench {
    /// The topic and the content of a commit's record.
    fn record(&self, commit: u64) -> (&str, Bytes) {
        let topic = self.topics.get((commit % self.topics.len() as u64) as usize).map_or("", String::as_str);
        (topic, Bytes::from(format!("record {commit} of this storage")))
    }

    /// Number of records in the topic of this number.
    fn records(&self, topic: u64) -> u64 {
        let topics = self.topics.len() as u64;
        self.commits / topics + u64::from(topic < self.commits % topics)
    }

    /// Fills the storage with a broker that is killed then.
    async fn prepare(&self) -> Result<BucketUsage, BenchError> {
        let began = Instant::now();
        // Without waiting, an append is a commit.
        let settings = Settings { batch_wait: Some("0s".to_owned()), ..settings(None) };
        let broker = LocalBroker::start_at(&settings, &self.place, READY_WAIT_MAX).await?;
        let client = client(&broker)?;
        let filled = async {
            topics::create(&client, &self.topics).await?;
            // The run is measured without these counts, too.
            let before = client.bucket_usage().await.unwrap_or_default();
            self.commit(&client).await?;
            let used = client.bucket_usage().await.ok().and_then(|after| after.since(&before));
            Ok::<_, BenchError>(used.unwrap_or_default())
        };
        let used = filled.await.map_err(|error| explain(error, &broker))?;
        println!(
            "filled the storage with {} topics and {} commits in {:.1} s{}",
            self.topics.len(),
            self.commits,
            began.elapsed().as_secs_f64(),
            if used.puts > 0 { format!(", the commits with {} PUTs", used.puts) } else { String::new() }
        );
        Ok(used)
    }

    async fn commit(&self, client: &Client) -> Result<(), BenchError> {
        let bar = progress("storing commits".to_owned(), self.commits);
        let stored = stream::iter(0..self.commits)
            .map(async |commit| {
                let (topic, content) = self.record(commit);
                let sizes = [content.len() as u32];
                client.append_records(topic, &sizes, content).await.map_err(|error| failed("an append", error))?;
                bar.inc(1);
                Ok(())
            })
            .buffer_unordered(APPENDS_MAX)
            .try_collect()
            .await;
        bar.finish_and_clear();
        stored
    }

    /// Starts a broker and measures it.
    async fn start(&self, place: &Place, endpoint: Option<String>, is_bucket: bool) -> Result<Start, BenchError> {
        let began = Instant::now();
        let broker = LocalBroker::start_at(&settings(endpoint), place, READY_WAIT_MAX).await?;
        let listening = began.elapsed();
        let client = client(&broker)?;
        let measured = async {
            client.health().await.map_err(|error| failed("the health check", error))?;
            let healthy = began.elapsed();
            self.read_newest(&client).await?;
            let first_read = began.elapsed();
            let used = client.bucket_usage().await.ok().filter(|_| is_bucket);
            let peak_rss_bytes = broker.meter.memory().peak_rss_bytes;
            let cpu_seconds = broker.meter.cpu().as_secs_f64();
            self.check_topics(&client).await?;
            Ok(Start {
                listening_seconds: listening.as_secs_f64(),
                healthy_seconds: healthy.as_secs_f64(),
                first_read_seconds: first_read.as_secs_f64(),
                cpu_seconds,
                peak_rss_bytes,
                gets: used.map(|used| used.gets),
                lists: used.map(|used| used.lists),
                puts: used.map(|used| used.puts),
            })
        };
        measured.await.map_err(|error| explain(error, &broker))
    }

    /// Reads the newest record of the topic of the last commit.
    async fn read_newest(&self, client: &Client) -> Result<(), BenchError> {
        let last = (self.commits - 1) % self.topics.len() as u64;
        let (topic, _) = self.record(last);
        let offset = self.records(last) - 1;
        let options = ReadOptions { offset, records_max: 1, ..ReadOptions::default() };
        let fetched = client.read(topic, &options, Fetched::default()).await;
        let fetched = fetched.map_err(|error| failed("the first read", error))?;
        let found: Vec<_> = fetched.batches().map(|(offset, batch)| (offset, batch.data().to_vec())).collect();
        // Appends are in flight together, so which of the topic's records was last is not known.
        let is_ours = |content: &[u8]| {
            (0..self.records(last)).any(|turn| self.record(turn * self.topics.len() as u64 + last).1 == content)
        };
        if !matches!(found.as_slice(), [(first, content)] if *first == offset && is_ours(content)) {
            let message = format!("the record at offset {offset} of {topic} is not one that was sent: {found:?}");
            return Err(BenchError::Failed(message));
        }
        Ok(())
    }

    /// Checks that every topic exists and ends after its records.
    async fn check_topics(&self, client: &Client) -> Result<(), BenchError> {
        let mut listed = client.topics().await.map_err(|error| failed("listing the topics", error))?;
        listed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        for (number, name) in self.topics.iter().enumerate() {
            let records = self.records(number as u64);
            let found = listed.binary_search_by(|topic| topic.name.as_str().cmp(name));
            let end = found.ok().and_then(|place| listed.get(place)).map(|topic| topic.next_offset);
            if end != Some(records) {
                let end = end.map_or_else(|| "doesn't exist".to_owned(), |end| format!("ends at offset {end}"));
                return Err(BenchError::Failed(format!(
                    "the broker lost records: {records} of {name} were acknowledged, and after the restart it {end}"
                )));
            }
        }
        Ok(())
    }
}

/// The broker's defaults, on a bucket with this endpoint.
fn settings(endpoint: Option<String>) -> Settings {
    Settings {
        storage: None,
        durability: Durability::default(),
        memory: None,
        batch_wait: None,
        batch_bytes: None,
        connections_max: None,
        endpoint,
        cgroup: None,
        kafka: false,
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
    fn print(&self, number: u32) {
        let Start { listening_seconds, healthy_seconds, first_read_seconds, cpu_seconds, gets, lists, puts, .. } = self;
        let mut line = format!(
            "start {number:<3} listening {listening_seconds:.3} s  healthy {healthy_seconds:.3} s  first read \
             {first_read_seconds:.3} s  CPU {cpu_seconds:.2} s  peak RSS {:.1} MB",
            self.peak_rss_bytes as f64 / 1e6
        );
        if let (Some(gets), Some(lists), Some(puts)) = (gets, lists, puts) {
            line += &format!("  {gets} GETs, {lists} LISTs, {puts} PUTs");
        }
        println!("{line}");
    }
}

impl Figures {
    fn print(&self) {
        println!("\n{} starts, seconds              avg / min / max", self.starts.len());
        self.listening_seconds.print("until it listens", 3);
        self.healthy_seconds.print("until it is healthy", 3);
        self.first_read_seconds.print("until the first read", 3);
    }
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        figures.add("listening_seconds", self.listening_seconds.avg);
        figures.add("healthy_seconds", self.healthy_seconds.avg);
        figures.add("first_read_seconds", self.first_read_seconds.avg);
        let cpu = self.starts.iter().map(|start| start.cpu_seconds).sum::<f64>() / self.starts.len().max(1) as f64;
        figures.add("cpu_seconds", cpu);
        figures.add_some("prepared_puts", self.prepared_puts.map(|puts| puts as f64));
        let maximum = |of: fn(&Start) -> Option<u64>| self.starts.iter().filter_map(of).max().map(|count| count as f64);
        figures.add_some("gets", maximum(|start| start.gets));
        figures.add_some("lists", maximum(|start| start.lists));
        figures.add_some("peak_rss_bytes", maximum(|start| Some(start.peak_rss_bytes)));
        figures
    }
}
