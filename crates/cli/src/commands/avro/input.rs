//! Converts lines of JSON or CSV, or the values of a container file, to Avro records of one schema.

use super::csv::Cells;
use super::fields::{Assignment, Object, cell, find, put, set, split};
use super::schemas::read_schema;
use crate::commands::CommandError;
use rawline_avro::{ContainerReader, Framing, Json, Limits, LineEncoder, RowBuffer, Schema, TypeId, WriterId};
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

    /// Constant value of a field, such as tags.region=eu-west-1; replaces that of the input; repeatable
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub constants: Vec<Assignment>,

    /// Source of a field: a column or JSON field, such as logtime=timestamp; repeatable
    #[arg(long = "column", value_name = "FIELD=COLUMN")]
    pub columns: Vec<Assignment>,

    /// Column or JSON field to ignore; repeatable
    #[arg(long = "skip", value_name = "COLUMN")]
    pub skipped: Vec<String>,

    /// Header that identifies the schema of each record: single-object (10 bytes), registry:N (5 bytes), or bare (none)
    #[arg(long, value_name = "FRAMING", default_value = "single-object", value_parser = framing_to_write)]
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

/// The header of a record, with a registry's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingArg {
    /// C3 01 and the schema's fingerprint.
    SingleObject,
    /// A zero and the schema's number in a registry; `None` for several numbers, to read.
    Registry(Option<u32>),
    /// No header: readers must know the schema.
    Bare,
}

impl FromStr for FramingArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("registry:").map(str::parse)) {
            ("single-object", _) => Ok(FramingArg::SingleObject),
            ("bare", _) => Ok(FramingArg::Bare),
            ("registry", _) => Ok(FramingArg::Registry(None)),
            (_, Some(Ok(number))) => Ok(FramingArg::Registry(Some(number))),
            (_, Some(Err(_))) => Err("a registry's schema has a number: registry:7".to_owned()),
            _ => Err(format!("{text:?} isn't a framing; use single-object, registry:N or bare")),
        }
    }
}

/// A framing whose header is complete.
fn framing_to_write(text: &str) -> Result<FramingArg, String> {
    match text.parse()? {
        FramingArg::Registry(None) => Err("give the schema's number in the registry: registry:7".to_owned()),
        framing => Ok(framing),
    }
}

