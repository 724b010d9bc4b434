//! Decodes measurements of several schemas, identified by each message's frame, into columns.
//!
//! Messages are processed in blocks, as by [`MeasurementDecoder`](super::MeasurementDecoder), and each block in the
//! same passes. Within a block, consecutive messages with the same frame are a run. If their schema has a [`Shape`],
//! the first pass finds their identities, and the later passes look up those of all runs together. Messages whose
//! schema has no shape are read in the last pass, by a plan that resolves their schema against the measurement's. Rows
//! are in the messages' order, and a series has one id whatever its messages' schemas.

use std::collections::HashMap;
use std::sync::Arc;

use rawline_avro::{
    Counts, FAULTS_MAX, Fault, Framing, FramingError, Kind, Limits, Plan, RowBuffer, Schema, SchemaStore, WriterId,
    write,
};

use super::roles::{ROLES, TimeUnit, roles};
use super::{BLOCK, Columns, Forward, Left, NOTHING_PENDING, Row, Shape, each_block, look_up};
use crate::series::{Scratch, SeriesError, SeriesTable};

/// A message that a [`MeasurementReader`] rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {number}, field {field}: {reason}")]
pub struct Refused {
    /// The message's index in the batch.
    pub number: u64,
    /// The field: one of the measurement's by its path, `frame`, `schema`, or `end` for bytes after the last field.
    pub field: String,
    /// The reason and its position.
    pub reason: String,
}

/// Decodes measurements of any known schema. Each thread needs a separate reader; all share one table and one store.
///
/// A schema is read as [`MEASUREMENT_SCHEMA`](super::MEASUREMENT_SCHEMA) by the rules of Avro's schema resolution:
/// fields in any order, additional fields, promotions (`long` to `double`), unions that hold a fitting value. Three
/// rules go further, since a measurement is recognized by its fields: the record may have any name; a field with
/// `metric`, `tags`, `logtime` or `value` among its aliases is read as that field; a schema without tags describes
/// series without tags. Times in micro- or nanoseconds become milliseconds, rounded down.
///
/// Fingerprints exclude logical types and aliases: of schemas that differ in nothing else, the store refuses the
/// second.
#[derive(Debug)]
pub struct MeasurementReader {
    table: Arc<SeriesTable>,
    writers: Writers,
}

/// The number of an unknown writer.
const UNKNOWN: u32 = u32::MAX;

/// The schemas seen so far, and the rejected messages.
#[derive(Debug)]
struct Writers {
    store: Arc<SchemaStore>,
    framing: Framing,
    /// Indices in `all`.
    numbers: HashMap<WriterId, u32>,
    last: Option<(WriterId, u32)>,
    all: Vec<Writer>,
    refused: Vec<Refused>,
    missing_schema: bool,
}

/// How one schema's messages are read.
#[derive(Debug)]
enum Writer {
    Shaped(Forward),
    Planned(Box<Planned>),
    /// Its messages can't be read, for this reason.
    Unfit(String),
}

impl MeasurementReader {
    /// Creates a reader of messages of this framing. Their schemas are in `store`, and their series get ids from
    /// `table`. The schema of bare messages is the store's [`WriterId::Known`].
    pub fn new(store: Arc<SchemaStore>, framing: Framing, table: Arc<SeriesTable>) -> Self {
        let refused = Vec::with_capacity(FAULTS_MAX);
        let (numbers, all) = (HashMap::new(), Vec::new());
        Self { table, writers: Writers { store, framing, numbers, last: None, all, refused, missing_schema: false } }
    }

    /// The table.
    pub fn table(&self) -> &Arc<SeriesTable> {
        &self.table
    }

    /// The first messages that the last call rejected, at most [`FAULTS_MAX`].
    pub fn faults(&self) -> &[Refused] {
        &self.writers.refused
    }

    /// Whether the last call found a message whose schema the store doesn't know. The message was counted as faulty; it
    /// can be decoded again after the schema was added to the store.
    pub fn missing_schema(&self) -> bool {
        self.writers.missing_schema
    }

