//! `rawline value`: converts structured values to JSON and back, without a broker.

use super::{CommandError, stdout_failed};
use clap::{Subcommand, ValueEnum};
use memchr::memmem::Finder;
use rawline_value::json::hinted::HintedError;
use rawline_value::json::{hinted, plain, typed};
use rawline_value::{Decoder, FieldHint, Hint};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  # Convert JSON to values, as hex digits
  echo '{\"user\": 7}' | rawline value encode

  # Convert a value to plain JSON: prints 42
  echo 02000000000000002a | rawline value decode --to plain

  # Convert JSON to values with types that JSON lacks
  rawline value encode --as id.orig_h=address --as ts=timestamp --to binary events.json > events.bin

  # Convert values to JSON that keeps every type
  rawline value decode --from binary --to json events.bin

JSON has two mappings: plain (addresses and times as text, counts as numbers) and json (each \
value with its \"@data-type\", as Zeek Broker writes it). Bad lines are reported on stderr and \
skipped; the exit code is then 1.";

/// Convert structured values to JSON and back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Convert values to JSON, one per line
    #[command(after_help = EXAMPLES)]
    Decode {
        /// Format of the input
        #[arg(long, value_enum, default_value_t = BytesFormat::Hex)]
        from: BytesFormat,
        /// Format of the output
        #[arg(long, value_enum, default_value_t = TextFormat::Json)]
        to: TextFormat,
        /// Files with values; stdin if it is - or missing
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Convert JSON, one value per line, to values
    #[command(after_help = EXAMPLES)]
    Encode {
        /// Mapping of the JSON
        #[arg(long, value_enum, default_value_t = JsonMapping::Plain)]
        from: JsonMapping,
        /// Format of the output
        #[arg(long, value_enum, default_value_t = BytesFormat::Hex)]
        to: BytesFormat,
        #[arg(long = "as", value_name = "FIELD=TYPE", help = types_help())]
        types: Vec<FieldHint>,
        /// Files with JSON; stdin if it is - or missing
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// How the bytes of values are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BytesFormat {
    /// A line of hex digits per value
    Hex,
    /// Each value after its length (u32, little-endian), as in `produce --format length-prefixed`
    Binary,
}

/// A mapping of values to JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JsonMapping {
    /// Each value with its "@data-type": keeps every type
    Json,
    /// Human-readable
    Plain,
}

/// How values are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TextFormat {
    /// A line of hex digits per value
    Hex,
    /// Each value with its "@data-type": keeps every type
    Json,
    /// Human-readable
    Plain,
}

fn types_help() -> String {
    format!(
        "Type of a field of plain objects: {}. port@FIELD reads the protocol from that field; a number as a time is in \
         seconds; repeatable",
        Hint::names()
    )
}

/// Reads plain lines with the types given for fields, and notes which of them have named a field so far. Reuses its
/// memory.
#[derive(Clone)]
pub struct FieldTypes {
    /// `None` without types.
    hinted: Option<hinted::Reader>,
    decoder: Decoder,
    /// Finds the name of the field that has a type.
    type_name: Finder<'static>,
    /// Number of objects that were read.
    objects: u64,
}

impl FieldTypes {
    pub fn new(hints: Vec<FieldHint>) -> FieldTypes {
        let hinted = (!hints.is_empty()).then(|| hinted::Reader::new(hints));
        FieldTypes { hinted, decoder: Decoder::default(), type_name: Finder::new("\"@data-type\""), objects: 0 }
    }

    /// Appends the value of a plain line.
    fn read(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), HintedError> {
        let Some(hinted) = &mut self.hinted else {
            return Ok(plain::read_with_decoder(line, &mut self.decoder, out)?);
        };
        hinted.read(line, out)?;
        self.objects += 1;
        Ok(())
    }

    /// Merges the fields that a copy has seen into this one.
    pub fn merge(&mut self, copy: &mut FieldTypes) {
        if let (Some(hinted), Some(copy)) = (&mut self.hinted, &copy.hinted) {
            hinted.merge_seen(copy);
        }
        self.objects += std::mem::take(&mut copy.objects);
    }

