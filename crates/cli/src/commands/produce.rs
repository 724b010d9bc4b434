//! `rawline produce`: appends records from a file or stdin to a topic.

#[cfg(feature = "full")]
use super::avro::{EncodeArgs, Encoder, FileRecords, Schemas};
use super::value::{FieldTypes, value_of_json};
use super::{BrokerArgs, CommandError, parse_bytes, parse_duration};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use rawline_client::{Client, ClientError, Codec, Producer, ProducerConfig, Receipt, RetryPolicy};
use rawline_value::FieldHint;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt};

const EXAMPLES: &str = "\
Examples:
  rawline produce dns dns.json                     a record a line
  zcat dns.json.gz | rawline produce dns           from a pipe
  tail -F app.log | rawline produce logs           as the lines come
  rawline produce images cat.png --format file     the whole file as one record
  rawline produce dns dns.json --codec zstd        compressed, also on the broker's disk
  rawline produce dns dns.json --format value --as id.orig_h=address --as ts=timestamp
                                                   structured values, with types that JSON lacks
  rawline produce cpu cpu.csv --format avro --schema measurement --column logtime=timestamp
                  --set metric=cpu --set tags.host=a1       Avro records from CSV or JSON
  rawline produce cpu cpu.avro --format avro       the values of an Avro object container file";

/// Read at once, in bytes; a record that is longer is gathered from several reads.
const READ_BYTES: usize = 1 << 20;

/// Append records from a file or stdin to a topic
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The topic's name
    #[arg(value_name = "TOPIC")]
    topic: String,

    /// Where the records are; - or nothing reads stdin
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    broker: BrokerArgs,

    /// What a record is
    #[arg(long, value_enum, env = "RAWLINE_PRODUCE_FORMAT", default_value_t = Format::Lines)]
    format: Format,

    /// With --format value, a type for a field: see `rawline value encode --help`; may be given many times
    #[arg(long = "as", value_name = "FIELD=TYPE")]
    types: Vec<FieldHint>,

    #[cfg(feature = "full")]
    #[command(flatten)]
    avro: EncodeArgs,

    /// A batch is sent when it has this much
    #[arg(long, value_name = "BYTES", env = "RAWLINE_PRODUCE_BATCH_BYTES", default_value = "1MiB", value_parser = parse_bytes)]
    batch_bytes: u64,

    /// How long a batch that is not full waits for more records
    #[arg(long, value_name = "TIME", env = "RAWLINE_LINGER", default_value = "5ms", value_parser = parse_duration)]
    linger: Duration,

    /// How batches are compressed: none, lz4 or zstd
    #[arg(long, value_name = "CODEC", env = "RAWLINE_CODEC", default_value_t = Codec::None)]
    codec: Codec,

    /// How long a request that fails is tried again
    #[arg(long, value_name = "TIME", env = "RAWLINE_RETRY_FOR", default_value = "30s", value_parser = parse_duration)]
    retry_for: Duration,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line without its newline; the last one need not have one
    Lines,
    /// The whole file
    File,
    /// As many bytes as the u32 (little-endian) in front of it says
    LengthPrefixed,
    /// A line of JSON, which becomes a structured value
    Value,
    /// A line of JSON or CSV, or a value of an Avro object container file, which becomes an Avro record
    Avro,
}

/// What becomes of a line before it is sent.
enum Convert {
    Nothing,
    /// A line of JSON becomes a value, with these types for fields.
    Value(FieldTypes),
    #[cfg(feature = "full")]
    Avro(Box<Encoder>),
    /// The values of a container file become records.
    #[cfg(feature = "full")]
    AvroFile(Box<EncodeArgs>),
}

impl Convert {
    /// How the input is cut.
    fn cut(&self, format: Format) -> Cut {
        match (self, format) {
            #[cfg(feature = "full")]
            (Convert::Avro(encoder), _) if encoder.has_quotes() => Cut::QuotedLines,
            #[cfg(feature = "full")]
            (Convert::AvroFile(_), _) => Cut::File,
            (_, Format::File) => Cut::File,
            (_, Format::LengthPrefixed) => Cut::LengthPrefixed,
            _ => Cut::Lines,
        }
    }

