//! The formats: a message to bytes with the writer's schema, bytes to a message with the reader's.

use crate::shapes::Shape;
use rawline_avro::{Limits, Plan, RowBuffer, Schema};
use rawline_value::{EnumName, TableBuilder};
use serde_json::Value;
use std::sync::Arc;

/// A format as a library of Rust reads and writes it.
pub trait Format {
    /// The format's name in the laboratory.
    const NAME: &'static str;
    /// The library.
    const LIBRARY: &'static str;

    /// The message's bytes.
    fn write<W: Shape>(message: &W) -> Result<Vec<u8>, String>;

    /// The reader's result for bytes that a writer of `W` wrote. Only Avro's reader knows `W`.
    fn read<W: Shape, R: Shape>(bytes: &[u8]) -> Result<R, String>;
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

macro_rules! serde_format {
    ($type:ident, $name:literal, $library:literal, $write:expr, $read:expr) => {
        #[doc = $name]
        pub struct $type;

        impl Format for $type {
            const NAME: &'static str = $name;
            const LIBRARY: &'static str = $library;

            fn write<W: Shape>(message: &W) -> Result<Vec<u8>, String> {
                $write(message).map_err(text)
            }

            fn read<W: Shape, R: Shape>(bytes: &[u8]) -> Result<R, String> {
                $read(bytes).map_err(text)
            }
        }
    };
}

serde_format!(Json, "json", "serde_json", serde_json::to_vec, serde_json::from_slice);
serde_format!(Msgpack, "msgpack", "rmp-serde", rmp_serde::to_vec_named, rmp_serde::from_slice);
serde_format!(MsgpackArray, "msgpack-array", "rmp-serde", rmp_serde::to_vec, rmp_serde::from_slice);
serde_format!(Cbor, "cbor", "ciborium", cbor, |bytes: &[u8]| ciborium::from_reader(bytes));
serde_format!(Postcard, "postcard", "postcard", postcard::to_stdvec, postcard::from_bytes);
serde_format!(Bincode, "bincode", "bincode", |message| bincode::serde::encode_to_vec(message, BINCODE), |bytes| {
    bincode::serde::decode_from_slice(bytes, BINCODE).map(|(message, _)| message)
});
serde_format!(Rkyv, "rkyv", "rkyv", Shape::archive, Shape::of_archive);
serde_format!(ValuesList, "values-list", "rawline-value", rawline_value::to_bytes, rawline_value::from_bytes);
serde_format!(Values, "values", "rawline-value", table, rawline_value::from_bytes);

const BINCODE: bincode::config::Configuration = bincode::config::standard();

fn cbor<W: Shape>(message: &W) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    ciborium::into_writer(message, &mut bytes).map_err(text)?;
    Ok(bytes)
}

/// The message as a table with field names, without absent fields.
fn table<W: Shape>(message: &W) -> Result<Vec<u8>, String> {
    let fields = serde_json::to_value(message).map_err(text)?;
    let mut bytes = Vec::new();
    let mut table = TableBuilder::new(&mut bytes);
    for (name, value) in fields.as_object().into_iter().flatten() {
        let name = name.as_str();
        match value {
            Value::Null => &mut table,
            Value::String(symbol) if name == "kind" => table.add(name, EnumName(symbol)),
            Value::String(string) => table.add(name, string.as_str()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => table.add(name, integer),
                (None, Some(real)) => table.add(name, real),
                (None, None) => return Err(format!("{name} is a number that no value holds")),
            },
            other => return Err(format!("{name} is {other}, which no shape here has")),
        };
    }
    table.canonical().map_err(text)?;
    Ok(bytes)
}

/// Avro with this project's reader, which resolves the writer's schema to the reader's.
pub struct Avro;

impl Format for Avro {
    const NAME: &'static str = "avro";
    const LIBRARY: &'static str = "rawline-avro";

    fn write<W: Shape>(message: &W) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        schema::<W>()?.encode(message, &mut bytes).map_err(text)?;
        Ok(bytes)
    }

    fn read<W: Shape, R: Shape>(bytes: &[u8]) -> Result<R, String> {
        let plan = Plan::new(&schema::<W>()?, &schema::<R>()?, Limits::default()).map_err(text)?;
        plan.read(&mut RowBuffer::new(), bytes).map_err(text)
    }
}

fn schema<S: Shape>() -> Result<Arc<Schema>, String> {
    let json = format!(r#"{{"type":"record","name":"Message","fields":{}}}"#, S::AVRO_FIELDS);
    Schema::parse(&json).map(Arc::new).map_err(text)
}
