//! `rawline bench values`: the cost of structured values compared with JSON, MessagePack, CBOR and Zeek Broker.

mod compare;
mod dns;
mod end_to_end;
mod race;
mod small;
mod stream;
mod ten;
mod visit;

pub use end_to_end::{ProducerArgs, produce};

use super::args::OutputArgs;
use super::blocking;
use super::history::{MainFigures, Measured};
use super::report::{Report, progress};
use super::target::TargetArgs;
use crate::BenchError;
use end_to_end::Events;
use race::Time;
use serde::Serialize;
use std::path::PathBuf;
use stream::Stream;

/// Measure structured values: building, reading and converting, compared with other formats
///
/// Three parts: the two small values of Zeek Broker's own benchmark, with its figures; a stream of DNS events, compared
/// with JSON (serde_json, simd-json, sonic-rs), MessagePack and CBOR; and events through a broker, built by one process
/// and visited by another. The first two measure CPU time of one thread, and the contenders take turns.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(after_help = "Examples:
  rawline bench values
  rawline bench values --events dns.log --count 53615 --json values.json
  rawline bench values --end-to-end-events 0           without a broker
  rawline bench values --append history.jsonl")]
pub struct Args {
    /// File of DNS events: a dns.log that Zeek wrote as JSON [default: generated events]
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Number of events in the stream; enough that they don't stay in the CPU's L1 cache
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,

    /// Number of turns of each contender; their median is reported
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of events per run through a broker; 0 skips that part
    #[arg(long, value_name = "N", default_value_t = 4_000_000)]
    end_to_end_events: u64,

    /// Number of measured runs through a broker
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Seed of the generated events
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Where the figures go.
    #[command(flatten)]
    #[serde(flatten)]
    output: OutputArgs,

    /// Which broker, with which settings.
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
}

/// Contents of `--json`.
#[derive(Debug, Serialize)]
struct Figures {
    calibration: Vec<Time>,
    /// How much slower this machine is than the one of Zeek Broker's figures, by serde_json: encode and decode.
    slowness: [f64; 2],
    small: Vec<Time>,
    stream: stream::Figures,
    end_to_end: Vec<end_to_end::Figures>,
}

/// Runs the benchmark.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = Report::begin("values", args.target.storage_directory().as_deref(), &args, &args.output)?;
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
            "\nend to end: one process builds and appends, a broker stores ({}), one process visits every field",
            args.target.durability
        );
        for events in [Events::Event1, Events::Dns] {
            let measured = end_to_end::measure(&target, events, args.end_to_end_events, args.runs, args.seed).await;
            end_to_end.push(measured.map_err(|error| target.explain(error))?);
        }
    }
    report.finish(&Figures { calibration, slowness, small, stream, end_to_end })
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        let races = [
            ("calibration", &self.calibration),
            ("small", &self.small),
            ("encode", &self.stream.encode),
            ("ten_fields", &self.stream.ten_fields),
            ("every_field", &self.stream.every_field),
        ];
        for (race, times) in races {
            for time in times {
                figures.add(&format!("{race} {} ns", time.name), time.median_ns);
            }
        }
        for size in &self.stream.sizes {
            figures.add(&format!("stream {} bytes", size.name), size.bytes as f64);
        }
        for part in &self.end_to_end {
            figures.add(&format!("end to end {} events per second", part.events.name()), part.events_per_second.avg);
        }
        figures
    }
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
            "{:<32} {:>9.1} ns   {slowness:.2} x the time on the machine of Zeek Broker's figures",
            time.name, time.median_ns
        );
    }
    println!(
        "\n{:<32} {:>9} {:>17} {:>12} {:>7}",
        "small values, ns", "median", "[min to max]", "Zeek Broker", "ratio"
    );
    for (time, (_, original)) in small.iter().zip(small::ORIGINAL_NS) {
        // Writing is scaled by serde_json's writing, reading by its reading.
        let slowness = if time.name.contains("build") || time.name.contains("encode") { encode } else { decode };
        println!(
            "{:<32} {:>9.1} {:>17} {original:>12.1} {:>7.1}",
            time.name,
            time.median_ns,
            format!("[{:.1} to {:.1}]", time.min_ns, time.max_ns),
            original * slowness / time.median_ns
        );
    }
    println!("ratio: how many times faster than Zeek Broker, its figures scaled to this machine");
}

fn print_stream(stream: &stream::Figures, count: usize) {
    println!("\n{:<36} {:>12} {:>12}", format!("{count} DNS events, size"), "bytes", "per event");
    for size in &stream.sizes {
        println!("{:<36} {:>12} {:>12.1}", size.name, size.bytes, size.bytes as f64 / count as f64);
    }
    print_race("encode, from a struct", &stream.encode);
    print_race("decode and read ten fields", &stream.ten_fields);
    print_race("decode and visit every field", &stream.every_field);
}

/// Ratios are to the first contender.
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
