//! `rawline serve`: runs the broker until it is stopped.

use super::interrupt::Interrupt;
use super::listen::{LISTEN_BACKLOG, bind, cannot_listen};
use super::log::{Log, LogFormat};
use super::ready_file::{Ready, ReadyFile};
use super::stop::stop;
use super::storage::{StorageArg, StorageKind};
use super::{CommandError, explain, full, log, parse_bytes, parse_duration};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use futures_util::FutureExt;
use rawline_broker::cluster::{Card, Cluster, Endpoint};
use rawline_broker::journal::ProducerIds;
use rawline_broker::pool::Pool;
use rawline_broker::store::Storage;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::{
    Broker, CommitThread, Config, SteadyClock, SystemClock, keep_freed_memory, limits, raise_files_limit,
};
use rawline_server::access::{Access, Audit, check_listen, read_keys};
use rawline_server::http::{self, AllowedOrigin, HttpConfig};
use rawline_server::kafka::{self, KafkaConfig};
use rawline_server::{TLS_CONNECTION_BYTES, Tls, TlsFiles};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::watch;

const EXAMPLES: &str = "\
Examples:
  # Store in ./rawline-data, listen for this machine only
  rawline serve

  # Listen for other machines
  rawline serve --storage /var/lib/rawline --listen 0.0.0.0:51313 --api-key SECRET

  # The same over TLS
  rawline serve --listen 0.0.0.0:51313 --api-key SECRET --tls-cert cert.pem --tls-key key.pem

  # The same, with keys that have different grants, from `rawline key add`
  rawline serve --storage /var/lib/rawline --listen 0.0.0.0:51313 --keys keys.toml

  # For Kafka's clients too
  rawline serve --kafka 127.0.0.1:9092

  # Store in S3, with AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
  rawline serve --storage s3://my-bucket/events --cache-dir /var/cache/rawline --cache-bytes 20GiB

  # Store in Google Cloud Storage, with GOOGLE_APPLICATION_CREDENTIALS
  rawline serve --storage gs://my-bucket/events

  # Store in Azure Blob Storage, with AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY
  rawline serve --storage az://my-container/events

  # For tests: in memory, on a free port that is in the file
  rawline serve --storage memory: --listen 127.0.0.1:0 --ready-file ready.json

  # Then, in another shell
  seq 1000 | rawline produce numbers
  rawline consume numbers --max-records 3";

