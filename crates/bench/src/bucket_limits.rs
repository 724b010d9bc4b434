//! `rawline bench limits --storage URL`: the performance of a bucket without a broker.

use super::bucket::{BucketFolder, failed};
use super::error::BenchError;
use super::history::{MainFigures, Measured};
use super::statistics::{Latency, new_histogram, record};
use super::store_delay::StoreDelay;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Instant;

/// Size of a large object: one commit of a busy broker.
const LARGE_BYTES: usize = 8 << 20;
/// Size of a small object: a lone append.
const SMALL_BYTES: usize = 1 << 10;

/// The subject of the limits.
const COMPARE: &str = "\
compare with the broker on the same bucket, in the same minutes
  PUT  8192 KiB  8 in flight   with MB/s of `rawline bench write` to one topic
  PUT     1 KiB  1 in flight   with p50 and p99 of `rawline bench latency --interval 1s`, which measures it again";

/// The performance of a bucket.
#[derive(Debug, Serialize)]
pub struct BucketLimits {
    /// One figure for each operation, size and number of requests in flight.
    pub requests: Vec<RequestsFigure>,
}

/// Requests of one kind.
#[derive(Debug, Serialize)]
pub struct RequestsFigure {
    /// `PUT`, which creates an object, or `GET`.
    pub operation: &'static str,
    /// Size of each object.
    pub bytes: usize,
    /// Number of requests in flight.
    pub in_flight: usize,
    /// 10^6 bytes per second.
    pub mb_per_second: f64,
    /// From sending a request to the end of its response, with its retries.
    pub latency_us: Latency,
    /// Number of retries of requests that the bucket refused.
    pub retries: u64,
}

/// Measures a bucket with `count` objects of each size, which are deleted afterwards.
pub async fn measure(
    url: &str,
    variables: &[(String, String)],
    count: u64,
    delay: Option<&StoreDelay>,
) -> Result<BucketLimits, BenchError> {
    let bench = Bench { folder: BucketFolder::new(url, variables, "limits")?, count };
    println!("bucket, {count} objects for each figure");
    let measured = bench.all().await;
    // The stored objects are deleted even after a failure.
    let deleted = bench.folder.delete().await;
    let requests = measured.map_err(failed)?;
    deleted.map_err(failed)?;
    if let Some(delay) = delay {
        let gb = requests.iter().map(|figure| figure.bytes as f64 * count as f64).sum::<f64>() / 1e9;
        println!("  the proxy of --store-delay used {:.2} CPU s/GB", delay.cpu().as_secs_f64() / gb);
    }
    println!("{COMPARE}");
    Ok(BucketLimits { requests })
}

struct Bench {
    folder: BucketFolder,
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
            self.folder.put(&format!("{name}-{number}"), content.clone()).await
        })
        .await
    }

    async fn get(&self, name: &str, bytes: usize, in_flight: usize) -> object_store::Result<RequestsFigure> {
        self.timed("GET", bytes, in_flight, async |number| {
            let found = self.folder.get(&format!("{name}-{number}")).await?;
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
        let (began, retries) = (Instant::now(), self.folder.retries());
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
        let retries = self.folder.retries() - retries;
        Ok(RequestsFigure { operation, bytes, in_flight, mb_per_second, latency_us: Latency::of(&latency), retries })
    }
}

fn printed(figure: RequestsFigure) -> RequestsFigure {
    let retries = if figure.retries > 0 { format!("  {} retries", figure.retries) } else { String::new() };
    println!(
        "  {} {:>5} KiB  {} in flight  {:>8.1} MB/s  p50 {:.3} ms  p99 {:.3} ms{retries}",
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
            let RequestsFigure { operation, bytes, in_flight, mb_per_second, latency_us, retries } = figure;
            let name = format!("{operation} {} KiB {in_flight} in flight ", bytes >> 10);
            figures.add(&format!("{name}mb_per_second"), *mb_per_second);
            latency_us.add_to(&mut figures, &name);
            figures.add(&format!("{name}retries"), *retries as f64);
        }
        figures
    }
}
