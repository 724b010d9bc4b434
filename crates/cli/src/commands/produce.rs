//! `rawline produce`: appends records from a file or stdin to a topic.

use super::convert::{Convert, Piece, Pipeline};
use super::full::{self, EncodeArgs, Encoder};
use super::interrupt::Interrupt;
use super::key::{Choice, KeyArgs};
use super::split::{READ_BYTES, RecordEnd, Splitter};
use super::value::FieldTypes;
use super::{BrokerArgs, CommandError, parse_bytes, parse_duration};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};
use rawline_client::{Client, ClientError, Codec, Payload, Producer, ProducerConfig, Receipt, RetryPolicy, Settings};
use rawline_value::FieldHint;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt};

const EXAMPLES: &str = "\
Examples:
  # Append each line of a file, of a pipe, of a log that grows
  rawline produce dns dns.json
  zcat dns.json.gz | rawline produce dns
  tail -F app.log | rawline produce logs

  # Append a whole file as one record
  rawline produce images cat.png --format file

  # Compress batches: on the network and in the storage
  rawline produce dns dns.json --compression zstd

  # Append records with keys and headers, which Kafka's clients read as such
  printf 'ada:logged in\\ngrace:logged in\\n' | rawline produce logins --key-separator :
  rawline produce logins logins.json --key ada --header source=gate-1

  # Append to the partitions of a topic by a field of each record, or to partition 2
  rawline produce dns dns.json --key-field id.orig_h
  rawline produce dns dns.json --partition 2

  # Append as a named producer; only its newest instance can append
  rawline produce orders orders.json --producer-name orders-1

  # Append structured values, with types that JSON lacks
  rawline produce dns dns.json --format value --as id.orig_h=address --as ts=timestamp

  # Append Avro records from CSV or JSON
  rawline produce cpu cpu.csv --format avro --schema measurement --column logtime=timestamp \\
      --set metric=cpu --set tags.host=a1

  # Append the values of an Avro object container file
  rawline produce cpu cpu.avro --format avro";

/// Append records from a file or stdin to a topic
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic to append to; created if it doesn't exist
    #[arg(value_name = "TOPIC")]
    topic: String,

    /// File with the records; stdin if it is - or missing
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    broker: BrokerArgs,

    /// Format of the input
    #[arg(long, value_enum, env = "RAWLINE_PRODUCE_FORMAT", default_value_t = InputFormat::Lines)]
    format: InputFormat,

    #[command(flatten)]
    key: KeyArgs,

    /// With --format value: type of a field, see `rawline value encode --help`; repeatable
    #[arg(long = "as", value_name = "FIELD=TYPE")]
    types: Vec<FieldHint>,

    /// Size in bytes at which a batch is sent
    #[arg(long, value_name = "BYTES", env = "RAWLINE_PRODUCE_BATCH_BYTES", default_value = "1MiB",
          value_parser = parse_bytes)]
    batch_bytes: u64,

    /// Maximum time that a record waits for its batch to fill [default: 0; up to 5ms while records arrive fast enough]
    #[arg(long, value_name = "TIME", env = "RAWLINE_LINGER", value_parser = parse_duration)]
    linger: Option<Duration>,

    /// Compression of batches
    #[arg(long, visible_alias = "codec", value_name = "CODEC", env = "RAWLINE_CODEC", default_value = "none",
          value_parser = codec())]
    compression: Codec,

    /// Name of the producer; fences earlier producers with this name; needs a storage with one journal
    #[arg(long, value_name = "NAME", env = "RAWLINE_PRODUCER_NAME")]
    producer_name: Option<String>,

    /// Time for which failed requests are retried
    #[arg(long, value_name = "TIME", env = "RAWLINE_RETRY_FOR", default_value = "30s", value_parser = parse_duration)]
    retry_for: Duration,

    #[command(flatten)]
    avro: EncodeArgs,
}

/// The names of the codecs.
const CODECS: [&str; 3] = ["none", "lz4", "zstd"];

fn codec() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(CODECS).try_map(|name| name.parse())
}

