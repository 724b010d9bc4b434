//! The binary `rawline`: reads the command line, puts the parts together, turns failures into exit codes.

mod commands;

use clap::{Parser, Subcommand};
use commands::{consume, produce, serve, topic, topics, value};
#[cfg(feature = "full")]
use commands::{measure, query, series};
#[cfg(feature = "full")]
use rawline_bench as bench;
use std::process::ExitCode;

/// So that `bench measurements` can tell what a decoder allocates.
#[cfg(feature = "full")]
#[global_allocator]
static ALLOCATOR: bench::Counting = bench::Counting;

const EXAMPLES: &str = "\
Examples:
  rawline serve                            a broker on ./rawline-data, for this machine only
  seq 1000 | rawline produce numbers       append records, a line each
  rawline consume numbers --follow         read them, and those that come
  rawline topics                           what there is

Exit codes: 0 done, 1 a request or file failed, 2 wrong usage.";

#[derive(Debug, Parser)]
#[command(
    name = "rawline",
    version,
    about = "An event broker on object storage whose bytes are never re-serialized",
    after_help = EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Produce(produce::Args),
    Consume(consume::Args),
    Topics(topics::Args),
    Topic(topic::Args),
    Value(value::Args),
    #[cfg(feature = "full")]
    Measure(measure::Args),
    #[cfg(feature = "full")]
    Series(series::Args),
    #[cfg(feature = "full")]
    Query(query::Args),
    #[cfg(feature = "full")]
    Bench(bench::Args),
    /// Roll up and query measurements, benchmark: in a binary built by `make full`
    #[cfg(not(feature = "full"))]
    #[command(name = "measure", aliases = ["series", "query", "bench"])]
    NotBuilt {
        /// The arguments of that command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("rawline: can't start its threads: {error}");
            return ExitCode::from(1);
        }
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(args).await,
            Command::Produce(args) => produce::run(args).await,
            Command::Consume(args) => consume::run(args).await,
            Command::Topics(args) => topics::run(args).await,
            Command::Topic(args) => topic::run(args).await,
            Command::Value(args) => value::run(args).await,
            #[cfg(feature = "full")]
            Command::Measure(args) => measure::run(args).await,
            #[cfg(feature = "full")]
            Command::Series(args) => series::run(args).await,
            #[cfg(feature = "full")]
            Command::Query(args) => query::run(args).await,
            #[cfg(feature = "full")]
            Command::Bench(args) => Ok(bench::run(args).await?),
            #[cfg(not(feature = "full"))]
            Command::NotBuilt { .. } => Err(commands::not_built("measurements and benchmarks")),
        }
    });
    // A stdin read that never ends must not keep the process.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rawline: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
