//! `rawline query`: asks a topic's measurements, and shows the answer as a table, JSON, CSV or a plot.

use super::rollups::{RollupArgs, now_ms, parse_selector};
use super::{CommandError, print};
use clap::ValueEnum;
use rawline_measure::layout::Tier;
use rawline_measure::plot::{Plot, PlotFormat};
use rawline_measure::query::{self, Query, QueryLimits};
use rawline_measure::table::{Rows, answer_table};
use rawline_measure::time::{parse_length, parse_time};
use rawline_measure::{Agg, Answer};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  rawline query cloud 'cpu{server=~\"sgp.*\"}'                       the average, in about 200 steps
  rawline query cloud cpu --from -1h --step 1m --agg p99           the last hour, a quantile a minute
  rawline query cloud cpu --from 2014-04-10 --to 2014-04-12 --step 1h --by region
  rawline query cloud 'requests{az!=\"a\"}' --agg rate --by az --output requests.png
  rawline query cloud cpu --format csv > cpu.csv

Steps begin at multiples of their length since 1970 (UTC), and the range is widened to whole steps. The coarsest tier
(hour, minute, raw) whose windows divide the step is read; all give the same answer.

Exit codes: 0 answered, 1 nothing found or a failure, 2 wrong usage.";

/// Ask a topic's measurements: a table, JSON, CSV or a plot
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The topic's name
    #[arg(value_name = "TOPIC")]
    topic: String,

    /// Which series, in the form of PromQL; see `rawline series --help`
    #[arg(value_name = "SELECTOR")]
    selector: String,

    #[command(flatten)]
    rollups: RollupArgs,

    /// From when: 2014-04-10, 2014-04-10T12:00:00Z, unix seconds or milliseconds, -1h, now-1d [default: the first there is]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,

    /// To when, not included; as --from, or now [default: the last there is]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,

    /// Length of a step: 30s, 1m, 5m, 1h, 1d [default: for up to 200 steps]
    #[arg(long, value_name = "TIME")]
    step: Option<String>,

    /// Of the values in a step: avg, sum, min, max, last, count, p50, p99 or another pNN, or rate, how much a counter grew a
    /// second
    #[arg(long, value_name = "NAME", default_value = "avg")]
    agg: Agg,

    /// Put series together that have the same values of these tags (__name__ is the metric; "" puts all together)
    #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
    by: Option<Vec<String>>,

    /// How the answer is written [default: by the ending of --output, else table]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Where it is written [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What the rows of a table are [default: steps if they are few, else series]
    #[arg(long, value_enum)]
    rows: Option<RowsArg>,

    /// What is read
    #[arg(long, value_enum, default_value_t = TierArg::Auto)]
    tier: TierArg,

    /// Most series, or groups of them
    #[arg(long, value_name = "N", default_value_t = QueryLimits::default().lines_max)]
    series_max: usize,

    /// Most values in the answer; of quantiles a tenth
    #[arg(long, value_name = "N", default_value_t = QueryLimits::default().points_max)]
    points_max: usize,

    /// Say on stderr which tier and how many rows were read
    #[arg(long, short)]
    verbose: bool,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns
    Table,
    /// One JSON object
    Json,
    /// A line for each value
    Csv,
    /// A plot
    Png,
    /// A plot
    Svg,
}

/// What the rows of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RowsArg {
    /// A row for each series: least, mean, greatest, last, and its course
    Series,
    /// A row for each step, a column for each series
    Steps,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TierArg {
    /// The coarsest that has the answer
    Auto,
    /// Every measurement
    Raw,
    /// Windows of one minute
    Minute,
    /// Windows of one hour
    Hour,
}

/// Answers the query.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let format = format(&args)?;
    let query = query(&args)?;
    let storage = args.rollups.open()?;
    let answer = query::run(&storage, &args.topic, &query).await?;
    if args.verbose {
        let read = answer.read;
        eprintln!(
            "rawline: read {} of {} rows in {} files of the {} tier, used {}",
            read.rows_read,
            read.rows,
            read.files,
            answer.tier.name(),
            read.rows_used
        );
    }
    if let Some(note) = &answer.note {
        eprintln!("rawline: {note}");
    }
    let rows = args.rows.map_or(Rows::Auto, |rows| match rows {
        RowsArg::Series => Rows::Series,
        RowsArg::Steps => Rows::Steps,
    });
    let bytes = match format {
        Format::Table => answer_table(&answer, rows).into_bytes(),
        Format::Json => answer.to_json().into_bytes(),
        Format::Csv => answer.to_csv().into_bytes(),
        Format::Png => plot(&answer, PlotFormat::Png)?,
        Format::Svg => plot(&answer, PlotFormat::Svg)?,
    };
    write(args.output.as_deref(), &bytes)
}

/// How the answer is written; refuses a plot on a terminal, before anything is read.
fn format(args: &Args) -> Result<Format, CommandError> {
    let ending = args.output.as_ref().and_then(|path| path.extension()).and_then(|ending| ending.to_str());
    let by_ending = ending.and_then(|ending| Format::from_str(ending, true).ok());
    let format = match (args.format.or(by_ending), ending) {
        (Some(format), _) => format,
        (None, Some("txt" | "md") | None) => Format::Table,
        (None, Some(ending)) => {
            return Err(CommandError::Usage(format!(
                "no format is called {ending:?}; say which with --format, or end the file in .png, .svg, .json, .csv or .txt"
            )));
        }
    };
    let is_plot = matches!(format, Format::Png | Format::Svg);
    if is_plot && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(CommandError::Usage(
            "a plot is not for a terminal; name a file with --output plot.png, or send it on with > plot.png".into(),
        ));
    }
    Ok(format)
}

fn query(args: &Args) -> Result<Query, CommandError> {
    let usage = |option: &str| {
        let option = option.to_owned();
        move |error: rawline_measure::time::TimeError| CommandError::Usage(format!("{option}: {error}"))
    };
    let now_ms = now_ms();
    let time = |text: &Option<String>, option| {
        text.as_deref().map(|text| parse_time(text, now_ms)).transpose().map_err(usage(option))
    };
    let mut query = Query::new(parse_selector(&args.selector)?);
    query.from_ms = time(&args.from, "--from")?;
    query.to_ms = time(&args.to, "--to")?;
    query.step_ms = args.step.as_deref().map(parse_length).transpose().map_err(usage("--step"))?;
    query.agg = args.agg;
    query.by =
        args.by.as_ref().map(|by| by.iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect());
    query.tier = match args.tier {
        TierArg::Auto => None,
        TierArg::Raw => Some(Tier::Raw),
        TierArg::Minute => Some(Tier::Minute),
        TierArg::Hour => Some(Tier::Hour),
    };
    query.limits = QueryLimits { lines_max: args.series_max, points_max: args.points_max };
    Ok(query)
}

fn plot(answer: &Answer, format: PlotFormat) -> Result<Vec<u8>, CommandError> {
    Plot::new(answer).draw(format).map_err(|error| CommandError::Failed(error.to_string()))
}

fn write(output: Option<&Path>, bytes: &[u8]) -> Result<(), CommandError> {
    let Some(path) = output else {
        return match std::str::from_utf8(bytes) {
            Ok(text) => print(text),
            Err(_) => std::io::stdout().lock().write_all(bytes).map_err(|error| super::stdout_failed(&error)),
        };
    };
    std::fs::write(path, bytes)
        .map_err(|error| CommandError::Failed(format!("can't write {}: {error}", path.display())))
}
