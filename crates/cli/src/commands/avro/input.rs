//! Converts lines of JSON or CSV, or the values of a container file, to Avro records of one schema.

use super::schemas::read_schema;
use crate::commands::CommandError;
use csv_core::ReadRecordResult;
use jiff::Timestamp;
use jiff::civil::DateTime;
use rawline_avro::{
    ContainerReader, Framing, Kind, Limits, LineEncoder, Logical, RowBuffer, Schema, Type, TypeId, WriterId,
};
use serde_json::{Map, Number, Value as Json};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Conversion of lines to Avro records
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "With --format avro")]
pub struct EncodeArgs {
    /// Schema of the records: a file, or `measurement` for {metric, tags, logtime, value} [default: the schema of the
    /// container file]
    #[arg(long, value_name = "FILE|measurement")]
    pub schema: Option<String>,

    /// Format of the input [default: from the extension .csv or .avro, else json]
    #[arg(long, value_enum, value_name = "KIND")]
    pub input: Option<Input>,

    /// Constant value of a field, such as tags.region=eu-west-1; repeatable
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub constants: Vec<Assignment>,

    /// Name of a field in the input, such as logtime=timestamp; repeatable
    #[arg(long = "column", value_name = "FIELD=COLUMN")]
    pub columns: Vec<Assignment>,

    /// Column or JSON field to ignore; repeatable
    #[arg(long = "skip", value_name = "COLUMN")]
    pub skipped: Vec<String>,

    /// Header before each record, which identifies its schema: single-object (10 bytes), registry:N (5 bytes), or bare
    /// (none)
    #[arg(long, value_name = "FRAMING", default_value = "single-object")]
    pub framing: FramingArg,
}

/// Format of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Input {
    /// A JSON object per line
    Json,
    /// Comma-separated values; the first line names the columns
    Csv,
    /// An Avro object container file, read into memory
    Avro,
}

impl Input {
    /// The format from `--input`, or from the file's name.
    fn of(args: &EncodeArgs, file: Option<&Path>) -> Input {
        let ends_in = |end: &str| file.and_then(Path::extension).is_some_and(|found| found.eq_ignore_ascii_case(end));
        match args.input {
            Some(input) => input,
            None if ends_in("csv") => Input::Csv,
            None if ends_in("avro") => Input::Avro,
            None => Input::Json,
        }
    }
}

/// The values of a container file as records, a block at a time.
pub struct FileRecords<'f> {
    file: ContainerReader<'f>,
    schema: Arc<Schema>,
    writer: WriterId,
    row: RowBuffer,
    data: Vec<u8>,
    /// The ends of the records in `data`.
    ends: Vec<usize>,
}

impl<'f> FileRecords<'f> {
    /// Whether the input is a container file.
    pub fn are_given(args: &EncodeArgs, file: Option<&Path>) -> bool {
        Input::of(args, file) == Input::Avro
    }

    /// Reads the file's head. The schema is from `args`, or the file's.
    pub fn open(args: &EncodeArgs, file: &'f [u8]) -> Result<FileRecords<'f>, CommandError> {
        if !(args.constants.is_empty() && args.columns.is_empty() && args.skipped.is_empty()) {
            let message = "--set, --column and --skip are for JSON and CSV; give the records' schema with --schema";
            return Err(CommandError::Usage(message.to_owned()));
        }
        let reader = args.schema.as_deref().map(read_schema).transpose()?;
        let file = ContainerReader::open(file, reader.as_ref(), Limits::DEFAULT)
            .map_err(|error| CommandError::Failed(error.to_string()))?;
        let schema = file.plan().reader().clone();
        let writer = args.framing.writer(&schema);
        Ok(FileRecords { file, schema, writer, row: RowBuffer::new(), data: Vec::new(), ends: Vec::new() })
    }

    /// The records' schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Whether the header of a record identifies the schema.
    pub fn names_its_schema(&self) -> bool {
        matches!(self.writer, WriterId::Fingerprint(_))
    }

    /// The records of the next block; `None` at the end of the file.
    pub fn next_block(&mut self) -> Result<Option<impl Iterator<Item = &[u8]>>, String> {
        let FileRecords { file, writer, row, data, ends, .. } = self;
        data.clear();
        ends.clear();
        let read = file.for_each_of_block(row, |row| {
            writer.write(data);
            row.datum().encode(data);
            ends.push(data.len());
        });
        if !read.map_err(|error| error.to_string())? {
            return Ok(None);
        }
        let (data, ends) = (&*data, &*ends);
        let begins = [0].into_iter().chain(ends.iter().copied());
        Ok(Some(begins.zip(ends).map(move |(begin, end)| data.get(begin..*end).unwrap_or_default())))
    }
}

/// A field and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    field: String,
    value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((field, value)) if !field.is_empty() => {
                Ok(Assignment { field: field.to_owned(), value: value.to_owned() })
            }
            _ => Err("write it as FIELD=VALUE, such as tags.region=eu-west-1".to_owned()),
        }
    }
}

