//! `rawline consume`: reads records from a topic to stdout.

mod framed;
mod group;
mod tail;

use super::full::{self, DecodeArgs, Shower};
use super::interrupt::Interrupt;
use super::show::{BadRecord, Pipeline, Show, Skipped, bad_avro};
use super::start::{Begin, parse_begin};
use super::{BrokerArgs, CommandError, parse_bytes, parse_duration, parse_time, stdout_failed};
use clap::ValueEnum;
use framed::{append_length_prefixed, append_lines};
use jiff::Timestamp;
use rawline_batch::U32;
use rawline_client::{
    Client, ClientError, Consumer, ConsumerConfig, Fetched, FetchedRecords, PartitionRange, Payload, Record, RecordRun,
    RetryPolicy, Start, TopicInfo, TopicPartition,
};
use rawline_contract::JsonRecord;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # Write all records, one per line
  rawline consume dns

  # Write the newest 10 records, then wait for new ones, until ctrl-c
  rawline consume dns --tail 10 --follow

  # Write the newest 10 records of each partition
  rawline consume dns --offset -10

  # Wait for new records only
  rawline consume dns --offset latest --follow

  # Write 10 records with their offsets, times, keys and headers
  rawline consume dns --offset 1000 --max-records 10 --format json

  # Write the records of partitions 1 and 3 only
  rawline consume dns --partition 1 --partition 3

  # Count the records since a time
  rawline consume dns --since 2026-11-21T09:00:00Z | wc -l

  # Write the records that the group hasn't read yet, and commit the offsets; members share the partitions
  rawline consume dns --group nightly

  # Write records that contain newlines
  rawline consume images --format length-prefixed

  # Write structured values, or Avro records, as JSON
  rawline consume events --format value
  rawline consume cpu --format avro

  # Write an Avro object container file
  rawline consume cpu --format avro --output avro > cpu.avro

  # Skip records that --format can't show
  rawline consume events --group nightly --format value --skip-bad

Exit codes: 0 all records were written, or skipped by --skip-bad; 1 a request, the broker or a record failed: with
--group, the offsets up to that record are committed; 2 wrong usage.";

/// Size of one write to stdout in bytes.
const WRITE_BYTES: usize = 1 << 20;

/// Read records from a topic to stdout
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic to read
    #[arg(value_name = "TOPIC")]
    topic: String,

    #[command(flatten)]
    broker: BrokerArgs,

    /// Partition to read; repeatable [default: all]
    #[arg(long = "partition", value_name = "N")]
    partitions: Vec<u32>,

    /// Offset of the first record in each partition; -N counts from the end, earliest is the oldest record, latest the
    /// next one to be appended
    #[arg(long, value_name = "N|-N|earliest|latest", default_value = "earliest", value_parser = parse_begin,
          allow_hyphen_values = true)]
    offset: Begin,

    /// Start at the newest N records of all partitions together, by the time of their append. Deleted records between
    /// them, in a compacted topic for example, are counted as well
    #[arg(long, value_name = "N", conflicts_with_all = ["offset", "since", "group"], allow_negative_numbers = true)]
    tail: Option<u64>,

    /// Start at the first record appended at or after this time: 2026-11-21T09:00:00Z, 2026-11-21 (UTC), Unix seconds
    /// or milliseconds, or -1h
    #[arg(long, value_name = "TIME", conflicts_with = "offset", value_parser = parse_time, allow_hyphen_values = true)]
    since: Option<Timestamp>,

    /// Read as a member of this group, whose members share the partitions; offsets are committed after the records are
    /// written. --offset and --since apply to partitions without a committed offset
    #[arg(long, value_name = "GROUP", conflicts_with = "partitions")]
    group: Option<String>,

    /// Unique name of this member, with which it gets its partitions back after a restart
    #[arg(long, value_name = "NAME", requires = "group")]
    instance: Option<String>,

    /// Skip records that --format value, value-typed or avro can't show, and report their number on stderr
    /// [default: fail at the first one]
    #[arg(long)]
    skip_bad: bool,

    /// Maximum number of records to read [default: unlimited]
    #[arg(long, value_name = "N")]
    max_records: Option<u64>,

    /// Wait for new records and partitions instead of stopping at the topic's current end
    #[arg(long, short)]
    follow: bool,

    /// Format of the output [default: raw; on a terminal, value for topics of structured values]
    #[arg(long, value_enum, env = "RAWLINE_CONSUME_FORMAT")]
    format: Option<OutputFormat>,

    /// Maximum size of one response in bytes
    #[arg(long, value_name = "BYTES", env = "RAWLINE_CONSUME_BYTES", default_value = "4MiB",
          value_parser = parse_bytes)]
    read_bytes: u64,

    /// Time for which failed requests are retried
    #[arg(long, value_name = "TIME", env = "RAWLINE_RETRY_FOR", default_value = "30s", value_parser = parse_duration)]
    retry_for: Duration,

    #[command(flatten)]
    avro: DecodeArgs,
}

