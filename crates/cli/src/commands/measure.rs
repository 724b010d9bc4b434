//! `rawline measure`: rolls up a topic of measurements into Parquet files in the broker's storage.

use super::avro::{FramingArg, Schemas, WriterSchema, add_writers};
use super::interrupt::Interrupt;
use super::rollups::{RollupArgs, now_ms};
use super::start::parse_start;
use super::{BrokerArgs, CommandError, parse_bytes};
use futures_util::FutureExt;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rawline_client::{RetryPolicy, Start};
use rawline_measure::layout::Counts;
use rawline_measure::time::format_time;
use rawline_measure::{Full, Options, Pipeline, Progress, Retention};
use rawline_time::parse_length;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const EXAMPLES: &str = "\
Examples:
  # Roll up all new measurements, from where the last run stopped
  rawline measure cloud

  # Keep running and roll up measurements as they arrive, until ctrl-c
  rawline measure cloud --follow

  # Delete old measurements and minutes
  rawline measure cloud --retain-raw 7d --retain-minute 90d

  # Records without a header that names their schema
  rawline measure cpu --framing bare --schema measurement

A measurement is an Avro record of a metric, tags, a time (logtime, milliseconds) and a value. A roll-up stores the \
measurements themselves (raw), and for each series and minute or hour: count, sum, minimum, maximum, first and last \
value, and a sketch for quantiles with 1 % error. Stop it at any time, even with kill -9: the next run continues at \
the last commit, without losing or counting anything twice. Query roll-ups with `rawline series` and `rawline query`.

If nearly all of the first records are not measurements, the command fails and commits nothing: --framing or --schema \
is probably wrong.

Exit codes: 0 success, 1 failure, 2 wrong usage.";

/// 1973-03-03T09:46:40Z: a lower number of milliseconds is most likely one of seconds, until the year 5138.
const MILLISECONDS_BEGIN: i64 = 100_000_000_000;

/// Roll up a topic of measurements by minute and hour
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of the topic
    #[arg(value_name = "TOPIC")]
    topic: String,

    #[command(flatten)]
    broker: BrokerArgs,

    #[command(flatten)]
    rollups: RollupArgs,

    /// Keep running and roll up measurements as they arrive
    #[arg(long, short)]
    follow: bool,

    /// Start of the first run: an offset, earliest, or latest; later runs continue at the last commit
    #[arg(long, value_name = "N|earliest|latest", default_value = "earliest", value_parser = parse_start)]
    from: Start,

    /// Delete all roll-ups of this topic and start again at --from; stop other runs for this topic first
    #[arg(long)]
    start_over: bool,

    /// Commit even if nearly all of the first records aren't measurements
    #[arg(long)]
    accept_bad: bool,

    /// With --follow, maximum time until a measurement is committed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = length)]
    flush_after: Duration,

    /// Header before each record: single-object (schemas are read from the log), registry:N, registry (with several
    /// numbers), or bare (none)
    #[arg(long, value_name = "FRAMING", default_value = "single-object")]
    framing: FramingArg,

    /// Schema of records whose schema isn't in the log: a file or `measurement`, with its number in the registry if
    /// there are several (N=FILE); repeatable [default: the log's schema with the record's fingerprint, or measurement]
    #[arg(long = "schema", value_name = "[N=]FILE")]
    schemas: Vec<WriterSchema>,

    /// Number of threads that decode and roll up [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Memory for measurements in flight, in addition to reads (4 MiB per thread) and series (500 bytes each)
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_bytes)]
    memory: u64,

    /// Maximum number of series; measurements of further series are dropped and counted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    series_max: u32,

    /// Time to keep raw measurements, by their timestamps [default: forever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    retain_raw: Option<Duration>,

    /// Time to keep windows of a minute [default: forever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    retain_minute: Option<Duration>,

    /// Time to keep windows of an hour [default: forever]
    #[arg(long, value_name = "TIME", value_parser = length)]
    retain_hour: Option<Duration>,
}

