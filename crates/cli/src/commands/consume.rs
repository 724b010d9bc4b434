//! `rawline consume`: reads records from a topic to stdout.

#[cfg(feature = "full")]
use super::avro::{DecodeArgs, Schemas, Shower};
use super::{BrokerArgs, CommandError, parse_bytes, parse_duration, stdout_failed};
use clap::ValueEnum;
use jiff::Timestamp;
use rawline_client::{Consumer, ConsumerConfig, Fetched, Record, RetryPolicy, Start};
use rawline_contract::JsonRecord;
use rawline_value::Decoder;
use rawline_value::json::{WriteError, plain, typed};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  rawline consume dns                                    all records there are, each followed by a newline
  rawline consume dns --offset latest --follow           what comes from now on, until ctrl-c
  rawline consume dns --offset 1000 --max-records 10 --format json
  rawline consume dns --since 2026-11-21T09:00:00Z | wc -l
  rawline consume images --format length-prefixed        for records that hold newlines
  rawline consume events --format value                  structured values as JSON
  rawline consume cpu --format avro                      Avro records as JSON
  rawline consume cpu --format avro --output avro > cpu.avro
                                                         Avro records as an Avro object container file";

/// Written to stdout at once, in bytes: a pipe or a file takes it in one go.
const WRITE_BYTES: usize = 1 << 20;

/// Read records from a topic to stdout
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The topic's name
    #[arg(value_name = "TOPIC")]
    topic: String,

    #[command(flatten)]
    broker: BrokerArgs,

    /// First record: its offset, or earliest, or latest for what comes from now on
    #[arg(long, value_name = "N|earliest|latest", default_value = "earliest", value_parser = parse_start, allow_hyphen_values = true)]
    offset: Start,

    /// First record: the first that was appended at or after this time (RFC 3339)
    #[arg(long, value_name = "TIME", conflicts_with = "offset")]
    since: Option<Timestamp>,

    /// End after so many records
    #[arg(long, value_name = "N")]
    max_records: Option<u64>,

    /// Go on with records that are yet to come, instead of ending where the topic ends now
    #[arg(long, short)]
    follow: bool,

    /// How records are written
    #[arg(long, value_enum, env = "RAWLINE_CONSUME_FORMAT", default_value_t = Format::Raw)]
    format: Format,

    #[cfg(feature = "full")]
    #[command(flatten)]
    avro: DecodeArgs,

    /// Most bytes of one request
    #[arg(long, value_name = "BYTES", env = "RAWLINE_CONSUME_BYTES", default_value = "4MiB", value_parser = parse_bytes)]
    read_bytes: u64,

    /// How long a request that fails is tried again
    #[arg(long, value_name = "TIME", env = "RAWLINE_RETRY_FOR", default_value = "30s", value_parser = parse_duration)]
    retry_for: Duration,
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The record and a newline
    Raw,
    /// One JSON object a line: offset, time, and record, or record_base64 if it is not UTF-8
    Json,
    /// The record's length (u32, little-endian) and the record
    LengthPrefixed,
    /// Structured values as a line of plain JSON each: addresses and times as text
    Value,
    /// Structured values as a line of JSON each that keeps every type ("@data-type")
    ValueTyped,
    /// Avro records as a line of JSON each
    Avro,
}

