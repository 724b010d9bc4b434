//! Flags that several benchmarks share.

use super::environment::cores;
use super::target::TargetArgs;
use serde::Serialize;
use std::path::PathBuf;

/// Where the figures go besides stdout: of every benchmark.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write every figure to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Append one line of JSON to this file: time, commit, machine, settings and main figures
    #[arg(long, value_name = "FILE")]
    pub append: Option<PathBuf>,
}

/// Flags of the benchmarks that append records to a broker.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct RunArgs {
    /// Number of measured runs
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Seed of the record bytes and of the order of reads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Where the figures go.
    #[command(flatten)]
    #[serde(flatten)]
    pub output: OutputArgs,

    /// Which broker, with which settings.
    #[command(flatten)]
    #[serde(flatten)]
    pub target: TargetArgs,
}

/// Flags of the benchmarks that append many batches from several workers.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct BatchArgs {
    /// Number of workers, each with one request in flight [default: 2 per core]
    #[arg(short, long, value_name = "N", default_value_t = default_workers(), hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,

    /// Number of batches to append
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    pub batches: u64,

    /// Number of records per batch
    #[arg(short = 'b', long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub records_per_batch: u32,

    /// Size of a record in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub record_size: u32,

    /// Number of runs before the measured ones; first use of memory is slow on virtual machines
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub warmup_runs: u32,

    /// What every benchmark that appends has.
    #[command(flatten)]
    #[serde(flatten)]
    pub run: RunArgs,
}

impl BatchArgs {
    /// Number of the runs, warm-up runs included.
    pub fn all_runs(&self) -> u32 {
        self.warmup_runs + self.run.runs
    }
}

/// 2 per core, as in Seb's benchmark.
fn default_workers() -> u32 {
    u32::try_from(cores() * 2).unwrap_or(u32::MAX)
}
