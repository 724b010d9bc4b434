//! `lab-report`: sizes of the drivers' bytes, the page, the tables of the documentation, and the trend of benchmarks.

use clap::{Parser, Subcommand};
use lab_report::article::Article;
use lab_report::evolution::Evolution;
use lab_report::trend::{self, BenchLine, Selection};
use lab_report::{Check, Line, Report, docs, page, read, sizes};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
In this order, from the repository's root, after the three languages' drivers:
  lab-report sizes    size lines of lab/out/wire, in lab/out/results.jsonl
  lab-report page     lab/out/report.html
  lab-report docs     tables and charts of docs/wire-formats.md

The newest complete full run is shown, or the newest quick one if there is no full one. --run selects others, also
incomplete ones.

Exit codes: 0 done; 1 a file could not be read or written; 2 the arguments are wrong.";

/// Turn the laboratory's result lines into a page, charts and tables
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Args {
    /// The folder of the laboratory
    #[arg(long, global = true, default_value = "lab", value_name = "DIR")]
    lab: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the bytes in out/wire, and append size lines to out/results.jsonl
    Sizes {
        /// Only the messages that a quick run times: training a dictionary for each of the others takes a minute
        #[arg(long)]
        quick: bool,
    },
    /// Write the page
    Page {
        /// The page to write [default: LAB/out/report.html]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// A run to show; can be repeated
        #[arg(long = "run", value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Fill the tables of a document between their markers, and write its charts to its folder
    Docs {
        /// The document
        #[arg(long, default_value = "docs/wire-formats.md", value_name = "FILE")]
        document: PathBuf,
        /// A run to show; can be repeated
        #[arg(long = "run", value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Draw the broker's benchmarks over time, from docs/benchmarks.jsonl or what `rawline bench --append FILE` writes
    Trend {
        /// JSON lines, one for each run
        #[arg(value_name = "FILE")]
        runs: PathBuf,
        /// The SVG to write [default: LAB/out/trend.svg]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Only figures with this text in their benchmark, name, settings or machine
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        only: String,
        /// Only figures with at least this number of runs
        #[arg(long, value_name = "N", default_value_t = 1)]
        runs_min: usize,
    },
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab-report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    match &args.command {
        Command::Sizes { quick } => write_sizes(&args.lab, *quick),
        Command::Page { output, runs } => {
            let report = report(&args.lab, runs)?;
            let path = output.clone().unwrap_or_else(|| args.lab.join("out/report.html"));
            let html = page::html(&report);
            std::fs::write(&path, &html).map_err(|error| format!("{}: {error}", path.display()))?;
            let runs: BTreeSet<&str> = report.sources.iter().map(|source| source.run.as_str()).collect();
            let runs: Vec<&str> = runs.into_iter().collect();
            let (figures, kilobytes) = (report.figures.len(), html.len() / 1000);
            println!("{}: {figures} figures of run {}, {kilobytes} kB", path.display(), runs.join(" and "));
            Ok(())
        }
        Command::Docs { document, runs } => {
            let report = report(&args.lab, runs)?;
            let article = Article::read(&args.lab.join("report/article.json"))?;
            let missing =
                docs::fill(document, &report, &article).map_err(|error| format!("{}, {error}", document.display()))?;
            println!("{}: filled", document.display());
            if !missing.is_empty() {
                eprintln!("lab-report: nothing was measured for the charts {}", missing.join(", "));
            }
            Ok(())
        }
        Command::Trend { runs, output, only, runs_min } => {
            let path = output.clone().unwrap_or_else(|| args.lab.join("out/trend.svg"));
            write_trend(runs, &path, &Selection { only: only.clone(), runs_min: *runs_min })
        }
    }
}

fn write_trend(runs: &Path, path: &Path, selection: &Selection) -> Result<(), String> {
    let lines = read::lines::<BenchLine>(runs).map_err(|error| error.to_string())?;
    for (number, why) in &lines.bad {
        eprintln!("lab-report: {}, line {number} is skipped: {why}", runs.display());
    }
    let Some(drawing) = trend::draw(&lines.items, selection) else {
        return Err(format!(
            "{} has no selected run with figures: append one with `rawline bench --append FILE`, or select others",
            runs.display()
        ));
    };
    std::fs::write(path, drawing.stand_alone()).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}: {} runs", path.display(), lines.items.len());
    Ok(())
}

fn report(lab: &Path, runs: &[String]) -> Result<Report, String> {
    let results = lab.join("out/results.jsonl");
    let lines = read::lines::<Line>(&results).map_err(|error| error.to_string())?;
    let conformance = lab.join("out/conformance.jsonl");
    let checks = read::lines::<Check>(&conformance).map_err(|error| error.to_string())?;
    let skipped = [(&results, &lines.bad), (&conformance, &checks.bad)];
    for (path, bad) in skipped {
        for (number, why) in bad {
            eprintln!("lab-report: {}, line {number} is skipped: {why}", path.display());
        }
    }
    if lines.items.is_empty() {
        return Err(format!("{} has no results: run `make lab-quick` or `make lab` first", results.display()));
    }
    if let Some(run) = runs.iter().find(|run| lines.items.iter().all(|line| line.run != **run)) {
        return Err(format!("{} has no run {run:?}", results.display()));
    }
    let mut report = Report::new(&lines.items, &checks.items, runs);
    for bad in &report.bad {
        eprintln!("lab-report: {bad}; skipped");
    }
    report.title = "Wire formats in Rust, Java and Python".to_owned();
    report.words = vec![
        "The time that each library takes to write a message, read all of it, and read one field of it; and the size \
         of its bytes. Select messages, size and operation; hide languages and formats."
            .to_owned(),
    ];
    report.evolution = Evolution::read(&lab.join("evolution/expected.json"))?;
    if report.figures.is_empty() {
        eprintln!("lab-report: no row has both a result and a passed conformance check; the page lists the reasons");
    }
    Ok(report)
}

fn write_sizes(lab: &Path, quick: bool) -> Result<(), String> {
    let wire = lab.join("out/wire");
    let environment = |name: &str| std::env::var(name).unwrap_or_default();
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let blank = sizes::blank(&environment("LAB_RUN"), &environment("LAB_COMMIT"), &time, quick);
    let (lines, bad) = sizes::of_folder(&wire, &blank)?;
    for bad in &bad {
        eprintln!("lab-report: {bad}; skipped");
    }
    if lines.is_empty() {
        return Err(format!("{} has no messages: run the drivers' `conform write` first", wire.display()));
    }
    let path = lab.join("out/results.jsonl");
    let mut text = String::new();
    for line in &lines {
        text.push_str(&serde_json::to_string(line).map_err(|error| error.to_string())?);
        text.push('\n');
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}: {} size lines", path.display(), lines.len());
    Ok(())
}
