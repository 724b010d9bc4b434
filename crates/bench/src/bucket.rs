//! A folder of a benchmark in a bucket, for requests without a broker, retried as the SDKs of buckets do.

use super::statistics::record;
use crate::error::BenchError;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use rawline_broker::store::s3::{Address, connect};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval_at, sleep};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of retries of a request: a bucket that is busy refuses half of the requests for seconds.
const RETRIES_MAX: u32 = 10;
/// The pause before the first retry; each one doubles it, up to the second value.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A folder that no other run uses. Its owner deletes it.
pub struct BucketFolder {
    store: Arc<dyn ObjectStore>,
    path: String,
    retries: AtomicU64,
}

impl BucketFolder {
    /// A folder below a bucket's address. `variables` lead to the bucket.
    pub fn new(url: &str, variables: &[(String, String)], bench: &str) -> Result<BucketFolder, BenchError> {
        let folder = BucketFolder::storage(url, variables)?;
        let path = format!("{}/.bench-{bench}-{:016x}", folder.path, rand::random::<u64>());
        Ok(BucketFolder { path: path.trim_start_matches('/').to_owned(), ..folder })
    }

    /// A broker's storage.
    pub fn storage(url: &str, variables: &[(String, String)]) -> Result<BucketFolder, BenchError> {
        let address = Address::parse(url).map_err(failed)?;
        let store = connect(&address, variables, CONNECT_TIMEOUT).map_err(failed)?.store;
        Ok(BucketFolder { store, path: address.prefix, retries: AtomicU64::new(0) })
    }

    /// Number of retries so far.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Creates an object, as a broker does: only if it doesn't exist.
    pub async fn put(&self, name: &str, content: Bytes) -> object_store::Result<()> {
        let (key, payload) = (self.key(name), PutPayload::from(content));
        self.retried(async |retry| {
            let put = self.store.put_opts(&key, payload.clone(), PutMode::Create.into()).await;
            match put {
                // The response to an earlier try was lost.
                Err(object_store::Error::AlreadyExists { .. }) if retry > 0 => Ok(()),
                put => put.map(drop),
            }
        })
        .await
    }

    /// An object's content.
    pub async fn get(&self, name: &str) -> object_store::Result<Bytes> {
        let key = self.key(name);
        self.retried(async |_| self.store.get(&key).await?.bytes().await).await
    }

    /// Sends a request, and retries it if it fails for a reason that may pass: 503, for example. `request` gets the
    /// number of the retry, 0 at first.
    async fn retried<T>(&self, request: impl AsyncFn(u32) -> object_store::Result<T>) -> object_store::Result<T> {
        let (mut pause, pause_max) = PAUSE;
        for retry in 0..RETRIES_MAX {
            match request(retry).await {
                Err(object_store::Error::Generic { .. }) => {}
                done => return done,
            }
            self.retries.fetch_add(1, Ordering::Relaxed);
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(pause_max);
        }
        request(RETRIES_MAX).await
    }

    /// Deletes every object in it.
    pub async fn delete(&self) -> object_store::Result<()> {
        self.delete_after("", 0).await
    }

    /// Deletes the objects in a folder in it, except the first `kept` by name.
    pub async fn delete_after(&self, folder: &str, kept: usize) -> object_store::Result<()> {
        let path = self.key(folder);
        self.retried(async |_| {
            let mut keys: Vec<_> = self.store.list(Some(&path)).map_ok(|key| key.location).try_collect().await?;
            keys.sort_unstable();
            let keys = stream::iter(keys.into_iter().skip(kept).map(Ok)).boxed();
            self.store.delete_stream(keys).try_for_each(async |_| Ok(())).await
        })
        .await
    }

    /// Stores objects until it is dropped, one in the middle of each interval, and records their times. A PUT that
    /// takes longer makes the next one wait for the next middle.
    pub async fn put_between(
        &self,
        name: &str,
        interval: Duration,
        bytes: u32,
        times: &mut Histogram<u64>,
    ) -> object_store::Result<Infallible> {
        let content = Bytes::from(vec![1; bytes as usize]);
        // The first request opens the connection.
        self.put(&format!("{name}-first"), content.clone()).await?;
        let mut due = interval_at(tokio::time::Instant::now() + interval / 2, interval);
        due.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for number in 0u64.. {
            due.tick().await;
            let sent = Instant::now();
            self.put(&format!("{name}-{number}"), content.clone()).await?;
            record(times, sent.elapsed());
        }
        unreachable!("more than 2^64 objects")
    }

    fn key(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.path))
    }
}

/// A failed request ends the benchmark.
pub fn failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Failed(format!("measuring the bucket failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    /// An S3 server that has these responses for the requests in order, and their lines.
    fn server(responses: &'static [&'static str]) -> (BucketFolder, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = std::thread::spawn(move || {
            let mut lines = Vec::new();
            let mut left = responses.iter();
            // The connection ends with the last response.
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = BufReader::new(stream.try_clone().unwrap());
            for (status, body) in left.by_ref().map(|response| response.split_once('\n').unwrap_or((response, ""))) {
                let (mut line, mut length) = (String::new(), 0);
                received.read_line(&mut line).unwrap();
                lines.push(line.trim_end().to_owned());
                while line.trim_end() != "" {
                    line.clear();
                    received.read_line(&mut line).unwrap();
                    let header = line.to_ascii_lowercase();
                    length = header.strip_prefix("content-length: ").map_or(length, |n| n.trim().parse().unwrap());
                }
                received.read_exact(&mut vec![0; length]).unwrap();
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nETag: \"e\"\r\nContent-Length: {length}\r\n\r\n");
                stream.write_all((head + body).as_bytes()).unwrap();
            }
            lines
        });
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_ENDPOINT_URL", &endpoint)];
        let variables = keys.map(|(name, value)| (name.to_owned(), value.to_owned()));
        (BucketFolder::storage("s3://b/p", &variables).unwrap(), requests)
    }

    const BUSY: &str = "503 Slow Down\n<Error><Code>SlowDown</Code></Error>";
    const EMPTY: &str = "200 OK\n<ListBucketResult></ListBucketResult>";

    #[tokio::test]
    async fn requests_that_a_busy_bucket_refuses_are_retried_and_counted() {
        let (folder, requests) = server(&[BUSY, BUSY, "200 OK", BUSY, "200 OK\ncontent", BUSY, EMPTY]);
        folder.put("new", Bytes::from_static(b"content")).await.unwrap();
        assert_eq!(folder.get("new").await.unwrap(), "content");
        folder.delete().await.unwrap();
        assert_eq!(folder.retries(), 4);
        let requests = requests.join().unwrap();
        let methods: Vec<_> = requests.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(methods, ["PUT", "PUT", "PUT", "GET", "GET", "GET", "GET"]);
    }

    #[tokio::test]
    async fn only_a_retry_may_find_its_object() {
        let (folder, _) = server(&["412 Precondition Failed", "500 Lost", "412 Precondition Failed"]);
        let put = folder.put("old", Bytes::new()).await;
        assert!(matches!(put, Err(object_store::Error::AlreadyExists { .. })), "{put:?}");
        assert_eq!(folder.retries(), 0);
        folder.put("new", Bytes::new()).await.unwrap();
        assert_eq!(folder.retries(), 1);
    }
}
