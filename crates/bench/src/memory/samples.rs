//! The broker's memory over time: a sample a second, as CSV.

use super::tally::Counts;
use crate::usage::{Memory, Meter};
use serde::Serialize;
use std::fmt::Write;

/// The broker at one time.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sample {
    /// Seconds since the load began.
    pub second: f64,
    /// Its memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// Buffers of its pool that requests hold, if it said so in time.
    pub pool_used_bytes: Option<u64>,
    /// The counts of its clients.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Sample {
    /// Resident memory, mapped files included.
    pub fn resident_bytes(&self) -> u64 {
        self.memory.anonymous_bytes + self.memory.file_bytes + self.memory.shared_bytes
    }

    /// Samples now.
    pub fn take(second: f64, meter: &Meter, pool_used_bytes: Option<u64>, counts: Counts) -> Sample {
        Sample { second, memory: meter.memory(), pool_used_bytes, counts }
    }
}

/// All samples, a line each.
pub fn csv(samples: &[Sample]) -> String {
    let mut text = "second,anonymous_bytes,file_bytes,shared_bytes,peak_rss_bytes,pool_used_bytes,appended,refused,\
                    slow_sending,slow_stored,slow_503,slow_408,slow_cut,slow_other,stuck_200,stuck_503,stuck_other\n"
        .to_owned();
    for Sample { second, memory, pool_used_bytes, counts } in samples {
        let numbers = [
            Some(memory.anonymous_bytes),
            Some(memory.file_bytes),
            Some(memory.shared_bytes),
            Some(memory.peak_rss_bytes),
            *pool_used_bytes,
            Some(counts.appended),
            Some(counts.refused),
            Some(counts.slow_sending),
            Some(counts.slow_stored),
            Some(counts.slow_503),
            Some(counts.slow_408),
            Some(counts.slow_cut),
            Some(counts.slow_other),
            Some(counts.stuck_200),
            Some(counts.stuck_503),
            Some(counts.stuck_other),
        ];
        let cells = numbers.map(|number| number.map_or_else(String::new, |number| number.to_string()));
        // Writing to a String can't fail.
        let _ = writeln!(text, "{second:.1},{}", cells.join(","));
    }
    text
}

/// A gauge of the broker's metrics.
pub fn gauge(metrics: &str, name: &str) -> Option<u64> {
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse::<f64>().ok().map(|value| value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_cell_for_each_column() {
        let sample =
            Sample { second: 1.0, memory: Memory::default(), pool_used_bytes: None, counts: Counts::default() };
        let text = csv(&[sample, sample]);
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(columns, [17, 17, 17]);
    }

    #[test]
    fn a_gauge_is_found_by_its_whole_name() {
        let metrics = "# TYPE pool gauge\npool_free 7\npool 64\n";
        assert_eq!((gauge(metrics, "pool"), gauge(metrics, "pool_free")), (Some(64), Some(7)));
        assert_eq!(gauge(metrics, "poo"), None);
    }
}
