//! Schemas in files and in a topic of the log, one per record; readers find a schema by its fingerprint.

use super::{FramingArg, MEASUREMENT_SCHEMA};
use crate::commands::CommandError;
use rawline_avro::{FramingError, Schema, SchemaStore, WriterId};
use rawline_client::{Client, ClientError, Consumer, ConsumerConfig, Start};
use std::str::FromStr;
use std::sync::Arc;

/// The topic that holds the schemas' JSON. Records never change, so a reader at some
/// offset knows every schema before it.
pub const SCHEMAS_TOPIC: &str = "_schemas";

/// Reads a schema from its file; `measurement` is built in.
pub fn read_schema(name: &str) -> Result<Arc<Schema>, CommandError> {
    let text = match name {
        "measurement" => MEASUREMENT_SCHEMA.to_owned(),
        path => std::fs::read_to_string(path).map_err(|error| {
            CommandError::Failed(format!("can't read the schema {path}: {error}; give an .avsc file, or `measurement`"))
        })?,
    };
    let schema = Schema::parse(&text).map_err(|error| CommandError::Failed(format!("{name}: {error}")))?;
    Ok(Arc::new(schema))
}

/// A schema of records to read, with its number in a registry if it has one: `7=user.avsc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterSchema {
    number: Option<u32>,
    /// A file, or `measurement`.
    name: String,
}

impl WriterSchema {
    /// The schema in a file, without a number.
    pub fn of_file(name: &str) -> WriterSchema {
        WriterSchema { number: None, name: name.to_owned() }
    }
}

impl FromStr for WriterSchema {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, name) = match text.split_once('=') {
            Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                let parsed =
                    number.parse().map_err(|_| format!("{number:?} isn't the number of a schema in a registry"))?;
                (Some(parsed), name)
            }
            _ => (None, text),
        };
        match name.is_empty() {
            true => Err("give a file, or a number in a registry and a file: 7=user.avsc".to_owned()),
            false => Ok(WriterSchema { number, name: name.to_owned() }),
        }
    }
}

/// Adds the schemas of records whose header doesn't identify one in the log, given with `flag`. Those of records that
/// name theirs by fingerprint have priority over the log's.
pub fn add_writers(
    store: &SchemaStore,
    framing: FramingArg,
    writers: &[WriterSchema],
    flag: &str,
) -> Result<(), CommandError> {
    if writers.is_empty() && framing != FramingArg::SingleObject {
        return Err(CommandError::Usage(format!("these records do not name their schema: give it with {flag}")));
    }
    for WriterSchema { number, name } in writers {
        let schema = read_schema(name)?;
        let id = match (framing, *number) {
            (FramingArg::Registry(default), number) => match number.or(default) {
                Some(number) => WriterId::Number(number),
                None => {
                    let message = format!("give the number of each schema in the registry: {flag} 7={name}");
                    return Err(CommandError::Usage(message));
                }
            },
            (_, Some(_)) => {
                return Err(CommandError::Usage(format!("{flag} {name} has a number: that needs --framing registry")));
            }
            (FramingArg::SingleObject, None) => WriterId::Fingerprint(schema.fingerprint()),
            (FramingArg::Bare, None) => WriterId::Known,
        };
        store.add_as(id, &schema).map_err(|error| CommandError::Usage(format!("{flag} {name}: {error}")))?;
    }
    Ok(())
}

/// The schemas read from the log so far.
#[derive(Debug)]
pub struct Schemas {
    client: Client,
    next_offset: u64,
    store: Arc<SchemaStore>,
}

impl Schemas {
    /// The schemas of this broker's log; [`Schemas::refresh`] reads them.
    pub fn new(client: Client) -> Schemas {
        Schemas { client, next_offset: 0, store: Arc::default() }
    }

    /// The schemas read so far.
    pub fn store(&self) -> &Arc<SchemaStore> {
        &self.store
    }

    /// Whether the schema with this id was read.
    pub fn has(&self, id: WriterId) -> bool {
        self.store.schema(id).is_ok()
    }

    /// Reads the schemas appended since the last call. A record that isn't a schema is reported on stderr and
    /// skipped.
    pub async fn refresh(&mut self) -> Result<(), CommandError> {
        let end = match self.client.topic(SCHEMAS_TOPIC).await {
            Ok(topic) => topic.next_offset,
            Err(ClientError::Refused { status: 404, .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.read_to(end).await
    }

    async fn read_to(&mut self, end: u64) -> Result<(), CommandError> {
        if end <= self.next_offset {
            return Ok(());
        }
        let config = ConsumerConfig {
            partitions: vec![0],
            start: Start::Offset(self.next_offset),
            end_offset: Some(end),
            ..ConsumerConfig::default()
        };
        let mut consumer = Consumer::new(self.client.clone(), SCHEMAS_TOPIC, config).await?;
        while let Some(fetched) = consumer.next().await? {
            let mut records = fetched.records();
            loop {
                let (offset, added) = match records.next_record() {
                    Ok(Some(record)) => (record.offset, self.add(record.bytes)),
                    Ok(None) => break,
                    Err(error @ ClientError::Unreadable { next_offset, .. }) => {
                        (next_offset - 1, Err(error.to_string()))
                    }
                    Err(error) => return Err(error.into()),
                };
                if let Err(reason) = added {
                    eprintln!("rawline: skipped the record at offset {offset} of {SCHEMAS_TOPIC}: {reason}");
                }
            }
        }
        self.next_offset = end;
        Ok(())
    }

    fn add(&self, json: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(json).map_err(|_| "not an Avro schema: its bytes are not UTF-8".to_owned())?;
        let schema = Schema::parse(text).map_err(|error| error.to_string())?;
        // Of two with one fingerprint, the first counts for every reader.
        self.store.add(&Arc::new(schema)).map(drop).map_err(|error| error.to_string())
    }

    /// Appends the schema unless it exists. Fails if its fingerprint is another schema's: then readers would take the
    /// records for that one's.
    pub async fn register(&mut self, schema: &Arc<Schema>) -> Result<(), CommandError> {
        self.refresh().await?;
        if self.knows(schema)? {
            return Ok(());
        }
        let json: serde_json::Value = serde_json::from_str(schema.json())
            .map_err(|error| CommandError::Failed(format!("the schema isn't JSON: {error}")))?;
        let line = json.to_string();
        let appended = self.client.append_records(SCHEMAS_TOPIC, &[line.len() as u32], line.into()).await?;
        // Another producer may have appended one with this fingerprint in the meantime.
        self.read_to(appended.next_offset).await?;
        match self.knows(schema)? {
            true => Ok(()),
            false => {
                Err(CommandError::Failed(format!("the schema was appended to {SCHEMAS_TOPIC}, but is missing there")))
            }
        }
    }

    /// Whether the schema was read.
    fn knows(&self, schema: &Arc<Schema>) -> Result<bool, CommandError> {
        let id = WriterId::Fingerprint(schema.fingerprint());
        match self.store.schema(id) {
            Ok(known) if known.reads_like(schema) => Ok(true),
            Ok(_) => Err(CommandError::Failed(FramingError::Taken(id).to_string())),
            Err(_) => Ok(false),
        }
    }
}