    /// Appends the messages' rows to `out`, in order. Invalid messages and those without room are counted and skipped.
    pub fn decode<'m>(&mut self, messages: impl IntoIterator<Item = &'m [u8]>, out: &mut Columns) -> Counts {
        self.writers.refused.clear();
        self.writers.missing_schema = false;
        let mut counts = Counts::default();
        each_block(messages, |block| self.decode_block(block, out, &mut counts));
        counts
    }

    fn decode_block(&mut self, messages: &[&[u8]], out: &mut Columns, counts: &mut Counts) {
        let Self { table, writers } = self;
        let mut pending = [NOTHING_PENDING; BLOCK];
        // The writer of each message.
        let mut by = [UNKNOWN; BLOCK];
        let mut rest = (messages, pending.as_mut_slice(), by.as_mut_slice());
        while let Some(first) = rest.0.first() {
            let writer = writers.of(first).unwrap_or(UNKNOWN);
            let run = match writers.all.get(writer as usize) {
                Some(Writer::Shaped(forward)) => forward.find_identities(table, rest.0, rest.1).max(1),
                _ => 1,
            };
            let (written, by) = rest.2.split_at_mut(run.min(rest.2.len()));
            written.fill(writer);
            rest = (rest.0.get(run..).unwrap_or_default(), rest.1.get_mut(run..).unwrap_or_default(), by);
        }
        let first = counts.messages;
        look_up(table, messages, &mut pending, out, counts, |at, message| {
            writers.read(table, by.get(at).copied().unwrap_or(UNKNOWN), first + at as u64, message)
        });
    }
}

/// Why a message is skipped: there is no room for it, or its field and the reason.
enum Wrong {
    Full,
    Bad(String, String),
}

impl Writers {
    /// The number of a message's writer. Only schemas that are in the store are remembered, so a schema that is added
    /// later is found.
    fn of(&mut self, message: &[u8]) -> Result<u32, FramingError> {
        let (id, _) = self.framing.open(message)?;
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == id) {
            return Ok(number);
        }
        let number = match self.numbers.get(&id) {
            Some(known) => *known,
            None => {
                let schema = self.store.schema(id)?;
                // The store's schemas are far fewer than 2^32.
                let number = self.all.len() as u32;
                self.all.push(Writer::new(id, &schema));
                self.numbers.insert(id, number);
                number
            }
        };
        self.last = Some((id, number));
        Ok(number)
    }

    /// Reads a message from the front, or returns the reason why it can't be read.
    #[inline(never)]
    fn read(&mut self, table: &SeriesTable, writer: u32, number: u64, message: &[u8]) -> Result<Row, Left> {
        self.try_read(table, writer, message).map_err(|wrong| match wrong {
            Wrong::Full => Left::Dropped,
            Wrong::Bad(field, reason) => {
                if self.refused.len() < FAULTS_MAX {
                    self.refused.push(Refused { number, field, reason });
                }
                Left::Faulty
            }
        })
    }

    fn try_read(&mut self, table: &SeriesTable, writer: u32, message: &[u8]) -> Result<Row, Wrong> {
        let writer = if writer == UNKNOWN { self.of(message) } else { Ok(writer) };
        let writer = writer.map_err(|error| {
            let is_frame = matches!(error, FramingError::Head { .. });
            self.missing_schema |= !is_frame;
            Wrong::Bad(if is_frame { "frame" } else { "schema" }.to_owned(), error.to_string())
        })?;
        match self.all.get_mut(writer as usize) {
            Some(Writer::Shaped(forward)) => forward.read(table, message).map_err(|error| match error {
                SeriesError::Full => Wrong::Full,
                SeriesError::Bad { field, fault } => Wrong::Bad(field.to_owned(), fault.to_string()),
            }),
            Some(Writer::Planned(planned)) => {
                // This succeeded before, when the writer was found.
                let body = self.framing.open(message).map_or(message, |(_, body)| body);
                planned.read(table, body, message.len() - body.len())
            }
            Some(Writer::Unfit(reason)) => Err(Wrong::Bad("schema".to_owned(), reason.clone())),
            None => Err(Wrong::Bad("schema".to_owned(), String::new())),
        }
    }
}

