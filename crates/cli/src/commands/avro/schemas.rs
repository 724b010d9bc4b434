//! Schemas in files and in a topic of the log, one per record; readers find a schema by its fingerprint.

use super::MEASUREMENT_SCHEMA;
use crate::commands::CommandError;
use rawline_avro::{Schema, SchemaStore, WriterId};
use rawline_client::{Client, ClientError, Consumer, ConsumerConfig, Start};
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
    let schema =
        Schema::parse(&text).map_err(|error| CommandError::Failed(format!("{name} is no Avro schema: {error}")))?;
    Ok(Arc::new(schema))
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
        if end == self.next_offset {
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
            while let Some(record) = records.next_record()? {
                if let Err(reason) = self.add(record.bytes) {
                    eprintln!("rawline: skipped the record at offset {} of {SCHEMAS_TOPIC}: {reason}", record.offset);
                }
            }
        }
        self.next_offset = end;
        Ok(())
    }

    fn add(&self, json: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(json).map_err(|_| "not an Avro schema: its bytes are not UTF-8".to_owned())?;
        let schema = Schema::parse(text).map_err(|error| error.to_string())?;
        // One that is there already is nothing new.
        let _ = self.store.add(&Arc::new(schema));
        Ok(())
    }

    /// Appends the schema unless it exists. Concurrent appends of one schema are harmless.
    pub async fn register(&mut self, schema: &Arc<Schema>) -> Result<(), CommandError> {
        self.refresh().await?;
        if self.has(WriterId::Fingerprint(schema.fingerprint())) {
            return Ok(());
        }
        let json: serde_json::Value = serde_json::from_str(schema.json())
            .map_err(|error| CommandError::Failed(format!("the schema is no JSON: {error}")))?;
        let line = json.to_string();
        self.client.append_records(SCHEMAS_TOPIC, &[line.len() as u32], line.into()).await?;
        self.store.add(schema).map(drop).map_err(|error| CommandError::Failed(error.to_string()))
    }
}
