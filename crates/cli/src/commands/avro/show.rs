//! Avro records as lines of JSON or as an object container file.

use super::input::FramingArg;
use super::schemas::{Schemas, WriterSchema, add_writers, read_schema};
use crate::commands::CommandError;
use rawline_avro::{Codec, ContainerWriter, Framing, FramingError, MessageReader, RowBuffer, Schema, WriterId};
use rawline_client::{ClientError, Fetched};

/// Decoding of Avro records
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "With --format avro")]
pub struct DecodeArgs {
    /// Schema of the output, a file or `measurement`: other fields are ignored, missing ones get their defaults
    /// [default: the writer's schema of each record]
    #[arg(long, value_name = "FILE|measurement")]
    pub schema: Option<String>,

    /// Schema of the records: a file or `measurement`, with its number in the registry if there are several (N=FILE);
    /// repeatable [default: --schema, or the log's schema with the record's fingerprint]
    #[arg(long = "writer-schema", value_name = "[N=]FILE")]
    pub writer_schemas: Vec<WriterSchema>,

    /// Header before each record: single-object, registry:N, registry (with several numbers), or bare (none)
    #[arg(long, value_name = "FRAMING", default_value = "single-object")]
    pub framing: FramingArg,

    /// Format of the output
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Output::Json)]
    pub output: Output,
}

/// Format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// A JSON value per line
    Json,
    /// An Avro object container file with deflate compression; its schema is --schema, or the first record's
    Avro,
}

/// Converts records to lines of JSON.
pub struct LineShower {
    reader: MessageReader,
    row: RowBuffer,
}

impl Clone for LineShower {
    /// A copy allocates its own row buffer.
    fn clone(&self) -> LineShower {
        LineShower { reader: self.reader.clone(), row: RowBuffer::new() }
    }
}

impl LineShower {
    /// Appends the record as JSON.
    pub fn show(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let (plan, value) = self.reader.open(record).map_err(explained)?;
        let row = plan.row(&mut self.row, value).map_err(|error| error.to_string())?;
        row.datum().write_json(out);
        Ok(())
    }
}

/// Why a record's schema isn't known, with the flag that gives it.
fn explained(error: FramingError) -> String {
    match error {
        FramingError::UnknownNumber(number) => format!("{error}: --framing registry --writer-schema {number}=FILE"),
        error => error.to_string(),
    }
}

/// Converts records for the output.
pub struct Shower {
    schemas: Schemas,
    framing: Framing,
    reader: MessageReader,
    row: RowBuffer,
    output: Output,
    /// The open container file, once its schema is known.
    file: Option<File>,
}

struct File {
    writer: ContainerWriter,
    value: Vec<u8>,
}

impl File {
    fn begin(schema: &Schema, out: &mut Vec<u8>) -> File {
        File { writer: ContainerWriter::new(schema, Codec::Deflate, rand::random(), out), value: Vec::new() }
    }
}

impl Shower {
    /// Reads the schemas from their files; `schemas` has the schemas of the log.
    pub fn new(args: &DecodeArgs, schemas: Schemas) -> Result<Shower, CommandError> {
        let reader = args.schema.as_deref().map(read_schema).transpose()?;
        let mut writers = args.writer_schemas.clone();
        if let (true, Some(schema)) = (writers.is_empty() && args.framing != FramingArg::SingleObject, &args.schema) {
            writers.push(WriterSchema::of_file(schema));
        }
        add_writers(schemas.store(), args.framing, &writers, "--writer-schema")?;
        let framing = args.framing.framing();
        let reader = MessageReader::new(schemas.store().clone(), framing, reader);
        Ok(Shower { schemas, framing, reader, row: RowBuffer::new(), output: args.output, file: None })
    }

    /// Reads the schemas that were added to the log since the last call.
    pub async fn meet(&mut self, fetched: &mut Fetched) -> Result<(), CommandError> {
        if self.framing != Framing::SingleObject {
            return Ok(());
        }
        let mut last = None;
        let mut records = fetched.records();
        loop {
            let record = match records.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(()),
                // Reported when the records are shown.
                Err(ClientError::Unreadable { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let Ok((id @ WriterId::Fingerprint(_), _)) = self.framing.open(record.bytes) else { continue };
            if last != Some(id) && !self.schemas.has(id) {
                // A schema that is still missing is an error when its record is shown.
                return self.schemas.refresh().await;
            }
            last = Some(id);
        }
    }

    /// Converts records to lines; `None` if the output is a container file. Schemas that are read later are known to
    /// it too.
    pub fn lines(&self) -> Option<LineShower> {
        (self.output == Output::Json).then(|| LineShower { reader: self.reader.clone(), row: RowBuffer::new() })
    }

    /// Adds the record to the container file.
    pub fn show(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if self.file.is_none() {
            self.begin_file(record, out)?;
        }
        let (plan, value) = self.reader.open(record).map_err(explained)?;
        let row = plan.row(&mut self.row, value).map_err(|error| error.to_string())?;
        let Some(file) = &mut self.file else { unreachable!("a record of a container file that was not begun") };
        file.value.clear();
        row.datum().encode(&mut file.value);
        file.writer.push(&file.value, out).map_err(|error| error.to_string())
    }

    /// Appends the file's head with the schema that `record` is read as; all later records are read as it.
    fn begin_file(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let (plan, _) = self.reader.open(record).map_err(explained)?;
        let schema = plan.reader().clone();
        self.reader = MessageReader::new(self.schemas.store().clone(), self.framing, Some(schema.clone()));
        self.file = Some(File::begin(&schema, out));
        Ok(())
    }

    /// Appends the records that the container file holds back for its next block.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        match &mut self.file {
            Some(file) => file.writer.flush(out).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Appends the end of the output. A file without records has a head only if `--schema` is given.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if self.output == Output::Avro && self.file.is_none() {
            self.file = self.reader.reader().map(|schema| File::begin(schema, out));
        }
        match &mut self.file {
            Some(file) => file.writer.flush(out).map_err(|error| error.to_string()),
            None if self.output == Output::Avro => {
                Err("there is no record to take the file's schema from; give it with --schema".to_owned())
            }
            None => Ok(()),
        }
    }
}
