//! The commands of `rawline`, one file each, and their common parts: errors, units, output.

#[cfg(feature = "full")]
pub mod avro;
pub mod backup;
mod broker;
pub mod brokers;
pub mod completions;
mod confirm;
pub mod consume;
mod convert;
pub mod cost;
pub mod doctor;
mod explain;
#[cfg(feature = "full")]
pub mod full;
pub mod group;
mod interrupt;
mod key;
pub mod keys;
#[cfg(feature = "lab")]
pub mod lab;
mod list;
mod listen;
mod log;
pub mod man;
#[cfg(feature = "full")]
pub mod measure;
#[cfg(feature = "full")]
mod measurements;
#[cfg(not(feature = "lab"))]
pub mod no_lab;
#[cfg(not(feature = "full"))]
pub mod not_built;
mod ordered;
pub mod produce;
pub mod profile;
#[cfg(feature = "full")]
pub mod query;
mod ready_file;
pub mod restore;
#[cfg(feature = "full")]
pub mod rollups;
#[cfg(feature = "full")]
pub mod series;
pub mod serve;
mod show;
mod split;
mod start;
mod stop;
mod storage;
mod stored;
pub mod subscribe;
mod table;
pub mod top;
pub mod topic;
pub mod topics;
pub mod value;

#[cfg(not(feature = "full"))]
pub use not_built as full;

#[cfg(not(feature = "lab"))]
pub use no_lab as lab;

pub use broker::BrokerArgs;

use jiff::Timestamp;
use rawline_broker::{Clock, SystemClock};

/// Why a command failed: the message for stderr, and the exit code.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A request, a file or the broker failed: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// The command was used wrongly in a way that clap can't detect: exit code 2.
    #[error("{0}")]
    Usage(String),
}

impl CommandError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandError::Failed(_) => 1,
            CommandError::Usage(_) => 2,
        }
    }
}

/// Reads a number of bytes with an optional unit: 1048576, 512KiB, 10MiB, 2GiB, or KB, MB, GB of 1000.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(format!("unknown unit {unit:?}; use KiB, MiB, GiB, TiB, KB, MB or GB")),
    };
    let number: u64 = number.parse().map_err(|_| "give a number of bytes, such as 1048576 or 512MiB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| format!("{text} is too large"))
}

/// Reads a duration with its unit: 250us, 5ms, 1s.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    rawline_contract::parse_duration(text)
        .ok_or_else(|| format!("{text:?} is not a duration; give a number with a unit, such as 0s, 5ms or 1s"))
}

/// Parses a time. Each argument that is one takes the same forms, as do the parameters of HTTP.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    rawline_time::parse_time(text, now()).map_err(|error| error.to_string())
}

fn now() -> Timestamp {
    rawline_contract::timestamp(SystemClock.now_us())
}

/// Prints to stdout. A reader that has closed it, as `head` does, is not a failure.
fn print(text: &str) -> Result<(), CommandError> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(stdout_failed(&error)),
        _ => Ok(()),
    }
}

/// Prints JSON to stdout.
fn print_json(value: &impl serde::Serialize) -> Result<(), CommandError> {
    let json = serde_json::to_string_pretty(value).map_err(|error| CommandError::Failed(error.to_string()))?;
    print(&(json + "\n"))
}

fn stdout_failed(error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!("can't write to stdout: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_bytes_are_binary_or_decimal() {
        for (text, bytes) in
            [("0", 0), ("17B", 17), ("512KiB", 512 << 10), ("10 MiB", 10 << 20), ("2GB", 2_000_000_000)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "MiB", "1.5GiB", "-1", "1 parsec", "99999999TiB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
