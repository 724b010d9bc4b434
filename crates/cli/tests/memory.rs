//! The broker's memory while clients send slowly or never read: `rawline bench memory`, scaled down.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // A test.

mod support;

use rawline_broker::limits::TOUCHED_BYTES_MAX;
use serde_json::Value;
use std::process::Command;
use support::RAWLINE;
use tempfile::TempDir;

/// Mapped files may exceed their maximum by what is being read, and by parts of the program that are used later.
const FILE_SLACK_BYTES: u64 = 48_000_000;

/// Issue 12: with a budget of 64 MiB. The benchmark fails if anonymous memory exceeds the budget by more than 64 MB, if
/// a worker isn't served, or if anything that was acknowledged is missing.
#[test]
fn memory_is_bounded_and_workers_are_served_whatever_other_clients_do() {
    let folder = TempDir::new().unwrap();
    let json = folder.path().join("figures.json");
    let args = [
        ["--slow", "300"],
        ["--slow-bytes", "1048576"],
        ["--stuck", "30"],
        ["--workers", "4"],
        ["--records-per-batch", "256"],
        ["--seconds", "15"],
        ["--filled-batches", "256"],
        ["--memory", "64MiB"],
        ["--durability", "page-cache"],
    ];
    let mut command = Command::new(RAWLINE);
    command.args(["bench", "memory"]).args(args.concat()).arg("--json").arg(&json).env("TMPDIR", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let figures: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"));
    // 256 MiB were read and checked.
    let before = number(&figures["samples"][0]["file_bytes"]);
    let file_bytes_max = number(&figures["file_bytes_max"]);
    let bound = before + TOUCHED_BYTES_MAX as u64 + FILE_SLACK_BYTES;
    assert!(file_bytes_max <= bound, "{file_bytes_max} bytes of mapped files, {before} at first");
    let sending = figures["samples"].as_array().unwrap().iter().map(|sample| number(&sample["slow_sending"])).max();
    assert!(sending >= Some(50), "{sending:?} slow senders at once");
}