/// The header of a record, with a registry's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingArg {
    /// C3 01 and the schema's fingerprint.
    SingleObject,
    /// A zero and the schema's number in a registry.
    Registry(u32),
    /// No header: readers must know the schema.
    Bare,
}

impl FromStr for FramingArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("registry:").map(str::parse)) {
            ("single-object", _) => Ok(FramingArg::SingleObject),
            ("bare", _) => Ok(FramingArg::Bare),
            (_, Some(Ok(number))) => Ok(FramingArg::Registry(number)),
            (_, Some(Err(_))) => Err("a registry's schema has a number: registry:7".to_owned()),
            _ => Err(format!("{text:?} is no framing; there are single-object, registry:N and bare")),
        }
    }
}

impl FramingArg {
    /// How a message identifies this schema.
    pub fn writer(self, schema: &Schema) -> WriterId {
        match self {
            FramingArg::SingleObject => WriterId::Fingerprint(schema.fingerprint()),
            FramingArg::Registry(number) => WriterId::Number(number),
            FramingArg::Bare => WriterId::Known,
        }
    }

    /// The same without the number.
    pub fn framing(self) -> Framing {
        match self {
            FramingArg::SingleObject => Framing::SingleObject,
            FramingArg::Registry(_) => Framing::Registry,
            FramingArg::Bare => Framing::Bare,
        }
    }
}

/// The target of a column's cells.
#[derive(Clone)]
enum Target {
    Field { path: Vec<String>, type_id: TypeId },
    Nowhere,
}

/// Converts lines to records.
#[derive(Clone)]
pub struct Encoder {
    schema: Arc<Schema>,
    input: Input,
    writer: WriterId,
    columns: Vec<Assignment>,
    skipped: Vec<String>,
    /// The constant fields, with which each record begins.
    constants: Map<String, Json>,
    /// The columns of CSV, after its first line.
    header: Option<Vec<Target>>,
    cells: Cells,
    /// Encodes most lines of JSON, if they need nothing else.
    lines: Option<LineEncoder>,
}

impl Encoder {
    /// Reads the schema and checks the fields that are named. `file` is the input's name, if it has one.
    pub fn new(args: &EncodeArgs, file: Option<&Path>) -> Result<Encoder, CommandError> {
        let Some(schema) = &args.schema else {
            return Err(CommandError::Usage("--format avro needs --schema, a file or `measurement`".to_owned()));
        };
        let schema = read_schema(schema)?;
        let input = Input::of(args, file);
        let mut constants = Map::new();
        for Assignment { field, value } in &args.constants {
            let (path, type_id) = find(&schema, field).map_err(CommandError::Usage)?;
            let value = cell(&schema, type_id, value)
                .map_err(|error| CommandError::Usage(format!("--set {field}={value}: {error}")))?;
            put(&mut constants, &path, value);
        }
        for Assignment { field, .. } in &args.columns {
            find(&schema, field).map_err(CommandError::Usage)?;
        }
        let renamed: Vec<(&str, &str)> =
            args.columns.iter().map(|column| (column.field.as_str(), column.value.as_str())).collect();
        let skipped: Vec<&str> = args.skipped.iter().map(String::as_str).collect();
        let has_lines = input == Input::Json && constants.is_empty();
        let lines = has_lines.then(|| LineEncoder::new(schema.clone(), &renamed, &skipped)).flatten();
        Ok(Encoder {
            lines,
            input,
            writer: args.framing.writer(&schema),
            schema,
            columns: args.columns.clone(),
            skipped: args.skipped.clone(),
            constants,
            header: None,
            cells: Cells::new(),
        })
    }

