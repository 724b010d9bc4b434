//! `rawline restore`: makes a storage of a backup, or of another storage.

use super::backup::report;
use super::list::FormatArgs;
use super::storage::StorageArg;
use super::stored::{Stored, with_progress};
use super::{CommandError, parse_time, print, print_json};
use jiff::Timestamp;
use rawline_broker::Meter;
use rawline_broker::backup::{points, restore, verify};
use rawline_broker::store::{Purpose, StoreError};
use rawline_contract::timestamp;

const EXAMPLES: &str = "\
Examples:
  # Make a storage of the newest point of a backup
  rawline restore s3://my-backups/events --storage /var/lib/rawline

  # Show its points; restore one of them
  rawline restore s3://my-backups/events --list
  rawline restore s3://my-backups/events --at 2026-11-02T12:00:00Z --storage /var/lib/rawline

  # Move a broker from a directory to a bucket: stop it first
  rawline restore /var/lib/rawline --storage s3://my-bucket/events

Exit codes: 0 the storage is complete and verified, 1 it isn't, 2 wrong usage.";

/// Make a storage of a backup, as it was at a point in time; or of another storage, to move it
///
/// The storage must not exist yet. It has the records of the backup at the same offsets, its topics and its groups, and
/// another id: it is a storage that begins with this state, and its backups need another place.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Backup, or storage to move: a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX
    #[arg(value_name = "BACKUP")]
    backup: StorageArg,

    /// Storage to create: a directory or bucket prefix that doesn't exist yet
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    storage: StorageArg,

    /// Restore the newest point of the backup that isn't later: -1h, 2026-11-02, RFC 3339, Unix seconds
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    at: Option<Timestamp>,

    /// Show the points of the backup and restore nothing
    #[arg(long, conflicts_with = "at")]
    list: bool,

    /// Don't read the new storage again
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    output: FormatArgs,
}

/// Creates the storage.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let failed = |error: StoreError| CommandError::Failed(error.message);
    let from = Stored::new(&args.backup)?;
    let source = from.view().await.map_err(failed)?;
    if source.backup_of.is_none() && (args.list || args.at.is_some()) {
        return Err(CommandError::Usage(format!(
            "{} is a storage of brokers and no backup: it has no points; omit --list and --at to copy it as it is",
            args.backup
        )));
    }
    if args.list {
        let times: Vec<String> =
            points(&source).await.map_err(failed)?.into_iter().map(|us| timestamp(us).to_string()).collect();
        return if args.output.is_json() { print_json(&times) } else { print(&lines(&times)) };
    }
    if source.backup_of.is_none() && from.is_in_use() {
        eprintln!(
            "rawline: a broker runs on {}: what it stores from now on isn't copied; stop it first to move the storage",
            args.backup
        );
    }
    let to = Stored::new(&args.storage)?.open(Purpose::Broker, source.journals.len()).await.map_err(failed)?;
    let at_us = args.at.map(|at| u64::try_from(at.as_microsecond()).unwrap_or_default());
    let meter = Meter::default();
    let copied = with_progress("copying", &meter, restore(&source, at_us, &to, &meter)).await.map_err(failed)?;
    if !args.no_verify {
        let meter = Meter::default();
        with_progress("verifying", &meter, verify(&to, &copied, &meter)).await.map_err(failed)?;
    }
    report(&copied, args.output)
}

fn lines(times: &[String]) -> String {
    times.iter().map(|time| format!("{time}\n")).collect()
}
