//! `rawline measure`: rolls a topic of measurements up into Parquet, next to the topics it comes from.

use super::avro::{FramingArg, Schemas, read_schema};
use super::rollups::RollupArgs;
use super::{BrokerArgs, CommandError, parse_bytes};
use futures_util::FutureExt;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rawline_client::{RetryPolicy, Start};
use rawline_measure::time::parse_length;
use rawline_measure::{Options, Pipeline, Progress, Retention};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

const EXAMPLES: &str = "\
Examples:
  rawline measure cloud                        roll up what there is, going on where it stopped
  rawline measure cloud --follow               and what comes, until ctrl-c
  rawline measure cloud --retain-raw 7d --retain-minute 90d
  rawline measure cpu --framing bare --schema measurement

Measurements are Avro records of a metric, tags, a time (logtime, milliseconds) and a value. They are kept as they are
(raw) and summed up by series for each minute and hour: count, sum, min, max, last, and a sketch for quantiles, 1 % wide.
Stop it at any time, with ctrl-c or kill -9: what was committed stays, and the next run goes on from there, with nothing lost
and nothing counted twice. Ask with `rawline series` and `rawline query`.

Exit codes: 0 done, 1 a failure, 2 wrong usage.";

/// Roll a topic of measurements up: raw, by minute and by hour
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The topic's name
    #[arg(value_name = "TOPIC")]
    topic: String,

    #[command(flatten)]
    broker: BrokerArgs,

    #[command(flatten)]
    rollups: RollupArgs,

    /// Go on with measurements that are yet to come, instead of ending where the topic ends now
    #[arg(long, short)]
    follow: bool,

    /// Where the first run begins: an offset, or earliest, or latest; later runs go on where the last commit ends
    #[arg(long, value_name = "N|earliest|latest", default_value = "earliest", value_parser = super::consume::parse_start)]
    from: Start,

    /// With --follow, how long a measurement waits for others before it is committed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = length)]
    flush_after: Duration,

    /// What stands before each record: single-object (its schema is then found in the log), registry:N, or bare
    #[arg(long, value_name = "FRAMING", default_value = "single-object")]
    framing: FramingArg,

    /// The schema of records that do not name it
    #[arg(long, value_name = "FILE|measurement", default_value = "measurement")]
    schema: String,

    /// Threads that decode and roll up [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Memory for measurements on their way; reads (4 MiB a thread) and the table of series (500 bytes a series) come on top
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_bytes)]
    memory: u64,

    /// Most series; measurements of further ones are dropped and counted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    series_max: u32,

    /// How long measurements are kept as they are, by their own times [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    retain_raw: Option<Duration>,

    /// How long the sums of a minute are kept [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    retain_minute: Option<Duration>,

    /// How long the sums of an hour are kept [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    retain_hour: Option<Duration>,
}

fn length(text: &str) -> Result<Duration, String> {
    let milliseconds = parse_length(text).map_err(|error| error.to_string())?;
    Ok(Duration::from_millis(milliseconds.unsigned_abs()))
}

/// Rolls up, and says on stderr how far it is and what it did.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client()?.with_retries(RetryPolicy::lasting(Duration::from_secs(30)));
    // A broker that is not there is told at once.
    args.broker.client_without_retries()?.topic(&args.topic).await?;
    let storage = args.rollups.open_or_create()?;
    let schemas = Schemas::load(client.clone()).await?;
    let store = schemas.store().clone();
    if args.framing != FramingArg::SingleObject {
        let schema = read_schema(&args.schema)?;
        let added = store.add_as(args.framing.writer(&schema), &schema);
        added.map_err(|error| CommandError::Failed(error.to_string()))?;
    }
    let schemas = Arc::new(Mutex::new(schemas));
    let defaults = Options::new(client, &args.topic, storage, store, args.framing.framing());
    let options = Options {
        start: args.from,
        follow: args.follow,
        flush_after: args.flush_after,
        threads: args.threads.map_or(defaults.threads, usize::from),
        memory_bytes: args.memory,
        series_max: args.series_max,
        retention: Retention { raw: args.retain_raw, minute: args.retain_minute, hour: args.retain_hour },
        refresh: Some(Arc::new(move || {
            let schemas = schemas.clone();
            async move { schemas.lock().await.refresh().await.map_err(|error| error.to_string()) }.boxed()
        })),
        ..defaults
    };
    let pipeline = Pipeline::open(options).await?;
    let began = pipeline.progress().clone();
    let bar = progress_bar(&began);
    let started = Instant::now();
    let mut told = Duration::ZERO;
    let tell = |progress: &Progress| {
        bar.set_position(progress.offset - began.offset);
        bar.set_message(format!("{} series", HumanCount(progress.series.into())));
        // Without a terminal a line now and then, for logs.
        let elapsed = started.elapsed();
        if bar.is_hidden() && args.follow && elapsed >= told + Duration::from_secs(60) {
            told = elapsed;
            eprintln!("rawline: {}", summary(&args.topic, &began, progress, elapsed));
        }
    };
    let done = pipeline.run(tell, interrupted()?).await;
    bar.finish_and_clear();
    let done = done?;
    eprintln!("rawline: {}", summary(&args.topic, &began, &done, started.elapsed()));
    for bad in &done.bad {
        eprintln!("rawline: the record at offset {} is no measurement: {}: {}", bad.offset, bad.field, bad.reason);
    }
    let counts = &done.counts;
    if counts.bad > done.bad.len() as u64 {
        eprintln!("rawline: and {} more", HumanCount(counts.bad - done.bad.len() as u64));
    }
    if done.is_series_full {
        eprintln!(
            "rawline: {} measurements were dropped, since there are more than {} series; raise --series-max",
            HumanCount(counts.dropped),
            HumanCount(args.series_max.into())
        );
    }
    Ok(())
}

/// When somebody asks it to end.
fn interrupted() -> Result<impl Future<Output = ()>, CommandError> {
    let listen =
        |kind| signal(kind).map_err(|error| CommandError::Failed(format!("can't listen for signals: {error}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn progress_bar(began: &Progress) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match began.end_offset {
        Some(end) => (
            ProgressBar::new(end.saturating_sub(began.offset)),
            "{bar:40} {human_pos} of {human_len} records, {per_sec}, {msg}, {eta} to go",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} records, {per_sec}, {msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn summary(topic: &str, began: &Progress, done: &Progress, took: Duration) -> String {
    let counts = &done.counts;
    if done.offset_committed == 0 {
        return format!("{topic} is empty: nothing to roll up");
    }
    if done.offset_committed == began.offset_committed {
        return format!("{topic} is rolled up to offset {}; nothing new", done.offset_committed);
    }
    let mut text = format!(
        "{topic} is rolled up to offset {}: {} measurements of {} series in {:.1} s ({:.2} million/s), {} {}",
        done.offset_committed,
        HumanCount(counts.decoded),
        HumanCount(done.series.into()),
        took.as_secs_f64(),
        counts.decoded as f64 / took.as_secs_f64().max(1e-9) / 1e6,
        done.commits,
        if done.commits == 1 { "commit" } else { "commits" },
    );
    for (count, what) in [
        (counts.bad, "bad records"),
        (counts.dropped, "dropped"),
        (counts.missing, "no longer in the topic when their turn came"),
    ] {
        if count > 0 {
            text += &format!("; {} {what}", HumanCount(count));
        }
    }
    text
}
