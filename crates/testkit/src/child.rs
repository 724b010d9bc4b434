//! A test that runs as a separate process over a directory, which may be a small file system.

use std::path::{Path, PathBuf};
use std::process::Command;

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