impl Writer {
    fn new(id: WriterId, schema: &Arc<Schema>) -> Self {
        if let Ok(shape) = Shape::of_schema(id, schema) {
            return Self::Shaped(Forward::new(shape));
        }
        match Planned::new(schema) {
            Ok(planned) => Self::Planned(Box::new(planned)),
            Err(reason) => Self::Unfit(format!("its schema can't be read as a measurement: {reason}")),
        }
    }
}

/// Reads messages whose schema has no [`Shape`].
#[derive(Debug)]
struct Planned {
    plan: Plan,
    unit: TimeUnit,
    buffer: RowBuffer,
    /// Metric and tags as the measurement's schema encodes them, so that known series cost one look-up here too.
    identity: Vec<u8>,
    scratch: Scratch,
}

impl Planned {
    fn new(schema: &Arc<Schema>) -> Result<Self, String> {
        let Kind::Record(record) = schema.kind(schema.root()) else {
            return Err(format!("it is a {}, not a record", schema.kind(schema.root())));
        };
        let found = roles(record);
        let name = |place: Option<usize>| place.and_then(|at| record.fields.get(at)).map(|field| field.name.as_str());
        let fields: Vec<_> = ROLES
            .into_iter()
            .zip(["string", "map", "long", "double"])
            .zip(found)
            .map(|((role, kind), place)| {
                let aliases: Vec<_> = name(place).filter(|name| *name != role).into_iter().collect();
                match kind {
                    "map" => serde_json::json!({
                        "name": role, "aliases": aliases, "type": {"type": "map", "values": "string"}, "default": {}
                    }),
                    kind => serde_json::json!({"name": role, "aliases": aliases, "type": kind}),
                }
            })
            .collect();
        for (role, place) in ROLES.into_iter().zip(found) {
            if place.is_none() && role != "tags" {
                return Err(format!("it has no field {role:?}, and none that has this name as an alias"));
            }
        }
        let reader = serde_json::json!({"type": "record", "name": record.name.full, "fields": fields});
        let reader = Arc::new(Schema::parse(&reader.to_string()).map_err(|error| error.to_string())?);
        let time = found.get(2).copied().flatten().and_then(|at| record.fields.get(at));
        Ok(Self {
            unit: time.map_or(Ok(TimeUnit::Milliseconds), |field| TimeUnit::of(schema, field.type_id))?,
            plan: Plan::new(schema, &reader, Limits::DEFAULT).map_err(|error| error.to_string())?,
            buffer: RowBuffer::new(),
            identity: Vec::new(),
            scratch: Scratch::default(),
        })
    }

    /// `head_bytes` is the number of bytes before the body.
    fn read(&mut self, table: &SeriesTable, body: &[u8], head_bytes: usize) -> Result<Row, Wrong> {
        let row = self.plan.row(&mut self.buffer, body).map_err(|error| {
            let fault = Fault { position: error.fault.position + head_bytes, ..error.fault };
            Wrong::Bad(if error.path.is_empty() { "end".to_owned() } else { error.path }, fault.to_string())
        })?;
        let metric = row.at(0).and_then(|metric| metric.as_str());
        let tags = row.at(1).map(|tags| tags.entries());
        let time = row.at(2).and_then(|time| time.as_long());
        let value = row.at(3).and_then(|value| value.as_double());
        let (Some(metric), Some(tags), Some(time), Some(value)) = (metric, tags, time, value) else {
            return Err(Wrong::Bad("schema".to_owned(), "its plan does not read a measurement".to_owned()));
        };
        self.identity.clear();
        write::bytes(&mut self.identity, metric.as_bytes());
        let count = tags.len();
        if count > 0 {
            write::length(&mut self.identity, count);
        }
        for (key, value) in tags {
            write::bytes(&mut self.identity, key.as_bytes());
            write::bytes(&mut self.identity, value.as_str().unwrap_or_default().as_bytes());
        }
        write::length(&mut self.identity, 0);
        let series = table.intern_encoded(&self.identity, &mut self.scratch).map_err(|error| match error {
            SeriesError::Full => Wrong::Full,
            // The fault's position is relative to the identity, not to the message.
            SeriesError::Bad { field, fault } => Wrong::Bad(field.to_owned(), fault.kind.to_string()),
        })?;
        Ok(Row { series, time: self.unit.to_ms(time), value })
    }
}
