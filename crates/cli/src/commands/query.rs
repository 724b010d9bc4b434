//! `rawline query`: queries a topic's measurements and writes a table, JSON, CSV or a plot.

use super::rollups::{RollupArgs, parse_selector};
use super::{CommandError, parse_time, print};
use clap::ValueEnum;
use jiff::Timestamp;
use rawline_measure::layout::Tier;
use rawline_measure::plot::{Plot, PlotFormat};
use rawline_measure::query::{self, Query, QueryLimits};
use rawline_measure::table::{Rows, answer_table};
use rawline_measure::{Agg, Answer};
use rawline_time::parse_length;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  # The average over the whole range, in up to 200 steps
  rawline query cloud 'cpu{server=~\"sgp.*\"}'

  # The 99th percentile of each minute of the last hour
  rawline query cloud cpu --from -1h --step 1m --agg p99

  # Hourly averages of two days by region
  rawline query cloud cpu --from 2014-04-10 --to 2014-04-12 --step 1h --by region

  # Plot requests per second
  rawline query cloud 'requests{az!=\"a\"}' --agg rate --by az --output requests.png

Steps start at multiples of their length since 1970 (UTC), and the range is widened to whole steps. The query reads \
the coarsest tier (hour, minute, raw) whose windows divide the step; every tier gives the same answer.

Exit codes: 0 success, 1 nothing found or a failure, 2 wrong usage.";

/// Query a topic's measurements as a table, JSON, CSV or a plot
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of the topic
    #[arg(value_name = "TOPIC")]
    topic: String,

    /// PromQL selector of the series; see `rawline series --help`
    #[arg(value_name = "SELECTOR")]
    selector: String,

    #[command(flatten)]
    rollups: RollupArgs,

    /// Start of the range: 2014-04-10, 2014-04-10T12:00:00Z, Unix seconds or milliseconds, -1h, now-1d
    /// [default: first measurement]
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    from: Option<Timestamp>,

    /// End of the range, exclusive; same forms as --from, or now [default: last measurement]
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    to: Option<Timestamp>,

    /// Length of a step: 30s, 1m, 5m, 1h, 1d [default: gives up to 200 steps]
    #[arg(long, value_name = "TIME", value_parser = parse_length)]
    step: Option<i64>,

    /// Aggregation of each step: avg, sum, min, max, last, count, p50, p99 or another pNN, or rate (growth of a
    /// counter per second)
    #[arg(long, value_name = "NAME", default_value = "avg")]
    agg: Agg,

    /// Group series by these tags (__name__ is the metric; "" gives one group)
    #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
    by: Option<Vec<String>>,

    /// Output format [default: from the extension of --output, else table]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Output file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Rows of a table [default: steps if there are few, else series]
    #[arg(long, value_enum)]
    rows: Option<RowsArg>,

    /// Resolution to read
    #[arg(long, value_enum, default_value_t = TierArg::Auto)]
    tier: TierArg,

    /// Maximum number of series or groups in the result
    #[arg(long, value_name = "N", default_value_t = QueryLimits::default().lines_max)]
    series_max: usize,

    /// Maximum number of values in the result; a tenth of it for quantiles
    #[arg(long, value_name = "N", default_value_t = QueryLimits::default().points_max)]
    points_max: usize,

    /// Print on stderr which tier and how many rows were read
    #[arg(long, short)]
    verbose: bool,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns
    Table,
    /// One JSON object
    Json,
    /// One line per value
    Csv,
    /// Plot as PNG
    Png,
    /// Plot as SVG
    Svg,
}

/// Rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RowsArg {
    /// One row per series: minimum, mean, maximum, last value, sparkline
    Series,
    /// One row per step, one column per series
    Steps,
}

/// Resolutions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TierArg {
    /// The coarsest tier whose windows divide the step
    Auto,
    /// Every measurement
    Raw,
    /// Windows of one minute
    Minute,
    /// Windows of one hour
    Hour,
}

/// Runs the query.
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
        // Windows are kept longer than measurements, and long ones longer than short ones.
        let advice = match answer.tier {
            Tier::Raw => "; a --step of whole minutes or hours may reach further back",
            Tier::Minute => "; a --step of whole hours may reach further back",
            Tier::Hour => "",
        };
        eprintln!("rawline: {note}{advice}");
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

/// The output format. Refuses to plot to a terminal before anything is read.
fn format(args: &Args) -> Result<Format, CommandError> {
    let ending = args.output.as_ref().and_then(|path| path.extension()).and_then(|ending| ending.to_str());
    let by_ending = ending.and_then(|ending| Format::from_str(ending, true).ok());
    let format = match (args.format.or(by_ending), ending) {
        (Some(format), _) => format,
        (None, Some("txt" | "md") | None) => Format::Table,
        (None, Some(ending)) => {
            return Err(CommandError::Usage(format!(
                "unknown file extension {ending:?}; pass --format, or use .png, .svg, .json, .csv or .txt"
            )));
        }
    };
    let is_plot = matches!(format, Format::Png | Format::Svg);
    if is_plot && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(CommandError::Usage("cannot plot to a terminal; pass --output plot.png or redirect stdout".into()));
    }
    Ok(format)
}

fn query(args: &Args) -> Result<Query, CommandError> {
    let mut query = Query::new(parse_selector(&args.selector)?);
    query.from_ms = args.from.map(Timestamp::as_millisecond);
    query.to_ms = args.to.map(Timestamp::as_millisecond);
    query.step_ms = args.step;
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
