//! The decoders of the article's table, each with the output of its original, and Rawline's.
//!
//! Source of the originals: Agoda, AvroDeserialize, commit ab858a0.

#![allow(dead_code, reason = "records are built as the originals build them; most fields are not read")]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use rawline_avro::{Cursor, Fault, WriterId};
use rawline_series::{
    Columns, InternError, Interner, InternerLimits, LimitsError, MeasurementDecoder, SeriesLimits, SeriesTable, Shape,
    ValueType,
};
use serde::Deserialize;

use super::data::Messages;

/// Number of messages passed to a decoder at once, like a fetched batch.
pub const BATCH_MESSAGES: usize = 4096;

pub const SCHEMA: &str = r#"{"type": "record", "name": "Measurement", "fields": [
    {"name": "metric", "type": "string"},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "logtime", "type": "long"},
    {"name": "value", "type": "long"}]}"#;

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Library,
    HandWritten,
    InterningHashMap,
    InterningArray,
    Concurrent,
    Series,
}

pub const STAGES: [Stage; 6] = [
    Stage::Library,
    Stage::HandWritten,
    Stage::InterningHashMap,
    Stage::InterningArray,
    Stage::Concurrent,
    Stage::Series,
];

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Library => "1  Avro library",
            Stage::HandWritten => "2  hand-written",
            Stage::InterningHashMap => "3a interning, HashMap tags",
            Stage::InterningArray => "3b interning, array tags",
            Stage::Concurrent => "4  shared concurrent interner",
            Stage::Series => "5  series ids",
        }
    }
}

/// State that all threads of a run share.
pub struct Shared {
    schema: Schema,
    interner: Interner,
    table: Arc<SeriesTable>,
}

impl Shared {
    pub fn new(series: u32, seed: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let limits = SeriesLimits::for_series(series.max(1000));
        Ok(Self {
            schema: Schema::parse_str(SCHEMA)?,
            interner: interner(limits.strings)?,
            table: Arc::new(SeriesTable::new(limits, seed)?),
        })
    }
}

fn interner(limits: InternerLimits) -> Result<Interner, LimitsError> {
    Interner::new(limits, 1)
}

/// State that a stage keeps in one thread from message to message.
pub enum Worker<'s> {
    Library(GenericDatumReader<'s>),
    HandWritten,
    InterningHashMap(OwnInterner),
    InterningArray(OwnInterner),
    Concurrent(&'s Interner),
    Series(Box<MeasurementDecoder>, Columns),
}

/// Output of stages 1 and 2.
#[derive(Debug, Deserialize)]
pub struct Measurement {
    pub metric: String,
    pub tags: HashMap<String, String>,
    pub logtime: i64,
    pub value: i64,
}

/// Output of stage 3a.
pub struct MeasurementV1 {
    pub metric: u32,
    pub tags: HashMap<u32, u32>,
    pub logtime: i64,
    pub value: i64,
}

/// Output of stages 3b and 4: keys and values alternate, sorted by key.
pub struct MeasurementV2 {
    pub metric: u32,
    pub tags: Box<[u32]>,
    pub logtime: i64,
    pub value: i64,
}

impl<'s> Worker<'s> {
    pub fn new(stage: Stage, shared: &'s Shared) -> Result<Self, Box<dyn std::error::Error>> {
        Ok(match stage {
            Stage::Library => Self::Library(GenericDatumReader::builder(&shared.schema).build()?),
            Stage::HandWritten => Self::HandWritten,
            Stage::InterningHashMap => Self::InterningHashMap(OwnInterner::default()),
            Stage::InterningArray => Self::InterningArray(OwnInterner::default()),
            Stage::Concurrent => Self::Concurrent(&shared.interner),
            Stage::Series => {
                let shape = Shape { frame: WriterId::Known, value: ValueType::Long };
                let decoder = MeasurementDecoder::new(shape, Arc::clone(&shared.table));
                Self::Series(Box::new(decoder), Columns::default())
            }
        })
    }

    /// Decodes all messages. Returns the number of good ones and the sum of their values.
    pub fn run(&mut self, messages: &Messages) -> (u64, f64) {
        let mut at = 0;
        let mut sum = (0, 0.0);
        while at < messages.len() {
            let (good, values) = self.batch(messages.range(at, BATCH_MESSAGES));
            sum = (sum.0 + good, sum.1 + values);
            at += BATCH_MESSAGES;
        }
        sum
    }

    /// Decodes a batch starting at message `at`, and advances `at`. Returns the number of good messages.
    pub fn run_batch(&mut self, messages: &Messages, at: &mut usize) -> u64 {
        let (good, _) = self.batch(messages.range(*at, BATCH_MESSAGES));
        *at += BATCH_MESSAGES;
        if *at >= messages.len() {
            *at = 0;
        }
        good
    }

    fn batch<'m>(&mut self, messages: impl Iterator<Item = &'m [u8]>) -> (u64, f64) {
        match self {
            Self::Library(reader) => each(messages, |mut message| {
                reader.read_deser::<Measurement>(&mut message).ok().map(|found| black_box(found).value)
            }),
            Self::HandWritten => {
                each(messages, |message| hand_written(message).ok().map(|found| black_box(found).value))
            }
            Self::InterningHashMap(strings) => {
                each(messages, |message| into_map(message, strings).ok().map(|found| black_box(found).value))
            }
            Self::InterningArray(strings) => each(messages, |message| {
                into_array(message, |bytes| strings.intern(bytes)).ok().map(|found| black_box(found).value)
            }),
            Self::Concurrent(strings) => each(messages, |message| {
                into_array(message, |bytes| strings.intern(bytes).map_err(Failed::from))
                    .ok()
                    .map(|found| black_box(found).value)
            }),
            Self::Series(decoder, out) => {
                out.clear();
                let counts = decoder.decode(messages, out);
                (counts.rows, out.value.iter().sum())
            }
        }
    }
}

