//! Avro's binary encoding: apache-avro by its `Value` and by serde, serde_avro_fast, and ours.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use rawline_avro::{Datum, Limits, Plan, RowBuffer};

use crate::cases::{Message, OneSummed, Sum, Summed};
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, plain_messages, wraps};

/// The schema reduced to the path to the one field: Avro reads one field with a reader's schema.
fn one_schema(schema: &str, path: &[&str]) -> Result<String> {
    let mut json: serde_json::Value = serde_json::from_str(schema)?;
    let mut record = &mut json;
    for name in path {
        let fields = record.get_mut("fields").and_then(|fields| fields.as_array_mut()).context("not a record")?;
        fields.retain(|field| field.get("name").and_then(|found| found.as_str()) == Some(name));
        record = fields.first_mut().and_then(|field| field.get_mut("type")).context("no such field")?;
    }
    Ok(json.to_string())
}

/// apache-avro as at the start of its documentation: a message becomes a `Value`, and that becomes bytes.
pub struct ApacheValue {
    buffer: Vec<u8>,
    writer: GenericDatumWriter<'static>,
    reader: GenericDatumReader<'static>,
    reader_of_one: GenericDatumReader<'static>,
}

/// A schema that lives as long as the program, since readers and writers borrow it.
fn apache_schema(json: &str) -> Result<&'static apache_avro::Schema> {
    Ok(Box::leak(Box::new(apache_avro::Schema::parse_str(json)?)))
}

impl Used for ApacheValue {
    const ROW: Row = Row::new("avro", "apache-avro");
}

impl<M: Message> Codec<M> for ApacheValue {
    plain_messages!();
    fn new() -> Result<Self> {
        let schema = apache_schema(M::AVRO)?;
        let one = apache_schema(&one_schema(M::AVRO, M::ONE)?)?;
        Ok(ApacheValue {
            buffer: Vec::new(),
            writer: GenericDatumWriter::builder(schema).build()?,
            reader: GenericDatumReader::builder(schema).build()?,
            reader_of_one: GenericDatumReader::builder(schema).reader_schema(one).build()?,
        })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        self.buffer.clear();
        self.writer.write_value(&mut self.buffer, apache_avro::to_value(native)?)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, mut bytes: &[u8]) -> Result<M> {
        Ok(apache_avro::from_value(&self.reader.read_value(&mut bytes)?)?)
    }

    fn field(&mut self, mut bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        let mut value = &self.reader_of_one.read_value(&mut bytes)?;
        loop {
            value = match value {
                Value::Record(fields) => &fields.first().context("a record without fields")?.1,
                Value::String(text) => break sum.text(text),
                Value::Double(number) => break sum.real(*number),
                other => bail!("the one field is {other:?}"),
            };
        }
        Ok(sum.0)
    }

    fn fields(&mut self, mut bytes: &[u8]) -> Result<u64> {
        let message: M = apache_avro::from_value(&self.reader.read_value(&mut bytes)?)?;
        Ok(message.sum())
    }
}

/// apache-avro with serde alone, without a `Value` in between. Its reader doesn't resolve schemas, so the one field is
/// that of a type without the others. It can't skip records within records; a message that has some is read in full.
pub struct ApacheSerde(ApacheValue);

impl Used for ApacheSerde {
    const ROW: Row = ApacheValue::ROW.variant("serde");
}

impl<M: Message> Codec<M> for ApacheSerde {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(ApacheSerde(<ApacheValue as Codec<M>>::new()?))
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        self.0.buffer.clear();
        self.0.writer.write_ser(&mut self.0.buffer, native)?;
        Ok(&self.0.buffer)
    }

    fn decode(&mut self, mut bytes: &[u8]) -> Result<M> {
        Ok(self.0.reader.read_deser(&mut bytes)?)
    }

    fn field(&mut self, mut bytes: &[u8]) -> Result<u64> {
        if M::ONE.len() > 1 {
            return Ok(self.0.reader.read_deser::<M>(&mut bytes)?.one());
        }
        Ok(self.0.reader.read_deser::<M::OneOwned>(&mut bytes)?.one())
    }

    fn fields(&mut self, mut bytes: &[u8]) -> Result<u64> {
        Ok(self.0.reader.read_deser::<M>(&mut bytes)?.sum())
    }
}

/// serde_avro_fast: `to_datum` into a reused buffer, `from_datum_slice`.
pub struct Fast {
    buffer: Vec<u8>,
    schema: &'static serde_avro_fast::Schema,
    config: serde_avro_fast::ser::SerializerConfig<'static>,
}