/// Format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Each record, followed by a newline
    Raw,
    /// A JSON object per line: offset, time, and record, or record_base64 if it isn't UTF-8; with the partition if the
    /// topic has several, and with the key and the headers of a record that has them
    Json,
    /// Each record after its length (u32, little-endian)
    LengthPrefixed,
    /// Structured values as plain JSON, one per line: addresses and times as text
    Value,
    /// Structured values as JSON with the type of every value ("@data-type"), one per line
    ValueTyped,
    /// Avro records as JSON, one per line
    Avro,
}

/// Writes the records to stdout.
pub async fn run(args: Args) -> Result<(), CommandError> {
    check(&args)?;
    let client = args.broker.client_without_retries()?;
    // A broker that isn't running, or a topic that doesn't exist, is an error at once, with --follow too.
    let topic = client.topic(&args.topic).await?;
    // Bytes that aren't text would garble a terminal.
    let is_shown_as_value = topic.payload == Payload::Value && std::io::stdout().is_terminal();
    let default = if is_shown_as_value { OutputFormat::Value } else { OutputFormat::Raw };
    let format = args.format.unwrap_or(default);
    let shower = match format {
        OutputFormat::Avro => Some(full::shower(&args.avro, &client).await?),
        _ => None,
    };
    let mut output = Output::new(format, shower, args.skip_bad).map_err(|error| stdout_failed(&error))?;
    output.records_left = args.max_records.unwrap_or(u64::MAX);
    output.shows_partitions = topic.partitions.get() > 1;
    if let Some(group) = &args.group {
        return group::run(&args, group, client, &topic, output).await;
    }
    let ranges = ranges(&args, &client, &topic).await?;
    let config = ConsumerConfig {
        // All, if it follows the topic: partitions that are added are read as well.
        partitions: if args.follow {
            args.partitions.clone()
        } else {
            ranges.iter().map(|range| range.partition).collect()
        },
        bytes_max: args.read_bytes,
        retries: RetryPolicy::lasting(args.retry_for),
        ..ConsumerConfig::default()
    };
    output.end_offsets = ranges.iter().filter_map(|range| Some((range.partition, range.end_offset?))).collect();
    let mut consumer = Consumer::of_ranges(client, &args.topic, ranges, config);
    let mut interrupt = Interrupt::new()?;
    let copied = tokio::select! {
        copied = copy(&mut consumer, &mut output) => copied,
        // Between two records: the buffered output is still written.
        () = interrupt.wait() => Ok(()),
    };
    // Records before a bad one are written.
    let flushed = if matches!(copied, Err(Stop::Enough)) { Ok(()) } else { output.finish().await };
    failed(copied.and(flushed))
}

/// Refuses combinations that have no meaning.
fn check(args: &Args) -> Result<(), CommandError> {
    let wrong = match args {
        Args { tail: Some(0), follow: false, .. } => "--tail 0 writes nothing; add --follow to wait for new records",
        Args { tail: Some(_), max_records: Some(_), follow: false, .. } => {
            "--tail and --max-records both limit the records; give one of them, or add --follow"
        }
        Args { group: Some(_), offset: Begin::BeforeEnd(_), .. } => {
            "members of a group can't count from the end; set the group's offsets first, with `rawline group reset \
             GROUP TOPIC --offset -N`"
        }
        _ => return Ok(()),
    };
    Err(CommandError::Usage(wrong.to_owned()))
}

