//! `rawline serve`: runs the broker until it is told to stop.

use super::CommandError;
use clap::ValueEnum;
use rawline_broker::pool::Pool;
use rawline_broker::store::Store;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{DiskStore, Durability};
use rawline_broker::store::memory::MemoryStore;
use rawline_broker::store::s3::{S3Config, S3Store};
use rawline_broker::{Broker, Config, SystemClock, limits};
use rawline_server::http::{self, ApiKeys, HttpConfig};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What the log says without `RUST_LOG`.
const LOG_DEFAULT: &str = "info,object_store=warn";

const EXAMPLES: &str = "\
Examples:
  rawline serve                                         a broker on ./rawline-data, for this machine only
  rawline serve --storage /var/lib/rawline --listen 0.0.0.0:51313 --api-key SECRET
  rawline serve --storage s3://my-bucket/events --cache-dir /var/cache/rawline --cache-bytes 20GiB
      (endpoint, region and keys from AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)

Then, in another shell:
  seq 1000 | rawline produce numbers
  rawline consume numbers --max-records 3";

/// Run the broker
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where objects live: a directory, s3://BUCKET/PREFIX, or memory: (lost at the end)
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    storage: String,

    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", env = "RAWLINE_LISTEN", default_value = "127.0.0.1:51313")]
    listen: SocketAddr,

    /// Key that requests must carry; may be given several times (in the environment with commas between)
    #[arg(
        long = "api-key",
        value_name = "KEY",
        env = "RAWLINE_API_KEY",
        value_delimiter = ',',
        hide_env_values = true
    )]
    api_keys: Vec<String>,

    /// Listen without a key on an address that others can reach
    #[arg(long, env = "RAWLINE_INSECURE")]
    insecure: bool,

    /// Buffers for requests and reads, decided now: requests wait when they are out, and get 503 in the end
    #[arg(long, value_name = "BYTES", env = "RAWLINE_MEMORY", default_value = "512MiB", value_parser = super::parse_bytes)]
    memory: u64,

    /// What an acknowledged append has reached on a local directory
    #[arg(long, value_enum, env = "RAWLINE_DURABILITY", default_value_t = DurabilityArg::Fsync)]
    durability: DurabilityArg,

    /// How long a commit waits for company, such as 5ms [default: 0 on a directory, 100ms on S3]
    #[arg(long, value_name = "TIME", env = "RAWLINE_BATCH_WAIT", value_parser = super::parse_duration)]
    batch_wait: Option<Duration>,

    /// A commit is stored at once when it has this much
    #[arg(long, value_name = "BYTES", env = "RAWLINE_BATCH_BYTES", default_value = "10MiB", value_parser = super::parse_bytes)]
    batch_bytes: u64,

    /// Largest batch that is taken
    #[arg(long, value_name = "BYTES", env = "RAWLINE_BATCH_BYTES_MAX", default_value = "32MiB", value_parser = super::parse_bytes)]
    batch_bytes_max: u64,

    /// Most records in one batch that is taken
    #[arg(long, value_name = "RECORDS", env = "RAWLINE_BATCH_RECORDS_MAX", default_value_t = 1 << 20)]
    batch_records_max: u32,

    /// Local copies of S3 objects are kept here
    #[arg(long, value_name = "DIR", env = "RAWLINE_CACHE_DIR", default_value = "rawline-cache")]
    cache_dir: PathBuf,

    /// Local copies take this much; the least recently used go first
    #[arg(long, value_name = "BYTES", env = "RAWLINE_CACHE_BYTES", default_value = "10GiB", value_parser = super::parse_bytes)]
    cache_bytes: u64,

    /// Answer 404 for topics that are not there, instead of making them by use
    #[arg(long, env = "RAWLINE_NO_CREATE_TOPICS")]
    no_create_topics: bool,

    /// Connections at once; each takes up to 128 KiB beside --memory
    #[arg(long, value_name = "N", env = "RAWLINE_CONNECTIONS_MAX", default_value_t = 1024)]
    connections_max: usize,

    /// Serve CPU profiles on this address, e.g. 127.0.0.1:5000 [default: off]
    #[arg(long, value_name = "ADDRESS", env = "RAWLINE_DEBUG_LISTEN")]
    debug_listen: Option<SocketAddr>,
}

