//! Measurements of several schemas, each message's named by its frame, to columns.
//!
//! Messages that follow one another with the same frame make a run, which is read by its writer's way: a
//! [`MeasurementDecoder`] where the schema has its [`Shape`], else a plan that resolves the schema with the measurement's.
//! Rows are in the messages' order, and a series has one id whichever schema its messages have.

use std::collections::HashMap;
use std::sync::Arc;

use super::roles::{ROLES, TimeUnit, roles};
use super::{Columns, Counts, FAULTS_MAX, Frame, MeasurementDecoder, Shape};
use crate::encode;
use crate::framing::{Framing, WriterId};
use crate::limits::Limits;
use crate::plan::Plan;
use crate::row::RowBuffer;
use crate::schema::{Kind, Schema};
use crate::series::{Scratch, SeriesError, SeriesTable};
use crate::store::SchemaStore;

/// A message that a [`MeasurementReader`] refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {number}, field {field}: {reason}")]
pub struct Refused {
    /// The message's place in the batch, from 0.
    pub number: u64,
    /// The field: one of the measurement's by its path, `frame`, `schema`, or `end` for what follows the last field.
    pub field: String,
    /// What is wrong, and where.
    pub reason: String,
}

/// Decodes measurements whatever schemas wrote them. One for each thread; all share one table and one store.
///
/// A schema is read as [`MEASUREMENT_SCHEMA`](super::MEASUREMENT_SCHEMA) by the rules of Avro's schema resolution:
/// fields in any order, others among them, promotions (`long` to `double`), unions that hold a value. Three rules go
/// further, since a topic of measurements is one by its fields: the record may have any name; a field that names
/// `metric`, `tags`, `logtime` or `value` among its own aliases is read as that one; a schema without tags is of series
/// without tags. Times in micro- or nanoseconds become milliseconds, rounded down.
///
/// Fingerprints leave logical types and aliases out: of schemas that differ in nothing else the store has one.
#[derive(Debug)]
pub struct MeasurementReader {
    store: Arc<SchemaStore>,
    framing: Framing,
    table: Arc<SeriesTable>,
    writers: HashMap<WriterId, Writer>,
    refused: Vec<Refused>,
    missing_schema: bool,
}

/// How one schema's messages are read.
#[derive(Debug)]
enum Writer {
    Shaped(Box<MeasurementDecoder>),
    Planned(Box<Planned>),
    /// Not at all, and why.
    Unfit(String),
}

impl MeasurementReader {
    /// A reader of messages of this framing, whose schemas are in `store` and whose series get their ids from `table`.
    /// The schema of bare messages is the store's [`WriterId::Known`].
    pub fn new(store: Arc<SchemaStore>, framing: Framing, table: Arc<SeriesTable>) -> Self {
        let refused = Vec::with_capacity(FAULTS_MAX);
        Self { store, framing, table, writers: HashMap::new(), refused, missing_schema: false }
    }

    /// The table.
    pub fn table(&self) -> &Arc<SeriesTable> {
        &self.table
    }

    /// The first messages that the last call refused, at most [`FAULTS_MAX`].
    pub fn faults(&self) -> &[Refused] {
        &self.refused
    }

    /// Whether the last call met a message whose schema the store does not know. It was counted as faulty; decoded once
    /// more after the store has learned the schema, it is read.
    pub fn missing_schema(&self) -> bool {
        self.missing_schema
    }