/// Format of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputFormat {
    /// Each line is a record, without its newline
    Lines,
    /// The whole file is one record
    File,
    /// Each record follows its length (u32, little-endian)
    LengthPrefixed,
    /// Each line is JSON and becomes a structured value; a new topic is marked as one of structured values
    Value,
    /// Each line of JSON or CSV, or each value of an Avro object container file, becomes an Avro record
    Avro,
}

impl Args {
    fn convert(&self, encoder: Option<Encoder>) -> Convert {
        match (self.format, encoder) {
            (_, Some(encoder)) => Convert::Avro(Box::new(encoder)),
            (InputFormat::Value, None) => Convert::Value(Box::new(FieldTypes::new(self.types.clone()))),
            _ => Convert::Nothing,
        }
    }
}

/// The framing of the input's records.
fn record_end(convert: &Convert, format: InputFormat) -> RecordEnd {
    match format {
        _ if convert.has_quotes() => RecordEnd::CsvRow,
        InputFormat::File => RecordEnd::EndOfInput,
        InputFormat::LengthPrefixed => RecordEnd::LengthPrefix,
        _ => RecordEnd::Newline,
    }
}

/// Appends the records and reports the result on stderr.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client()?;
    // A broker that isn't running is an error at once; one that goes away later is waited for.
    if let Err(error @ ClientError::Connect { .. }) = client.with_retries(RetryPolicy::NONE).health().await {
        return Err(error.into());
    }
    let is_container = args.format == InputFormat::Avro && full::is_container(&args.avro, args.file.as_deref());
    let encoder = match args.format {
        InputFormat::Avro if !is_container => Some(full::encoder(&args.avro, args.file.as_deref(), &client).await?),
        _ => None,
    };
    let convert = args.convert(encoder);
    let has_plain_lines = !is_container && !convert.has_quotes();
    let choice = args.key.choice(has_plain_lines)?;
    let input = Input::open(args.file.as_deref()).await?;
    let started = Instant::now();
    let limits = &client.config().limits;
    let record_bytes_max = u64::from(limits.batch_bytes_max.min(limits.raw_bytes_max));
    let mut splitter = Splitter::new(record_end(&convert, args.format), record_bytes_max);
    if !matches!(convert, Convert::Nothing) {
        // Text that is read: a byte order mark at its beginning isn't a part of it.
        splitter = splitter.skipping_mark();
    }
    if args.format == InputFormat::Value {
        create_for_values(&client, &args.topic).await?;
    }
    let producer = Producer::new(client.clone(), &args.topic, producer_config(&args))?;
    producer.ready().await?;
    let bar = progress_bar(input.bytes);
    let is_converted = !matches!(convert, Convert::Nothing) || choice.source().is_some();
    let mut pipeline = Pipeline::new(convert, choice.source());
    let mut sending = Sending { producer: &producer, name: input.name, bar, sent: Sent::default(), choice };
    let mut interrupt = Interrupt::new()?;
    let read = tokio::select! {
        read = async {
            match (is_container, is_converted) {
                (true, _) => sending.send_container(input.reader, &args.avro, &client).await,
                (_, true) => sending.send_converted(input.reader, splitter, &mut pipeline).await,
                _ => sending.send_all(input.reader, splitter).await,
            }
        } => read,
        () = interrupt.wait() => Err(CommandError::Failed("interrupted".to_owned())),
    };
    let Sending { bar, sent, choice, .. } = sending;
    bar.finish_and_clear();
    pipeline.report_unused();
    choice.report_missing();
    // Records that were read before a failure are appended and reported.
    let flush = async {
        producer.flush().await?;
        let is_one = choice.is_one() || producer.partitions().is_none_or(|partitions| partitions == 1);
        producer.close().await.map(|()| is_one)
    };
    let closed = tokio::select! {
        closed = flush => closed,
        () = interrupt.wait() => {
            let message = "interrupted with records in flight; `rawline topic TOPIC` shows the topic's next offset";
            return Err(CommandError::Failed(message.to_owned()));
        }
    };
    if let Ok(is_one) = closed
        && (read.is_ok() || sent.records > 0)
    {
        eprintln!("rawline: {}", summary(&args.topic, &sent, is_one, started.elapsed()).await?);
    }
    read.and(closed.map(drop).map_err(CommandError::from))
}