/// What an acknowledged append has reached on a local directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DurabilityArg {
    /// The disk: it survives a loss of power.
    Fsync,
    /// The page cache: it survives the broker's end, not the machine's.
    PageCache,
}

impl From<DurabilityArg> for Durability {
    fn from(durability: DurabilityArg) -> Self {
        match durability {
            DurabilityArg::Fsync => Durability::Fsync,
            DurabilityArg::PageCache => Durability::PageCache,
        }
    }
}

/// How long a commit on S3 waits for company: ten PUTs a second and topic.
const S3_BATCH_WAIT: Duration = Duration::from_millis(100);

/// Runs the broker until ctrl-c or SIGTERM.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let started = Instant::now();
    start_log()?;
    let api_keys = ApiKeys::new(args.api_keys.clone());
    if args.api_keys.iter().any(String::is_empty) {
        return Err(CommandError::Usage("an --api-key is empty; give it a value, or leave it out".into()));
    }
    http::check_listen(&args.listen, &api_keys, args.insecure).map_err(|refused| {
        CommandError::Usage(format!(
            "{refused}; give it a key (--api-key KEY), or --insecure if everyone who reaches it may read and write"
        ))
    })?;
    check_debug_listen(&args)?;
    let limits = batch_limits(&args)?;
    let request_bytes_max = u64::from(limits.batch_bytes_max) * 2;
    http::install_metrics();
    let config = Config {
        batch_wait: args.batch_wait.unwrap_or(if is_s3(&args) { S3_BATCH_WAIT } else { Duration::ZERO }),
        commit_bytes: args.batch_bytes.clamp(1, limits::OBJECT_BYTES_MAX / 2),
        request_bytes_max,
        create_topics: !args.no_create_topics,
        writer_id: rand::random(),
    };
    let socket = bind(args.listen)?;
    let store = open_store(&args).await?;
    let clock = Arc::new(SystemClock);
    let broker = Broker::open(store, clock.clone(), config).await.map_err(failed)?;
    // Only now, so that clients don't connect to a broker that can't respond yet.
    let listener = socket.listen(LISTEN_BACKLOG).map_err(|error| cannot_listen(args.listen, &error))?;
    let pool = Pool::new(usize::try_from(args.memory).unwrap_or(usize::MAX));
    let address = listener.local_addr().map_err(failed)?;
    let (stop, stopped) = watch::channel(false);
    if let Some(debug) = args.debug_listen {
        serve_profiles(debug).await?;
    }
    // From here on a signal ends the broker gracefully; whoever has read that it listens may rely on that.
    let mut signals = Signals::new().map_err(failed)?;
    let topics = broker.statuses().len();
    let plural = if topics == 1 { "" } else { "s" };
    eprintln!("rawline: {topics} topic{plural} on {}, ready in {:.0?}", args.storage, started.elapsed());
    eprintln!("rawline: listening on http://{address}");
    tokio::spawn(async move {
        signals.wait().await;
        eprintln!("rawline: stopping: no new connections, committing what waits");
        stop.send_replace(true);
        signals.wait().await;
        eprintln!("rawline: stopped at once");
        std::process::exit(1);
    });
    let config = HttpConfig {
        api_keys,
        request_bytes_max,
        batch_limits: limits,
        connections_max: args.connections_max.max(1),
        ..HttpConfig::default()
    };
    let broker = Arc::new(broker);
    http::serve(listener, broker.clone(), pool, clock, config, stopped).await;
    if let Some(broker) = Arc::into_inner(broker) {
        broker.close().await;
    }
    eprintln!("rawline: stopped");
    Ok(())
}

