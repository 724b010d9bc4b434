//! The `rawline` binary for tests: brokers and commands, as `rawline_testkit::process` runs them.

#![allow(dead_code, unused_imports)] // Each test binary uses its own part.

pub use rawline_testkit::process::{Broker, run};
use std::process::Command;

pub const RAWLINE: &str = env!("CARGO_BIN_EXE_rawline");

/// A broker that has reached the disk before it acknowledges, as by default.
pub fn broker(flags: &[&str]) -> Broker {
    Broker::start(RAWLINE, &[&["--durability", "fsync"], flags].concat())
}

/// `rawline` with these arguments and nothing from the environment.
pub fn rawline(url: &str, args: &[&str]) -> Command {
    rawline_testkit::process::rawline(RAWLINE, url, args)
}
