//! Reads the messages, checks and times each format, and shows the figures.

use crate::args::Args;
use crate::error::LabError;
use crate::formats::{SchemaFiles, Subject};
use crate::hints;
use crate::measure::{self, measure};
use crate::output::Outcome;
use crate::path::FieldPath;
use crate::sample::{Bounds, Sample};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Measures what the arguments name, and writes table, page and figures.
pub fn run(args: &Args) -> Result<(), LabError> {
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