    /// Warns on stderr of types whose field was in no record: most likely a typing error.
    pub fn report_unused(&self) {
        let seen = self.hinted.iter().filter(|_| self.objects > 0).flat_map(hinted::Reader::seen);
        for (FieldHint { field, hint }, _) in seen.filter(|(_, seen)| !seen) {
            eprintln!("rawline: no record has the field {field} of --as {field}={hint}; a nested one is written a.b");
        }
    }
}

/// Reads a line of JSON as a value: an object with "@data-type" in the mapping that keeps every type, anything else in
/// the plain one, with these types for its fields.
pub fn value_of_json(line: &[u8], types: &mut FieldTypes, out: &mut Vec<u8>) -> Result<(), String> {
    let names_type = types.type_name.find(line).is_some();
    let read = match names_type && typed::is_typed(line) {
        true => typed::read(line, out).map_err(HintedError::from),
        false => types.read(line, out),
    };
    read.map_err(|error| error.to_string())
}

/// Converts every input.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let worked = tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
        let bad = match args.command {
            Command::Decode { from, to, files } => {
                each_input(&files, |input, name| decode(input, name, from, to, &mut out))
            }
            Command::Encode { from, to, types, files } => {
                let mut types = FieldTypes::new(types);
                let bad = each_input(&files, |input, name| {
                    encode(input, name, |line, value| read_json(line, from, &mut types, value), to, &mut out)
                });
                types.report_unused();
                bad
            }
        }?;
        out.flush().map_err(Stop::Output)?;
        Ok(bad)
    });
    match worked.await.map_err(|error| CommandError::Failed(error.to_string()))? {
        Ok(0) => Ok(()),
        Ok(bad) => Err(CommandError::Failed(format!("{bad} bad {}", if bad == 1 { "value" } else { "values" }))),
        Err(Stop::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(Stop::Output(error)) => Err(stdout_failed(&error)),
        Err(Stop::Input(message)) => Err(CommandError::Failed(message)),
    }
}

/// Why the work stops before the end of the inputs.
enum Stop {
    Input(String),
    Output(std::io::Error),
}

/// Runs `work` on each input, or on stdin without files. Returns the number of bad values.
fn each_input(
    files: &[PathBuf],
    mut work: impl FnMut(&mut dyn BufRead, &str) -> Result<u64, Stop>,
) -> Result<u64, Stop> {
    let stdin = [PathBuf::from("-")];
    let mut bad = 0;
    for path in if files.is_empty() { &stdin } else { files } {
        if path == Path::new("-") {
            bad += work(&mut std::io::stdin().lock(), "stdin")?;
            continue;
        }
        let name = path.display().to_string();
        let file = std::fs::File::open(path).map_err(|error| Stop::Input(format!("can't read {name}: {error}")))?;
        bad += work(&mut BufReader::with_capacity(1 << 20, file), &name)?;
    }
    Ok(bad)
}

fn decode(
    input: &mut dyn BufRead,
    name: &str,
    from: BytesFormat,
    to: TextFormat,
    out: &mut impl Write,
) -> Result<u64, Stop> {
    let mut shown = Vec::new();
    let mut decoder = Decoder::default();
    let mut writer = plain::Writer::default();
    each_value(input, name, from, |bytes| {
        shown.clear();
        // Bytes that break a rule of the format are an error, however they are shown.
        decoder.decode(bytes).map_err(|error| Bad::Value(error.to_string()))?;
        match to {
            TextFormat::Json => typed::write(bytes, &mut shown).map_err(|error| Bad::Value(error.to_string()))?,
            TextFormat::Plain => writer.append(bytes, &mut shown).map_err(|error| Bad::Value(error.to_string()))?,
            TextFormat::Hex => shown.extend_from_slice(hex::encode(bytes).as_bytes()),
        }
        shown.push(b'\n');
        out.write_all(&shown).map_err(Bad::Output)
    })
}

fn read_json(line: &[u8], from: JsonMapping, types: &mut FieldTypes, value: &mut Vec<u8>) -> Result<(), String> {
    let read = match from {
        JsonMapping::Json => typed::read(line, value).map_err(HintedError::from),
        JsonMapping::Plain => types.read(line, value),
    };
    read.map_err(|error| error.to_string())
}

