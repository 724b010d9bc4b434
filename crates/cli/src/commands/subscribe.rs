//! `rawline subscribe`: writes the records of topics to stdout as they are stored.

use super::consume::{Output, OutputFormat, Stop, failed};
use super::full::{self, DecodeArgs};
use super::interrupt::Interrupt;
use super::{BrokerArgs, CommandError, parse_duration, parse_time, stdout_failed};
use clap::ValueEnum;
use rawline_client::{Delivered, RetryPolicy, Slow, Start, Subscription, SubscriptionConfig, cursor_at};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

const EXAMPLES: &str = "\
Examples:
  # Write new records of two topics, one per line, until ctrl-c
  rawline subscribe dns http

  # Write the records of all topics whose names begin with zeek., also of topics that are created later
  rawline subscribe --prefix zeek. --format json

  # Write all records of a topic, then new ones
  rawline subscribe dns --from first

  # Write DNS queries to port 53 only, as JSON
  rawline subscribe zeek.dns --where id.resp_p=53/udp --format value

  # Skip records that it is too slow for; their number is reported on stderr
  rawline subscribe dns --slow skip --max-lag 1000

  # Continue where the command stopped
  rawline subscribe dns --cursor-file dns.cursor

`rawline consume` reads one topic up to its end, in parallel, and as a member of a group.

Exit codes: 0 after ctrl-c or --max-records, 1 if a request, the broker or a record that can't be shown failed: the
cursor file is then at that record; 2 wrong usage.";

/// How often the cursor is written to its file.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// Write the records of topics to stdout as they are stored
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic to subscribe to; repeatable
    #[arg(value_name = "TOPIC", required_unless_present = "prefixes")]
    topics: Vec<String>,

    #[command(flatten)]
    broker: BrokerArgs,

    /// Subscribe to all topics with this prefix, also later ones; '' is every topic; repeatable
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<String>,

    /// Partition of each topic [default: all]
    #[arg(long, value_name = "N")]
    partition: Option<u32>,

    /// First record of each partition: the next one to be appended, the oldest one, an offset of one partition of one
    /// topic, or the first one appended at or after a time: 2026-11-21T09:00:00Z, 2026-11-21 (UTC), or -1h
    #[arg(long, value_name = "end|first|OFFSET|TIME", default_value = "end", value_parser = parse_from,
          allow_hyphen_values = true)]
    from: Start,

    /// Filter for structured values: write only records with this field, such as id.resp_p=53/udp
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,

    /// Action when the subscription lags more than --max-lag records in a partition
    #[arg(long, value_enum, default_value_t = SlowPolicy::Disconnect)]
    slow: SlowPolicy,

    /// Maximum lag in records, per partition [default: unlimited; 65536 with --slow skip]
    #[arg(long, value_name = "N")]
    max_lag: Option<u64>,

    /// Skip records that --format value, value-typed or avro can't show, and report their number on stderr
    /// [default: fail at the first one]
    #[arg(long)]
    skip_bad: bool,

    /// Stop after this number of records [default: unlimited]
    #[arg(long, value_name = "N")]
    max_records: Option<u64>,

    /// File of the position, which overrides --from if it exists; written every second and at the end. After a crash,
    /// the records of the last second are written again
    #[arg(long, value_name = "FILE")]
    cursor_file: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, env = "RAWLINE_CONSUME_FORMAT", default_value_t = OutputFormat::Raw)]
    format: OutputFormat,

    /// Time for which a broken connection is retried
    #[arg(long, value_name = "TIME", env = "RAWLINE_RETRY_FOR", default_value = "30s", value_parser = parse_duration)]
    retry_for: Duration,

    #[command(flatten)]
    avro: DecodeArgs,
}

/// The action for a subscription that is too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SlowPolicy {
    /// The command fails
    Disconnect,
    /// Records are skipped, and their number is reported on stderr
    Skip,
}

/// Writes the records to stdout.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    let shower = match args.format {
        OutputFormat::Avro => Some(full::shower(&args.avro, &client).await?),
        _ => None,
    };
    let mut output = Output::new(args.format, shower, args.skip_bad).map_err(|error| stdout_failed(&error))?;
    output.records_left = args.max_records.unwrap_or(u64::MAX);
    (output.shows_topics, output.shows_partitions) = (true, true);
    let config = SubscriptionConfig {
        topics: args.topics.clone(),
        prefixes: args.prefixes.clone(),
        partition: args.partition,
        start: args.from,
        cursor: read_cursor(args.cursor_file.as_deref())?,
        filter: args.filter.clone(),
        slow: match args.slow {
            SlowPolicy::Disconnect => Slow::Disconnect,
            SlowPolicy::Skip => Slow::Skip,
        },
        lag_max: args.max_lag,
        retries: RetryPolicy::NONE,
    };
    // A broker that isn't running, or a topic that doesn't exist, is an error at once.
    let mut subscription = Subscription::new(client, config).await?;
    subscription.set_retries(RetryPolicy::lasting(args.retry_for));
    let mut progress = Progress::new(args.cursor_file, subscription.cursor());
    let copied = copy(&mut subscription, &mut output, &mut progress).await;
    // Records before a bad one are written. Records that a closed stdout didn't receive are written again.
    let finished = match copied {
        Err(Stop::Enough) => Ok(()),
        _ => output.finish().await.and_then(|()| progress.save().map_err(Stop::Failed)),
    };
    failed(copied.and(finished))
}

