//! A folder of a benchmark in a bucket, for requests without a broker.

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
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval_at};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A folder that no other run uses. Its owner deletes it.
pub struct BucketFolder {
    store: Arc<dyn ObjectStore>,
    path: String,
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
        Ok(BucketFolder { store, path: address.prefix })
    }

    /// Creates an object, as a broker does: only if it doesn't exist.
    pub async fn put(&self, name: &str, content: Bytes) -> object_store::Result<()> {
        self.store.put_opts(&self.key(name), PutPayload::from(content), PutMode::Create.into()).await.map(drop)
    }

    /// An object's content.
    pub async fn get(&self, name: &str) -> object_store::Result<Bytes> {
        self.store.get(&self.key(name)).await?.bytes().await
    }

    /// Deletes every object in it.
    pub async fn delete(&self) -> object_store::Result<()> {
        self.delete_after("", 0).await
    }

    /// Deletes the objects in a folder in it, except the first `kept` by name.
    pub async fn delete_after(&self, folder: &str, kept: usize) -> object_store::Result<()> {
        let path = self.key(folder);
        let mut keys: Vec<_> = self.store.list(Some(&path)).map_ok(|key| key.location).try_collect().await?;
        keys.sort_unstable();
        let keys = stream::iter(keys.into_iter().skip(kept).map(Ok)).boxed();
        self.store.delete_stream(keys).try_for_each(async |_| Ok(())).await
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