    /// Appends to `out` what the line becomes. Nothing, if it becomes no record.
    fn apply(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Option<()>, String> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        match self {
            Convert::Nothing => Ok(None),
            Convert::Value(types) => value_of_json(line, types, out).map(Some),
            #[cfg(feature = "full")]
            Convert::Avro(encoder) => encoder.encode(line, out),
            #[cfg(feature = "full")]
            Convert::AvroFile(_) => unreachable!("a container file has no lines"),
        }
    }
}

/// Appends the records and says on stderr what it did.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client()?;
    // No broker at all is told at once; one that goes away later is waited for.
    if let Err(error @ ClientError::Connect { .. }) = client.with_retries(RetryPolicy::NONE).health().await {
        return Err(error.into());
    }
    let convert = convert(&args, &client).await?;
    #[cfg(feature = "full")]
    let schemas = Schemas::new(client.clone());
    let (input, name, bytes) = open(&args).await?;
    let started = Instant::now();
    let record_bytes_max = u64::from(client.config().limits.batch_bytes_max.min(client.config().limits.raw_bytes_max));
    let config = ProducerConfig {
        batch_bytes: usize::try_from(args.batch_bytes).unwrap_or(usize::MAX),
        linger: args.linger,
        codec: args.codec,
        retries: RetryPolicy::lasting(args.retry_for),
        ..ProducerConfig::default()
    };
    let producer = Producer::new(client, &args.topic, config)?;
    let cut = convert.cut(args.format);
    let mut sending = Sending {
        producer: &producer,
        name,
        bar: progress_bar(bytes),
        sent: Sent::default(),
        lines: 0,
        convert,
        #[cfg(feature = "full")]
        schemas,
    };
    let read = tokio::select! {
        read = sending.send(input, Cutter::new(cut, record_bytes_max)) => read,
        _ = tokio::signal::ctrl_c() => Err(CommandError::Failed("interrupted".to_owned())),
    };
    let Sending { bar, sent, convert, .. } = sending;
    bar.finish_and_clear();
    if let Convert::Value(types) = &convert {
        types.report_unused();
    }
    // What was read before a failure is still appended, and told.
    let closed = tokio::select! {
        closed = producer.close() => closed,
        _ = tokio::signal::ctrl_c() => {
            let message = "interrupted while the last records were sent; read the topic's end to see which are there";
            return Err(CommandError::Failed(message.to_owned()));
        }
    };
    if closed.is_ok() {
        eprintln!("rawline: {}", summary(&args.topic, &sent, started.elapsed()).await?);
    }
    read.and(closed.map_err(CommandError::from))
}

#[cfg(feature = "full")]
async fn convert(args: &Args, client: &Client) -> Result<Convert, CommandError> {
    if args.format != Format::Avro {
        return Ok(convert_value(args));
    }
    if FileRecords::are_given(&args.avro, args.file.as_deref()) {
        return Ok(Convert::AvroFile(Box::new(args.avro.clone())));
    }
    let encoder = Encoder::new(&args.avro, args.file.as_deref())?;
    if encoder.names_its_schema() {
        // Before the first record, so that nobody reads one whose schema is not there.
        Schemas::new(client.clone()).register(encoder.schema()).await?;
    }
    Ok(Convert::Avro(Box::new(encoder)))
}

#[cfg(not(feature = "full"))]
async fn convert(args: &Args, _: &Client) -> Result<Convert, CommandError> {
    match args.format {
        Format::Avro => Err(super::not_built("--format avro")),
        _ => Ok(convert_value(args)),
    }
}

fn convert_value(args: &Args) -> Convert {
    match args.format {
        Format::Value => Convert::Value(FieldTypes::new(args.types.clone())),
        _ => Convert::Nothing,
    }
}

