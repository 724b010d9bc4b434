//! A broker that is served from the test's own process.

use crate::process::pause;
use crate::s3_server::Bucket;
use crate::stores::in_memory;
use rawline_broker::cluster::{Card, Endpoint};
use rawline_broker::pool::Pool;
use rawline_broker::store::Storage;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::{Broker, Config, SystemClock};
use rawline_server::http::{HttpConfig, Waits, serve};
use rawline_server::kafka::{self, KafkaConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a broker takes at most to close.
const CLOSE_MAX: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_secs(3600);

/// Clients may take as long as they like.
pub const PATIENT: Waits = Waits {
    head: HOUR,
    body_piece: HOUR,
    body: HOUR,
    answer_piece: HOUR,
    answer: HOUR,
    refused_body: Duration::from_millis(20),
};

/// A broker that this process serves. It stops when the value is dropped.
pub struct Served {
    pub address: SocketAddr,
    /// The address for Kafka's clients.
    pub kafka: SocketAddr,
    pub pool: Arc<Pool>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Served {
    /// On memory, with the server's defaults.
    pub async fn start() -> Served {
        Served::on(in_memory(), HttpConfig::default(), 256 << 20).await
    }

    /// On this store, with this configuration and a pool of this size in bytes.
    pub async fn on(store: Storage, config: HttpConfig, pool_bytes: usize) -> Served {
        Served::run(store, config, pool_bytes, 7, None, false).await
    }

    /// One of several brokers on a bucket, with this id.
    pub async fn member(bucket: &Bucket, config: HttpConfig, id: u64) -> Served {
        Served::in_zone(bucket, config, id, None).await
    }

    /// The same in a zone.
    pub async fn in_zone(bucket: &Bucket, config: HttpConfig, id: u64, zone: Option<&str>) -> Served {
        let cache = Cache::open(bucket.cache_dir(), 64 << 20).unwrap();
        let s3 = S3Config::new(&format!("s3://{}/events", bucket.name), cache).unwrap();
        let store = s3::open(S3Config { variables: bucket.variables(), ..s3 }).await.unwrap();
        Served::run(store, config, 64 << 20, id, zone, true).await
    }

    async fn run(
        store: Storage,
        config: HttpConfig,
        pool_bytes: usize,
        id: u64,
        zone: Option<&str>,
        joins: bool,
    ) -> Served {
        let clock = Arc::new(SystemClock);
        let mut settings = Config::new(id);
        settings.zone = zone.map(str::to_owned);
        settings.request_bytes_max = config.request_bytes_max;
        settings.commit_thread = config.commit_thread.clone();
        settings.batch_wait = if joins { Duration::from_millis(1) } else { settings.batch_wait };
        let broker = Arc::new(Broker::open(store, clock.clone(), settings).await.unwrap());
        let pool = Pool::new(pool_bytes);
        let (listener, for_kafka) = (listen().await, listen().await);
        let (address, kafka) = (listener.local_addr().unwrap(), for_kafka.local_addr().unwrap());
        if joins {
            let public_key = Some(config.peer_key.public());
            let url = Some(format!("http://{address}"));
            let kafka = Some(Endpoint { host: kafka.ip().to_string(), port: kafka.port() });
            broker.join(|card| Card { url, kafka, public_key, ..card }).await.unwrap();
        }
        let (stop, stopped) = watch::channel(false);
        let kafka_config = KafkaConfig {
            request_bytes_max: config.request_bytes_max,
            batch_limits: config.batch_limits,
            pool_wait: config.pool_wait,
            waits: config.waits,
            connections_max: config.connections_max,
            shutdown_wait: config.shutdown_wait,
            advertise: None,
            create_topics: true,
            commit_thread: config.commit_thread.clone(),
            small_bytes_max: kafka::SMALL_UNSYNCED_BYTES_MAX,
            tls: config.tls.clone(),
            access: config.access.clone(),
            metrics: config.metrics.clone(),
        };
        let serving_kafka = kafka::serve(for_kafka, broker.clone(), pool.clone(), kafka_config, stopped.clone());
        let serving = serve(listener, broker.clone(), pool.clone(), clock, config, stopped);
        let serving = tokio::spawn(async {
            tokio::join!(serving, serving_kafka);
            close(broker).await;
        });
        Served { address, kafka, pool, stop, serving }
    }

    /// Stops it, and returns when it has stopped.
    pub async fn stop(self) {
        self.stop.send(true).unwrap();
        self.serving.await.unwrap();
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until all buffers are back.
    pub fn wait_for_buffers(&self) {
        while self.pool.bytes_free() < self.pool.bytes() {
            pause();
        }
    }
}

/// Closes a broker as a process does that ends: the next one on its directory finds that free.
async fn close(mut broker: Arc<Broker>) {
    // Connections and background work may hold it for a moment.
    let closed = async {
        loop {
            match Arc::try_unwrap(broker) {
                Ok(broker) => return broker.close().await,
                Err(shared) => broker = shared,
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let _ = tokio::time::timeout(CLOSE_MAX, closed).await;
}

async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}