impl Used for Fast {
    const ROW: Row = Row::new("avro", "serde_avro_fast");
}

impl<M: Message> Codec<M> for Fast {
    plain_messages!();
    fn new() -> Result<Self> {
        let schema: &'static serde_avro_fast::Schema = Box::leak(Box::new(M::AVRO.parse()?));
        Ok(Fast { buffer: Vec::new(), schema, config: serde_avro_fast::ser::SerializerConfig::new(schema) })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        self.buffer = serde_avro_fast::to_datum(native, buffer, &mut self.config)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        Ok(serde_avro_fast::from_datum_slice(bytes, self.schema)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(serde_avro_fast::from_datum_slice::<M::One<'_>>(bytes, self.schema)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(serde_avro_fast::from_datum_slice::<M>(bytes, self.schema)?.sum())
    }
}

/// serde_avro_fast into types that borrow their strings, as in its first example.
pub struct FastBorrowed(Fast);

impl Used for FastBorrowed {
    const ROW: Row = Fast::ROW.variant("borrowed").only(&[Operation::Fields]);
}

impl<M: Message> Codec<M> for FastBorrowed {
    plain_messages!();
    wraps!(Fast);
    as_wrapped!(decode -> M, field -> u64);

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(serde_avro_fast::from_datum_slice::<M::Borrowed<'_>>(bytes, self.0.schema)?.sum())
    }
}

/// Ours, with serde; the one field with a plan that skips all others.
pub struct Ours {
    buffer: Vec<u8>,
    rows: RowBuffer,
    plan: Plan,
    plan_of_one: Plan,
}

impl Used for Ours {
    const ROW: Row = Row::new("avro", "rawline-avro");
}

impl<M: Message> Codec<M> for Ours {
    plain_messages!();
    fn new() -> Result<Self> {
        let schema = Arc::new(rawline_avro::Schema::parse(M::AVRO)?);
        let one = Arc::new(rawline_avro::Schema::parse(&one_schema(M::AVRO, M::ONE)?)?);
        Ok(Ours {
            buffer: Vec::new(),
            rows: RowBuffer::new(),
            plan: Plan::same(&schema, Limits::default())?,
            plan_of_one: Plan::new(&schema, &one, Limits::default())?,
        })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        self.buffer.clear();
        self.plan.writer().encode(native, &mut self.buffer)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        Ok(self.plan.read(&mut self.rows, bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(self.plan_of_one.read::<M::One<'_>>(&mut self.rows, bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(self.plan.read::<M>(&mut self.rows, bytes)?.sum())
    }
}

/// Ours, with rows: a view of the message in reused memory.
pub struct OursRow(Ours);

impl Used for OursRow {
    const ROW: Row = Ours::ROW.variant("row").only(&[Operation::Field, Operation::Fields]);
}

impl<M: Message> Codec<M> for OursRow {
    plain_messages!();
    wraps!(Ours);
    as_wrapped!(decode -> M);

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let row = self.0.plan_of_one.row(&mut self.0.rows, bytes)?;
        let mut datum = row.datum();
        let mut sum = Sum::default();
        while let Some(inner) = datum.at(0) {
            datum = inner;
        }
        add(&datum, &mut sum)?;
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let row = self.0.plan.row(&mut self.0.rows, bytes)?;
        let mut sum = Sum::default();
        add(&row.datum(), &mut sum)?;
        Ok(sum.0)
    }
}

/// Adds a value and everything in it, following the schema.
fn add(datum: &Datum<'_, '_>, sum: &mut Sum) -> Result<()> {
    use rawline_avro::Kind;
    let datum = datum.plain();
    match &datum.schema_type().kind {
        Kind::Null => {}
        Kind::Record(_) => datum.fields().try_for_each(|(_, field)| add(&field, sum))?,
        Kind::Array(_) => datum.elements().try_for_each(|element| add(&element, sum))?,
        Kind::Map(_) => datum.entries().try_for_each(|(key, value)| {
            sum.text(key);
            add(&value, sum)
        })?,
        Kind::Int | Kind::Long => sum.int(datum.as_long().context("not an integer")?),
        Kind::Double => sum.real(datum.as_double().context("not a double")?),
        Kind::Boolean => sum.flag(datum.as_bool().context("not a boolean")?),
        Kind::String => sum.text(datum.as_str().context("not a string")?),
        other => bail!("the cases have no {other}"),
    }
    Ok(())
}