    /// Appends the messages' rows to `out`, in order. Bad messages and those without room are counted and left out.
    pub fn decode<'m>(&mut self, messages: impl IntoIterator<Item = &'m [u8]>, out: &mut Columns) -> Counts {
        self.refused.clear();
        self.missing_schema = false;
        let messages = messages.into_iter();
        match self.framing {
            Framing::Bare => self.decode_framed::<0>(messages, out),
            Framing::SingleObject => self.decode_framed::<10>(messages, out),
            Framing::Registry => self.decode_framed::<5>(messages, out),
        }
    }

    /// `N` bytes are in front of each message's value.
    fn decode_framed<'m, const N: usize>(
        &mut self,
        mut messages: impl Iterator<Item = &'m [u8]>,
        out: &mut Columns,
    ) -> Counts {
        let mut counts = Counts::default();
        let mut next = messages.next();
        while let Some(message) = next {
            let (id, head, body) = match (self.framing.open(message), message.split_first_chunk::<N>()) {
                (Ok((id, _)), Some((head, body))) => (id, head, body),
                (opened, _) => {
                    let reason = opened.err().map(|error| error.to_string()).unwrap_or_default();
                    refuse(&mut self.refused, counts.messages, "frame", || reason);
                    counts.messages += 1;
                    counts.faulty += 1;
                    next = messages.next();
                    continue;
                }
            };
            let mut run = Run { head, first: Some(body), rest: &mut messages, behind: None };
            let counted = match writer(&mut self.writers, &self.store, id, &self.table) {
                Ok(Writer::Shaped(decoder)) => {
                    let counted = decoder.decode(&mut run, out);
                    for found in decoder.faults() {
                        let fault = crate::Fault { position: found.fault.position + N, ..found.fault };
                        refuse(&mut self.refused, counts.messages + found.number, found.field, || fault.to_string());
                    }
                    counted
                }
                Ok(Writer::Planned(planned)) => {
                    planned.decode::<N>(&mut run, &self.table, counts.messages, &mut self.refused, out)
                }
                Ok(Writer::Unfit(reason)) => refuse_all(&mut run, reason, counts.messages, &mut self.refused),
                Err(reason) => {
                    self.missing_schema = true;
                    refuse_all(&mut run, &reason, counts.messages, &mut self.refused)
                }
            };
            next = run.behind;
            counts += counted;
        }
        counts
    }
}

/// The way to read what `id` wrote; if the store does not know it, what to say. Only schemas are remembered, so that
/// one that comes later is found.
fn writer<'w>(
    writers: &'w mut HashMap<WriterId, Writer>,
    store: &SchemaStore,
    id: WriterId,
    table: &Arc<SeriesTable>,
) -> Result<&'w mut Writer, String> {
    use std::collections::hash_map::Entry;
    match writers.entry(id) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(place) => {
            let schema = store.schema(id).map_err(|error| error.to_string())?;
            Ok(place.insert(Writer::new(&schema, table)))
        }
    }
}

impl Writer {
    fn new(schema: &Arc<Schema>, table: &Arc<SeriesTable>) -> Self {
        // The frame is taken off before.
        if let Ok(shape) = Shape::of_schema(Frame::Bare, schema) {
            return Self::Shaped(Box::new(MeasurementDecoder::new(shape, Arc::clone(table))));
        }
        match Planned::new(schema) {
            Ok(planned) => Self::Planned(Box::new(planned)),
            Err(reason) => Self::Unfit(format!("its schema can't be read as a measurement: {reason}")),
        }
    }
}

/// The values of messages that follow one another with the same frame.
struct Run<'i, 'm, I, const N: usize> {
    head: &'m [u8; N],
    first: Option<&'m [u8]>,
    rest: &'i mut I,
    /// The message that ended the run.
    behind: Option<&'m [u8]>,
}

impl<'m, I: Iterator<Item = &'m [u8]>, const N: usize> Iterator for Run<'_, 'm, I, N> {
    type Item = &'m [u8];

    #[inline]
    fn next(&mut self) -> Option<&'m [u8]> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        // Whoever takes blocks asks once more after the end.
        if self.behind.is_some() {
            return None;
        }
        let message = self.rest.next()?;
        match message.split_first_chunk::<N>() {
            Some((head, body)) if head == self.head => Some(body),
            _ => {
                self.behind = Some(message);
                None
            }
        }
    }
}