/// The input, its name for messages, and its length in bytes if it is known.
async fn open(args: &Args) -> Result<(Box<dyn AsyncRead + Send + Unpin>, String, Option<u64>), CommandError> {
    let Some(path) = args.file.as_ref().filter(|path| path.as_os_str() != "-") else {
        return Ok((Box::new(tokio::io::stdin()), "stdin".to_owned(), None));
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
    Ok((Box::new(file), name, bytes))
}

/// A bar over the file's bytes; nothing where the length is unknown or nobody looks.
fn progress_bar(bytes: Option<u64>) -> ProgressBar {
    let Some(bytes) = bytes.filter(|_| std::io::stderr().is_terminal()) else { return ProgressBar::hidden() };
    let template = "{bar:40} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} to go";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style)
}

struct Sending<'a> {
    producer: &'a Producer,
    /// The input's.
    name: String,
    bar: ProgressBar,
    sent: Sent,
    /// Records and lines that were taken from the input.
    lines: u64,
    convert: Convert,
    #[cfg(feature = "full")]
    schemas: Schemas,
}

impl Sending<'_> {
    /// Sends all records of the input.
    async fn send(&mut self, input: Box<dyn AsyncRead + Send + Unpin>, cutter: Cutter) -> Result<(), CommandError> {
        #[cfg(feature = "full")]
        if let Convert::AvroFile(args) = &self.convert {
            let args = args.clone();
            return self.send_file(input, &args).await;
        }
        send_all(input, cutter, self).await
    }

    /// Sends the values of an Avro container file.
    #[cfg(feature = "full")]
    async fn send_file(
        &mut self,
        mut input: Box<dyn AsyncRead + Send + Unpin>,
        args: &EncodeArgs,
    ) -> Result<(), CommandError> {
        let mut file = Vec::new();
        let read = input.read_to_end(&mut file).await;
        read.map_err(|error| CommandError::Failed(format!("can't read {}: {error}", self.name)))?;
        let mut records = FileRecords::open(args, &file)?;
        if records.names_its_schema() {
            self.schemas.register(records.schema()).await?;
        }
        loop {
            let block = records.next_block().map_err(|reason| format!("{}: {reason}", self.name));
            let Some(block) = block.map_err(CommandError::Failed)? else { return Ok(()) };
            for record in block {
                self.lines += 1;
                self.send_record(record).await?;
            }
        }
    }

    async fn send_record(&mut self, record: &[u8]) -> Result<(), CommandError> {
        let receipt = self.producer.send(record).await?;
        self.sent.records += 1;
        self.sent.bytes += record.len() as u64;
        self.sent.first.get_or_insert_with(|| receipt.clone());
        self.sent.last = Some(receipt);
        Ok(())
    }
}

/// What was handed to the producer.
#[derive(Default)]
struct Sent {
    records: u64,
    /// Sum of the records' lengths.
    bytes: u64,
    first: Option<Receipt>,
    last: Option<Receipt>,
}

async fn send_all(
    mut input: Box<dyn AsyncRead + Send + Unpin>,
    mut cutter: Cutter,
    sending: &mut Sending<'_>,
) -> Result<(), CommandError> {
    let mut value = Vec::new();
    loop {
        let buffer = cutter.room();
        let read = input.read_buf(buffer).await;
        let read = read.map_err(|error| CommandError::Failed(format!("can't read {}: {error}", sending.name)))?;
        let ended = read == 0;
        while let Some(mut record) = cutter.next(ended).map_err(|reason| after_last(sending, &reason))? {
            sending.lines += 1;
            if !matches!(sending.convert, Convert::Nothing) {
                value.clear();
                match sending.convert.apply(record, &mut value).map_err(|reason| too_bad(sending, &reason))? {
                    Some(()) => record = &value,
                    None => continue,
                }
            }
            sending.send_record(record).await?;
        }
        if ended {
            return Ok(());
        }
        sending.bar.inc(read as u64);
    }
}

/// The record that was taken last is bad.
fn too_bad(sending: &Sending<'_>, reason: &str) -> CommandError {
    let unit = if matches!(sending.convert, Convert::Nothing) { "record" } else { "line" };
    CommandError::Failed(format!("{}, {unit} {}: {reason}", sending.name, sending.lines))
}