/// Run the broker
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Storage for objects: a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or memory:
    /// (lost when the broker stops)
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    storage: StorageArg,

    /// Maximum number of bytes in --storage memory:, beyond which appends get 503 [default: 1GiB]
    #[arg(long, value_name = "BYTES", env = "RAWLINE_STORAGE_BYTES", value_parser = parse_bytes)]
    storage_bytes: Option<u64>,

    /// Address to listen on; port 0 chooses a free port
    #[arg(long, value_name = "HOST:PORT", env = "RAWLINE_LISTEN", default_value = "127.0.0.1:51313",
          value_parser = parse_listen)]
    listen: SocketAddr,

    /// URL at which the storage's other brokers, and clients that they redirect, reach this one [default: that of
    /// --listen, if it is one address]
    #[arg(long, value_name = "URL", env = "RAWLINE_ADVERTISE", value_parser = parse_advertise)]
    advertise: Option<String>,

    /// Follow the other brokers on a bucket and forward appends to them; store only this broker's card
    #[arg(long, env = "RAWLINE_READ_ONLY")]
    read_only: bool,

    /// Address to listen on for Kafka's clients, such as 127.0.0.1:9092 [default: off]
    #[arg(long, value_name = "HOST:PORT", env = "RAWLINE_KAFKA", value_parser = parse_listen)]
    kafka: Option<SocketAddr>,

    /// Host and port that Kafka's clients connect to [default: those of their first connection]
    #[arg(long, value_name = "HOST:PORT", env = "RAWLINE_KAFKA_ADVERTISE", value_parser = parse_host_port,
          requires = "kafka")]
    kafka_advertise: Option<HostPort>,

    /// Zone that this broker runs in, such as eu-central-1a: clients of this zone (Kafka's client.rack) read from it
    #[arg(long, value_name = "NAME", env = "RAWLINE_ZONE")]
    zone: Option<String>,

    /// File of API keys and their grants, edited by `rawline key`; reloaded when it changes
    #[arg(long, value_name = "FILE", env = "RAWLINE_KEYS")]
    keys: Option<PathBuf>,

    /// File for administrative changes and refusals, as lines of JSON [default: the log]
    #[arg(long, value_name = "FILE", env = "RAWLINE_AUDIT_LOG")]
    audit_log: Option<PathBuf>,

    /// API key that grants everything and makes keys mandatory (for Kafka's clients, the password); repeatable, or
    /// separated by commas
    #[arg(
        long = "api-key",
        value_name = "KEY",
        env = "RAWLINE_API_KEY",
        value_delimiter = ',',
        hide_env_values = true
    )]
    api_keys: Vec<String>,

    /// Allow listening for other machines without an API key
    #[arg(long, env = "RAWLINE_INSECURE")]
    insecure: bool,

    /// Broker's certificate chain (PEM); enables TLS for HTTP and Kafka; reloaded when it changes
    #[arg(long, value_name = "FILE", env = "RAWLINE_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of --tls-cert (PEM); reloaded when it changes
    #[arg(long, value_name = "FILE", env = "RAWLINE_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Authorities' certificates (PEM); clients must present a certificate that one of them signed
    #[arg(long, value_name = "FILE", env = "RAWLINE_TLS_CLIENT_CA", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// Origin of a web app that may use the API from a browser, such as https://app.example.com; repeatable, or
    /// separated by commas [default: the broker's own page only]
    #[arg(long = "allow-origin", value_name = "ORIGIN", env = "RAWLINE_ALLOW_ORIGIN", value_delimiter = ',')]
    allowed_origins: Vec<AllowedOrigin>,

    /// Memory for connections and buffers in bytes; when it is used up, requests wait up to 5 s, then get 503
    #[arg(long, value_name = "BYTES", env = "RAWLINE_MEMORY", default_value = "512MiB", value_parser = parse_bytes)]
    memory: u64,

    /// When to acknowledge an append to a local directory
    #[arg(long, value_name = "WHEN", env = "RAWLINE_DURABILITY", default_value_t, value_parser = durability())]
    durability: Durability,

    /// Time that a commit waits for more appends, such as 5ms [default: 0 on a directory, 100ms in a bucket]
    #[arg(long, value_name = "TIME", env = "RAWLINE_BATCH_WAIT", value_parser = parse_duration)]
    batch_wait: Option<Duration>,

    /// Size in bytes at which a commit stops waiting for more appends
    #[arg(long, value_name = "BYTES", env = "RAWLINE_BATCH_BYTES", default_value = "10MiB", value_parser = parse_bytes)]
    batch_bytes: u64,

    /// Maximum size of a batch in bytes; the maximum size of a request is twice that
    #[arg(long, value_name = "BYTES", env = "RAWLINE_BATCH_BYTES_MAX", default_value = "32MiB",
          value_parser = parse_bytes)]
    batch_bytes_max: u64,

    /// Maximum number of records in a batch
    #[arg(long, value_name = "N", env = "RAWLINE_BATCH_RECORDS_MAX", default_value_t = 1 << 20)]
    batch_records_max: u32,

    /// Directory of the cache for objects in a bucket
    #[arg(long, value_name = "DIR", env = "RAWLINE_CACHE_DIR", default_value = "rawline-cache")]
    cache_dir: PathBuf,

    /// Maximum size of the cache in bytes; the least recently used objects are removed first
    #[arg(long, value_name = "BYTES", env = "RAWLINE_CACHE_BYTES", default_value = "10GiB", value_parser = parse_bytes)]
    cache_bytes: u64,

    /// Minimum time to keep unreferenced objects in a bucket, in whole seconds; fixed when the storage is created
    /// [default: 1h]
    #[arg(long, value_name = "TIME", env = "RAWLINE_DELETION_DELAY", value_parser = parse_duration)]
    deletion_delay: Option<Duration>,

    /// Number of journals in a bucket (1 to 64), which is the maximum number of brokers that write at the same time;
    /// fixed when the storage is created [default: that of the storage, 1 for a new one]
    #[arg(long, value_name = "N", env = "RAWLINE_JOURNALS", value_parser = clap::value_parser!(u32).range(1..=64))]
    journals: Option<u32>,

    /// Don't create topics on first use; respond with 404 for topics that don't exist
    #[arg(long, env = "RAWLINE_NO_CREATE_TOPICS")]
    no_create_topics: bool,

    /// Session timeout of Kafka's consumer protocol, 1s to 1h; members send 15 heartbeats in it. Members of other
    /// groups choose their own timeout
    #[arg(long, value_name = "TIME", env = "RAWLINE_GROUP_SESSION", default_value = "45s",
          value_parser = parse_group_session)]
    group_session: Duration,

    /// Maximum number of connections of each address (HTTP, Kafka); each takes 24 KiB of --memory (40 KiB with TLS),
    /// all together at most a quarter
    #[arg(long, value_name = "N", env = "RAWLINE_CONNECTIONS_MAX", default_value_t = 1024)]
    connections_max: usize,

    /// File to write once the broker listens, for the program that started it: JSON with url, kafka and pid; removed
    /// when the broker stops
    #[arg(long, value_name = "FILE", env = "RAWLINE_READY_FILE")]
    ready_file: Option<PathBuf>,

    /// Stop when stdin ends, so that the broker doesn't outlive the program that started it
    #[arg(long, env = "RAWLINE_STOP_WITH_STDIN")]
    stop_with_stdin: bool,

    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", env = "RAWLINE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// Address to serve CPU profiles on, such as 127.0.0.1:5000 [default: off]
    #[arg(long, value_name = "HOST:PORT", env = "RAWLINE_DEBUG_LISTEN", value_parser = parse_listen)]
    debug_listen: Option<SocketAddr>,
}

