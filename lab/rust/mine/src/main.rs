//! `rawline-lab`: measures wire formats on your own messages and recommends one.

mod candidate;
mod choose;
mod error;
mod formats;
mod hints;
mod measure;
mod output;
mod path;
mod sample;
mod shape;

use clap::Parser;
use error::LabError;
use formats::{SchemaFiles, Subject};
use measure::measure;
use output::Outcome;
use path::FieldPath;
use rawline_value::{FieldHint, Hint};
use sample::{Bounds, Sample};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

// Paragraphs are one line each: the terminal's width wraps them.
const HELP: &str = "\
The sample is a JSON object a line. No schema is needed: for Avro and Protobuf one is inferred, and the page shows it.

Examples:
  rawline-lab --sample orders.jsonl
  rawline-lab --sample orders.jsonl --schema order.avsc --field customer.name --output orders.html
  rawline-lab --sample orders.jsonl --schema order.proto --message shop.Order
  zcat dns.json.gz | rawline-lab --sample - --as id.orig_h=address --as ts=timestamp

Measured are the formats that need no schema or take one when the program runs: JSON, MessagePack, CBOR, Rawline's \
values, Avro and Protobuf. Libraries that need code made from a schema (SBE, FlatBuffers, Cap'n Proto, and Protobuf by \
prost) are faster than these; `make lab` measures them on its own messages.

What is printed: bytes a message; zstd: each message compressed alone; dict: alone, with a dictionary of other \
messages; batch: all together. Encode, decode and field are medians, with the half of their interval of 95 %. What it \
would choose: the row with the smallest product of bytes and time (encode and decode).

Exit codes:
  0  measured
  1  a file can't be read or written
  2  the arguments are wrong
  3  the sample can't be measured: it is empty, not JSON, or its fields don't fit --field or --as
  4  the schema is invalid, or the messages don't match it";

/// Measure wire formats on your own messages
#[derive(Debug, Parser)]
#[command(name = "rawline-lab", version, after_help = HELP)]
struct Args {
    /// Your messages, a JSON object a line; - is stdin
    #[arg(long, value_name = "FILE.jsonl")]
    sample: PathBuf,
    /// Their schema, .avsc or .proto; may be given once of each
    #[arg(long = "schema", value_name = "S.avsc|S.proto")]
    schemas: Vec<PathBuf>,
    /// The message in the .proto; needed if there are several
    #[arg(long, value_name = "NAME")]
    message: Option<String>,
    /// The one field to read, such as customer.name [default: a string in the message's middle]
    #[arg(long, value_name = "PATH")]
    field: Option<String>,
    #[arg(long = "as", value_name = "FIELD=TYPE", help = types_help())]
    types: Vec<FieldHint>,
    /// Write the page there
    #[arg(long, value_name = "PAGE.html")]
    output: Option<PathBuf>,
    /// Write the figures there, a result line each
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Maximum number of messages to measure
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000))]
    messages: u64,
    /// Maximum size of the sample to read in MB; of a larger file, places spread over it
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    memory_mb: u64,
}

fn types_help() -> String {
    format!(
        "What our values keep a field as: {}; port@FIELD has its protocol in that field, a number of a time is in \
         seconds; may be given many times",
        Hint::names()
    )
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rawline-lab: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Args) -> Result<(), LabError> {
    let files = schema_files(args)?;
    show("reading the sample");
    let bounds = Bounds { bytes_max: args.memory_mb << 20, messages_max: args.messages as usize };
    let sample = Sample::read(&args.sample, bounds)?;
    let path = match &args.field {
        Some(text) => FieldPath::find(text, &sample.shape)?,
        None => FieldPath::by_default(&sample.shape)?,
    };
    show("writing and reading every message once");
    let subject = Subject::new(&sample, path, args.types.clone(), &files)?;
    let mut attempts = subject.attempts()?;
    let mut candidates = Vec::new();
    let mut rows = Vec::new();
    let mut refused = Vec::new();
    for attempt in attempts.drain(..) {
        match attempt.candidate {
            Ok(candidate) => {
                candidates.push(candidate);
                rows.push((attempt.row, attempt.version));
            }
            Err(why) => refused.push((attempt.row, why)),
        }
    }
    let timings = measure(&mut candidates, Duration::from_secs(args.seconds), |done| {
        // Between rounds, so that writing is not measured.
        show(&format!("measuring: round {done} of {}", measure::ROUNDS));
    });
    show("compressing");
    let mut outcome = Outcome::new(&subject, args.field.is_none(), refused);
    for (((row, version), candidate), timings) in rows.into_iter().zip(&candidates).zip(timings) {
        outcome.add(row, version, candidate.wire(), timings)?;
    }
    show("");
    outcome.notes.extend(hints::of(&sample, &args.types));
    let name = args.sample.file_name().map_or("stdin".to_owned(), |name| name.to_string_lossy().into_owned());
    let case = if name == "-" { "stdin".to_owned() } else { name };
    if let Some(path) = &args.json {
        write(path, &outcome.lines_text(&case)?)?;
    }
    if let Some(path) = &args.output {
        write(path, &outcome.page(&case, &subject))?;
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(outcome.table(&case).as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| LabError::File { path: "stdout".to_owned(), source }),
    }
}

fn schema_files(args: &Args) -> Result<SchemaFiles, LabError> {
    let mut files = SchemaFiles { message: args.message.clone(), ..SchemaFiles::default() };
    for path in &args.schemas {
        let wrong = |why: &str| LabError::Schema(format!("{}: {why}", path.display()));
        let place = match path.extension().and_then(|extension| extension.to_str()) {
            Some("avsc") => &mut files.avro,
            Some("proto") => &mut files.proto,
            _ => return Err(wrong("a schema's file name must end in .avsc or .proto")),
        };
        if place.replace(path.clone()).is_some() {
            return Err(wrong("a schema of this kind was already given"));
        }
    }
    if files.message.is_some() && files.proto.is_none() {
        return Err(LabError::Schema("--message names a message of a .proto: give it with --schema".to_owned()));
    }
    Ok(files)
}

/// Shows the progress in one line of stderr, if that is a terminal; an empty text clears the line.
fn show(text: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        // Failing to show progress is not a reason to stop.
        let _ = write!(stderr, "\r\x1b[2K{text}").and_then(|()| stderr.flush());
    }
}

fn write(path: &PathBuf, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|source| LabError::File { path: path.display().to_string(), source })
}