fn encode(
    input: &mut dyn BufRead,
    name: &str,
    mut read: impl FnMut(&[u8], &mut Vec<u8>) -> Result<(), String>,
    to: BytesFormat,
    out: &mut impl Write,
) -> Result<u64, Stop> {
    let mut value = Vec::new();
    each_line(input, name, |line| {
        value.clear();
        read(line, &mut value).map_err(Bad::Value)?;
        match to {
            BytesFormat::Hex => writeln!(out, "{}", hex::encode(&value)).map_err(Bad::Output),
            BytesFormat::Binary => {
                let length =
                    u32::try_from(value.len()).map_err(|_| Bad::Value("longer than 4 GiB; use --to hex".to_owned()))?;
                out.write_all(&length.to_le_bytes()).and_then(|()| out.write_all(&value)).map_err(Bad::Output)
            }
        }
    })
}

enum Bad {
    Value(String),
    Output(std::io::Error),
}

/// Runs `work` on the bytes of each value. Returns the number of bad ones.
fn each_value(
    input: &mut dyn BufRead,
    name: &str,
    from: BytesFormat,
    mut work: impl FnMut(&[u8]) -> Result<(), Bad>,
) -> Result<u64, Stop> {
    if from == BytesFormat::Hex {
        return each_line(input, name, |line| {
            let digits: Vec<u8> = line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let bytes = hex::decode(digits).map_err(|error| Bad::Value(format!("not hex: {error}")))?;
            work(&bytes)
        });
    }
    let mut bad = 0;
    let mut bytes = Vec::new();
    for number in 1.. {
        let mut length = [0; 4];
        let failed = |error: std::io::Error| Stop::Input(format!("{name}, value {number}: {error}"));
        if input.fill_buf().map_err(failed)?.is_empty() {
            break;
        }
        input.read_exact(&mut length).map_err(failed)?;
        let length = u64::from(u32::from_le_bytes(length));
        bytes.clear();
        // A wrong length allocates no more than the input has.
        let have = input.take(length).read_to_end(&mut bytes).map_err(failed)?;
        if (have as u64) < length {
            return Err(Stop::Input(format!("{name}, value {number}: the input ends after {have} of {length} bytes")));
        }
        bad += tell(work(&bytes), name, "value", number)?;
    }
    Ok(bad)
}

/// Runs `work` on each line that is not empty. Returns the number of bad ones.
fn each_line(input: &mut dyn BufRead, name: &str, mut work: impl FnMut(&[u8]) -> Result<(), Bad>) -> Result<u64, Stop> {
    let mut bad = 0;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| Stop::Input(format!("can't read {name}: {error}")))? == 0 {
            break;
        }
        // A byte order mark isn't part of the text.
        let line = if number == 1 { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line) } else { &line };
        let line = line.trim_ascii();
        if !line.is_empty() {
            bad += tell(work(line), name, "line", number)?;
        }
    }
    Ok(bad)
}

/// Reports an invalid value and counts it.
fn tell(worked: Result<(), Bad>, name: &str, unit: &str, number: u64) -> Result<u64, Stop> {
    match worked {
        Ok(()) => Ok(0),
        Err(Bad::Value(reason)) => {
            eprintln!("rawline: {name}, {unit} {number}: {reason}");
            Ok(1)
        }
        Err(Bad::Output(error)) => Err(Stop::Output(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_json_with_a_mistake_is_an_error_and_not_a_table() {
        let read = |line: &str| {
            let mut out = Vec::new();
            value_of_json(line.as_bytes(), &mut FieldTypes::new(Vec::new()), &mut out).map(|()| out)
        };
        assert_eq!(read(r#"{"@data-type":"count","data":42}"#).unwrap(), read("42").unwrap());
        for wrong in [
            r#"{"@data-type":"count","data":"x"}"#,
            r#"{"@data-type":"colour","data":1}"#,
            r#"{"@data-type":"vector","data":[{"@data-type":"count"}]}"#,
            r#"{"data":1,"@data-type":17}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        // The text elsewhere does not make a line typed.
        assert!(read(r#"{"text":"\"@data-type\""}"#).is_ok());
        assert!(read(r#"{"inner":{"@data-type":"count","data":"x"}}"#).is_ok());
    }
}