fn parse_advertise(text: &str) -> Result<String, String> {
    let parts = text.split_once("://").map(|(scheme, rest)| (scheme, rest.trim_end_matches('/')));
    match parts {
        Some((scheme @ ("http" | "https"), host)) if parse_host_port(host).is_ok() && !host.contains('/') => {
            Ok(format!("{scheme}://{host}"))
        }
        _ => Err(format!("{text:?} is not a URL with a port, such as http://10.0.0.7:51313")),
    }
}

/// A host, by its name or address, and a port.
type HostPort = (String, u16);

fn parse_host_port(text: &str) -> Result<HostPort, String> {
    let wrong = || format!("{text:?} is not a host and a port, such as broker.example.com:9092");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        return Err(wrong());
    }
    Ok((host.to_owned(), port.parse().map_err(|_| wrong())?))
}

/// An address to listen on: the first IPv4 address of a name, as programs that connect to `localhost` expect.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    parse_host_port(text)?;
    let found = text.to_socket_addrs().map_err(|error| {
        format!("{text:?} is not an address to listen on, such as 127.0.0.1:51313 or localhost:0: {error}")
    })?;
    let found: Vec<SocketAddr> = found.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("{text:?} has no address; give one, such as 127.0.0.1:51313"))
}

fn parse_group_session(text: &str) -> Result<Duration, String> {
    let session = parse_duration(text)?;
    let limits = Duration::from_secs(1)..=Duration::from_secs(3600);
    if limits.contains(&session) { Ok(session) } else { Err(format!("{text} is not between 1s and 1h")) }
}