/// A closed stdout isn't a failure.
pub fn failed(stopped: Result<(), Stop>) -> Result<(), CommandError> {
    match stopped {
        Ok(()) | Err(Stop::Enough) => Ok(()),
        Err(Stop::Bad(bad)) => Err(CommandError::Failed(bad.reason)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// The range to write of each partition.
async fn ranges(args: &Args, client: &Client, topic: &TopicInfo) -> Result<Vec<PartitionRange>, CommandError> {
    let mut ranges: Vec<PartitionRange> = Vec::new();
    for (partition, offset, next_offset) in begins(args, client, topic).await? {
        if offset > next_offset && !args.follow {
            let is_one = topic.partitions.get() == 1;
            let of_several = if is_one { String::new() } else { format!(", partition {partition},") };
            let name = &args.topic;
            eprintln!(
                "rawline: {name}{of_several} has no records from offset {offset}; its next offset is {next_offset}"
            );
            continue;
        }
        let current_end = (!args.follow).then_some(next_offset);
        let requested_end = args.max_records.map(|count| offset.saturating_add(count));
        let end_offset = [current_end, requested_end].into_iter().flatten().min();
        ranges.push(PartitionRange { partition, offset, end_offset });
    }
    Ok(ranges)
}

/// The first offset to read and the next offset of each selected partition.
async fn begins(args: &Args, client: &Client, topic: &TopicInfo) -> Result<Vec<(u32, u64, u64)>, CommandError> {
    let extents = topic.extents();
    let selected: BTreeSet<u32> = match args.partitions.as_slice() {
        [] => (0..topic.partitions.get()).collect(),
        some => some.iter().copied().collect(),
    };
    let mut selected_extents = Vec::with_capacity(selected.len());
    for partition in selected {
        let extent = TopicPartition { topic: &args.topic, partition }.extent(&extents)?;
        selected_extents.push((partition, extent));
    }
    let offsets = match args.tail {
        Some(records) => tail::offsets(client, &args.topic, &selected_extents, records).await?,
        None => {
            let begin = args.since.map_or(args.offset, |since| Begin::At(Start::Time(since.into())));
            let mut offsets = Vec::with_capacity(selected_extents.len());
            for &(partition, _) in &selected_extents {
                let name = TopicPartition { topic: &args.topic, partition };
                offsets.push((partition, begin.offset(client, name, &extents).await?));
            }
            offsets
        }
    };
    let pairs = offsets.into_iter().zip(selected_extents);
    Ok(pairs.map(|((partition, offset), (_, extent))| (partition, offset, extent.next_offset)).collect())
}

/// Why copying stops before the end of the topic.
pub enum Stop {
    /// The reader of stdout has closed it, as `| head` does.
    Enough,
    /// A record can't be shown. Those before it are written, none after it.
    Bad(BadRecord),
    Failed(CommandError),
}

impl<E: Into<CommandError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}

async fn copy(consumer: &mut Consumer, output: &mut Output) -> Result<(), Stop> {
    while output.records_left > 0 {
        // Buffered output is written when no records are pending, and at the end.
        let fetched = tokio::select! {
            biased;
            fetched = consumer.next() => fetched?,
            written = output.write_waiting() => {
                written?;
                continue;
            }
        };
        let Some(fetched) = fetched else { return Ok(()) };
        output.write(fetched).await?;
    }
    Ok(())
}

/// Stdout without the standard library's line buffer, with its own buffer.
pub struct Output {
    format: OutputFormat,
    stdout: File,
    gathered: Vec<u8>,
    shower: Option<Shower>,
    /// Converts records to lines in the background, for formats that take much time.
    lines: Option<Pipeline>,
    skips_bad: bool,
    skipped: Skipped,
    /// Maximum number of records to write.
    pub records_left: u64,
    /// Offsets before which to stop, by partition.
    end_offsets: HashMap<u32, u64>,
    /// Whether JSON has the partition.
    pub shows_partitions: bool,
    /// Whether JSON has the topic.
    pub shows_topics: bool,
}

impl Output {
    /// Writes in this format; `shower` decodes Avro. Records that can't be shown are skipped, or end the output.
    pub fn new(format: OutputFormat, shower: Option<Shower>, skips_bad: bool) -> std::io::Result<Self> {
        let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let gathered = Vec::with_capacity(WRITE_BYTES + (64 << 10));
        let show = match format {
            OutputFormat::Value => Some(Show::value()),
            OutputFormat::ValueTyped => Some(Show::value_typed()),
            _ => shower.as_ref().and_then(Shower::lines).map(Box::new).map(Show::Avro),
        };
        Ok(Output {
            format,
            stdout,
            gathered,
            shower,
            lines: show.map(|show| Pipeline::new(show, skips_bad)),
            skips_bad,
            skipped: Skipped::default(),
            records_left: u64::MAX,
            end_offsets: HashMap::new(),
            shows_partitions: false,
            shows_topics: false,
        })
    }

    /// Writes buffered or converted output when no records are pending; without any it waits forever. Can be
    /// dropped while it waits.
    pub async fn write_waiting(&mut self) -> Result<(), Stop> {
        match (self.is_showing(), self.gathered.is_empty()) {
            (true, _) => self.write_shown().await,
            (false, false) => self.flush(),
            (false, true) => std::future::pending().await,
        }
    }

    /// Whether records are being converted in the background.
    fn is_showing(&self) -> bool {
        self.lines.as_ref().is_some_and(Pipeline::is_busy)
    }

    /// Converts the records that wait for others to fill a job.
    fn start_showing(&mut self) {
        if let Some(lines) = &mut self.lines {
            lines.start();
        }
    }

    /// Waits for the oldest records in the background, and writes their lines. Can be dropped while it waits.
    async fn write_shown(&mut self) -> Result<(), Stop> {
        let Some(lines) = &mut self.lines else { return Ok(()) };
        let Some(mut piece) = lines.next().await else { return Ok(()) };
        let written = flush(&mut self.stdout, &mut piece.text);
        let failed = piece.failed.clone();
        self.skipped.merge(&mut piece.skipped);
        lines.give_back(piece);
        written.and(failed.map_or(Ok(()), |bad| Err(Stop::Bad(bad))))
    }

    /// Writes the records before the end of their partition. Returns the offset after the last one.
    pub async fn write(&mut self, fetched: &mut Fetched) -> Result<u64, Stop> {
        if let Some(shower) = &mut self.shower {
            shower.meet(fetched).await?;
        }
        let mut next_offset = fetched.requested_offset();
        let mut time = BatchTime::default();
        let end_offset = self.end_offsets.get(&fetched.partition()).copied().unwrap_or(u64::MAX);
        let partition = self.shows_partitions.then_some(fetched.partition());
        let topic = self.shows_topics.then(|| fetched.topic().to_owned());
        let mut records = fetched.records();
        if matches!(self.format, OutputFormat::Raw | OutputFormat::LengthPrefixed) {
            self.write_runs(&mut records, end_offset, &mut next_offset)?;
        }
        loop {
            let record = match records.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => {
                    next_offset = after_unreadable(error)?.min(end_offset);
                    continue;
                }
            };
            let Record { offset, created_us, bytes, .. } = record;
            if offset >= end_offset || self.records_left == 0 {
                break;
            }
            self.records_left -= 1;
            next_offset = offset + 1;
            while self.lines.as_ref().is_some_and(|lines| !lines.has_room()) {
                self.write_shown().await?;
            }
            if let Some(lines) = &mut self.lines {
                lines.add(offset, bytes);
                continue;
            }
            match self.format {
                OutputFormat::Raw | OutputFormat::LengthPrefixed => self.gather(&[U32::new(bytes.len() as u32)], bytes),
                OutputFormat::Value | OutputFormat::ValueTyped => unreachable!("a value is shown in the background"),
                OutputFormat::Avro => self.write_avro(offset, bytes)?,
                OutputFormat::Json => {
                    let record = match record.kafka() {
                        Some(record) => JsonRecord::of_kafka(offset, time.of_kafka(record.timestamp_ms), record),
                        None => JsonRecord::new(offset, time.of(created_us), bytes),
                    };
                    write_json(&mut self.gathered, &record.of_topic(topic.as_deref()).of_partition(partition))?;
                }
            }
            if self.gathered.len() >= WRITE_BYTES {
                flush(&mut self.stdout, &mut self.gathered)?;
            }
        }
        self.start_showing();
        Ok(next_offset)
    }

    /// Gathers the concatenated records of these sizes as they are.
    fn gather(&mut self, sizes: &[U32], records: &[u8]) {
        match self.format {
            OutputFormat::LengthPrefixed => append_length_prefixed(&mut self.gathered, sizes, records),
            _ => append_lines(&mut self.gathered, sizes, records),
        }
    }

    /// Writes the records of batches of Rawline's format as they are, many at a time. Changes `next_offset` to the one
    /// after the last of them.
    fn write_runs(
        &mut self,
        records: &mut FetchedRecords<'_>,
        end_offset: u64,
        next_offset: &mut u64,
    ) -> Result<(), Stop> {
        loop {
            let RecordRun { offset, sizes, mut data } = match records.next_run() {
                Ok(Some(run)) => run,
                Ok(None) => return Ok(()),
                Err(error) => {
                    *next_offset = after_unreadable(error)?.min(end_offset);
                    continue;
                }
            };
            let wanted = end_offset.saturating_sub(offset).min(self.records_left).min(sizes.len() as u64);
            if wanted == 0 {
                return Ok(());
            }
            self.records_left -= wanted;
            *next_offset = offset + wanted;
            let mut left = sizes.split_at(wanted as usize).0;
            while !left.is_empty() {
                let (records, bytes) = framed::part(left, WRITE_BYTES);
                let ((sizes, rest), (records, rest_data)) = (left.split_at(records), data.split_at(bytes));
                self.gather(sizes, records);
                if self.gathered.len() >= WRITE_BYTES {
                    self.flush()?;
                }
                (left, data) = (rest, rest_data);
            }
        }
    }

    fn write_avro(&mut self, offset: u64, record: &[u8]) -> Result<(), Stop> {
        let Some(shower) = &mut self.shower else { return Ok(()) };
        let Err(error) = shower.show(record, &mut self.gathered) else { return Ok(()) };
        let reason = bad_avro(offset, &error);
        if !self.skips_bad {
            return Err(Stop::Bad(BadRecord { offset, reason }));
        }
        self.skipped.add(reason);
        Ok(())
    }

    /// Writes everything that was given to [`Output::write`].
    pub async fn drain(&mut self) -> Result<(), Stop> {
        self.start_showing();
        while self.is_showing() {
            self.write_shown().await?;
        }
        if let Some(shower) = &mut self.shower {
            shower.flush(&mut self.gathered).map_err(|reason| Stop::Failed(CommandError::Failed(reason)))?;
        }
        self.flush()
    }

    /// Writes the buffered output, and its end. Reports skipped records.
    pub async fn finish(&mut self) -> Result<(), Stop> {
        let drained = self.drain().await;
        self.skipped.report();
        drained?;
        if let Some(shower) = &mut self.shower {
            shower.finish(&mut self.gathered).map_err(CommandError::Failed)?;
        }
        self.flush()
    }

    /// Writes the buffered output.
    fn flush(&mut self) -> Result<(), Stop> {
        flush(&mut self.stdout, &mut self.gathered)
    }
}

/// Reports records that can't be read, and returns the offset after them.
fn after_unreadable(error: ClientError) -> Result<u64, ClientError> {
    let ClientError::Unreadable { next_offset, .. } = error else { return Err(error) };
    eprintln!("warning: {error}; they are left out");
    Ok(next_offset)
}

fn flush(stdout: &mut File, gathered: &mut Vec<u8>) -> Result<(), Stop> {
    let written = stdout.write_all(gathered);
    gathered.clear();
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Stop::Enough),
        Err(error) => Err(Stop::Failed(stdout_failed(&error))),
    }
}

