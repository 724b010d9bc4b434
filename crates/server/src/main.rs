//! The binary `rawline`: reads the command line, puts the parts together, turns failures into exit codes.

use clap::{Parser, Subcommand};
use rawline_server::bench;
use rawline_server::commands::{consume, produce, serve, topic, topics, value};
#[cfg(feature = "measurements")]
use rawline_server::commands::{measure, query, series};
use std::process::ExitCode;

/// So that `bench measurements` can tell what a decoder allocates.
#[cfg(feature = "compare")]
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
    #[cfg(feature = "measurements")]
    Measure(measure::Args),
    #[cfg(feature = "measurements")]
    Series(series::Args),
    #[cfg(feature = "measurements")]
    Query(query::Args),
    Bench(bench::Args),
    /// Roll up, list and ask measurements: in a binary that `make full` builds
    #[cfg(not(feature = "measurements"))]
    #[command(aliases = ["series", "query"])]
    Measure {
        /// Whatever it is
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
            #[cfg(feature = "measurements")]
            Command::Measure(args) => measure::run(args).await,
            #[cfg(feature = "measurements")]
            Command::Series(args) => series::run(args).await,
            #[cfg(feature = "measurements")]
            Command::Query(args) => query::run(args).await,
            Command::Bench(args) => bench::run(args).await,
            #[cfg(not(feature = "measurements"))]
            Command::Measure { .. } => Err(rawline_server::commands::not_built("measurements")),
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
