//! The broker's memory while clients send slowly or never read: `rawline bench memory`, scaled down.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // A test.

mod support;

use rawline_broker::limits::TOUCHED_BYTES_MAX;
use rustix::fs::statfs;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::RAWLINE;
use tempfile::TempDir;

/// Mapped files may exceed their maximum by the pages being read, and by parts of the program that are used later.
const FILE_SLACK_BYTES: u64 = 48_000_000;

/// The allowance of a control group above the bound: the page cache, without which the broker can't work, and the
/// kernel's buffers of sockets.
const CGROUP_SLACK_BYTES: u64 = 128 << 20;

/// The system's name for a file system in memory.
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// A control group that limits memory, for the time of a test.
struct Cgroup(PathBuf);

impl Cgroup {
    /// A new group in version 2 or 1 of the interface. None where this user can't make one, or where the files of a
    /// test are in memory, so that they count.
    fn new(limit_bytes: u64, files: &Path) -> Option<Cgroup> {
        if statfs(files).unwrap().f_type == TMPFS_MAGIC {
            return None;
        }
        let name = format!("rawline-test-{}", std::process::id());
        let parents = [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        parents.into_iter().find_map(|(parent, limit)| {
            let dir = Path::new(parent).join(&name);
            fs::create_dir(&dir).ok()?;
            let cgroup = Cgroup(dir);
            // The kernel has made it, if this is a group.
            let mut limit = File::options().write(true).open(cgroup.0.join(limit)).ok()?;
            limit.write_all(limit_bytes.to_string().as_bytes()).ok()?;
            Some(cgroup)
        })
    }
}

impl Drop for Cgroup {
    /// Best effort: an empty group costs nothing.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Issue 12: with a budget of 64 MiB. The benchmark fails if anonymous memory exceeds the budget by more than 64 MB, if
/// a worker isn't served, or if anything that was acknowledged is missing. Where this user can make a control
/// group, the kernel kills the broker if it needs more.
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
    let cgroup = Cgroup::new((64 << 20) + 64_000_000 + CGROUP_SLACK_BYTES, folder.path());
    println!("control group: {:?}", cgroup.as_ref().map(|cgroup| &cgroup.0));
    let mut command = Command::new(RAWLINE);
    let flags = cgroup.iter().flat_map(|cgroup| [OsStr::new("--cgroup"), cgroup.0.as_os_str()]);
    command
        .args(["bench", "memory"])
        .args(args.concat())
        .args(flags)
        .arg("--json")
        .arg(&json)
        .env("TMPDIR", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let figures: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"));
    // 256 MiB were read and checked.
    let before = number(&figures["samples"][0]["file_bytes"]);
    let file_bytes_max = number(&figures["file_bytes_max"]);
    let bound = before + TOUCHED_BYTES_MAX as u64 + FILE_SLACK_BYTES;
    assert!(file_bytes_max <= bound, "{file_bytes_max} bytes of mapped files, {before} at first");
    let sending = figures["samples"].as_array().unwrap().iter().map(|sample| number(&sample["slow_sending"])).max();
    assert!(sending >= Some(50), "{sending:?} slow senders at once");
}
