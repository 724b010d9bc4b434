//! `rawline bench limits --storage s3://…`: what a bucket achieves without a broker.

use super::BenchError;
use super::history::{MainFigures, Measured};
use super::statistics::{Latency, new_histogram, record};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use rawline_broker::store::s3::{connect, parse_url};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size of a large object: what one commit of a busy broker stores.
const LARGE_BYTES: usize = 8 << 20;
/// Size of a small object: a lone append.
const SMALL_BYTES: usize = 1 << 10;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a bucket achieves.
#[derive(Debug, Serialize)]
pub struct BucketLimits {
    /// One figure for each operation, size and number of requests in flight.
    pub requests: Vec<RequestsFigure>,
}

/// Requests of one kind.
#[derive(Debug, Serialize)]
pub struct RequestsFigure {
    /// `PUT`, with `If-None-Match: *`, or `GET`.
    pub operation: &'static str,
    /// Size of each object.
    pub bytes: usize,
    /// Number of requests in flight.
    pub in_flight: usize,
    /// 10^6 bytes per second.
    pub mb_per_second: f64,
    /// From sending a request to the end of its response.
    pub latency_us: Latency,
}

/// Measures a bucket with `count` objects of each size, which are deleted afterwards.
pub async fn measure(url: &str, variables: &[(String, String)], count: u64) -> Result<BucketLimits, BenchError> {
    let (bucket, prefix) = parse_url(url).map_err(failed)?;
    let (s3, _) = connect(&bucket, variables, CONNECT_TIMEOUT).map_err(failed)?;
    let folder = format!("{prefix}/.bench-limits-{:016x}", rand::random::<u64>());
    let bench = Bench { s3: Arc::new(s3), folder: folder.trim_start_matches('/').to_owned(), count };
    println!("bucket, {count} objects for each figure");
    let measured = bench.all().await;
    // What was stored is deleted even if something failed.
    let deleted = bench.delete().await;
    let requests = measured.map_err(failed)?;
    deleted.map_err(failed)?;
    Ok(BucketLimits { requests })
}

fn failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Failed(format!("measuring the bucket failed: {error}"))
}

struct Bench {
    s3: Arc<dyn ObjectStore>,
    folder: String,
    count: u64,
}

impl Bench {
    async fn all(&self) -> object_store::Result<Vec<RequestsFigure>> {
        // The first requests open connections.
        self.put("warm-up", SMALL_BYTES, 8).await?;
        let mut figures = Vec::new();
        for (bytes, in_flight) in [(SMALL_BYTES, 1), (SMALL_BYTES, 8), (LARGE_BYTES, 1), (LARGE_BYTES, 8)] {
            let name = format!("{bytes}-{in_flight}");
            figures.push(printed(self.put(&name, bytes, in_flight).await?));
            figures.push(printed(self.get(&name, bytes, in_flight).await?));
        }
        Ok(figures)
    }

    async fn put(&self, name: &str, bytes: usize, in_flight: usize) -> object_store::Result<RequestsFigure> {
        let mut content = vec![0; bytes];
        fastrand::Rng::with_seed(4).fill(&mut content);
        let content = Bytes::from(content);
        self.timed("PUT", bytes, in_flight, async |number| {
            let payload = PutPayload::from(content.clone());
            self.s3.put_opts(&self.path(name, number), payload, PutMode::Create.into()).await.map(drop)
        })
        .await
    }

    async fn get(&self, name: &str, bytes: usize, in_flight: usize) -> object_store::Result<RequestsFigure> {
        self.timed("GET", bytes, in_flight, async |number| {
            let found = self.s3.get(&self.path(name, number)).await?.bytes().await?;
            assert_eq!(found.len(), bytes, "the bucket returned another object");
            Ok(())
        })
        .await
    }

    async fn timed(
        &self,
        operation: &'static str,
        bytes: usize,
        in_flight: usize,
        request: impl AsyncFn(u64) -> object_store::Result<()>,
    ) -> object_store::Result<RequestsFigure> {
        let began = Instant::now();
        let latency = stream::iter(0..self.count)
            .map(async |number| {
                let sent = Instant::now();
                request(number).await.map(|()| sent.elapsed())
            })
            .buffer_unordered(in_flight)
            .try_fold(new_histogram(), async |mut latency: Histogram<u64>, took| {
                record(&mut latency, took);
                Ok(latency)
            })
            .await?;
        let mb_per_second = (self.count as usize * bytes) as f64 / began.elapsed().as_secs_f64() / 1e6;
        Ok(RequestsFigure { operation, bytes, in_flight, mb_per_second, latency_us: Latency::of(&latency) })
    }

    async fn delete(&self) -> object_store::Result<()> {
        let folder = Path::from(self.folder.as_str());
        let keys = self.s3.list(Some(&folder)).map_ok(|key| key.location).boxed();
        self.s3.delete_stream(keys).try_for_each(async |_| Ok(())).await
    }

    fn path(&self, name: &str, number: u64) -> Path {
        Path::from(format!("{}/{name}-{number}", self.folder))
    }
}

fn printed(figure: RequestsFigure) -> RequestsFigure {
    println!(
        "  {} {:>5} KiB  {} in flight  {:>8.1} MB/s  p50 {:.3} ms  p99 {:.3} ms",
        figure.operation,
        figure.bytes >> 10,
        figure.in_flight,
        figure.mb_per_second,
        figure.latency_us.p50 / 1e3,
        figure.latency_us.p99 / 1e3
    );
    figure
}

impl Measured for BucketLimits {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        for figure in &self.requests {
            let RequestsFigure { operation, bytes, in_flight, mb_per_second, latency_us } = figure;
            let name = format!("{operation} {} KiB {in_flight} in flight ", bytes >> 10);
            figures.add(&format!("{name}mb_per_second"), *mb_per_second);
            latency_us.add_to(&mut figures, &name);
        }
        figures
    }
}
