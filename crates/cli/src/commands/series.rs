//! `rawline series`: lists the series of a topic's measurements.

use super::rollups::{RollupArgs, is_passing, parse_selector};
use super::{CommandError, print};
use clap::ValueEnum;
use rawline_measure::Storage;
use rawline_measure::layout::Layout;
use rawline_measure::query::{QueryError, load};
use rawline_measure::select::Selector;
use rawline_measure::series_list::{SPAN_ROWS_MAX, SeriesList, list, nothing_matches};
use rawline_measure::table::series_table;

const EXAMPLES: &str = "\
Examples:
  rawline series cloud                                      all series, the first 1000 by name
  rawline series cloud 'cpu{server=~\"sgp.*\"}'               = != =~ !~ as in PromQL; a regex matches the whole value
  rawline series cloud '{region=\"eu\",__name__=~\"cpu.*\"}'    any metric that begins with cpu
  rawline series cloud 'cpu.load{\"host.name\"=\"a\"}'          names with other signs in quotes; dots in a metric need none
  rawline series cloud --format json | jq -r .metric | sort -u

Exit codes: 0 listed, 1 no series or a failure, 2 wrong usage.";

/// List the series of a topic's measurements
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The topic's name
    #[arg(value_name = "TOPIC")]
    topic: String,

    /// Which series, in the form of PromQL [default: all]
    #[arg(value_name = "SELECTOR")]
    selector: Option<String>,

    #[command(flatten)]
    rollups: RollupArgs,

    /// Most series that are listed, the first by name
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,

    /// How they are listed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How series are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns: the series, its number of measurements, its first hour and last time
    Table,
    /// A JSON object a line: metric, tags, points, first_hour, last
    Json,
    /// The same with a column for each tag
    Csv,
}

/// Prints the series.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let selector = args.selector.as_deref().map_or_else(|| Ok(Selector::everything()), parse_selector)?;
    let storage = args.rollups.open()?;
    let list = find(&storage, &args.topic, &selector, args.limit).await?;
    match args.format {
        Format::Table => print(&series_table(&list))?,
        Format::Json => print(&list.to_json())?,
        Format::Csv => print(&list.to_csv())?,
    }
    let shown = list.series.len() as u64;
    if shown < list.count {
        eprintln!("rawline: {shown} of {} series; more with --limit, or narrow the selector", list.count);
    } else if args.format == Format::Table {
        eprintln!("rawline: {shown} series");
    }
    if !list.has_spans {
        eprintln!("rawline: not counted, since that would read more than {SPAN_ROWS_MAX} rows; ask `rawline query`");
    }
    Ok(())
}

/// The list; begins anew if files were replaced meanwhile.
async fn find(storage: &Storage, topic: &str, selector: &Selector, limit: usize) -> Result<SeriesList, QueryError> {
    let layout = Layout::new(&storage.prefix, topic);
    let mut tries_left = 3;
    loop {
        let snapshot = load(storage, &layout, topic).await?;
        tries_left -= 1;
        match list(storage, &layout, &snapshot, selector, limit).await {
            Ok(list) if list.count == 0 => return Err(nothing_matches(storage, &layout, &snapshot, selector).await),
            Err(error) if is_passing(&error) && tries_left > 0 => {}
            done => return Ok(done?),
        }
    }
}
