//! Other decoders in Rust, and Rawline's with the same outputs.

use super::data::Messages;
use super::stages::{BATCH_MESSAGES, Measurement, SCHEMA, each};
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_avro::reader::{Decoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, FingerprintAlgorithm, SchemaStore};
use rawline_avro::{ColumnDecoder, Limits, Plan, RowBuffer, Schema, StringAs};
use rawline_series::{Interner, SeriesLimits};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

/// Number of rows in an Arrow batch.
const ROWS: usize = 1024;

/// A decoder and its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    ApacheValue,
    RowVisited,
    ApacheStruct,
    FastStruct,
    OwnStruct,
    FastPairs,
    OwnPairs,
    ArrowUtf8,
    OwnUtf8,
    ArrowView,
    OwnView,
    OwnDictionary,
}

/// Decoders with the same output are adjacent.
pub const ALL: [Other; 12] = [
    Other::ApacheValue,
    Other::RowVisited,
    Other::ApacheStruct,
    Other::FastStruct,
    Other::OwnStruct,
    Other::FastPairs,
    Other::OwnPairs,
    Other::ArrowUtf8,
    Other::OwnUtf8,
    Other::ArrowView,
    Other::OwnView,
    Other::OwnDictionary,
];

/// A struct that borrows its strings.
#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "most fields are decoded and not read")]
struct Pairs<'a> {
    metric: &'a str,
    #[serde(borrow, deserialize_with = "pairs")]
    tags: Vec<(&'a str, &'a str)>,
    logtime: i64,
    value: i64,
}

fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(&'de str, &'de str)>, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(&'de str, &'de str)>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a map")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::with_capacity(8);
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_map(Entries)
}

/// Decodes a batch. Returns the number of good messages and the sum of their values.
type Decode = Box<dyn FnMut(&mut dyn Iterator<Item = &[u8]>) -> (u64, f64)>;

/// A decoder with its state.
pub struct Reader {
    decode: Decode,
    batch: usize,
}

impl Reader {
    /// Decodes all messages.
    pub fn run(&mut self, messages: &Messages) -> (u64, f64) {
        let mut sum = (0, 0.0);
        for first in (0..messages.len()).step_by(self.batch) {
            let (good, values) = (self.decode)(&mut messages.range(first, self.batch));
            sum = (sum.0 + good, sum.1 + values);
        }
        sum
    }
}

impl Other {
    /// Its library and its output.
    pub fn name(self) -> &'static str {
        match self {
            Other::ApacheValue => "apache-avro, its Value",
            Other::RowVisited => "rawline, row, every field read",
            Other::ApacheStruct => "apache-avro, struct of Strings",
            Other::FastStruct => "serde_avro_fast, struct of Strings",
            Other::OwnStruct => "rawline, struct of Strings",
            Other::FastPairs => "serde_avro_fast, struct of &str",
            Other::OwnPairs => "rawline, struct of &str",
            Other::ArrowUtf8 => "arrow-avro, columns, Utf8",
            Other::OwnUtf8 => "rawline, columns, Utf8",
            Other::ArrowView => "arrow-avro, columns, Utf8View",
            Other::OwnView => "rawline, columns, Utf8View",
            Other::OwnDictionary => "rawline, columns, shared dictionary",
        }
    }

    /// A decoder for messages of this many series.
    pub fn reader(self, series: u32, seed: u64) -> Result<Reader, Box<dyn Error>> {
        let (decode, batch) = match self {
            Other::ApacheValue => (apache_value()?, BATCH_MESSAGES),
            Other::RowVisited => (row_visited()?, BATCH_MESSAGES),
            Other::ApacheStruct => (apache_struct()?, BATCH_MESSAGES),
            Other::FastStruct => (fast_struct()?, BATCH_MESSAGES),
            Other::OwnStruct => (own_struct()?, BATCH_MESSAGES),
            Other::FastPairs => (fast_pairs()?, BATCH_MESSAGES),
            Other::OwnPairs => (own_pairs()?, BATCH_MESSAGES),
            Other::ArrowUtf8 => (arrow_columns(false)?, ROWS),
            Other::ArrowView => (arrow_columns(true)?, ROWS),
            Other::OwnUtf8 => (own_columns(StringAs::Utf8)?, ROWS),
            Other::OwnView => (own_columns(StringAs::Utf8View)?, ROWS),
            Other::OwnDictionary => {
                let limits = SeriesLimits::for_series(series.max(1000)).strings;
                (own_columns(StringAs::Dictionary(Arc::new(Interner::new(limits, seed)?)))?, ROWS)
            }
        };
        Ok(Reader { decode, batch })
    }
}

