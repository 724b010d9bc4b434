//! `rawline bench` for tests.

use super::RAWLINE;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Runs a benchmark with its temporary files below `folder`.
pub fn bench(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(RAWLINE);
    command.arg("bench").args(args).env("TMPDIR", folder).env_remove("RAWLINE_API_KEY").output().unwrap()
}

/// Runs a benchmark that must succeed; returns its JSON.
pub fn figures(args: &[&str]) -> Value {
    let (folder, json) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = json.path().join("figures.json");
    let output = bench(folder.path(), &[args, &["--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the temporary folder is not empty");
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}