/// The record behind the one that was taken last is bad.
fn after_last(sending: &Sending<'_>, reason: &str) -> CommandError {
    CommandError::Failed(format!("{}, record {}: {reason}", sending.name, sending.lines + 1))
}

async fn summary(topic: &str, sent: &Sent, took: Duration) -> Result<String, CommandError> {
    let (Some(first), Some(last)) = (&sent.first, &sent.last) else {
        return Ok(format!("the input is empty: appended nothing to {topic}"));
    };
    let (first, last) = (first.offset().await?, last.offset().await?);
    let seconds = took.as_secs_f64();
    let mb = sent.bytes as f64 / 1e6;
    Ok(format!(
        "appended {} {} ({} bytes) to {topic}, offsets {first}..{}, in {seconds:.3} s ({:.1} MB/s)",
        sent.records,
        if sent.records == 1 { "record" } else { "records" },
        sent.bytes,
        last + 1,
        mb / seconds.max(1e-9),
    ))
}

/// Where records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Lines,
    /// At newlines that are not between quotes.
    #[cfg_attr(not(feature = "full"), allow(dead_code, reason = "only CSV has quotes"))]
    QuotedLines,
    File,
    LengthPrefixed,
}

/// Cuts what was read into records. Holds the front of a record whose end is still to come.
struct Cutter {
    cut: Cut,
    record_bytes_max: u64,
    held: Vec<u8>,
    /// Where the next record begins in `held`.
    start: usize,
    /// Up to where there is known to be no newline, so that a long line is searched once.
    searched: usize,
    /// Whether what was searched ends between quotes.
    in_quotes: bool,
}

impl Cutter {
    fn new(cut: Cut, record_bytes_max: u64) -> Self {
        Cutter {
            cut,
            record_bytes_max,
            held: Vec::with_capacity(2 * READ_BYTES),
            start: 0,
            searched: 0,
            in_quotes: false,
        }
    }

    /// Where to read to, behind what is held. What was handed out is forgotten.
    fn room(&mut self) -> &mut Vec<u8> {
        self.held.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.held.reserve(READ_BYTES);
        &mut self.held
    }

    /// The next record that is whole; none until more is read, or, if the input has `ended`, at its end.
    fn next(&mut self, ended: bool) -> Result<Option<&[u8]>, String> {
        let line_end = self.line_end();
        let rest = self.held.get(self.start..).unwrap_or_default();
        // Where the record lies in `rest`, and how much of it is then done with.
        let (record, taken) = match self.cut {
            Cut::Lines | Cut::QuotedLines => match line_end {
                Some(bytes) => (0..bytes, bytes + 1),
                None if ended && !rest.is_empty() => (0..rest.len(), rest.len()),
                None => {
                    self.searched = self.held.len();
                    return self.wait_for_more();
                }
            },
            Cut::File if ended && !rest.is_empty() => (0..rest.len(), rest.len()),
            Cut::File => return self.wait_for_more(),
            Cut::LengthPrefixed => match rest.split_first_chunk::<4>() {
                Some((length, body)) => {
                    let length = u32::from_le_bytes(*length) as usize;
                    self.check(length as u64)?;
                    if body.len() < length {
                        if ended {
                            return Err(format!("the input ends after {} of {length} bytes", body.len()));
                        }
                        return Ok(None);
                    }
                    (4..4 + length, 4 + length)
                }
                None if ended && !rest.is_empty() => {
                    return Err("the input ends inside a record's length".to_owned());
                }
                None => return Ok(None),
            },
        };
        self.check(record.len() as u64)?;
        let start = self.start;
        self.start += taken;
        self.searched = self.start;
        self.in_quotes = false;
        Ok(self.held.get(start + record.start..start + record.end))
    }

