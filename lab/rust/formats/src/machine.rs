//! The machine of the figures.

use std::fs;
use std::thread::available_parallelism;

use serde_json::{Value, json};

/// The machine, as in results. Unknown fields are empty.
pub fn describe() -> Value {
    let cpu = value_in("/proc/cpuinfo", "model name", ':').unwrap_or_default();
    let os = value_in("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(|| std::env::consts::OS.to_owned());
    let memory = value_in("/proc/meminfo", "MemTotal", ':').unwrap_or_default();
    let kib: f64 = memory.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0.0);
    json!({"cpu": cpu, "cores": cores(), "os": os, "memory_gb": (kib / 1024.0 / 1024.0).round() as u64})
}

/// Number of threads that run at once.
pub fn cores() -> usize {
    available_parallelism().map_or(1, |cores| cores.get())
}

/// The value of a key in one of the system's line-oriented files.
fn value_in(path: &str, key: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = pairs.find(|(found, _)| found.trim() == key)?;
    Some(value.trim().trim_matches('"').to_owned())
}
