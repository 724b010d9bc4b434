//! What a figure holds for: which build of Rawline, which machine, which filesystem.

use procfs::{CpuInfo, Current, LoadAverage, Meminfo, process::Process};
use serde::Serialize;
use std::path::Path;

/// Printed in front of every benchmark: a number without it is not a number. What the system does not tell is empty
/// or 0.
#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    /// Version of Rawline.
    pub version: &'static str,
    /// Git commit that the binary was built from, `+dirty` if files were changed.
    pub commit: &'static str,
    /// Compiler, and cargo's name for the profile.
    pub rustc: String,
    /// The processor's name.
    pub cpu_model: String,
    /// Threads that can run at once.
    pub cores: usize,
    /// Operating system's name and release.
    pub kernel: String,
    /// How the system paces TCP; it paces connections to the machine itself, too.
    pub tcp_congestion_control: String,
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Memory that could be had without swapping when the benchmark began.
    pub memory_available_bytes: u64,
    /// Threads running or waiting over the last minute when the benchmark began: what else the machine was doing.
    pub load_average: f32,
    /// Folder that the local broker's folder or the disk test's file is created in.
    pub storage: Option<String>,
    /// Type and device of the filesystem that holds it.
    pub filesystem: Option<String>,
    /// The whole command line.
    pub command: Vec<String>,
}

impl Environment {
    /// Looks around. `storage` is the folder whose filesystem matters, if one does.
    pub fn read(storage: Option<&Path>) -> Environment {
        let memory = Meminfo::current().ok();
        let kernel = rustix::system::uname();
        Environment {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("RAWLINE_GIT_COMMIT"),
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

    /// For a person, a line a fact.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("command", self.command.join(" ")),
            ("rawline", format!("{} commit {}", self.version, self.commit)),
            ("rustc", self.rustc.clone()),
            ("cpu", format!("{}, {} cores", self.cpu_model, self.cores)),
            ("kernel", format!("{}, TCP paced by {}", self.kernel, self.tcp_congestion_control)),
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
            let filesystem = self.filesystem.as_deref().unwrap_or("not known");
            lines.push(("storage", format!("{storage} ({filesystem})")));
        }
        lines
    }
}

/// Threads that can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Type and device of the filesystem mounted closest above `path`.
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