    /// The records' schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Whether the header of a record identifies the schema.
    pub fn names_its_schema(&self) -> bool {
        matches!(self.writer, WriterId::Fingerprint(_))
    }

    /// Whether newlines inside quotes are part of the line.
    pub fn has_quotes(&self) -> bool {
        self.input == Input::Csv
    }

    /// Whether the next line names the columns of CSV.
    pub fn needs_header(&self) -> bool {
        self.has_quotes() && self.header.is_none()
    }

    /// Appends the record of this line to `out`. Appends nothing for the first line of CSV.
    pub fn encode(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Option<()>, String> {
        if let Some(lines) = &mut self.lines {
            let begin = out.len();
            self.writer.write(out);
            if lines.encode(line, out) {
                return Ok(Some(()));
            }
            out.truncate(begin);
        }
        let fields = match self.input {
            Input::Json => self.fields_of_json(line)?,
            Input::Avro => unreachable!("a container file has no lines"),
            Input::Csv => match self.fields_of_csv(line)? {
                Some(fields) => fields,
                None => return Ok(None),
            },
        };
        self.writer.write(out);
        self.schema.encode_value(&fields, out).map_err(|error| error.to_string())?;
        Ok(Some(()))
    }

    fn fields_of_json(&self, line: &[u8]) -> Result<Json, String> {
        let parsed: Json = serde_json::from_slice(line).map_err(|error| format!("not JSON: {error}"))?;
        if self.constants.is_empty() && self.columns.is_empty() && self.skipped.is_empty() {
            return Ok(parsed);
        }
        let Json::Object(given) = parsed else {
            return Err("--set, --column and --skip are for objects, this line is none".to_owned());
        };
        let mut fields = self.constants.clone();
        for (name, value) in given {
            if self.skipped.contains(&name) {
                continue;
            }
            match self.columns.iter().find(|column| column.value == name) {
                Some(column) => put(&mut fields, &split(&column.field), value),
                None => drop(fields.insert(name, value)),
            }
        }
        Ok(Json::Object(fields))
    }

    fn fields_of_csv(&mut self, line: &[u8]) -> Result<Option<Json>, String> {
        let cells = self.cells.cut(line)?;
        let Some(header) = &self.header else {
            let names: Vec<String> = cells.map(|name| name.trim().to_owned()).collect();
            self.header = Some(names.iter().map(|name| self.target(name)).collect::<Result<_, _>>()?);
            return Ok(None);
        };
        if cells.len() != header.len() {
            return Err(format!("{} columns, but the first line names {}", cells.len(), header.len()));
        }
        let mut fields = self.constants.clone();
        for (target, text) in header.iter().zip(cells) {
            if let Target::Field { path, type_id } = target {
                let value = cell(&self.schema, *type_id, text.trim());
                put(&mut fields, path, value.map_err(|error| format!("{}: {error}", path.join(".")))?);
            }
        }
        Ok(Some(Json::Object(fields)))
    }

    fn target(&self, column: &str) -> Result<Target, String> {
        if self.skipped.iter().any(|skipped| skipped == column) {
            return Ok(Target::Nowhere);
        }
        let field = match self.columns.iter().find(|renamed| renamed.value == column) {
            Some(renamed) => renamed.field.as_str(),
            None => column,
        };
        let (path, type_id) = find(&self.schema, field).map_err(|error| {
            format!("column {column}: {error}; say which it is with --column FIELD={column}, or --skip {column}")
        })?;
        Ok(Target::Field { path, type_id })
    }
}

/// Splits lines of CSV; reuses its memory.
struct Cells {
    reader: csv_core::Reader,
    line: Vec<u8>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Clone for Cells {
    /// With a reader of its own: a copy of a reader that has read nothing returned empty cells.
    fn clone(&self) -> Cells {
        Cells::new()
    }
}

impl Cells {
    fn new() -> Cells {
        Cells { reader: csv_core::Reader::new(), line: Vec::new(), text: Vec::new(), ends: Vec::new() }
    }

