//! `rawline backup`: copies a storage to another place, and what is new since then.

use super::list::FormatArgs;
use super::storage::StorageArg;
use super::stored::{Stored, with_progress};
use super::{CommandError, print, print_json};
use indicatif::BinaryBytes;
use rawline_broker::Meter;
use rawline_broker::backup::{Copied, back_up, tidy, verify};
use rawline_broker::store::{Purpose, StoreError};
use rawline_contract::timestamp;
use serde_json::json;
use std::num::NonZeroUsize;

const EXAMPLES: &str = "\
Examples:
  # Copy a directory, with or without its broker, to another disk
  rawline backup /mnt/backup/events --storage /var/lib/rawline

  # The same into a bucket; each further run copies what is new
  rawline backup s3://my-backups/events --storage /var/lib/rawline

  # Every hour by cron; keep the points of the last week
  rawline backup s3://my-backups/events --storage s3://my-bucket/events --keep 168

  # Show the points that can be restored
  rawline restore s3://my-backups/events --list

Exit codes: 0 the backup is complete and verified, 1 it isn't, 2 wrong usage.";

/// Copy a storage to a directory or bucket, and what is new with each further run; brokers may run on it
///
/// The copy has everything: records at their offsets, topics, groups with their offsets, producers and open
/// transactions. Each run adds a point that `rawline restore` can restore.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Place of the backup: a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX. Created by
    /// the first run
    #[arg(value_name = "BACKUP")]
    backup: StorageArg,

    /// Storage to copy
    #[arg(long, value_name = "DIR|URL", env = "RAWLINE_STORAGE", default_value = "rawline-data")]
    storage: StorageArg,

    /// Keep the newest N points, and delete older ones with what only they need [default: keep all]
    #[arg(long, value_name = "N")]
    keep: Option<NonZeroUsize>,

    /// Don't read the new objects of the backup again
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    output: FormatArgs,
}

/// Brings the backup up to date.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let (from, to) = (Stored::new(&args.storage)?, Stored::new(&args.backup)?);
    let failed = |error: StoreError| CommandError::Failed(error.message);
    let source = from.view().await.map_err(failed)?;
    if let Some(of) = source.backup_of {
        return Err(CommandError::Usage(format!(
            "{} is a backup (of {of}) itself; copy its files, or name the storage of a broker with --storage",
            args.storage
        )));
    }
    let (id, journals) = (source.id, source.journals.len());
    drop(source);
    let backup = to.open(Purpose::Backup { of: id }, journals).await.map_err(failed)?;
    let meter = Meter::default();
    let copied = with_progress("copying", &meter, back_up(&|| from.view(), &backup, &meter)).await.map_err(failed)?;
    if !args.no_verify {
        let meter = Meter::default();
        with_progress("verifying", &meter, verify(&backup, &copied, &meter)).await.map_err(failed)?;
    }
    let keep = args.keep.map_or(usize::MAX, NonZeroUsize::get);
    let (points, objects) = tidy(&backup, keep).await.map_err(failed)?;
    report(&copied, args.output)?;
    if points > 0 {
        eprintln!("rawline: {points} older points deleted, and {objects} objects that only they needed");
    }
    Ok(())
}

/// Prints what was copied.
pub fn report(copied: &[Copied], output: FormatArgs) -> Result<(), CommandError> {
    if output.is_json() {
        let journals: Vec<_> = ((0..).zip(copied))
            .map(|(journal, copied): (u32, _)| {
                json!({
                    "journal": journal,
                    "next": copied.next,
                    "newest": timestamp(copied.newest_us).to_string(),
                    "copied_bytes": copied.bytes,
                    "objects": copied.objects,
                    "is_new": copied.is_new,
                })
            })
            .collect();
        return print_json(&journals);
    }
    let bytes = copied.iter().map(|copied| copied.bytes).sum();
    let objects: u64 = copied.iter().map(|copied| copied.objects).sum();
    let newest_us = copied.iter().map(|copied| copied.newest_us).max().unwrap_or_default();
    if !copied.iter().any(|copied| copied.is_new) {
        return print("nothing new since the last run\n");
    }
    print(&format!(
        "{} copied into {objects} object{}, as of {}\n",
        BinaryBytes(bytes),
        if objects == 1 { "" } else { "s" },
        timestamp(newest_us)
    ))
}