/// Writes the records to stdout.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    // Where the topic ends now; also tells at once if there is no broker.
    let topic = client.topic(&args.topic).await?;
    let start = match (args.since, args.offset) {
        (Some(since), _) => client.offset_at(&args.topic, since.into()).await?,
        (None, Start::Offset(offset)) => offset,
        (None, Start::Latest) => topic.next_offset,
        (None, _) => topic.first_offset,
    };
    if start > topic.next_offset && !args.follow {
        eprintln!("rawline: {} ends before offset {start}, at {}", args.topic, topic.next_offset);
        return Ok(());
    }
    let now_end = (!args.follow).then_some(topic.next_offset);
    let wanted_end = args.max_records.map(|count| start.saturating_add(count));
    let end_offset = [now_end, wanted_end].into_iter().flatten().min();
    let config = ConsumerConfig {
        start: Start::Offset(start),
        end_offset,
        bytes_max: args.read_bytes,
        retries: RetryPolicy::lasting(args.retry_for),
        ..ConsumerConfig::default()
    };
    #[cfg(not(feature = "full"))]
    if args.format == Format::Avro {
        return Err(super::not_built("--format avro"));
    }
    #[cfg(feature = "full")]
    let shower = match args.format {
        Format::Avro => Some(Shower::new(&args.avro, Schemas::new(client.clone()))?),
        _ => None,
    };
    let mut consumer = Consumer::new(client, &args.topic, config).await?;
    let mut output = Output::new(args.format).map_err(|error| stdout_failed(&error))?;
    #[cfg(feature = "full")]
    output.show_by(shower);
    let end_offset = end_offset.unwrap_or(u64::MAX);
    let copied = tokio::select! {
        copied = copy(&mut consumer, &mut output, end_offset) => copied,
        // Between two records: what was gathered is still written.
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    // What came before a bad record is shown.
    let flushed = if matches!(copied, Err(Stop::Enough)) { Ok(()) } else { output.finish() };
    match copied.and(flushed) {
        Err(Stop::Enough) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// Why the copying ends before the topic does.
enum Stop {
    /// Nobody reads the output any more, such as after `| head`.
    Enough,
    Failed(CommandError),
}

impl<E: Into<CommandError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}

async fn copy(consumer: &mut Consumer, output: &mut Output, end_offset: u64) -> Result<(), Stop> {
    loop {
        // What was gathered is written while nothing else is there to do, and at the end.
        let fetched = tokio::select! {
            biased;
            fetched = consumer.next() => fetched?,
            written = std::future::ready(()), if output.has_gathered() => {
                let () = written;
                output.flush()?;
                continue;
            }
        };
        let Some(fetched) = fetched else { return Ok(()) };
        #[cfg(feature = "full")]
        if let Some(shower) = &mut output.shower {
            shower.meet(fetched).await?;
        }
        output.write(fetched, end_offset)?;
    }
}

/// Stdout without the standard library's line buffer, and what is gathered for it.
struct Output {
    format: Format,
    stdout: File,
    gathered: Vec<u8>,
    /// Checks values before they are shown.
    decoder: Decoder,
    #[cfg(feature = "full")]
    shower: Option<Shower>,
}

impl Output {
    fn new(format: Format) -> std::io::Result<Self> {
        let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        Ok(Output {
            format,
            stdout,
            gathered: Vec::with_capacity(WRITE_BYTES + (64 << 10)),
            decoder: Decoder::default(),
            #[cfg(feature = "full")]
            shower: None,
        })
    }

    #[cfg(feature = "full")]
    fn show_by(&mut self, shower: Option<Shower>) {
        self.shower = shower;
    }

    fn has_gathered(&self) -> bool {
        !self.gathered.is_empty()
    }

    /// Writes the records before `end_offset`.
    fn write(&mut self, fetched: &mut Fetched, end_offset: u64) -> Result<(), Stop> {
        let mut time = BatchTime::default();
        let mut records = fetched.records();
        loop {
            let Some(Record { offset, created_us, bytes }) = records.next_record()? else { return Ok(()) };
            if offset >= end_offset {
                return Ok(());
            }
            match self.format {
                Format::Raw => {
                    self.gathered.extend_from_slice(bytes);
                    self.gathered.push(b'\n');
                }
                Format::LengthPrefixed => {
                    self.gathered.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                    self.gathered.extend_from_slice(bytes);
                }
                Format::Value => self.write_value(offset, bytes, plain::write)?,
                Format::ValueTyped => self.write_value(offset, bytes, typed::write)?,
                Format::Avro => self.write_avro(offset, bytes)?,
                Format::Json => write_json(&mut self.gathered, offset, time.of(created_us), bytes)?,
            }
            if self.gathered.len() >= WRITE_BYTES {
                flush(&mut self.stdout, &mut self.gathered)?;
            }
        }
    }

    fn write_value(
        &mut self,
        offset: u64,
        value: &[u8],
        write: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), WriteError>,
    ) -> Result<(), CommandError> {
        let begin = self.gathered.len();
        let checked = self.decoder.decode(value).map(drop).map_err(WriteError::from);
        checked.and_then(|()| write(value, &mut self.gathered)).map_err(|error| {
            self.gathered.truncate(begin);
            CommandError::Failed(format!(
                "the record at offset {offset} isn't a structured value: {error}; read this topic with --format raw"
            ))
        })?;
        self.gathered.push(b'\n');
        Ok(())
    }

    #[cfg(feature = "full")]
    fn write_avro(&mut self, offset: u64, record: &[u8]) -> Result<(), CommandError> {
        if let Some(shower) = &mut self.shower {
            shower.show(record, &mut self.gathered).map_err(|error| {
                CommandError::Failed(format!("the record at offset {offset} can't be shown as Avro: {error}"))
            })?;
        }
        Ok(())
    }

    #[cfg(not(feature = "full"))]
    fn write_avro(&mut self, _: u64, _: &[u8]) -> Result<(), CommandError> {
        Err(super::not_built("--format avro"))
    }

    /// Writes what is gathered, and what ends the output.
    fn finish(&mut self) -> Result<(), Stop> {
        #[cfg(feature = "full")]
        if let Some(shower) = &mut self.shower {
            shower.finish(&mut self.gathered).map_err(CommandError::Failed)?;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Stop> {
        flush(&mut self.stdout, &mut self.gathered)
    }
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

/// The time of a batch as text; the records of a batch share it.
#[derive(Default)]
struct BatchTime {
    created_us: Option<u64>,
    text: String,
}

impl BatchTime {
    fn of(&mut self, created_us: u64) -> &str {
        if self.created_us != Some(created_us) {
            self.created_us = Some(created_us);
            self.text = rawline_contract::timestamp(created_us).to_string();
        }
        &self.text
    }
}

fn write_json(out: &mut Vec<u8>, offset: u64, time: &str, record: &[u8]) -> Result<(), CommandError> {
    serde_json::to_writer(&mut *out, &JsonRecord::new(offset, time, record))
        .map_err(|error| CommandError::Failed(error.to_string()))?;
    out.push(b'\n');
    Ok(())
}

/// Where to begin: an offset, or a word.
pub fn parse_start(text: &str) -> Result<Start, String> {
    match text {
        "earliest" => Ok(Start::Earliest),
        "latest" => Ok(Start::Latest),
        _ => text.parse().map(Start::Offset).map_err(|_| "give an offset, earliest or latest".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_hold_text_or_base64() {
        let mut out = Vec::new();
        let mut time = BatchTime::default();
        write_json(&mut out, 7, time.of(1_000_001), "a\"b\nü".as_bytes()).unwrap();
        write_json(&mut out, 8, time.of(u64::MAX), &[0xff, 0]).unwrap();
        let want = "{\"offset\":7,\"time\":\"1970-01-01T00:00:01.000001Z\",\"record\":\"a\\\"b\\nü\"}\n\
                    {\"offset\":8,\"time\":\"9999-12-30T22:00:00.999999999Z\",\"record_base64\":\"/wA=\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