/// Refuses a run for its schema; `first` is its first message's place in the batch.
fn refuse_all<'m>(
    run: impl Iterator<Item = &'m [u8]>,
    reason: &str,
    first: u64,
    refused: &mut Vec<Refused>,
) -> Counts {
    let mut messages = 0;
    for _ in run {
        refuse(refused, first + messages, "schema", || reason.to_owned());
        messages += 1;
    }
    Counts { messages, faulty: messages, ..Counts::default() }
}

fn refuse(refused: &mut Vec<Refused>, number: u64, field: &str, reason: impl FnOnce() -> String) {
    if refused.len() < FAULTS_MAX {
        refused.push(Refused { number, field: field.to_owned(), reason: reason() });
    }
}

/// Reads messages whose schema has another shape.
#[derive(Debug)]
struct Planned {
    plan: Plan,
    unit: TimeUnit,
    buffer: RowBuffer,
    /// Metric and tags as the measurement's schema encodes them: known series cost one look-up here too.
    identity: Vec<u8>,
    scratch: Scratch,
}

impl Planned {
    fn new(schema: &Arc<Schema>) -> Result<Self, String> {
        let Kind::Record(record) = schema.kind(schema.root()) else {
            return Err(format!("it is a {}, no record", schema.kind(schema.root())));
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
                return Err(format!("it has no field {role:?}, nor one that has this name as an alias"));
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

    /// `first` is the first message's place in the batch.
    fn decode<'m, const N: usize>(
        &mut self,
        bodies: impl Iterator<Item = &'m [u8]>,
        table: &SeriesTable,
        first: u64,
        refused: &mut Vec<Refused>,
        out: &mut Columns,
    ) -> Counts {
        let mut counts = Counts::default();
        for body in bodies {
            match self.read::<N>(body, table) {
                Ok((series, time_ms, value)) => {
                    out.series.push(series);
                    out.time_ms.push(time_ms);
                    out.value.push(value);
                    counts.rows += 1;
                }
                Err(None) => counts.dropped += 1,
                Err(Some((field, reason))) => {
                    refuse(refused, first + counts.messages, &field, || reason);
                    counts.faulty += 1;
                }
            }
            counts.messages += 1;
        }
        counts
    }

    /// Series, time and value; else the field and what is wrong, or nothing if there is no room.
    fn read<const N: usize>(
        &mut self,
        body: &[u8],
        table: &SeriesTable,
    ) -> Result<(u32, i64, f64), Option<(String, String)>> {
        let row = self.plan.row(&mut self.buffer, body).map_err(|error| {
            let fault = crate::Fault { position: error.fault.position + N, ..error.fault };
            let field = if error.path.is_empty() { "end".to_owned() } else { error.path };
            Some((field, fault.to_string()))
        })?;
        let metric = row.at(0).and_then(|metric| metric.as_str());
        let tags = row.at(1).map(|tags| tags.entries());
        let time = row.at(2).and_then(|time| time.as_long());
        let value = row.at(3).and_then(|value| value.as_double());
        let (Some(metric), Some(tags), Some(time), Some(value)) = (metric, tags, time, value) else {
            return Err(Some(("schema".to_owned(), "its plan does not read a measurement".to_owned())));
        };
        self.identity.clear();
        encode::bytes(&mut self.identity, metric.as_bytes());
        let count = tags.len();
        if count > 0 {
            encode::length(&mut self.identity, count);
        }
        for (key, value) in tags {
            encode::bytes(&mut self.identity, key.as_bytes());
            encode::bytes(&mut self.identity, value.as_str().unwrap_or_default().as_bytes());
        }
        encode::length(&mut self.identity, 0);
        let series = table.intern_encoded(&self.identity, &mut self.scratch).map_err(|error| match error {
            SeriesError::Full => None,
            // The place is one in the identity, not in the message.
            SeriesError::Bad { field, fault } => Some((field.to_owned(), fault.kind.to_string())),
        })?;
        Ok((series, self.unit.to_ms(time), value))
    }
}
