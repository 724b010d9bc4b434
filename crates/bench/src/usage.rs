//! CPU time and memory of a process, read from /proc.

use procfs::process::Process;
use serde::Serialize;
use std::time::Duration;

/// Measures one process: the benchmark's, or the local broker's.
pub struct Meter {
    process: Process,
}

impl Meter {
    /// Measures the process with this id. `None` without /proc, or if the process has exited.
    pub fn of(pid: u32) -> Option<Meter> {
        Process::new(i32::try_from(pid).ok()?).ok().map(|process| Meter { process })
    }

    /// Measures this process.
    pub fn own() -> Option<Meter> {
        Process::myself().ok().map(|process| Meter { process })
    }

    /// CPU time so far, user and system, of all threads; in ticks of the kernel, 10 ms.
    pub fn cpu(&self) -> Duration {
        let ticks = self.process.stat().map_or(0, |stat| stat.utime + stat.stime);
        Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64)
    }

    /// Memory now, and its maximum.
    pub fn memory(&self) -> Memory {
        const KIB: u64 = 1024;
        self.process.status().map_or(Memory::default(), |status| Memory {
            peak_rss_bytes: status.vmhwm.unwrap_or(0) * KIB,
            anonymous_bytes: status.rssanon.unwrap_or(0) * KIB,
            file_bytes: status.rssfile.unwrap_or(0) * KIB,
            shared_bytes: status.rssshmem.unwrap_or(0) * KIB,
        })
    }
}

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Memory {
    /// Maximum resident memory since the process began. Mapped pages of the page cache count; the kernel can reclaim
    /// them at any time.
    pub peak_rss_bytes: u64,
    /// Resident memory without a file: only the process itself can release it.
    pub anonymous_bytes: u64,
    /// Resident pages of mapped files, the program among them.
    pub file_bytes: u64,
    /// Resident shared memory.
    pub shared_bytes: u64,
}

/// CPU time of this process so far, of all threads; in nanoseconds.
pub fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