impl FramingArg {
    /// How a message identifies this schema.
    fn writer(self, schema: &Schema) -> WriterId {
        match self {
            FramingArg::SingleObject => WriterId::Fingerprint(schema.fingerprint()),
            FramingArg::Registry(Some(number)) => WriterId::Number(number),
            FramingArg::Registry(None) => unreachable!("a framing without a number was refused"),
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

/// A field that a column's cells belong to.
#[derive(Clone)]
struct Target {
    path: Vec<String>,
    type_id: TypeId,
}

/// Converts lines to records.
#[derive(Clone)]
pub struct Encoder {
    schema: Arc<Schema>,
    input: Input,
    writer: WriterId,
    columns: Vec<Assignment>,
    skipped: Vec<String>,
    /// The constant fields, by their paths.
    constants: Vec<(Vec<String>, Json)>,
    /// The fields of each column of CSV, after its first line; none for a column that is skipped.
    header: Option<Vec<Vec<Target>>>,
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
        let mut constants = Vec::new();
        for Assignment { field, value } in &args.constants {
            let (path, type_id) = find(&schema, field).map_err(CommandError::Usage)?;
            let value = cell(&schema, type_id, value)
                .map_err(|error| CommandError::Usage(format!("--set {field}={value}: {error}")))?;
            constants.push((path, value));
        }
        for (index, Assignment { field, value }) in args.columns.iter().enumerate() {
            find(&schema, field).map_err(CommandError::Usage)?;
            let before = args.columns.get(..index).unwrap_or_default();
            if let Some(other) = before.iter().find(|other| other.field == *field && other.value != *value) {
                let message = format!("--column gives the field {field} two columns, {} and {value}", other.value);
                return Err(CommandError::Usage(message));
            }
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

    /// Whether lines are rows of CSV: line breaks inside quotes are part of them.
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
        self.schema.encode_tree(&fields, out).map_err(|error| error.to_string())?;
        Ok(Some(()))
    }

    fn fields_of_json(&self, line: &[u8]) -> Result<Json, String> {
        let parsed = Json::parse(line).map_err(|error| format!("not JSON: {error}"))?;
        if self.constants.is_empty() && self.columns.is_empty() && self.skipped.is_empty() {
            return Ok(parsed);
        }
        let Json::Object(given) = parsed else {
            return Err("--set, --column and --skip are for objects, this line is none".to_owned());
        };
        let mut fields = Object::new();
        for (name, value) in given {
            if self.skipped.contains(&name) {
                continue;
            }
            let mut columns = self.columns.iter().filter(|column| column.value == name).peekable();
            if columns.peek().is_none() {
                put(&mut fields, &[name], value)?;
                continue;
            }
            for column in columns {
                put(&mut fields, &split(&column.field), value.clone())?;
            }
        }
        self.with_constants(fields)
    }

    fn with_constants(&self, mut fields: Object) -> Result<Json, String> {
        for (path, value) in &self.constants {
            set(&mut fields, path, value.clone())?;
        }
        Ok(Json::Object(fields))
    }

    fn fields_of_csv(&mut self, row: &[u8]) -> Result<Option<Json>, String> {
        let cells = self.cells.cut(row)?;
        let Some(header) = &self.header else {
            let names: Vec<String> = cells.map(|name| name.trim().to_owned()).collect();
            self.header = Some(self.targets(&names)?);
            return Ok(None);
        };
        if cells.len() != header.len() {
            return Err(format!("{} columns, but the first line names {}", cells.len(), header.len()));
        }
        let mut fields = Object::new();
        for (targets, text) in header.iter().zip(cells) {
            for Target { path, type_id } in targets {
                let value = cell(&self.schema, *type_id, text);
                put(&mut fields, path, value.map_err(|error| format!("{}: {error}", path.join(".")))?)?;
            }
        }
        self.with_constants(fields).map(Some)
    }

    /// The fields of each column. Every column has a field, or is skipped; no field has two columns.
    fn targets(&self, names: &[String]) -> Result<Vec<Vec<Target>>, String> {
        for Assignment { field, value } in &self.columns {
            if !names.contains(value) {
                return Err(format!("--column {field}={value}: the first line has {}", names.join(", ")));
            }
        }
        let header: Vec<Vec<Target>> = names.iter().map(|name| self.targets_of(name)).collect::<Result<_, _>>()?;
        let mut known: Vec<(&[String], &str)> = Vec::new();
        for (name, targets) in names.iter().zip(&header) {
            for Target { path, .. } in targets {
                if let Some((_, other)) = known.iter().find(|(other, _)| other == path) {
                    let field = path.join(".");
                    return Err(format!(
                        "the columns {other} and {name} are both the field {field}; rename or skip one"
                    ));
                }
                known.push((path, name));
            }
        }
        Ok(header)
    }

    fn targets_of(&self, column: &str) -> Result<Vec<Target>, String> {
        if self.skipped.iter().any(|skipped| skipped == column) {
            return Ok(Vec::new());
        }
        let renamed = self.columns.iter().filter(|renamed| renamed.value == column);
        let mut fields: Vec<&str> = renamed.map(|renamed| renamed.field.as_str()).collect();
        if fields.is_empty() {
            fields.push(column);
        }
        let target = |field| find(&self.schema, field).map(|(path, type_id)| Target { path, type_id });
        fields.into_iter().map(target).collect::<Result<_, _>>().map_err(|error| {
            format!("column {column}: {error}; map it with --column FIELD={column}, or add --skip {column}")
        })
    }
}
