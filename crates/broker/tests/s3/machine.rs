//! A store on a bucket with a separate cache, as a broker on its own machine has it.

use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::store::{Storage, StoreError};
use rawline_testkit::http::{Act, Request};
use rawline_testkit::s3_server::{Bucket, variables};
use rawline_testkit::stores::Object;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of a cache that nothing is removed from.
pub const CACHE_BYTES: u64 = 64 << 20;

/// A store on a bucket. Its cache is separate, and empty at first.
pub struct Machine {
    pub store: Storage,
    pub cache: Cache,
    pub dir: PathBuf,
}

impl Machine {
    pub async fn new(bucket: &Bucket) -> Machine {
        Machine::through(bucket, bucket.address).await
    }

    /// One that takes what listens at `address` for the server.
    pub async fn through(bucket: &Bucket, address: SocketAddr) -> Machine {
        Machine::with(bucket, CACHE_BYTES, |config| config.variables = variables(address)).await
    }

    /// The same with its cache in this directory.
    pub async fn on(bucket: &Bucket, address: SocketAddr, dir: PathBuf) -> Machine {
        Machine::at(bucket, dir, CACHE_BYTES, |config| config.variables = variables(address)).await
    }

    pub async fn with(bucket: &Bucket, cache_bytes: u64, change: impl FnOnce(&mut S3Config)) -> Machine {
        Machine::at(bucket, bucket.cache_dir(), cache_bytes, change).await
    }

    async fn at(bucket: &Bucket, dir: PathBuf, cache_bytes: u64, change: impl FnOnce(&mut S3Config)) -> Machine {
        let cache = Cache::open(&dir, cache_bytes).unwrap();
        let mut config = config(bucket, cache.clone());
        change(&mut config);
        Machine { store: s3::open(config).await.unwrap(), cache, dir }
    }

    /// The same after a restart, with the cache that there was.
    pub async fn again(self, bucket: &Bucket, address: SocketAddr) -> Machine {
        let Machine { store, cache, dir } = self;
        drop((store, cache));
        let cache = Cache::open(&dir, CACHE_BYTES).unwrap();
        let mut config = config(bucket, cache.clone());
        config.variables = variables(address);
        Machine { store: s3::open(config).await.unwrap(), cache, dir }
    }

    /// The batches of an object's piece.
    pub async fn read(&self, object: &Object) -> Result<Vec<u8>, StoreError> {
        object.read(&**self.store.journal()).await.map(|bytes| bytes.to_vec())
    }

    /// The files of the cache.
    pub fn copies(&self) -> Vec<PathBuf> {
        let topics = fs::read_dir(self.dir.join("objects")).unwrap();
        let files = topics.flat_map(|topic| fs::read_dir(topic.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

/// Settings of a store on `bucket`.
pub fn config(bucket: &Bucket, cache: Cache) -> S3Config {
    let mut config = S3Config::new(&format!("s3://{}/some/prefix", bucket.name), cache).unwrap();
    config.variables = bucket.variables();
    config
}

/// The key of an object.
pub fn key(number: u64) -> String {
    format!("some/prefix/.journal/0000/{number:020}.rwj")
}

/// A rule that does `act` with the first `count` requests that it is about, and passes on the others.
pub fn first(
    count: usize,
    about: impl Fn(&Request) -> bool + Send + Sync,
    act: Act,
) -> impl Fn(&Request) -> Act + Send + Sync {
    let seen = AtomicUsize::new(0);
    move |request| {
        if about(request) && seen.fetch_add(1, Ordering::Relaxed) < count { act.clone() } else { Act::Forward }
    }
}

/// Damages a file.
pub fn flip_byte(file: &Path, position: u64) {
    let mut bytes = fs::read(file).unwrap();
    bytes[position as usize] ^= 1;
    fs::write(file, bytes).unwrap();
}
