//! `rawline bench`: measures this broker, or one elsewhere, and the machine it runs on.

mod allocated;
mod append;
mod data;
mod environment;
mod error;
mod latency;
mod limits;
mod local_broker;
mod measurements;
mod read;
mod read_back;
mod report;
mod target;
mod usage;
mod values;
mod write;

pub use allocated::Counting;
pub use error::BenchError;

use rawline_broker::{Clock, SystemClock};
use tokio::signal::unix::{SignalKind, signal};

/// Measure a broker and the machine it runs on
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Write(write::Args),
    Read(read::Args),
    Latency(latency::Args),
    Limits(limits::Args),
    Measurements(measurements::Args),
    Values(values::Args),
    /// The process of `bench values` that produces
    #[command(hide = true)]
    ValuesProducer(values::ProducerArgs),
}

/// Runs the benchmark. When it is interrupted, what it started is stopped and what it stored locally is removed.
pub async fn run(args: Args) -> Result<(), BenchError> {
    // From here on a signal must not end the process by itself, since that would leave the broker and its folder.
    let listen = |kind| signal(kind).map_err(|error| BenchError::Failed(format!("can't listen for signals: {error}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let bench = async {
        match args.command {
            Command::Write(args) => write::run(args).await,
            Command::Read(args) => read::run(args).await,
            Command::Latency(args) => latency::run(args).await,
            Command::Limits(args) => limits::run(args).await,
            Command::Measurements(args) => measurements::run(args).await,
            Command::Values(args) => values::run(args).await,
            Command::ValuesProducer(args) => values::produce(args).await,
        }
    };
    tokio::select! {
        done = bench => done,
        _ = interrupt.recv() => Err(BenchError::Failed("interrupted".to_owned())),
        _ = terminate.recv() => Err(BenchError::Failed("told to end".to_owned())),
    }
}

/// Runs what blocks on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BenchError> + Send + 'static,
) -> Result<T, BenchError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| BenchError::Failed(format!("the benchmark stopped: {error}; please report this")))?
}

/// Two for each core, as the original has it.
fn default_workers() -> u32 {
    u32::try_from(environment::cores() * 2).unwrap_or(u32::MAX)
}

/// A topic that no other run has used, here or on a remote broker.
fn topic_name(bench: &str, run: u32) -> String {
    format!("bench-{bench}-{:x}-{}-{run}", SystemClock.now_us(), std::process::id())
}
