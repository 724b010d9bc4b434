//! The binary `lab-rust`: conformance and measurement of the rows of Rust.

use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgGroup, Args, Parser, Subcommand};
use lab_formats::bench::{self, Extent};
use lab_formats::files::Files;
use lab_formats::{allocated, conform, rows, versions};
use regex::Regex;

#[global_allocator]
static ALLOCATOR: allocated::Counting = allocated::Counting;

/// Measures the wire formats of Rust on the laboratory's messages.
///
/// Make the messages first (python3 lab/cases/generate.py), then check that every
/// language reads what the others write, then measure:
///
///   lab-rust conform write        what Rust writes, for the other languages
///   lab-rust conform read         what all languages wrote, read and compared
///   lab-rust bench --quick        two cases of the base size, in under a minute
///   lab-rust bench --full         everything, in about ten minutes
///   lab-rust bench --full --filter 'zeek.base (json|values) .* field$'
///
/// Memory comes from the system's allocator. A run takes its id and commit from
/// the variables LAB_RUN and LAB_COMMIT.
#[derive(Parser)]
#[command(version, verbatim_doc_comment)]
struct Arguments {
    /// The folder with cases/ (messages), wire/ (bytes), conformance.jsonl and results.jsonl
    #[arg(long, global = true, default_value = "lab/out")]
    out: PathBuf,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write or read the bytes by which the languages are compared
    #[command(subcommand)]
    Conform(Conform),
    /// Measure, and append a line a figure to results.jsonl; progress goes to stderr
    Bench(Bench),
    /// List the rows, or with --figures every figure of a full run as --filter sees it
    Rows {
        /// List figures
        #[arg(long)]
        figures: bool,
    },
}

#[derive(Subcommand)]
enum Conform {
    /// Write every case with every row to wire/rust
    Write,
    /// Read what is in wire/ with every row of the same format; append a line a pair to conformance.jsonl
    Read,
}

#[derive(Args)]
#[group(skip)]
#[command(group(ArgGroup::new("extent").required(true)))]
struct Bench {
    /// The base size of zeek and pingpong
    #[arg(long, group = "extent")]
    quick: bool,
    /// Every case, size and operation
    #[arg(long, group = "extent")]
    full: bool,
    /// Only figures whose name this regular expression finds, such as 'zeek.base json .* decode$'
    #[arg(long)]
    filter: Option<Regex>,
}

fn main() -> Result<()> {
    let Arguments { out, verb } = Arguments::parse();
    let files = Files::new(&out);
    match verb {
        Verb::Conform(Conform::Write) => eprintln!("wrote {} files", conform::write(&files)?),
        Verb::Conform(Conform::Read) => {
            let (good, bad) = conform::read(&files)?;
            eprintln!("{good} pairs agree, {bad} do not");
        }
        Verb::Bench(Bench { quick, filter, .. }) => {
            let extent = if quick { Extent::Quick } else { Extent::Full };
            bench::run(&files, extent, filter.as_ref())?;
        }
        Verb::Rows { figures: true } => bench::names().iter().for_each(|name| println!("{name}")),
        Verb::Rows { figures: false } => {
            for entry in rows::all().iter().filter(|entry| entry.case == "pingpong") {
                let operations: Vec<&str> = entry.row.operations.iter().map(|operation| operation.name()).collect();
                let (row, version) = (entry.row, versions::of(entry.row.library));
                println!("{:<16} {:<24} {:<10} {}", row.format, row.name(), version, operations.join(" "));
            }
        }
    }
    Ok(())
}
