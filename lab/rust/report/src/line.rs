//! One line of `results.jsonl`, as the drivers write it.

use serde::{Deserialize, Serialize};

/// A measurement with its machine and method: nanoseconds for a timed operation, bytes for operation `size`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The run, one id for all drivers.
    pub run: String,
    /// The commit of the code that was measured.
    pub commit: String,
    /// When, in RFC 3339.
    pub time: String,
    /// The machine.
    pub machine: Machine,
    /// `rust`, `java` or `python`.
    pub language: String,
    /// Compiler or virtual machine, with its version.
    pub runtime: String,
    /// What measured, with its version.
    pub harness: String,
    /// The wire format.
    pub format: String,
    /// The library that wrote and read it.
    pub library: String,
    /// Its exact version.
    pub version: String,
    /// Empty if used as documented, otherwise the change.
    pub variant: String,
    /// Which messages.
    pub case: String,
    /// How large they are: `base`, `100`, `1k`, …
    pub size: String,
    /// `varied` or `one`.
    pub messages: String,
    /// `encode`, `decode`, `field`, `fields` or `size`.
    pub operation: String,
    /// Number of threads that run at once.
    pub threads: u32,
    /// Whether it comes from a quick run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// Nanoseconds per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
    /// Lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_low: Option<f64>,
    /// Upper end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_high: Option<f64>,
    /// The interval's confidence level: 0.95.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Bytes allocated per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alloc_bytes: Option<f64>,
    /// Mean bytes per message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// The same, each message compressed alone by zstd at level 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_zstd: Option<f64>,
    /// The same, all messages compressed together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_zstd_batch: Option<f64>,
    /// The same, each message alone with a dictionary trained on others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_zstd_dictionary: Option<f64>,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Its cores that the drivers may use.
    pub cores: u32,
    /// Operating system and kernel.
    pub os: String,
    /// Main memory.
    pub memory_gb: f64,
}

impl Machine {
    /// This machine. Unknown properties are empty.
    pub fn here() -> Machine {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let memory_kb = memory
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))
            .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok())
            .unwrap_or_default();
        // As the drivers write it, so that a machine has one description.
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name =
            release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"'));
        Machine {
            cpu: cpu.trim_start_matches([' ', '\t', ':']).to_owned(),
            cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
            os: name.unwrap_or(std::env::consts::OS).to_owned(),
            memory_gb: (memory_kb / 1024.0 / 1024.0).round(),
        }
    }

    /// In one line.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        if !self.cpu.is_empty() {
            parts.push(self.cpu.clone());
        }
        if self.cores > 0 {
            parts.push(format!("{} cores", self.cores));
        }
        if self.memory_gb > 0.0 {
            parts.push(format!("{} GB", self.memory_gb));
        }
        if !self.os.is_empty() {
            parts.push(self.os.clone());
        }
        if parts.is_empty() { "unknown machine".to_owned() } else { parts.join(" · ") }
    }
}
