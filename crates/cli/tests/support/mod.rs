//! The `rawline` binary for tests: brokers and commands, run by `rawline_testkit::process`.

#![allow(dead_code, unused_imports)] // Each test binary uses a part of it.

pub mod bench;
pub mod redis;
pub mod terminal;

pub use rawline_testkit::process::{Broker, run};
use rawline_testkit::s3_server::Bucket;
use std::process::Command;

pub const RAWLINE: &str = env!("CARGO_BIN_EXE_rawline");

/// A broker that syncs to disk before it acknowledges, which is the default.
pub fn broker(flags: &[&str]) -> Broker {
    Broker::start(RAWLINE, &[&["--durability", "fsync"], flags].concat())
}

/// A broker on a bucket, with an empty cache.
pub fn broker_on(bucket: &Bucket, flags: &[&str]) -> Broker {
    let (storage, cache) = (format!("s3://{}/some/prefix", bucket.name), bucket.cache_dir());
    let place = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap()];
    Broker::start_with(RAWLINE, &[&place, flags].concat(), bucket.variables())
}

/// `rawline` with these arguments and nothing from the environment.
pub fn rawline(url: &str, args: &[&str]) -> Command {
    rawline_testkit::process::rawline(RAWLINE, url, args)
}
