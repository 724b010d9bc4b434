//! `rawline top`: a live view of topics, groups and their rates.

mod frame;
mod sample;
mod screen;

use super::interrupt::Interrupt;
use super::table::terminal_width;
use super::{BrokerArgs, CommandError, parse_duration, print};
use clap::ValueEnum;
use frame::{Size, View};
use sample::Sampler;
use screen::{Events, Key, Screen};
use std::io::IsTerminal;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # Watch topics and groups, the busiest first; q ends it
  rawline top

  # Watch the topics whose names begin with zeek., the largest first
  rawline top --prefix zeek. --sort bytes

  # Print one table in a script: rates during 10 seconds
  rawline top --once --interval 10s

Keys: q ends, s changes the order, arrows and page keys scroll.";

/// Shortest time between two looks: a rate over less time says little.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Show topics, groups and their rates, live
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    broker: BrokerArgs,

    /// Show topics whose names begin with PREFIX
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,

    /// Order of the topics
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t)]
    sort: Sort,

    /// Time between two looks, over which rates are averaged
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_interval)]
    interval: Duration,

    /// Print one table after one interval, and stop
    #[arg(long)]
    once: bool,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text)?;
    if interval >= INTERVAL_MIN { Ok(interval) } else { Err(format!("{text} is shorter than 100ms")) }
}

/// Orders of topics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// By appended bytes per second, the busiest first
    #[default]
    Rate,
    /// By size, the largest first
    Bytes,
    /// By number of records, the largest first
    Records,
    /// By name
    Name,
}

impl Sort {
    fn next(self) -> Sort {
        match self {
            Sort::Rate => Sort::Bytes,
            Sort::Bytes => Sort::Records,
            Sort::Records => Sort::Name,
            Sort::Name => Sort::Rate,
        }
    }
}

/// Shows the view until the user or a signal ends it.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    if !args.once && !std::io::stdout().is_terminal() {
        return Err(CommandError::Usage("stdout isn't a terminal; add --once to print one table".to_owned()));
    }
    let mut sampler = Sampler::new(client, args.prefix.clone());
    // A broker that isn't running is an error at once.
    let first = sampler.sample().await?;
    if args.once {
        tokio::time::sleep(args.interval).await;
        let view = View { sample: sampler.sample().await?, sort: args.sort, skipped: 0, failure: None };
        return print(&frame::text(&view, terminal_width()));
    }
    let view = View { sample: first, sort: args.sort, skipped: 0, failure: None };
    watch(sampler, view, args.interval).await
}

async fn watch(mut sampler: Sampler, mut view: View, interval: Duration) -> Result<(), CommandError> {
    let mut interrupt = Interrupt::new()?;
    let mut events = Events::new()?;
    let screen = Screen::open()?;
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let size = screen.size();
        view.keep_on_screen(size);
        screen.draw(&frame::lines(&view, size))?;
        tokio::select! {
            () = interrupt.wait() => return Ok(()),
            key = events.next() => match key {
                Key::Quit => return Ok(()),
                Key::Sort => view.sort = view.sort.next(),
                Key::Lines(lines) => view.scroll(lines),
                Key::Pages(pages) => view.scroll(pages * Size::page(size) as isize),
                Key::Other => {}
            },
            _ = ticks.tick() => match sampler.sample().await {
                Ok(sample) => (view.sample, view.failure) = (sample, None),
                // A broker that restarts is back soon.
                Err(error) => view.failure = Some(CommandError::from(error).to_string()),
            },
        }
    }
}
