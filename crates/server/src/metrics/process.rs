//! The process as the kernel sees it: `process_*`, with the names that all of Prometheus' clients use. On Linux only.

use rawline_broker::metrics::{Text, families};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// Adds what can be read.
pub(super) fn render(text: &mut Text) {
    if let Some(stat) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(Stat::parse) {
        let ticks = clock_ticks_per_second() as f64;
        text.counter(&families::PROCESS_CPU, stat.cpu_ticks as f64 / ticks);
        text.gauge(&families::PROCESS_RESIDENT, stat.resident_pages * page_size() as u64);
        text.gauge(&families::PROCESS_VIRTUAL, stat.virtual_bytes);
        if let Some(boot) = boot_seconds() {
            text.gauge(&families::PROCESS_START, boot as f64 + stat.start_ticks as f64 / ticks);
        }
        text.gauge(&families::PROCESS_THREADS, stat.threads);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // Without the one that reads them.
        text.gauge(&families::PROCESS_OPEN_FDS, open.count().saturating_sub(1));
    }
    if let Some(files_max) = getrlimit(Resource::Nofile).current {
        text.gauge(&families::PROCESS_MAX_FDS, files_max);
    }
}

/// When the machine started, in seconds since the Unix epoch.
fn boot_seconds() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// The fields of `/proc/self/stat` that are shown; `man 5 proc_pid_stat` numbers them.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(line: &str) -> Option<Stat> {
        // Field 2 is the program's name in parentheses, which may have spaces and parentheses.
        let (_, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Stat {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_the_program_is_called() {
        let line =
            "12 (a) b) S 1 12 12 0 -1 4194560 1 0 0 0 700 55 0 0 20 0 9 0 123456 1000000 250 18446744073709551615";
        let expected =
            Stat { cpu_ticks: 755, threads: 9, start_ticks: 123_456, virtual_bytes: 1_000_000, resident_pages: 250 };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse("12 (a) S 1"), None);
    }
}