/// Rawline's plan that reads a message as its schema says.
fn plan() -> Result<Plan, Box<dyn Error>> {
    Ok(Plan::same(&Arc::new(Schema::parse(SCHEMA)?), Limits::default())?)
}

fn apache_value() -> Result<Decode, Box<dyn Error>> {
    let reader = apache()?;
    Ok(Box::new(move |messages| {
        each(messages, |mut message| match reader.read_value(&mut message) {
            Ok(Value::Record(fields)) => match black_box(fields).last() {
                Some((_, Value::Long(value))) => Some(*value),
                _ => None,
            },
            _ => None,
        })
    }))
}

fn apache_struct() -> Result<Decode, Box<dyn Error>> {
    let reader = apache()?;
    Ok(Box::new(move |messages| {
        each(messages, |mut message| {
            reader.read_deser::<Measurement>(&mut message).ok().map(|read| black_box(read).value)
        })
    }))
}

fn fast_struct() -> Result<Decode, Box<dyn Error>> {
    let schema: serde_avro_fast::Schema = SCHEMA.parse()?;
    Ok(Box::new(move |messages| {
        each(messages, |message| {
            let read = serde_avro_fast::from_datum_slice::<Measurement>(message, &schema);
            read.ok().map(|read| black_box(read).value)
        })
    }))
}

fn fast_pairs() -> Result<Decode, Box<dyn Error>> {
    let schema: serde_avro_fast::Schema = SCHEMA.parse()?;
    Ok(Box::new(move |messages| {
        each(messages, |message| {
            let read = serde_avro_fast::from_datum_slice::<Pairs<'_>>(message, &schema);
            read.ok().map(|read| black_box(read).value)
        })
    }))
}

fn row_visited() -> Result<Decode, Box<dyn Error>> {
    let (plan, mut buffer) = (plan()?, RowBuffer::new());
    Ok(Box::new(move |messages| {
        each(messages, |message| {
            let row = plan.row(&mut buffer, message).ok()?;
            black_box(row.at(0)?.as_str()?);
            for (key, value) in row.at(1)?.entries() {
                black_box((key, value.as_str()?));
            }
            black_box(row.at(2)?.as_long()?);
            row.at(3)?.as_long()
        })
    }))
}

fn own_struct() -> Result<Decode, Box<dyn Error>> {
    let (plan, mut buffer) = (plan()?, RowBuffer::new());
    Ok(Box::new(move |messages| {
        each(messages, |message| plan.read::<Measurement>(&mut buffer, message).ok().map(|read| black_box(read).value))
    }))
}

fn own_pairs() -> Result<Decode, Box<dyn Error>> {
    let (plan, mut buffer) = (plan()?, RowBuffer::new());
    Ok(Box::new(move |messages| {
        each(messages, |message| plan.read::<Pairs<'_>>(&mut buffer, message).ok().map(|read| black_box(read).value))
    }))
}

fn own_columns(strings: StringAs) -> Result<Decode, Box<dyn Error>> {
    let mut decoder = ColumnDecoder::new(Arc::new(plan()?), strings)?;
    Ok(Box::new(move |messages| {
        let rows = decoder.append_batch(messages).rows;
        (rows, sum_of(&decoder.finish()))
    }))
}

fn arrow_columns(view: bool) -> Result<Decode, Box<dyn Error>> {
    let mut decoder = arrow(view)?;
    Ok(Box::new(move |messages| {
        for message in messages {
            if decoder.decode(message).ok() != Some(message.len()) {
                return (0, 0.0);
            }
        }
        match decoder.flush() {
            Ok(Some(batch)) => (batch.num_rows() as u64, sum_of(&batch)),
            _ => (0, 0.0),
        }
    }))
}

fn apache() -> Result<GenericDatumReader<'static>, Box<dyn Error>> {
    // The reader borrows the schema, so it lives as long as the process.
    let schema = Box::leak(Box::new(apache_avro::Schema::parse_str(SCHEMA)?));
    Ok(GenericDatumReader::builder(schema).build()?)
}

fn arrow(view: bool) -> Result<Decoder, Box<dyn Error>> {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Rabin);
    let fingerprint = store.register(AvroSchema::new(SCHEMA.to_owned()))?;
    let reader = ReaderBuilder::new()
        .with_writer_schema_store(store)
        .with_active_fingerprint(fingerprint)
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_batch_size(ROWS)
        .with_utf8_view(view);
    Ok(reader.build_decoder()?)
}

fn sum_of(batch: &RecordBatch) -> f64 {
    let column = black_box(batch).column_by_name("value").and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.map_or(f64::NAN, |column| column.values().iter().map(|value| *value as f64).sum())
}
