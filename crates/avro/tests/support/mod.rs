//! Helpers that the tests share.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use rawline_avro::{DecodeError, Limits, Plan, RowBuffer, Schema};

pub const MEASUREMENT: &str = include_str!("../../../../vectors/avro/measurement.avsc");

pub fn measurement() -> Vec<u8> {
    unhex(include_str!("../../../../vectors/avro/measurement.hex"))
}

pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

pub fn schema(json: &str) -> Arc<Schema> {
    Arc::new(Schema::parse(json).unwrap())
}

pub fn plan(writer: &str, reader: &str) -> Plan {
    Plan::new(&schema(writer), &schema(reader), Limits::default()).unwrap()
}

/// A message as JSON text.
pub fn json(plan: &Plan, message: &[u8]) -> Result<String, DecodeError> {
    let mut buffer = RowBuffer::new();
    let row = plan.row(&mut buffer, message)?;
    let mut out = Vec::new();
    row.datum().write_json(&mut out);
    Ok(String::from_utf8(out).unwrap())
}

/// JSON written by one schema and read as another.
pub fn pass(writer: &str, reader: &str, value: &str) -> String {
    let mut message = Vec::new();
    schema(writer).encode_json(value, &mut message).unwrap();
    json(&plan(writer, reader), &message).unwrap()
}