fn length(text: &str) -> Result<Duration, String> {
    let milliseconds = parse_length(text).map_err(|error| error.to_string())?;
    Ok(Duration::from_millis(milliseconds.unsigned_abs()))
}

/// Rolls up, and reports progress and results on stderr.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client()?.with_retries(RetryPolicy::lasting(Duration::from_secs(30)));
    // Report a broker that is unreachable at once.
    args.broker.client_without_retries()?.topic(&args.topic).await?;
    let storage = args.rollups.open_or_create()?;
    // Read when a record names one that is unknown.
    let schemas = Schemas::new(client.clone());
    let store = schemas.store().clone();
    let mut writers = args.schemas.clone();
    if writers.is_empty() && args.framing != FramingArg::SingleObject {
        writers.push(WriterSchema::of_file("measurement"));
    }
    add_writers(&store, args.framing, &writers, "--schema")?;
    let schemas = Arc::new(Mutex::new(schemas));
    let defaults = Options::new(client, &args.topic, storage, store, args.framing.framing(), now_ms);
    let options = Options {
        start: args.from,
        start_over: args.start_over,
        accept_bad: args.accept_bad,
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
    let mut logged = Duration::ZERO;
    let tell = |progress: &Progress| {
        bar.set_position(progress.offset - began.offset);
        bar.set_message(format!("{} series", HumanCount(progress.series.into())));
        // Without a terminal, log a line from time to time.
        let elapsed = started.elapsed();
        if bar.is_hidden() && args.follow && elapsed >= logged + Duration::from_secs(60) {
            logged = elapsed;
            eprintln!("rawline: {}", summary(&args.topic, &began, progress, elapsed));
        }
    };
    let mut interrupt = Interrupt::new()?;
    let done = pipeline.run(tell, interrupt.wait()).await;
    bar.finish_and_clear();
    let done = done?;
    eprintln!("rawline: {}", summary(&args.topic, &began, &done, started.elapsed()));
    for bad in &done.bad {
        eprintln!("rawline: the record at offset {} is not a measurement: {}: {}", bad.offset, bad.field, bad.reason);
    }
    let counts = &done.counts;
    if counts.bad > done.bad.len() as u64 {
        eprintln!("rawline: and {} more records", HumanCount(counts.bad - done.bad.len() as u64));
    }
    if let Some(newest_ms) = done.newest_ms.filter(|newest_ms| *newest_ms < MILLISECONDS_BEGIN) {
        eprintln!(
            "rawline: the newest time of these measurements is {}: logtime counts milliseconds, and their producer \
             probably sends seconds",
            format_time(newest_ms)
        );
    }
    if let Some(full) = done.full {
        eprintln!("rawline: {}", dropped(&args, &done, full));
    }
    Ok(())
}

/// Why measurements were dropped, and what to do.
fn dropped(args: &Args, done: &Progress, full: Full) -> String {
    let dropped = HumanCount(done.counts.dropped);
    match full {
        Full::Series => format!(
            "{dropped} measurements were dropped, because there are more than {} series; raise --series-max",
            HumanCount(args.series_max.into())
        ),
        Full::Texts => format!(
            "{dropped} measurements were dropped, because the metrics and tags of {} series take the memory for texts \
             (48 bytes per series of --series-max on average); use shorter metrics and tags, or raise --series-max",
            HumanCount(done.series.into())
        ),
    }
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
        return format!("{topic} is empty: there is nothing to roll up");
    }
    if done.offset_committed == began.offset_committed {
        let Counts { decoded, bad, .. } = done.counts_before;
        let advice = match decoded == 0 && bad > 0 {
            true => format!(
                "; all {} records so far were skipped as bad: check --framing and --schema, and pass --start-over",
                HumanCount(bad)
            ),
            false => String::new(),
        };
        return format!("{topic} is rolled up to offset {}; nothing new{advice}", done.offset_committed);
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
        (counts.missing, "records deleted from the topic before they were rolled up"),
    ] {
        if count > 0 {
            text += &format!("; {} {what}", HumanCount(count));
        }
    }
    text
}
