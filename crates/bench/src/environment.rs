//! The environment of a benchmark: the build of Rawline, the machine, the process's environment.

// The one place of this crate that reads the process's environment.
#![allow(clippy::disallowed_methods)]

use procfs::{CpuInfo, Current, LoadAverage, Meminfo, process::Process};
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Printed before every benchmark: a number without its commit, machine and command is not a number. What the system
/// doesn't report is empty or 0.
#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    /// Version of Rawline.
    pub version: &'static str,
    /// Git commit of the binary, with `+dirty` if files were changed; `unknown` in a debug build or outside a
    /// repository.
    pub commit: &'static str,
    /// Compiler, and Cargo's name of the build profile.
    pub rustc: String,
    /// Model of the CPU.
    pub cpu_model: String,
    /// Number of threads that can run in parallel.
    pub cores: usize,
    /// Operating system's name and release.
    pub kernel: String,
    /// Congestion control of TCP; it applies to loopback connections too.
    pub tcp_congestion_control: String,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Memory available without swapping when the benchmark began, in bytes.
    pub memory_available_bytes: u64,
    /// Load average of the last minute when the benchmark began, from other work of the machine.
    pub load_average: f32,
    /// Directory in which the local broker's directory or the file of the disk test is created.
    pub storage: Option<String>,
    /// Type and device of the filesystem that holds it.
    pub filesystem: Option<String>,
    /// The whole command line.
    pub command: Vec<String>,
}

impl Environment {
    /// Reads it. `storage` is the directory whose filesystem matters, if one does.
    pub fn read(storage: Option<&Path>) -> Environment {
        let memory = Meminfo::current().ok();
        let kernel = rustix::system::uname();
        Environment {
            version: env!("CARGO_PKG_VERSION"),
            commit: rawline_version::COMMIT,
            rustc: format!("{} ({})", env!("RAWLINE_RUSTC"), env!("RAWLINE_PROFILE")),
            cpu_model: CpuInfo::current()
                .ok()
                .and_then(|cpu| cpu.model_name(0).map(str::to_owned))
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: cores(),
            kernel: format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()),
            tcp_congestion_control: std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")
                .map(|name| name.trim().to_owned())
                .unwrap_or_default(),
            memory_bytes: memory.as_ref().map_or(0, |memory| memory.mem_total),
            memory_available_bytes: memory.as_ref().and_then(|memory| memory.mem_available).unwrap_or(0),
            load_average: LoadAverage::current().map_or(0.0, |load| load.one),
            storage: storage.map(|path| path.display().to_string()),
            filesystem: storage.and_then(filesystem),
            command: std::env::args().collect(),
        }
    }

    /// Human-readable: one line per fact.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("command", self.command.join(" ")),
            ("rawline", format!("{} commit {}", self.version, self.commit)),
            ("rustc", self.rustc.clone()),
            ("cpu", format!("{}, {} cores", self.cpu_model, self.cores)),
            ("kernel", format!("{}, TCP congestion control {}", self.kernel, self.tcp_congestion_control)),
            (
                "memory",
                format!(
                    "{:.1} GB, {:.1} GB available",
                    self.memory_bytes as f64 / 1e9,
                    self.memory_available_bytes as f64 / 1e9
                ),
            ),
            ("load average", format!("{:.2} (1 minute, at start)", self.load_average)),
        ];
        if let Some(storage) = &self.storage {
            let filesystem = self.filesystem.as_deref().unwrap_or("unknown");
            lines.push(("storage", format!("{storage} ({filesystem})")));
        }
        lines
    }
}

/// Number of threads that can run in parallel.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The program of this process: a benchmark starts it as its broker or its producer.
pub fn program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The system's directory for temporary files.
pub fn temporary_directory() -> PathBuf {
    std::env::temp_dir()
}

/// The variables that would change the settings of a broker started by this process: those of the user's own broker.
pub fn broker_settings() -> Vec<OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.to_string_lossy().starts_with("RAWLINE_")).collect()
}

/// The variables of this process; those of the AWS tools lead to a bucket.
pub fn variables() -> Vec<(String, String)> {
    let variables = std::env::vars_os();
    variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Type and device of the filesystem that holds `path`.
fn filesystem(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = Process::myself().and_then(|process| process.mountinfo()).ok()?;
    let mount = mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point))
        // The later of two mounts on one point hides the earlier.
        .max_by_key(|mount| mount.mount_point.components().count())?;
    Some(format!("{} on {}", mount.fs_type, mount.mount_source.as_deref().unwrap_or("none")))
}