    /// The cells of a whole line, without quotes.
    fn cut(&mut self, line: &[u8]) -> Result<impl ExactSizeIterator<Item = &str>, String> {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.line.push(b'\n');
        // Cells are not longer than the line, and not more than its bytes.
        self.text.resize(self.line.len(), 0);
        self.ends.resize(self.line.len(), 0);
        let (result, _, text, ends) = self.reader.read_record(&self.line, &mut self.text, &mut self.ends);
        if result != ReadRecordResult::Record {
            self.reader.reset();
            return Err("not CSV: a quote is not closed".to_owned());
        }
        let text = std::str::from_utf8(self.text.get(..text).unwrap_or_default())
            .map_err(|_| "not CSV: its bytes are not UTF-8".to_owned())?;
        let ends = self.ends.get(..ends).unwrap_or_default();
        let begin = |cell: usize| cell.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        Ok(ends.iter().enumerate().map(move |(cell, end)| text.get(begin(cell)..*end).unwrap_or_default()))
    }
}

fn split(field: &str) -> Vec<String> {
    field.split('.').map(str::to_owned).collect()
}

/// The position and type of a field such as `tags.region`.
fn find(schema: &Schema, field: &str) -> Result<(Vec<String>, TypeId), String> {
    let path = split(field);
    let mut at = schema.root();
    for name in &path {
        at = match schema.kind(bare(schema, at)) {
            Kind::Map(values) => *values,
            Kind::Record(record) => match record.fields.iter().find(|field| field.name == *name) {
                Some(field) => field.type_id,
                None => {
                    let known: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
                    return Err(format!("the schema has no field {field}; there are {}", known.join(", ")));
                }
            },
            kind => return Err(format!("{field} leads into a {kind}, which has no fields")),
        };
    }
    Ok((path, at))
}

/// The type within a nullable one.
fn bare(schema: &Schema, id: TypeId) -> TypeId {
    match schema.kind(id) {
        Kind::Union(branches) => {
            let mut values = branches.iter().filter(|id| !matches!(schema.kind(**id), Kind::Null));
            match (values.next(), values.next()) {
                (Some(only), None) => *only,
                _ => id,
            }
        }
        _ => id,
    }
}

/// Converts a text to the JSON of the field's type.
fn cell(schema: &Schema, id: TypeId, text: &str) -> Result<Json, String> {
    let inner = bare(schema, id);
    if text.is_empty() && inner != id {
        return Ok(Json::Null);
    }
    let Type { kind, logical } = schema.type_at(inner);
    let number = || text.parse::<Number>().map(Json::Number).map_err(|_| format!("{text:?} is no number"));
    match kind {
        Kind::Boolean => match text {
            "true" | "1" => Ok(Json::Bool(true)),
            "false" | "0" => Ok(Json::Bool(false)),
            _ => Err(format!("{text:?} is neither true nor false")),
        },
        Kind::Int | Kind::Long if logical.is_some() && text.parse::<i64>().is_err() => {
            Ok(Json::String(match (text.parse::<Timestamp>(), text.parse::<DateTime>()) {
                // A time without a zone is taken as UTC's.
                (Err(_), Ok(time)) if logical.is_some_and(is_timestamp) => format!("{time}Z"),
                _ => text.to_owned(),
            }))
        }
        Kind::Int | Kind::Long => number(),
        Kind::Float | Kind::Double => match text {
            "NaN" | "nan" | "inf" | "-inf" | "Infinity" | "-Infinity" => Ok(Json::String(
                match text {
                    "NaN" | "nan" => "NaN",
                    "inf" | "Infinity" => "Infinity",
                    _ => "-Infinity",
                }
                .to_owned(),
            )),
            _ => number(),
        },
        Kind::String | Kind::Bytes | Kind::Fixed(_) | Kind::Enum(_) => Ok(Json::String(text.to_owned())),
        Kind::Null if text.is_empty() => Ok(Json::Null),
        _ => serde_json::from_str(text).map_err(|error| format!("a {kind} is written as JSON: {error}")),
    }
}

fn is_timestamp(logical: Logical) -> bool {
    matches!(logical, Logical::TimestampMillis | Logical::TimestampMicros | Logical::TimestampNanos)
}

/// Inserts a value into an object at its path, and creates the objects on the path.
fn put(fields: &mut Map<String, Json>, path: &[String], value: Json) {
    match path {
        [] => {}
        [name] => drop(fields.insert(name.clone(), value)),
        [name, rest @ ..] => {
            let inner = fields.entry(name.clone()).or_insert_with(|| Json::Object(Map::new()));
            if !inner.is_object() {
                *inner = Json::Object(Map::new());
            }
            if let Json::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}
