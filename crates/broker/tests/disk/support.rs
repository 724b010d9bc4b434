//! Directories, and what a process may do with them.

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