fn batch_limits(args: &Args) -> Result<rawline_batch::Limits, CommandError> {
    let batch_bytes_max = u32::try_from(args.batch_bytes_max)
        .ok()
        .filter(|&bytes| u64::from(bytes) * 2 <= limits::OBJECT_BYTES_MAX / 4)
        .ok_or_else(|| CommandError::Usage("--batch-bytes-max can be 128MiB at most".into()))?;
    let records_max = args.batch_records_max;
    let limits =
        rawline_batch::Limits { batch_bytes_max, records_max, raw_bytes_max: batch_bytes_max.saturating_mul(2) };
    let memory_min = http::request_buffers_max(&limits, u64::from(batch_bytes_max) * 2);
    if args.memory < memory_min {
        return Err(CommandError::Usage(format!(
            "--memory must be {memory_min} bytes at least, so that the largest request fits it; give more memory, or take \
             smaller batches with --batch-bytes-max"
        )));
    }
    Ok(limits)
}

/// A profile tells more than its readers should know who are not on this machine, and has no key.
fn check_debug_listen(args: &Args) -> Result<(), CommandError> {
    match args.debug_listen {
        Some(address) if !args.insecure && !address.ip().is_loopback() => Err(CommandError::Usage(format!(
            "profiles are served on loopback only, and {address} can be reached from elsewhere; give --debug-listen \
             127.0.0.1:{}, or --insecure if anyone there may see them",
            address.port()
        ))),
        _ => Ok(()),
    }
}

#[cfg(feature = "full")]
async fn serve_profiles(address: SocketAddr) -> Result<(), CommandError> {
    let listener = bind(address)?.listen(LISTEN_BACKLOG).map_err(|error| cannot_listen(address, &error))?;
    eprintln!("rawline: profiles on http://{}/debug/pprof/", listener.local_addr().map_err(failed)?);
    tokio::spawn(http::debug::serve(listener));
    Ok(())
}

#[cfg(not(feature = "full"))]
async fn serve_profiles(_: SocketAddr) -> Result<(), CommandError> {
    Err(super::not_built("profiles"))
}

fn is_s3(args: &Args) -> bool {
    args.storage.starts_with("s3://")
}

async fn open_store(args: &Args) -> Result<Arc<dyn Store>, CommandError> {
    if args.storage == "memory:" {
        return Ok(Arc::new(MemoryStore::new()));
    }
    if is_s3(args) {
        let cache = Cache::open(&args.cache_dir, args.cache_bytes).map_err(failed)?;
        let config = S3Config::new(&args.storage, cache).map_err(|error| CommandError::Usage(error.to_string()))?;
        return Ok(Arc::new(S3Store::open(config).await.map_err(failed)?));
    }
    if let Some((scheme, _)) = args.storage.split_once("://") {
        return Err(CommandError::Usage(format!(
            "there is no storage {scheme}://; give a directory, s3://BUCKET/PREFIX or memory:"
        )));
    }
    let store = DiskStore::open(args.storage.as_ref(), args.durability.into()).map_err(failed)?;
    Ok(Arc::new(store))
}

/// Connections that wait to be accepted.
const LISTEN_BACKLOG: u32 = 1024;

/// Reserves an address without listening on it yet: fails early if another process has it.
fn bind(address: SocketAddr) -> Result<TcpSocket, CommandError> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bound().map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!(
        "cannot listen on {address}: {error}; is a broker already running there? choose another address with --listen"
    ))
}

/// What tells the broker to stop: ctrl-c and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The log goes to stderr; `RUST_LOG` chooses what it says.
fn start_log() -> Result<(), CommandError> {
    let wanted = std::env::var("RUST_LOG").ok();
    let filter: Targets = wanted.as_deref().unwrap_or(LOG_DEFAULT).parse().map_err(|error| {
        CommandError::Usage(format!(
            "RUST_LOG is not a log filter: {error}; give levels, such as info or {LOG_DEFAULT}"
        ))
    })?;
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // It fails if a log is set up already: a second broker in one process logs to where the first one does.
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).try_init();
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}