/// Number of messages that were read, and the sum of their values.
pub fn each<'m>(messages: impl Iterator<Item = &'m [u8]>, mut read: impl FnMut(&'m [u8]) -> Option<i64>) -> (u64, f64) {
    messages.fold((0, 0.0), |(good, sum), message| match read(message) {
        Some(value) => (good + 1, sum + value as f64),
        None => (good, sum),
    })
}

/// Why a message has no record.
#[derive(Debug)]
pub struct Failed;

impl From<Fault> for Failed {
    fn from(_: Fault) -> Self {
        Failed
    }
}

impl From<InternError> for Failed {
    fn from(_: InternError) -> Self {
        Failed
    }
}

fn hand_written(message: &[u8]) -> Result<Measurement, Failed> {
    let mut cursor = Cursor::new(message);
    let metric = cursor.string()?.to_owned();
    let mut tags = HashMap::new();
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = cursor.string()?.to_owned();
            tags.insert(key, cursor.string()?.to_owned());
        }
    }
    let (logtime, value) = (cursor.long()?, cursor.long()?);
    cursor.finish()?;
    Ok(Measurement { metric, tags, logtime, value })
}

/// The interner of stage 3: one per thread, unlimited.
#[derive(Debug, Default)]
pub struct OwnInterner {
    ids: HashMap<Box<[u8]>, u32>,
    strings: Vec<String>,
}

impl OwnInterner {
    fn intern(&mut self, bytes: &[u8]) -> Result<u32, Failed> {
        if let Some(id) = self.ids.get(bytes) {
            return Ok(*id);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Failed)?;
        let id = self.strings.len() as u32;
        self.strings.push(text.to_owned());
        self.ids.insert(bytes.into(), id);
        Ok(id)
    }
}

fn into_map(message: &[u8], strings: &mut OwnInterner) -> Result<MeasurementV1, Failed> {
    let mut cursor = Cursor::new(message);
    let metric = strings.intern(cursor.bytes()?)?;
    let mut tags = HashMap::new();
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = strings.intern(cursor.bytes()?)?;
            tags.insert(key, strings.intern(cursor.bytes()?)?);
        }
    }
    let (logtime, value) = (cursor.long()?, cursor.long()?);
    cursor.finish()?;
    Ok(MeasurementV1 { metric, tags, logtime, value })
}

fn into_array(message: &[u8], mut intern: impl FnMut(&[u8]) -> Result<u32, Failed>) -> Result<MeasurementV2, Failed> {
    let mut cursor = Cursor::new(message);
    let metric = intern(cursor.bytes()?)?;
    let mut tags: Vec<u32> = Vec::new();
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            break;
        }
        // Each tag takes at least two bytes, so a wrong count reserves no more than the message's length.
        tags.reserve_exact((count as usize).min(cursor.rest().len() / 2) * 2);
        for _ in 0..count {
            let key = intern(cursor.bytes()?)?;
            let value = intern(cursor.bytes()?)?;
            let place = tags.chunks_exact(2).take_while(|pair| pair.first().is_some_and(|known| *known <= key)).count();
            tags.splice(place * 2..place * 2, [key, value]);
        }
    }
    let (logtime, value) = (cursor.long()?, cursor.long()?);
    cursor.finish()?;
    Ok(MeasurementV2 { metric, tags: tags.into_boxed_slice(), logtime, value })
}