    /// Length of the line that begins at `start`, if its newline is there.
    fn line_end(&mut self) -> Option<usize> {
        let rest = self.held.get(self.searched..).unwrap_or_default();
        if self.cut == Cut::File || self.cut == Cut::LengthPrefixed {
            return None;
        }
        if self.cut == Cut::Lines {
            return memchr::memchr(b'\n', rest).map(|at| self.searched - self.start + at);
        }
        for at in memchr::memchr2_iter(b'\n', b'"', rest) {
            match rest.get(at) {
                Some(b'"') => self.in_quotes = !self.in_quotes,
                _ if self.in_quotes => {}
                _ => return Some(self.searched - self.start + at),
            }
        }
        None
    }

    /// Before a record's end is known, what there is of it already counts.
    fn wait_for_more(&self) -> Result<Option<&[u8]>, String> {
        self.check((self.held.len() - self.start) as u64)?;
        Ok(None)
    }

    fn check(&self, bytes: u64) -> Result<(), String> {
        let limit = self.record_bytes_max;
        if bytes > limit {
            return Err(format!("longer than {limit} bytes, which no batch can hold; make the records smaller"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts `input`, handed over in pieces of `step` bytes.
    fn pieces(cut: Cut, input: &[u8], step: usize, limit: u64) -> Result<Vec<Vec<u8>>, String> {
        let mut cutter = Cutter::new(cut, limit);
        let mut records = Vec::new();
        for piece in input.chunks(step).chain([&[][..]]) {
            cutter.room().extend_from_slice(piece);
            while let Some(record) = cutter.next(piece.is_empty())? {
                records.push(record.to_vec());
            }
        }
        Ok(records)
    }

    #[test]
    fn lines_lose_their_newline_and_nothing_else() {
        for step in 1..20 {
            let lines = |input: &[u8]| pieces(Cut::Lines, input, step, 100).unwrap();
            assert_eq!(lines(b"a\n\nb\r\n\xff\x00"), [b"a".to_vec(), vec![], b"b\r".to_vec(), vec![0xff, 0]]);
            assert_eq!(lines(b"a\n"), [b"a"]);
            assert_eq!(lines(b"\n"), [b""]);
            assert!(lines(b"").is_empty());
        }
    }

    #[test]
    fn newlines_in_quotes_end_no_line() {
        for step in 1..20 {
            let lines = |input: &[u8]| pieces(Cut::QuotedLines, input, step, 100).unwrap();
            assert_eq!(lines(b"a,\"b\nc\"\nd"), [&b"a,\"b\nc\""[..], b"d"]);
            assert_eq!(lines(b"\"x\"\"\n\"\n\n"), [&b"\"x\"\"\n\""[..], b""]);
        }
    }

    #[test]
    fn a_file_is_one_record_unless_it_is_empty() {
        assert_eq!(pieces(Cut::File, b"a\nb\n", 1, 100).unwrap(), [b"a\nb\n"]);
        assert!(pieces(Cut::File, b"", 1, 100).unwrap().is_empty());
    }

    #[test]
    fn prefixed_records_are_cut_by_their_lengths() {
        let mut input = Vec::new();
        let records = [b"one".to_vec(), vec![], vec![b'\n'; 300]];
        for record in &records {
            input.extend_from_slice(&(record.len() as u32).to_le_bytes());
            input.extend_from_slice(record);
        }
        for step in [1, 3, 4, 5, 100, 1000] {
            assert_eq!(pieces(Cut::LengthPrefixed, &input, step, 1000).unwrap(), records);
            for end in [1, 3, 5, 8, 20, input.len() - 1] {
                assert!(pieces(Cut::LengthPrefixed, &input[..end], step, 1000).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn a_record_that_no_batch_holds_is_refused_before_it_is_all_there() {
        let long = vec![b'x'; 1000];
        for cut in [Cut::Lines, Cut::File] {
            let mut cutter = Cutter::new(cut, 99);
            cutter.room().extend_from_slice(&long);
            assert!(cutter.next(false).is_err());
        }
        assert!(pieces(Cut::LengthPrefixed, &100u32.to_le_bytes(), 4, 99).is_err());
    }
}
