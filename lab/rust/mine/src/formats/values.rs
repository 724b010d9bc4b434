//! Our values: tables with the fields' names, also with types for addresses, ports and times, and lists without names.

use super::{Subject, attempt};
use crate::candidate::{Attempt, Candidate, Library};
use crate::error::LabError;
use crate::path::{Place, mark_number, mark_text};
use crate::shape::Shape;
use rawline_value::json::hinted;
use rawline_value::{Decoder, FieldHint, Limits, Step, Value, Variant};
use serde_json::Value as Json;

pub fn attempts(subject: &Subject<'_>) -> Result<Vec<Attempt>, LabError> {
    let plain = match values(subject, &[]) {
        Ok(plain) => plain,
        Err(why) => return Ok(vec![attempt("values", "rawline-value", "", Err(why))]),
    };
    let mut attempts = vec![attempt("values", "rawline-value", "", table_row(subject, plain.clone()))];
    let mut best = plain;
    if !subject.types.is_empty() {
        best = values(subject, &subject.types)
            .map_err(|why| LabError::Sample(format!("{why}: take its --as away, or repair the message")))?;
        attempts.push(attempt("values", "rawline-value", "typed", table_row(subject, best.clone())));
    }
    let variant = if subject.types.is_empty() { "" } else { "typed" };
    attempts.push(attempt("values-list", "rawline-value", variant, list_row(subject, &best)));
    Ok(attempts)
}

fn values(subject: &Subject<'_>, types: &[FieldHint]) -> Result<Vec<Value>, String> {
    let mut bytes = Vec::new();
    let value = |message: &crate::sample::Message| {
        bytes.clear();
        hinted::read(message.text.as_bytes(), types, &mut bytes).map_err(|why| format!("{}: {why}", message.place))?;
        decode(&bytes)
    };
    subject.sample.messages.iter().map(value).collect()
}

fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    value.encode_into(out);
    Ok(())
}

fn decode(bytes: &[u8]) -> Result<Value, String> {
    Value::decode(bytes, &Limits::FORMAT).map_err(|error| error.to_string())
}

fn same(_: usize, one: &Value, other: &Value) -> Result<(), String> {
    if one == other { Ok(()) } else { Err("another value came back".to_owned()) }
}

fn table_row(subject: &Subject<'_>, native: Vec<Value>) -> Result<Box<dyn Candidate>, String> {
    let steps = subject.path.by_name().into_iter().map(kept).collect();
    Library { native, encode, decode, field: field(steps) }.check(&subject.present, same)
}

fn list_row(subject: &Subject<'_>, tables: &[Value]) -> Result<Box<dyn Candidate>, String> {
    let shape = &subject.sample.shape;
    let native: Vec<Value> = tables
        .iter()
        .zip(&subject.sample.messages)
        .map(|(table, message)| listed(shape, table, &message.json))
        .collect();
    let steps = subject.path.by_index(shape)?.into_iter().map(kept).collect();
    Library { native, encode, decode, field: field(steps) }.check(&subject.present, same)
}

/// A step whose key lives as long as the process, which ends after one measurement.
fn kept(place: Place) -> Step<'static> {
    match place {
        Place::Key(key) => Step::Key(key.leak()),
        Place::Index(index) => Step::Index(index),
    }
}

/// Reads the field without reading the bytes after it.
fn field(steps: Vec<Step<'static>>) -> impl FnMut(&[u8]) -> Result<u64, String> + 'static {
    let mut decoder = Decoder::new(Limits::FORMAT);
    move |bytes| {
        let found = decoder.pick(bytes, &steps).map_err(|error| error.to_string())?;
        Ok(found.map_or(0, |value| mark(&value)))
    }
}

/// The value with each record as the list of its fields, absent ones as none.
fn listed(shape: &Shape, value: &Value, json: &Json) -> Value {
    match (shape, value, json) {
        (Shape::Record(slots), Value::Table(table), Json::Object(fields)) => slots
            .iter()
            .map(|slot| {
                let value = table.get(&Value::from(slot.key.as_str()));
                match (value, fields.get(&slot.key)) {
                    (Some(value), Some(json)) => listed(&slot.shape, value, json),
                    _ => Value::None,
                }
            })
            .collect::<Vec<Value>>()
            .into(),
        (Shape::List(inner), Value::Vector(values), Json::Array(elements)) => {
            values.iter().zip(elements).map(|(value, json)| listed(inner, value, json)).collect::<Vec<Value>>().into()
        }
        _ => value.clone(),
    }
}

fn mark(value: &Variant<'_>) -> u64 {
    if value.is_none() {
        return 0;
    }
    if let Some(text) = value.as_str() {
        return mark_text(text);
    }
    if let Some(count) = value.as_count() {
        return mark_number(count as f64);
    }
    if let Some(real) = value.as_real() {
        return mark_number(real);
    }
    value.bytes().len() as u64
}