/// Time of a batch as text; all records of a batch have the same time.
#[derive(Default)]
struct BatchTime {
    created_us: Option<u64>,
    timestamp_ms: Option<i64>,
    text: String,
}

impl BatchTime {
    fn of(&mut self, created_us: u64) -> &str {
        if self.created_us != Some(created_us) {
            self.created_us = Some(created_us);
            self.timestamp_ms = None;
            self.text = rawline_contract::timestamp(created_us).to_string();
        }
        &self.text
    }

    fn of_kafka(&mut self, timestamp_ms: i64) -> &str {
        if self.timestamp_ms != Some(timestamp_ms) {
            (self.created_us, self.timestamp_ms) = (None, Some(timestamp_ms));
            self.text = rawline_contract::timestamp_ms(timestamp_ms).to_string();
        }
        &self.text
    }
}

fn write_json(out: &mut Vec<u8>, record: &JsonRecord<'_>) -> Result<(), CommandError> {
    serde_json::to_writer(&mut *out, record).map_err(|error| CommandError::Failed(error.to_string()))?;
    out.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_hold_text_or_base64() {
        let mut out = Vec::new();
        let mut time = BatchTime::default();
        write_json(&mut out, &JsonRecord::new(7, time.of(1_000_001), "a\"b\nü".as_bytes())).unwrap();
        write_json(&mut out, &JsonRecord::new(8, time.of(u64::MAX), &[0xff, 0])).unwrap();
        let want = "{\"offset\":7,\"time\":\"1970-01-01T00:00:01.000001Z\",\"record\":\"a\\\"b\\nü\"}\n\
                    {\"offset\":8,\"time\":\"9999-12-30T22:00:00.999999999Z\",\"record_base64\":\"/wA=\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