async fn copy(subscription: &mut Subscription, output: &mut Output, progress: &mut Progress) -> Result<(), Stop> {
    let mut interrupt = Interrupt::new()?;
    while output.records_left > 0 {
        if progress.is_due() {
            output.drain().await?;
            progress.save()?;
        }
        // Buffered output is written when no records are pending, and at the end.
        let delivered = tokio::select! {
            biased;
            () = interrupt.wait() => return Ok(()),
            delivered = subscription.next() => delivered?,
            written = output.write_waiting() => {
                written?;
                continue;
            }
            () = tokio::time::sleep(SAVE_EVERY), if progress.is_unsaved() => continue,
        };
        let unwritten = match delivered {
            Delivered::Records(fetched) => {
                let (topic, partition) = (fetched.topic().to_owned(), fetched.partition());
                let mut written = output.write(fetched).await;
                // A kept cursor covers written records, not records being converted.
                if let (Ok(next_offset), true) = (&written, progress.is_kept()) {
                    let next_offset = *next_offset;
                    written = output.drain().await.map(|()| next_offset);
                }
                if let Err(Stop::Bad(bad)) = &written {
                    let unwritten = [(topic.as_str(), partition, bad.offset)];
                    progress.cursor = cursor_at(&subscription.cursor(), unwritten)?;
                }
                let next_offset = written?;
                (output.records_left == 0).then_some((topic, partition, next_offset))
            }
            Delivered::Skipped { topic, partition, records, next_offset } => {
                eprintln!(
                    "rawline: skipped {records} record(s) of {topic}, partition {partition}, which continues at offset \
                     {next_offset}"
                );
                None
            }
            Delivered::Deleted { topic } => {
                eprintln!("rawline: topic {topic} was deleted");
                None
            }
        };
        let unwritten = unwritten.iter().map(|(topic, partition, offset)| (topic.as_str(), *partition, *offset));
        progress.cursor = cursor_at(&subscription.cursor(), unwritten)?;
    }
    Ok(())
}

/// The file with the position of the written records.
struct Progress {
    file: Option<PathBuf>,
    /// The cursor after the output so far.
    cursor: String,
    /// The cursor in the file.
    saved: String,
    saved_at: Instant,
}

impl Progress {
    fn new(file: Option<PathBuf>, cursor: String) -> Progress {
        Progress { file, cursor, saved: String::new(), saved_at: Instant::now() }
    }

    fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    fn is_unsaved(&self) -> bool {
        self.is_kept() && self.cursor != self.saved
    }

    fn is_due(&self) -> bool {
        self.is_unsaved() && self.saved_at.elapsed() >= SAVE_EVERY
    }

    /// Replaces the file, after everything was written. A crash leaves the file as it was.
    fn save(&mut self) -> Result<(), CommandError> {
        let Some(file) = self.file.as_deref().filter(|_| self.cursor != self.saved) else { return Ok(()) };
        let replaced = replace(file, &self.cursor);
        replaced
            .map_err(|error| CommandError::Failed(format!("can't write the cursor to {}: {error}", file.display())))?;
        self.saved.clone_from(&self.cursor);
        self.saved_at = Instant::now();
        Ok(())
    }
}

fn replace(file: &Path, cursor: &str) -> std::io::Result<()> {
    let new = file.with_added_extension("tmp");
    std::fs::write(&new, format!("{cursor}\n"))?;
    std::fs::rename(&new, file)
}

/// The cursor in a file, if that exists.
fn read_cursor(file: Option<&Path>) -> Result<Option<String>, CommandError> {
    let Some(file) = file else { return Ok(None) };
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::Failed(format!("can't read the cursor in {}: {error}", file.display()))),
    }
}

/// Reads where to begin.
fn parse_from(text: &str) -> Result<Start, String> {
    match text {
        "end" => Ok(Start::Latest),
        "first" => Ok(Start::Earliest),
        // Unix seconds would be offsets.
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map(Start::Offset).map_err(|_| format!("no offset is as large as {text}"))
        }
        _ => parse_time(text)
            .map(|time| Start::Time(time.into()))
            .map_err(|error| format!("{error}; or give end, first or an offset")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_word_an_offset_or_a_time() {
        assert_eq!(parse_from("end"), Ok(Start::Latest));
        assert_eq!(parse_from("first"), Ok(Start::Earliest));
        assert_eq!(parse_from("17"), Ok(Start::Offset(17)));
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1);
        assert_eq!(parse_from("1970-01-01T00:00:01Z"), Ok(Start::Time(time)));
        assert_eq!(parse_from("1970-01-01"), Ok(Start::Time(std::time::UNIX_EPOCH)));
        assert!(matches!(parse_from("-1h"), Ok(Start::Time(_))));
        for wrong in ["", "-1", "earliest", "18446744073709551616", "2026-11-21T10:00:00[Europe/Berlin]"] {
            assert!(parse_from(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cursor_is_in_its_file_as_it_was_saved() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cursor");
        assert_eq!(read_cursor(Some(&file)).unwrap(), None);
        let mut progress = Progress::new(Some(file.clone()), "5;dns/0=1".to_owned());
        assert!(progress.is_unsaved());
        progress.save().unwrap();
        assert!(!progress.is_unsaved());
        assert_eq!(read_cursor(Some(&file)).unwrap().as_deref(), Some("5;dns/0=1"));
    }
}