fn durability() -> impl TypedValueParser<Value = Durability> {
    let values = Durability::ALL.map(|durability| {
        PossibleValue::new(durability.name()).help(match durability {
            Durability::Fsync => "After fdatasync: survives a power failure",
            Durability::PageCache => "After the write to the page cache: survives a crash of the broker only",
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

/// Runs the broker until ctrl-c or SIGTERM.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let started = Instant::now();
    let log = log::start(args.log_format)?;
    raise_files_limit();
    if args.storage.is_bucket() {
        keep_freed_memory();
    }
    // Only a commit to a directory takes less time than waking a thread.
    let commit_thread = args.storage.is_directory().then(CommitThread::start).transpose().map_err(failed)?;
    let http_config = HttpConfig { commit_thread: commit_thread.clone(), ..http_config(&args)? };
    let batch_limits = http_config.batch_limits;
    let socket = bind(args.listen, "--listen")?;
    let kafka_socket =
        args.kafka.map(|address| Ok::<_, CommandError>((address, bind(address, "--kafka")?))).transpose()?;
    let ready_file = args.ready_file.as_deref().map(ReadyFile::new).transpose()?;
    let store = open_store(&args).await?;
    let http_config = HttpConfig { measurements: full::measurements(&args.storage), ..http_config };
    let clock = Arc::new(SteadyClock::new(SystemClock));
    let config = Config { commit_thread, ..broker_config(&args, http_config.request_bytes_max) };
    let broker = Broker::open(store, clock.clone(), config).await;
    let broker = broker.map_err(|error| explain::storage(&error, &args.storage.name))?;
    // Only now, so that clients don't connect to a broker that can't respond yet.
    let listener = socket.listen(LISTEN_BACKLOG).map_err(|error| cannot_listen(args.listen, "--listen", &error))?;
    let kafka_listener = kafka_socket.map(|(address, socket)| {
        socket.listen(LISTEN_BACKLOG).map_err(|error| cannot_listen(address, "--kafka", &error))
    });
    let kafka_listener = kafka_listener.transpose()?;
    let pool = Pool::new(usize::try_from(pool_bytes(&args, &batch_limits)).unwrap_or(usize::MAX));
    let address = listener.local_addr().map_err(failed)?;
    if let Some(debug) = args.debug_listen {
        full::serve_profiles(&log, debug).await?;
    }
    let kafka_address = kafka_listener.as_ref().map(TcpListener::local_addr).transpose().map_err(failed)?;
    let tls = http_config.tls.as_ref();
    let public_key = Some(http_config.peer_key.public());
    let describe = |card| described(&args, Card { public_key, ..card }, address, kafka_address, tls);
    let joined = broker.join(describe).await;
    joined.map_err(|error| explain::storage(&error, &args.storage.name))?;
    // From here on a signal stops the broker gracefully. A program that has read the printed address relies on that.
    let interrupt = Interrupt::new()?;
    let topics = broker.topics_count();
    let plural = if topics == 1 { "" } else { "s" };
    log.say(&format!("{topics} topic{plural} in {}, ready in {:.0?}", args.storage, started.elapsed()));
    if let Some(listener) = &kafka_listener {
        log.say(&format!("listening for Kafka's clients on {}", listener.local_addr().map_err(failed)?));
    }
    if let Some(cluster) = broker.cluster() {
        report_others(&log, cluster, scheme(&args));
    }
    let url = format!("{}://{address}", scheme(&args));
    log.say(&format!("listening on {url}"));
    if let Some(file) = &ready_file {
        let kafka = kafka_address.map(|address| address.to_string());
        file.write(&Ready { url, kafka, pid: std::process::id() })?;
    }
    let kafka_config = kafka_config(&args, &http_config);
    let broker = Arc::new(broker);
    let stop = leave_first(broker.clone(), stop(log.clone(), interrupt, args.stop_with_stdin)?);
    let access = http_config.access.clone();
    let serving_kafka = match kafka_listener {
        Some(listener) => kafka::serve(listener, broker.clone(), pool.clone(), kafka_config, stop.clone()).boxed(),
        None => std::future::ready(()).boxed(),
    };
    // Each server runs on its own tasks.
    let serving_http = http::serve(listener, broker.clone(), pool, clock, http_config, stop);
    tokio::select! {
        _ = async { tokio::join!(serving_http, serving_kafka) } => {}
        () = access.follow(args.keys.clone()) => unreachable!("the keys file is followed until the broker stops"),
        () = log.report() => unreachable!("repetitions are reported until the broker stops"),
    }
    if let Some(broker) = Arc::into_inner(broker) {
        broker.close().await;
    }
    log.end();
    log.say("stopped");
    Ok(())
}

/// The scheme of this broker's URLs.
fn scheme(args: &Args) -> &'static str {
    if args.tls_cert.is_some() { "https" } else { "http" }
}

/// The card that describes this broker to the others on the storage.
fn described(args: &Args, card: Card, http: SocketAddr, kafka: Option<SocketAddr>, tls: Option<&Tls>) -> Card {
    // An unspecified address means all addresses of this machine, and not all are reachable for other brokers.
    let is_one = |address: &SocketAddr| !address.ip().is_unspecified();
    let own = |address: SocketAddr| Endpoint { host: address.ip().to_string(), port: address.port() };
    let kafka = match &args.kafka_advertise {
        Some((host, port)) => Some(Endpoint { host: host.clone(), port: *port }),
        // At a loopback address, clients of other machines would connect to themselves.
        None => kafka.filter(is_one).filter(|kafka| http.ip().is_loopback() || !kafka.ip().is_loopback()).map(own),
    };
    let (machine, listen) = (crate::machine::name(), Some(http.to_string()));
    let url = args.advertise.clone().or_else(|| is_one(&http).then(|| format!("{}://{http}", scheme(args))));
    let certificates = tls.map(Tls::certificate).into_iter().collect();
    Card { url, kafka, certificates, machine, listen, ..card }
}

/// Reports the other brokers on the storage.
fn report_others(log: &Log, cluster: &Cluster, scheme: &str) {
    let brokers = cluster.brokers();
    if brokers.card(brokers.me).is_none_or(|card| card.url.is_none()) {
        log.say(&format!(
            "other brokers on this storage can't reach this one: give it --advertise {scheme}://HOST:PORT"
        ));
    }
    let others = brokers.live().filter(|card| card.id != brokers.me).count();
    if others > 0 {
        let plural = if others == 1 { "" } else { "s" };
        log.say(&format!("broker {}, with {others} other{plural} on this storage", brokers.me));
    }
}

/// Becomes true when `stop` does and another broker has taken over, if there are others.
fn leave_first(broker: Arc<Broker>, mut stop: watch::Receiver<bool>) -> watch::Receiver<bool> {
    let (left, has_left) = watch::channel(false);
    tokio::spawn(async move {
        // An error means that no signal can come any more.
        if stop.wait_for(|&stop| stop).await.is_ok()
            && let Some(cluster) = broker.cluster()
        {
            cluster.hand_over().await;
        }
        drop(broker);
        left.send_replace(true);
    });
    has_left
}

/// Checks the settings of the servers, and returns those of the HTTP server.
fn http_config(args: &Args) -> Result<HttpConfig, CommandError> {
    if args.api_keys.iter().any(String::is_empty) {
        return Err(CommandError::Usage("an --api-key is empty; give it a value, or omit it".into()));
    }
    let access = access(args)?;
    for address in [Some(args.listen), args.kafka].into_iter().flatten() {
        // Where clients need a certificate, they need no key.
        let is_open = args.insecure || args.tls_client_ca.is_some();
        check_listen(&address, &access, is_open).map_err(|refused| {
            CommandError::Usage(format!(
                "{refused}; give it keys (--keys FILE or --api-key KEY), or --insecure if everyone who reaches it may \
                 read and write"
            ))
        })?;
        let has_keys = !args.api_keys.is_empty() || args.keys.is_some();
        if has_keys && args.tls_cert.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "clients on other machines send their API keys to {address} in clear text; encrypt connections with \
                 --tls-cert and --tls-key, or run a proxy that terminates TLS"
            );
        }
    }
    check_debug_listen(args)?;
    check_advertise(args)?;
    if args.read_only && !args.storage.is_bucket() {
        return Err(CommandError::Usage(format!(
            "--read-only is for a bucket that other brokers write to, and {} has one broker: omit it, or use \
             --storage s3://BUCKET/PREFIX",
            if args.storage.is_directory() { "a directory" } else { "memory" }
        )));
    }
    let tls = tls(args)?;
    let batch_limits = batch_limits(args)?;
    Ok(HttpConfig {
        access,
        allowed_origins: args.allowed_origins.clone(),
        request_bytes_max: u64::from(batch_limits.batch_bytes_max) * 2,
        batch_limits,
        memory_bytes: args.memory,
        connections_max: args.connections_max.max(1),
        tls,
        build: crate::version::build(),
        ..HttpConfig::default()
    })
}

fn tls(args: &Args) -> Result<Option<Tls>, CommandError> {
    let (Some(certificate), Some(key)) = (args.tls_cert.clone(), args.tls_key.clone()) else { return Ok(None) };
    let files = TlsFiles { certificate, key, client_ca: args.tls_client_ca.clone() };
    let tls = Tls::open(files).map_err(|error| {
        CommandError::Failed(format!("{error}; check the files of --tls-cert, --tls-key and --tls-client-ca"))
    })?;
    Ok(Some(tls))
}

/// The keys and the audit log.
fn access(args: &Args) -> Result<Access, CommandError> {
    let advice = "correct the file, or name another one with --keys; `rawline key add` makes one";
    let file = args.keys.as_deref().map(read_keys).transpose();
    let file = file.map_err(|error| CommandError::Usage(format!("{error}; {advice}")))?;
    let audit = match &args.audit_log {
        None => Audit::to_log(),
        Some(path) => Audit::to_file(path.clone(), Arc::new(SystemClock)).map_err(|error| {
            CommandError::Usage(format!("can't write to {}: {error}; check --audit-log", path.display()))
        })?,
    };
    Ok(Access::new(args.api_keys.clone(), file, audit))
}

fn kafka_config(args: &Args, http: &HttpConfig) -> KafkaConfig {
    KafkaConfig {
        request_bytes_max: http.request_bytes_max,
        batch_limits: http.batch_limits,
        pool_wait: http.pool_wait,
        waits: http.waits,
        connections_max: http.connections_max,
        shutdown_wait: http.shutdown_wait,
        advertise: args.kafka_advertise.clone(),
        create_topics: !args.no_create_topics,
        commit_thread: http.commit_thread.clone(),
        small_bytes_max: match args.durability {
            Durability::Fsync => kafka::SMALL_SYNCED_BYTES_MAX,
            Durability::PageCache => kafka::SMALL_UNSYNCED_BYTES_MAX,
        },
        tls: http.tls.clone(),
        access: http.access.clone(),
        metrics: http.metrics.clone(),
    }
}

fn broker_config(args: &Args, request_bytes_max: u64) -> Config {
    Config {
        batch_wait: args.batch_wait.unwrap_or(if args.storage.is_bucket() {
            limits::S3_BATCH_WAIT
        } else {
            Duration::ZERO
        }),
        commit_bytes: args.batch_bytes.clamp(1, limits::OBJECT_BYTES_MAX / 2),
        request_bytes_max,
        create_topics: !args.no_create_topics,
        consumer_session: args.group_session,
        is_read_only: args.read_only,
        zone: args.zone.clone().filter(|zone| !zone.is_empty()),
        producer_ids: ProducerIds::of_secret(rand::random()),
        ..Config::new(rand::random())
    }
}

fn batch_limits(args: &Args) -> Result<rawline_batch::Limits, CommandError> {
    let batch_bytes_max = u32::try_from(args.batch_bytes_max)
        .ok()
        .filter(|&bytes| u64::from(bytes) * 2 <= limits::OBJECT_BYTES_MAX / 4)
        .ok_or_else(|| CommandError::Usage("the maximum of --batch-bytes-max is 128MiB".into()))?;
    let records_max = args.batch_records_max;
    let limits =
        rawline_batch::Limits { batch_bytes_max, records_max, raw_bytes_max: batch_bytes_max.saturating_mul(2) };
    let memory_min = memory_min(&limits);
    if args.memory < memory_min {
        return Err(CommandError::Usage(format!(
            "--memory must be at least {memory_min} bytes to hold the largest request; raise it, or lower \
             --batch-bytes-max"
        )));
    }
    Ok(limits)
}

/// Size of the buffers for the largest request in bytes.
fn memory_min(limits: &rawline_batch::Limits) -> u64 {
    http::request_buffers_max(limits, u64::from(limits.batch_bytes_max) * 2)
}

/// Size of the pool in bytes: `--memory` without the share for connections, which is at most a quarter.
fn pool_bytes(args: &Args, limits: &rawline_batch::Limits) -> u64 {
    let listeners = 1 + u64::from(args.kafka.is_some());
    let tls = if args.tls_cert.is_some() { TLS_CONNECTION_BYTES } else { 0 };
    let connections = listeners * args.connections_max as u64 * (http::IDLE_CONNECTION_BYTES + tls);
    args.memory - connections.min(args.memory / 4).min(args.memory - memory_min(limits))
}

/// Other brokers trust the certificate of this one, and no proxy's.
fn check_advertise(args: &Args) -> Result<(), CommandError> {
    let scheme = scheme(args);
    match &args.advertise {
        Some(url) if !url.starts_with(&format!("{scheme}://")) => Err(CommandError::Usage(format!(
            "the other brokers can't connect to {url}: this broker speaks {scheme}, {} --tls-cert; give --advertise a \
             URL with {scheme}://",
            if args.tls_cert.is_some() { "with" } else { "without" }
        ))),
        _ => Ok(()),
    }
}

/// Profiles have no key, and they show more of the broker than other machines should see.
fn check_debug_listen(args: &Args) -> Result<(), CommandError> {
    match args.debug_listen {
        Some(address) if !args.insecure && !address.ip().is_loopback() => Err(CommandError::Usage(format!(
            "other machines can reach {address}, and profiles are served on loopback only; use --debug-listen \
             127.0.0.1:{}, or allow it with --insecure",
            address.port()
        ))),
        _ => Ok(()),
    }
}

async fn open_store(args: &Args) -> Result<Storage, CommandError> {
    if args.journals.is_some_and(|journals| journals > 1) && !args.storage.is_bucket() {
        return Err(CommandError::Usage(format!(
            "{} has one journal: only a bucket can have several; omit --journals",
            args.storage
        )));
    }
    if args.storage.kind == StorageKind::Memory {
        return Ok(Storage::in_memory(args.storage_bytes.unwrap_or(limits::MEMORY_BYTES)));
    }
    if args.storage_bytes.is_some() {
        return Err(CommandError::Usage(format!(
            "--storage-bytes limits --storage memory:, and {} has no such limit: omit it",
            args.storage
        )));
    }
    let failed = |error| explain::storage(&error, &args.storage.name);
    if args.storage.is_bucket() {
        let cache = Cache::open(&args.cache_dir, args.cache_bytes);
        let cache = cache.map_err(|error| explain::cache(&error))?;
        let config =
            S3Config::new(&args.storage.name, cache).map_err(|error| CommandError::Usage(error.to_string()))?;
        let (deletion_delay, journals, is_read_only) = (args.deletion_delay, args.journals, args.read_only);
        let config = S3Config { deletion_delay, journals, is_read_only, ..config };
        return s3::open_early(config).await.map_err(failed);
    }
    disk::open(args.storage.name.as_ref(), args.durability).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}
