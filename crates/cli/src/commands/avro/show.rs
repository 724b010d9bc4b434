//! Avro records as lines of JSON or as an object container file.

use super::input::FramingArg;
use super::schemas::{Schemas, read_schema};
use crate::commands::CommandError;
use rawline_avro::{Codec, ContainerWriter, Framing, MessageReader, RowBuffer, Schema, WriterId};
use rawline_client::Fetched;

/// How Avro records are read
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "With --format avro")]
pub struct DecodeArgs {
    /// The schema to read with, its file or `measurement`: fields that it has not are left out, new ones get their
    /// defaults [default: the schema that each record was written with]
    #[arg(long, value_name = "FILE|measurement")]
    pub schema: Option<String>,

    /// The schema that records were written with which do not name it [default: --schema]
    #[arg(long, value_name = "FILE|measurement")]
    pub writer_schema: Option<String>,

    /// What stands before each record: single-object, registry:N, or bare
    #[arg(long, value_name = "FRAMING", default_value = "single-object")]
    pub framing: FramingArg,

    /// What to write: a line of JSON for each record, or an Avro object container file
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Output::Json)]
    pub output: Output,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// A line of JSON for each record
    Json,
    /// An Avro object container file, compressed with deflate, which every Avro library reads. Its schema is --schema,
    /// or the one that wrote the first record
    Avro,
}

/// Shows records.
pub struct Shower {
    schemas: Schemas,
    framing: Framing,
    reader: MessageReader,
    row: RowBuffer,
    output: Output,
    /// The file that is being written, once its schema is known.
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
    /// Reads the schemas from their files; `schemas` are those of the log.
    pub fn new(args: &DecodeArgs, schemas: Schemas) -> Result<Shower, CommandError> {
        let reader = args.schema.as_deref().map(read_schema).transpose()?;
        let writer = args.writer_schema.as_deref().map(read_schema).transpose()?.or_else(|| reader.clone());
        if args.framing != FramingArg::SingleObject {
            let Some(writer) = writer else {
                let message = "these records do not name their schema: give it with --writer-schema";
                return Err(CommandError::Usage(message.to_owned()));
            };
            let added = schemas.store().add_as(args.framing.writer(&writer), &writer);
            added.map_err(|error| CommandError::Failed(error.to_string()))?;
        }
        let framing = args.framing.framing();
        let reader = MessageReader::new(schemas.store().clone(), framing, reader);
        Ok(Shower { schemas, framing, reader, row: RowBuffer::new(), output: args.output, file: None })
    }

    /// Reads the schemas of records that were written with one that has come to the log since.
    pub async fn meet(&mut self, fetched: &mut Fetched) -> Result<(), CommandError> {
        if self.framing != Framing::SingleObject {
            return Ok(());
        }
        let mut last = None;
        let mut records = fetched.records();
        while let Some(record) = records.next_record()? {
            let Ok((id @ WriterId::Fingerprint(_), _)) = self.framing.open(record.bytes) else { continue };
            if last != Some(id) && !self.schemas.has(id) {
                // A schema that is still missing is an error when its record is shown.
                return self.schemas.refresh().await;
            }
            last = Some(id);
        }
        Ok(())
    }

    /// Appends the record as a line of JSON, or adds it to the container file.
    pub fn show(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if self.output == Output::Avro && self.file.is_none() {
            self.begin_file(record, out)?;
        }
        let (plan, value) = self.reader.open(record).map_err(|error| error.to_string())?;
        let row = plan.row(&mut self.row, value).map_err(|error| error.to_string())?;
        match &mut self.file {
            Some(file) => {
                file.value.clear();
                row.datum().encode(&mut file.value);
                file.writer.push(&file.value, out).map_err(|error| error.to_string())
            }
            None => {
                row.datum().write_json(out);
                out.push(b'\n');
                Ok(())
            }
        }
    }

    /// Appends the file's head. Its schema is the one that `record` is read as, and from now on all records are read
    /// as it.
    fn begin_file(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let (plan, _) = self.reader.open(record).map_err(|error| error.to_string())?;
        let schema = plan.reader().clone();
        self.reader = MessageReader::new(self.schemas.store().clone(), self.framing, Some(schema.clone()));
        self.file = Some(File::begin(&schema, out));
        Ok(())
    }

    /// Appends what ends the output. A file without a record has a head only if `--schema` says which.
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