/// Creates the topic if it doesn't exist, so that programs which display it know its records. A key that may only write
/// can't, and then the first append creates it.
async fn create_for_values(client: &Client, topic: &str) -> Result<(), ClientError> {
    match client.topic(topic).await {
        Ok(_) => return Ok(()),
        Err(ClientError::Refused { status: 404, .. }) => {}
        // A key that can't read the topic can't create it either.
        Err(ClientError::Refused { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    let settings = Settings { payload: Some(Some(Payload::Value)), ..Settings::default() };
    match client.create_topic(topic, &settings).await {
        Ok(_) | Err(ClientError::Refused { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn producer_config(args: &Args) -> ProducerConfig {
    ProducerConfig {
        batch_bytes: usize::try_from(args.batch_bytes).unwrap_or(usize::MAX),
        linger: args.linger,
        codec: args.compression,
        retries: RetryPolicy::lasting(args.retry_for),
        name: args.producer_name.clone(),
        ..ProducerConfig::default()
    }
}

/// The source of records.
struct Input {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Its name in messages.
    name: String,
    /// Its length in bytes, if it is known.
    bytes: Option<u64>,
}

impl Input {
    async fn open(file: Option<&Path>) -> Result<Input, CommandError> {
        let Some(path) = file.filter(|path| path.as_os_str() != "-") else {
            return Ok(Input { reader: Box::new(tokio::io::stdin()), name: "stdin".to_owned(), bytes: None });
        };
        let name = path.display().to_string();
        let failed = |error: std::io::Error| CommandError::Failed(format!("can't read {name}: {error}"));
        let mut file = tokio::fs::File::open(path).await.map_err(failed)?;
        file.set_max_buf_size(READ_BYTES);
        let metadata = file.metadata().await.map_err(failed)?;
        if metadata.is_dir() {
            return Err(CommandError::Failed(format!("{name} is a directory; give a file")));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Input { reader: Box::new(file), name, bytes })
    }
}

/// A progress bar over the file's bytes; hidden if the length is unknown or stderr isn't a terminal.
fn progress_bar(bytes: Option<u64>) -> ProgressBar {
    let Some(bytes) = bytes.filter(|_| std::io::stderr().is_terminal()) else { return ProgressBar::hidden() };
    let template = "{bar:40} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style)
}

/// Sends the records of one input.
struct Sending<'a> {
    producer: &'a Producer,
    /// The input's name.
    name: String,
    bar: ProgressBar,
    sent: Sent,
    choice: Choice,
}

/// The records passed to the producer.
#[derive(Default)]
struct Sent {
    records: u64,
    /// Sum of the records' lengths.
    bytes: u64,
    first: Option<Receipt>,
    last: Option<Receipt>,
}

impl Sent {
    /// A record was passed to the producer.
    fn add(&mut self, record: &[u8], receipt: Receipt) {
        self.records += 1;
        self.bytes += record.len() as u64;
        self.first.get_or_insert_with(|| receipt.clone());
        self.last = Some(receipt);
    }
}

impl Sending<'_> {
    async fn send_all(
        &mut self,
        mut input: Box<dyn AsyncRead + Send + Unpin>,
        mut splitter: Splitter,
    ) -> Result<(), CommandError> {
        loop {
            let read = self.read(&mut *input, &mut splitter).await?;
            while let Some(record) = splitter.next(read == 0).map_err(|why| self.bad_record(self.sent.records, &why))? {
                self.send(None, record).await?;
            }
            if read == 0 {
                return Ok(());
            }
            self.bar.inc(read as u64);
        }
    }

    /// Sends converted lines: reads, converts and sends at the same time.
    async fn send_converted(
        &mut self,
        mut input: Box<dyn AsyncRead + Send + Unpin>,
        mut splitter: Splitter,
        pipeline: &mut Pipeline,
    ) -> Result<(), CommandError> {
        let mut has_ended = false;
        // Set when no line is left: the result, after the lines that are being converted.
        let mut end = None;
        loop {
            let mut needs_more = false;
            while end.is_none() && !needs_more && pipeline.has_room() {
                match splitter.next(has_ended) {
                    Ok(Some(line)) => pipeline.add(line),
                    Ok(None) if !has_ended => needs_more = true,
                    Ok(None) => end = Some(Ok(())),
                    Err(reason) => end = Some(Err(self.bad_record(pipeline.lines(), &reason))),
                }
            }
            if needs_more || end.is_some() {
                pipeline.start();
            }
            tokio::select! {
                piece = pipeline.next(), if pipeline.is_busy() => {
                    if let Some(piece) = piece {
                        let sent = self.send_piece(&piece).await;
                        pipeline.give_back(piece);
                        sent?;
                    }
                }
                read = self.read(&mut *input, &mut splitter), if needs_more => {
                    let read = read?;
                    has_ended = read == 0;
                    self.bar.inc(read as u64);
                }
                else => return end.unwrap_or(Ok(())),
            }
        }
    }

    async fn send_piece(&mut self, piece: &Piece) -> Result<(), CommandError> {
        for (record, key) in piece.records() {
            self.send(key, record).await?;
        }
        match piece.failed() {
            Some((line, reason)) => Err(CommandError::Failed(format!("{}, line {line}: {reason}", self.name))),
            None => Ok(()),
        }
    }

    async fn send(&mut self, key: Option<&[u8]>, record: &[u8]) -> Result<(), ClientError> {
        let receipt = self.choice.send(self.producer, key, record).await?;
        self.sent.add(record, receipt);
        Ok(())
    }

    /// Reads more of the input; 0 at its end. Can be dropped while it waits.
    async fn read(
        &self,
        input: &mut (dyn AsyncRead + Send + Unpin),
        splitter: &mut Splitter,
    ) -> Result<usize, CommandError> {
        let read = input.read_buf(splitter.buffer()).await;
        read.map_err(|error| CommandError::Failed(format!("can't read {}: {error}", self.name)))
    }

    /// Sends the values of an Avro object container file.
    async fn send_container(
        &mut self,
        mut input: Box<dyn AsyncRead + Send + Unpin>,
        args: &EncodeArgs,
        client: &Client,
    ) -> Result<(), CommandError> {
        let mut file = Vec::new();
        let read = input.read_to_end(&mut file).await;
        read.map_err(|error| CommandError::Failed(format!("can't read {}: {error}", self.name)))?;
        let mut records = full::container(args, &file, client).await?;
        loop {
            let block = records.next_block().map_err(|reason| format!("{}: {reason}", self.name));
            let Some(block) = block.map_err(CommandError::Failed)? else { return Ok(()) };
            for record in block {
                self.send(None, record).await?;
            }
        }
    }

    /// The record after this many can't be read.
    fn bad_record(&self, before: u64, reason: &str) -> CommandError {
        CommandError::Failed(format!("{}, record {}: {reason}", self.name, before + 1))
    }
}

/// The appended records. Offsets are shown if all records are in one partition.
async fn summary(topic: &str, sent: &Sent, is_one: bool, took: Duration) -> Result<String, CommandError> {
    let (Some(first), Some(last)) = (&sent.first, &sent.last) else {
        return Ok(format!("the input is empty: appended nothing to {topic}"));
    };
    let (first, last) = (first.position().await?, last.position().await?);
    let place = match (is_one, first.partition) {
        (false, _) => ", several partitions".to_owned(),
        (true, 0) => format!(", offsets {}..{}", first.offset, last.offset + 1),
        (true, partition) => format!(", partition {partition}, offsets {}..{}", first.offset, last.offset + 1),
    };
    let seconds = took.as_secs_f64();
    let rate = DecimalBytes((sent.bytes as f64 / seconds.max(1e-9)) as u64);
    Ok(format!(
        "appended {} {} ({} bytes) to {topic}{place}, in {seconds:.3} s ({rate}/s)",
        sent.records,
        if sent.records == 1 { "record" } else { "records" },
        sent.bytes,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_of_a_batch_can_be_chosen() {
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
            let parsed = CODECS.into_iter().map(|name| name.parse::<Codec>()).filter(|parsed| *parsed == Ok(codec));
            assert_eq!(parsed.count(), 1, "{codec}");
        }
    }
}
