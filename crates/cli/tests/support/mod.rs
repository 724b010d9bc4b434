//! The `rawline` binary for tests: brokers and commands, run by `rawline_testkit::process`.

#![allow(dead_code, unused_imports)] // Each test binary uses a part of it.

pub use rawline_testkit::process::{Broker, run};
use std::process::Command;

pub const RAWLINE: &str = env!("CARGO_BIN_EXE_rawline");

/// A broker that syncs to disk before it acknowledges, which is the default.
pub fn broker(flags: &[&str]) -> Broker {
    Broker::start(RAWLINE, &[&["--durability", "fsync"], flags].concat())
}

/// `rawline` with these arguments and nothing from the environment.
pub fn rawline(url: &str, args: &[&str]) -> Command {
    rawline_testkit::process::rawline(RAWLINE, url, args)
}
