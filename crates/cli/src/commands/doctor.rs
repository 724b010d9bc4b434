//! `rawline doctor`: checks a storage from end to end.

use super::list::FormatArgs;
use super::storage::StorageArg;
use super::stored::{Stored, with_progress};
use super::{CommandError, print};
use indicatif::BinaryBytes;
use rawline_broker::doctor::{Finding, Level, check};
use rawline_broker::store::disk::{Facts, facts};
use rawline_broker::store::{Storage, s3};
use rawline_broker::{Clock, Meter, SystemClock, raise_files_limit};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # Check the storage of a broker, whether it runs or not
  rawline doctor --storage /var/lib/rawline

  # A bucket, with the same variables as the broker
  rawline doctor --storage s3://my-bucket/events

  # A backup
  rawline doctor --storage s3://my-backups/events

  # Only what isn't as it should be, for a script
  rawline doctor --json | jq '.[] | select(.result != \"ok\")'

Exit codes: 0 nothing is damaged, 1 something is damaged or can't be checked, 2 wrong usage.";

/// Check a storage: its chain of objects, every checksum, snapshots, clocks, permissions and the disk
///
/// Reads everything that is stored. A broker may run on the storage. Nothing is changed; in a bucket, a few small
/// objects are created and deleted again, to see whether it creates an object only once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Storage to check: a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    storage: StorageArg,

    /// Create nothing in the bucket, with credentials that may only read
    #[arg(long)]
    no_probe: bool,

    #[command(flatten)]
    output: FormatArgs,
}

/// A file system with less than this part of its size free gets a warning.
const FREE_PART_MIN: u64 = 20;

/// Prints the result of each check.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let findings = findings(&args).await?;
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (failed, warnings) = (count(Level::Failed), count(Level::Warning));
    if args.output.is_json() {
        let found: Vec<_> = (findings.iter())
            .map(|found| json!({"result": found.level.name(), "check": found.subject, "text": found.text}))
            .collect();
        print(&format!("{:#}\n", json!(found)))?;
    } else {
        let mut text = String::new();
        for Finding { level, subject, text: found } in &findings {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{:<8} {subject}: {found}", level.name());
        }
        print(&text)?;
    }
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let summary = format!("{}, {}", plural(findings.len(), "check"), plural(warnings, "warning"));
    if failed > 0 {
        return Err(CommandError::Failed(format!("{summary}, {failed} failed: see the lines that begin with failed")));
    }
    eprintln!("rawline: {summary}, nothing is damaged");
    Ok(())
}

async fn findings(args: &Args) -> Result<Vec<Finding>, CommandError> {
    let stored = Stored::new(&args.storage)?;
    let storage = match stored.view().await {
        Ok(storage) => storage,
        Err(error) => return Ok(vec![Finding::failed("storage", error.message)]),
    };
    let mut findings = vec![described(args, &stored, &storage)];
    match stored.bucket() {
        None => findings.extend(of_directory(args)),
        Some(_) if args.no_probe => {}
        Some(config) => {
            findings.push(match s3::probe(config.map_err(|error| CommandError::Usage(error.message))?).await {
                Ok(()) => {
                    Finding::ok("bucket", "creates an object only if it doesn't exist, of several writers for one")
                }
                Err(error) => Finding::failed("bucket", error.message),
            })
        }
    }
    let meter = Meter::default();
    let reopen = || stored.view();
    let work = check(&storage, &reopen, SystemClock.now_us(), &meter);
    findings.extend(with_progress("reading", &meter, work).await);
    Ok(findings)
}

/// What the storage says of itself.
fn described(args: &Args, stored: &Stored, storage: &Storage) -> Finding {
    let journals = storage.journals.len();
    let kind = if args.storage.is_bucket() { "bucket" } else { "directory" };
    let mut text = format!(
        "{kind} {}, id {}, {journals} journal{}",
        args.storage,
        storage.id,
        if journals == 1 { "" } else { "s" }
    );
    if let Some(of) = storage.backup_of {
        let _ = write!(text, ", a backup of {of}");
    }
    if stored.is_in_use() {
        text.push_str("; a broker runs on it");
    }
    Finding::ok("storage", text)
}

/// The disk and the files of a directory.
fn of_directory(args: &Args) -> Vec<Finding> {
    let facts = match facts(args.storage.name.as_ref()) {
        Ok(facts) => facts,
        Err(error) => return vec![Finding::failed("directory", error.message)],
    };
    let Facts { free_bytes, total_bytes, is_writable, torn, given_up } = facts;
    let mut findings = Vec::new();
    let free = format!("{} of {} are free", BinaryBytes(free_bytes), BinaryBytes(total_bytes));
    findings.push(if free_bytes < total_bytes / FREE_PART_MIN {
        let advice = "appends are refused when it is full: delete records (`rawline topic trim`, retention), or get a \
                      larger disk";
        Finding::warning("disk", format!("{free}; {advice}"))
    } else {
        Finding::ok("disk", free)
    });
    findings.push(if is_writable {
        Finding::ok("permissions", "this user can write to the directory")
    } else {
        let text = "this user can't write to the directory, and a broker needs to: run the check and the broker as \
                    the same user, or change the owner";
        Finding::warning("permissions", text)
    });
    let files = raise_files_limit();
    findings.push(if files < FILES_MIN {
        let text = format!("a process may open {files} files; raise the limit with `ulimit -n` to {FILES_MIN} or more");
        Finding::warning("open files", text)
    } else {
        Finding::ok("open files", format!("a process may open {files} files"))
    });
    let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if !torn.is_empty() {
        let text = "a crash has left incomplete writes, which no start reads; delete them when you have looked at them";
        findings.push(Finding::warning("torn files", format!("{}: {text}", names(&torn))));
    }
    if !given_up.is_empty() {
        let text = "damaged objects are given up; delete the files when a broker has started";
        findings.push(Finding::warning("given up", format!("{}: {text}", names(&given_up))));
    }
    findings
}

/// Connections and segments need as many.
const FILES_MIN: usize = 4096;
