//! Avro records as lines of JSON.

use super::input::FramingArg;
use super::schemas::{Schemas, read_schema};
use crate::commands::CommandError;
use rawline_avro::{Framing, MessageReader, RowBuffer, WriterId};
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
}

/// Shows records.
pub struct Shower {
    schemas: Schemas,
    framing: Framing,
    reader: MessageReader,
    row: RowBuffer,
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
        Ok(Shower { schemas, framing, reader, row: RowBuffer::new() })
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
                // One that is not there either is told when its record is shown.
                return self.schemas.refresh().await;
            }
            last = Some(id);
        }
        Ok(())
    }

    /// Appends the record as JSON.
    pub fn show(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let (plan, value) = self.reader.open(record).map_err(|error| error.to_string())?;
        let row = plan.row(&mut self.row, value).map_err(|error| error.to_string())?;
        row.datum().write_json(out);
        Ok(())
    }
}
