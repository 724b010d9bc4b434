//! The binary `rawline`: reads the command line, runs the command, turns failures into exit codes.

#![allow(clippy::disallowed_methods)] // The command line is where time, randomness and settings come from.

mod commands;
mod environment;
mod machine;

use clap::{Parser, Subcommand};
use commands::{brokers, consume, cost, full, group, keys, produce, serve, subscribe, topic, topics, value};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  # Run a broker on ./rawline-data, for this machine only
  rawline serve

  # Append records, one per line
  seq 1000 | rawline produce numbers

  # Read them, and wait for new ones
  rawline consume numbers --follow

  # Receive the records of all topics as they are stored
  rawline subscribe --prefix ''

  # List topics
  rawline topics

Exit codes: 0 success, 1 a request, file or broker failed, 2 wrong usage.";

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
    Subscribe(subscribe::Args),
    Topics(topics::Args),
    Topic(topic::Args),
    Brokers(brokers::Args),
    Group(group::Args),
    Key(keys::Args),
    Cost(cost::Args),
    Value(value::Args),
    #[command(flatten)]
    Full(full::Command),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("rawline: can't start its threads: {error}; raise the limit on processes with `ulimit -u`");
            return ExitCode::from(1);
        }
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(args).await,
            Command::Produce(args) => produce::run(args).await,
            Command::Consume(args) => consume::run(args).await,
            Command::Subscribe(args) => subscribe::run(args).await,
            Command::Topics(args) => topics::run(args).await,
            Command::Topic(args) => topic::run(args).await,
            Command::Brokers(args) => brokers::run(args).await,
            Command::Group(args) => group::run(args).await,
            Command::Key(args) => keys::run(args),
            Command::Cost(args) => cost::run(args).await,
            Command::Value(args) => value::run(args).await,
            Command::Full(command) => command.run().await,
        }
    });
    // A pending read of stdin must not keep the process alive.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rawline: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
