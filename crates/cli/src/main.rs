//! The binary `rawline`: reads the command line, runs the command, turns failures into exit codes.

#![allow(clippy::disallowed_methods)] // The command line is where time, randomness and settings come from.

mod commands;
mod environment;
mod machine;
mod version;

use clap::{CommandFactory, Parser, Subcommand};
use commands::{
    CommandError, backup, brokers, completions, consume, cost, doctor, full, group, keys, lab, man, produce, profile,
    restore, serve, subscribe, top, topic, topics, value,
};
use futures_util::future::LocalBoxFuture;
use rawline_broker::limit_arenas;
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

  # List topics; watch them
  rawline topics
  rawline top

Exit codes: 0 success, 1 a request, file or broker failed, 2 wrong usage.";

#[derive(Debug, Parser)]
#[command(
    name = "rawline",
    version = version::text(),
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
    Top(top::Args),
    Brokers(brokers::Args),
    Group(group::Args),
    Key(keys::Args),
    Profile(profile::Args),
    Cost(cost::Args),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Value(value::Args),
    #[command(flatten)]
    Full(full::Command),
    Lab(lab::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The same error of the command line as if no variables were set, if it is one then too: its usage line shows flags
/// that have a variable as if they were required.
fn without_variables(error: clap::Error) -> clap::Error {
    fn clear(command: clap::Command) -> clap::Command {
        command.mut_args(|arg| arg.env(None::<&'static str>)).mut_subcommands(clear)
    }
    if !error.use_stderr() {
        return error;
    }
    match clear(Cli::command()).try_get_matches() {
        Err(same) if same.kind() == error.kind() => same,
        _ => error,
    }
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| without_variables(error).exit());
    if let Command::Serve(_) = cli.command {
        limit_arenas();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("rawline: can't start its threads: {error}; raise the limit on processes with `ulimit -u`");
            return ExitCode::from(1);
        }
    };
    // Boxed: as one future, all commands would be compiled several times.
    let command: LocalBoxFuture<'_, Result<(), CommandError>> = match cli.command {
        Command::Serve(args) => Box::pin(serve::run(args)),
        Command::Produce(args) => Box::pin(produce::run(args)),
        Command::Consume(args) => Box::pin(consume::run(args)),
        Command::Subscribe(args) => Box::pin(subscribe::run(args)),
        Command::Topics(args) => Box::pin(topics::run(args)),
        Command::Topic(args) => Box::pin(topic::run(args)),
        Command::Top(args) => Box::pin(top::run(args)),
        Command::Brokers(args) => Box::pin(brokers::run(args)),
        Command::Group(args) => Box::pin(group::run(args)),
        Command::Key(args) => Box::pin(async { keys::run(args) }),
        Command::Profile(args) => Box::pin(async { profile::run(args) }),
        Command::Cost(args) => Box::pin(cost::run(args)),
        Command::Doctor(args) => Box::pin(doctor::run(args)),
        Command::Backup(args) => Box::pin(backup::run(args)),
        Command::Restore(args) => Box::pin(restore::run(args)),
        Command::Value(args) => Box::pin(value::run(args)),
        Command::Full(command) => Box::pin(command.run()),
        Command::Lab(args) => Box::pin(async move { lab::run(&args) }),
        Command::Completions(args) => Box::pin(async move { completions::run(&args, Cli::command()) }),
        Command::Man(args) => Box::pin(async move { man::run(&args, Cli::command()) }),
    };
    let done = runtime.block_on(command);
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
