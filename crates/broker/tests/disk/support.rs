//! Directories, and processes that use them.

use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files with this ending, in order.
pub fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths
}

/// This test program again, running one of its ignored tests over `dir`.
pub fn child(test: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env("RAWLINE_TEST_CHILD_DIR", dir);
    command
}

pub fn child_dir() -> Option<PathBuf> {
    std::env::var_os("RAWLINE_TEST_CHILD_DIR").map(PathBuf::from)
}

/// Runs an ignored test in a file system of this size, which it fills. Fails if it doesn't say that the disk was full.
pub fn fill_a_disk(test: &str, size: &str) {
    let dir = tempfile::tempdir().unwrap();
    // A separate file system, so small that it is soon full. It needs user namespaces, which not every machine allows.
    let mount = r#"mount -t tmpfs -o size="$SIZE" tmpfs "$RAWLINE_TEST_CHILD_DIR" || exit 77; exec "$0" "$@""#;
    let child = child(test, dir.path());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]);
    command.arg(child.get_program()).args(child.get_args());
    command.env("RAWLINE_TEST_CHILD_DIR", dir.path()).env("SIZE", size);
    let Ok(output) = command.output() else { return eprintln!("skipped: no unshare") };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || stderr.contains("unshare:") {
        return eprintln!("skipped: no separate file system: {stderr}");
    }
    assert!(output.status.success() && stdout.contains("the disk was full"), "{stdout}{stderr}");
}

/// Runs an ignored test as a separate process. It has to pass.
pub fn assert_passes(mut child: Command) {
    let output = child.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

pub fn limit_files(current: u64, maximum: u64) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: Some(maximum) }).unwrap();
}

/// Makes the child a user whom permissions bind, and the directory that user's. False if this user can't do that.
pub fn as_nobody(child: &mut Command, dir: &Path) -> bool {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    std::os::unix::fs::chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut is_runnable = Command::new(child.get_program());
    match is_runnable.arg("--list").uid(NOBODY).stdout(Stdio::null()).status() {
        Ok(_) => {
            child.uid(NOBODY);
            true
        }
        Err(error) => {
            eprintln!("skipped: this program can't be run by another user: {error}");
            false
        }
    }
}
