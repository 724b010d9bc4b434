//! `rawline bench values`: what structured values cost, beside JSON, MessagePack, CBOR and Zeek Broker's own figures.

mod compare;
mod dns;
mod end_to_end;
mod race;
mod small;
mod stream;
mod ten;
mod visit;

pub use end_to_end::{ProducerArgs, produce};

use super::blocking;
use super::report::{Report, progress};
use super::target::TargetArgs;
use crate::BenchError;
use end_to_end::Events;
use race::Time;
use serde::Serialize;
use std::path::PathBuf;
use stream::Stream;

/// Build, read and convert structured values, beside other formats
///
/// Four parts: the two small values of Zeek Broker's own benchmark, beside its figures; a stream of DNS events, beside
/// JSON (and, in a binary built with `--features compare`, simd-json, sonic-rs, MessagePack and CBOR); and the same
/// events through a broker, built by one process and visited by another. Times are CPU time of one thread, the
/// contenders taking turns.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench values
  rawline bench values --events dns.log --count 53615 --json values.json
  rawline bench values --end-to-end-events 0           without a broker")]
pub struct Args {
    /// A dns.log that Zeek wrote as JSON; made up if none is given
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,

    /// Events in the stream: so many that they do not stay in the processor's nearest cache
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,

    /// Turns of each contender; the median counts
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Events of one run through a broker; 0 leaves that out
    #[arg(long, default_value_t = 4_000_000)]
    pub end_to_end_events: u64,

    /// Runs through a broker that count
    #[arg(short, long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// The events made up follow from it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the same figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Which broker, with which settings.
    #[command(flatten)]
    #[serde(flatten)]
    pub target: TargetArgs,
}

/// What `--json` holds.
#[derive(Debug, Serialize)]
struct Figures {
    calibration: Vec<Time>,
    /// How much slower this machine is than the one of the original's figures, by serde_json: encode and decode.
    slowness: [f64; 2],
    small: Vec<Time>,
    stream: stream::Figures,
    end_to_end: Vec<end_to_end::Figures>,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = Report::begin("values", args.target.storage_folder().as_deref(), &args)?;
    let (events, json) = match &args.events {
        Some(path) => dns::read(path, args.count as usize)?,
        None => dns::generate(args.seed, args.count as usize),
    };
    let rounds = args.rounds;
    let bar = progress("contenders take turns".to_owned(), u64::from(rounds) * 6);
    let turns = bar.clone();
    let count = events.len();
    let (calibration, small, stream) = blocking(move || {
        let stream = Stream::new(events, json);
        Ok((small::calibrate(rounds, &turns), small::measure(rounds, &turns), stream.measure(rounds, &turns)))
    })
    .await?;
    bar.finish_and_clear();
    let slowness = slowness(&calibration);
    print_small(&calibration, slowness, &small);
    print_stream(&stream, count);

    let mut end_to_end = Vec::new();
    if args.end_to_end_events > 0 {
        let target = args.target.start().await?;
        println!(
            "\nend to end: one process builds and appends, a broker stores ({:?}), one process reads and visits every field",
            args.target.durability
        );
        for events in [Events::Event1, Events::Dns] {
            let measured = end_to_end::measure(&target, events, args.end_to_end_events, args.runs, args.seed).await;
            end_to_end.push(measured.map_err(|error| target.explain(error))?);
        }
    }
    report.finish(&Figures { calibration, slowness, small, stream, end_to_end }, args.json.as_deref())
}

fn slowness(calibration: &[Time]) -> [f64; 2] {
    let [encode, decode] = small::CALIBRATION_NS;
    let measured = |place: usize| calibration.get(place).map_or(f64::NAN, |time| time.median_ns);
    [measured(0) / encode, measured(1) / decode]
}

fn print_small(calibration: &[Time], slowness: [f64; 2], small: &[Time]) {
    let [encode, decode] = slowness;
    for (time, slowness) in calibration.iter().zip(slowness) {
        println!(
            "{:<32} {:>9.1} ns   {slowness:.2} of the machine of the original's figures",
            time.name, time.median_ns
        );
    }
    println!(
        "\n{:<32} {:>9} {:>17} {:>12} {:>7}",
        "small values, ns", "median", "[min to max]", "the original", "ratio"
    );
    for (time, (_, original)) in small.iter().zip(small::ORIGINAL_NS) {
        // What writes is compared by what writes, what reads by what reads.
        let slowness = if time.name.contains("build") || time.name.contains("encode") { encode } else { decode };
        println!(
            "{:<32} {:>9.1} {:>17} {original:>12.1} {:>7.1}",
            time.name,
            time.median_ns,
            format!("[{:.1} to {:.1}]", time.min_ns, time.max_ns),
            original * slowness / time.median_ns
        );
    }
    println!("ratio: how many times faster than the original, both as on this machine");
}

fn print_stream(stream: &stream::Figures, count: usize) {
    println!("\n{:<36} {:>12} {:>12}", format!("{count} DNS events, size"), "bytes", "an event");
    for size in &stream.sizes {
        println!("{:<36} {:>12} {:>12.1}", size.name, size.bytes, size.bytes as f64 / count as f64);
    }
    print_race("encode, from a struct", &stream.encode);
    print_race("decode and read ten fields", &stream.ten_fields);
    print_race("decode and visit every field", &stream.every_field);
}

/// The first contender is what the others are compared with.
fn print_race(what: &str, times: &[Time]) {
    let first = times.first().map_or(f64::NAN, |time| time.median_ns);
    println!("\n{what:<36} {:>9} {:>20} {:>7}  check", "ns/event", "[min to max]", "ratio");
    let mut sorted: Vec<&Time> = times.iter().collect();
    sorted.sort_by(|left, right| left.median_ns.total_cmp(&right.median_ns));
    for time in sorted {
        let spread = format!("[{:.1} to {:.1}]", time.min_ns, time.max_ns);
        println!(
            "{:<36} {:>9.1} {spread:>20} {:>7.2}  {:016x}",
            time.name,
            time.median_ns,
            first / time.median_ns,
            time.check
        );
    }
}
