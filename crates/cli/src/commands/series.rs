//! `rawline series`: lists the series of a topic's measurements.

use super::rollups::{RollupArgs, parse_selector};
use super::{CommandError, print};
use clap::ValueEnum;
use rawline_measure::query::{SPAN_ROWS_MAX, list_series};
use rawline_measure::select::Selector;
use rawline_measure::table::series_table;

const EXAMPLES: &str = "\
Examples:
  # All series, the first 1000 by name
  rawline series cloud

  # Series of one metric; =, !=, =~ and !~ work as in PromQL, and a regex matches the whole value
  rawline series cloud 'cpu{server=~\"sgp.*\"}'

  # Any metric that starts with cpu
  rawline series cloud '{region=\"eu\",__name__=~\"cpu.*\"}'

  # Quote tags that contain other characters; a metric may contain dots
  rawline series cloud 'cpu.load{\"host.name\"=\"a\"}'

  # All metrics
  rawline series cloud --format json | jq -r .metric | sort -u

Exit codes: 0 success, 1 no series found or a failure, 2 wrong usage.";

/// List the series of a topic's measurements
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of the topic
    #[arg(value_name = "TOPIC")]
    topic: String,

    /// PromQL selector of the series [default: all series]
    #[arg(value_name = "SELECTOR")]
    selector: Option<String>,

    #[command(flatten)]
    rollups: RollupArgs,

    /// Maximum number of series to list, in order of name
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns: series, number of measurements, first hour, last time
    Table,
    /// One JSON object per line: metric, tags, points, first_hour, last
    Json,
    /// CSV with one column per tag
    Csv,
}

/// Prints the series.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let selector = args.selector.as_deref().map_or_else(|| Ok(Selector::everything()), parse_selector)?;
    let storage = args.rollups.open()?;
    let list = list_series(&storage, &args.topic, &selector, args.limit).await?;
    match args.format {
        Format::Table => print(&series_table(&list))?,
        Format::Json => print(&list.to_json())?,
        Format::Csv => print(&list.to_csv())?,
    }
    let shown = list.series.len() as u64;
    if shown < list.count {
        eprintln!("rawline: {shown} of {} series; raise --limit or narrow the selector", list.count);
    } else if args.format == Format::Table {
        eprintln!("rawline: {shown} series");
    }
    if !list.has_spans {
        eprintln!(
            "rawline: measurements are not counted, because that would read more than {SPAN_ROWS_MAX} rows; use \
             `rawline query` for single series"
        );
    }
    Ok(())
}
