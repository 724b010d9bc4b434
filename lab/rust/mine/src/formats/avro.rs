//! Avro: ours, to trees and to rows, and apache-avro, all with a given or inferred schema.

use super::{Subject, attempt, same_tree};
use crate::candidate::{Attempt, Candidate, Library};
use crate::error::LabError;
use crate::path::{FieldPath, mark, mark_number, mark_text};
use crate::sample::Sample;
use crate::shape::{avro_schema, fit, schema_name};
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value as Apache;
use apache_avro::writer::datum::GenericDatumWriter;
use rawline_avro::{Datum, Kind, Limits, Plan, RowBuffer, Schema, TypeId};
use serde_json::{Map, Value as Json};
use std::path::Path;
use std::sync::Arc;

/// The messages' schema, and the messages as it has them.
#[derive(Debug)]
pub struct AvroSchema {
    /// As JSON.
    pub text: String,
    /// Whether it was inferred.
    pub inferred: bool,
    schema: Arc<Schema>,
    messages: Vec<Json>,
}

/// Limits for one message: a sample's messages may be larger than those of a stream.
const LIMITS: Limits = Limits { depth_max: 64, elements_max: 1 << 26 };

impl AvroSchema {
    /// The schema in the file, or inferred; every message of the sample must be of it.
    pub fn new(sample: &Sample, file: Option<&Path>) -> Result<AvroSchema, LabError> {
        let (text, name) = match file {
            Some(path) => {
                let name = path.display().to_string();
                let text =
                    std::fs::read_to_string(path).map_err(|source| LabError::File { path: name.clone(), source })?;
                (text, name)
            }
            None => (avro_schema(&sample.shape), "the inferred schema".to_owned()),
        };
        let schema = Schema::parse(&text).map_err(|error| LabError::Schema(format!("{name}: {error}")))?;
        let messages: Vec<Json> = sample
            .messages
            .iter()
            .map(|message| match file {
                Some(_) => renamed(&schema, schema.root(), &message.json),
                None => fit(&sample.shape, &message.json, false),
            })
            .collect();
        let mut out = Vec::new();
        for (json, message) in messages.iter().zip(&sample.messages) {
            out.clear();
            schema.encode_value(json, &mut out).map_err(|error| {
                LabError::Schema(format!(
                    "{}: {error}, by {name}. Change the schema or the message; a field that may be absent needs \
                     \"type\": [\"null\", …] and \"default\": null",
                    message.place
                ))
            })?;
        }
        Ok(AvroSchema { text, inferred: file.is_none(), schema: Arc::new(schema), messages })
    }
}

/// The message with each key that isn't a valid name replaced by its name in the schema.
fn renamed(schema: &Schema, id: TypeId, json: &Json) -> Json {
    match (schema.kind(id), json) {
        (Kind::Record(record), Json::Object(fields)) => fields
            .iter()
            .map(|(key, value)| {
                let exact = record.fields.iter().find(|field| field.name == *key);
                let name = schema_name(key);
                match exact.or_else(|| record.fields.iter().find(|field| field.name == name)) {
                    Some(field) => (field.name.clone(), renamed(schema, field.type_id, value)),
                    None => (key.clone(), value.clone()),
                }
            })
            .collect(),
        (Kind::Map(inner), Json::Object(fields)) => {
            fields.iter().map(|(key, value)| (key.clone(), renamed(schema, *inner, value))).collect()
        }
        (Kind::Array(inner), Json::Array(elements)) => {
            elements.iter().map(|element| renamed(schema, *inner, element)).collect()
        }
        (Kind::Union(branches), value @ (Json::Object(_) | Json::Array(_))) => {
            let fits = |branch: &&TypeId| {
                matches!(
                    (schema.kind(**branch), value),
                    (Kind::Record(_) | Kind::Map(_), Json::Object(_)) | (Kind::Array(_), Json::Array(_))
                )
            };
            branches.iter().find(fits).map_or_else(|| value.clone(), |branch| renamed(schema, *branch, value))
        }
        (_, value) => value.clone(),
    }
}

pub fn attempts(subject: &Subject<'_>) -> Vec<Attempt> {
    vec![
        attempt("avro", "rawline-avro", "", tree_row(subject)),
        attempt("avro", "rawline-avro", "rows, borrowed", rows_row(subject)),
        attempt("avro", "apache-avro", "", apache_row(subject)),
    ]
}

/// The path to the field in the schema's names.
fn names(subject: &Subject<'_>) -> Vec<String> {
    let FieldPath { names, .. } = &subject.path;
    if subject.avro.inferred { names.clone() } else { subject.path.schema_names() }
}

fn plan(schema: &Arc<Schema>) -> Result<Plan, String> {
    Plan::same(schema, LIMITS).map_err(|error| error.to_string())
}

/// Reads only the field, with a reader's schema that has nothing else.
fn field_of(subject: &Subject<'_>) -> Result<impl FnMut(&[u8]) -> Result<u64, String> + 'static, String> {
    let names = names(subject);
    let writer = &subject.avro.schema;
    let projected = serde_json::from_str::<Json>(&subject.avro.text)
        .ok()
        .map(|schema| projection(&schema, &names))
        .and_then(|schema| Schema::parse(&schema.to_string()).ok())
        .and_then(|reader| Plan::new(writer, &Arc::new(reader), LIMITS).ok());
    // A type that is defined in a removed part and used in a kept one has no projection.
    let plan = match projected {
        Some(plan) => plan,
        None => plan(writer)?,
    };
    let mut buffer = RowBuffer::new();
    Ok(move |bytes: &[u8]| {
        let row = plan.row(&mut buffer, bytes).map_err(|error| error.to_string())?;
        let found = names.iter().try_fold(row.datum(), |datum, name| step(&datum, name));
        Ok(found.map_or(0, |datum| mark_datum(&datum)))
    })
}

fn step<'r, 'm>(datum: &Datum<'r, 'm>, name: &str) -> Option<Datum<'r, 'm>> {
    datum.field(name).or_else(|| datum.entries().find(|(key, _)| *key == name).map(|(_, value)| value))
}

fn mark_datum(datum: &Datum<'_, '_>) -> u64 {
    if datum.is_null() {
        return 0;
    }
    if let Some(text) = datum.as_str() {
        return mark_text(text);
    }
    if let Some(number) = datum.as_long() {
        return mark_number(number as f64);
    }
    datum.as_double().map_or(1, mark_number)
}

/// The schema with only the field in it.
fn projection(schema: &Json, names: &[String]) -> Json {
    let Some((name, rest)) = names.split_first() else { return schema.clone() };
    match schema {
        Json::Array(branches) => branches.iter().map(|branch| projection(branch, names)).collect(),
        Json::Object(parts) if parts.get("type").is_some_and(Json::is_object) => {
            parts.get("type").map_or_else(|| schema.clone(), |inner| projection(inner, names))
        }
        Json::Object(parts) => {
            let mut parts: Map<String, Json> = parts.clone();
            if let Some(Json::Array(fields)) = parts.get_mut("fields") {
                fields.retain(|field| field.get("name").and_then(Json::as_str) == Some(name));
                for field in fields {
                    if let Some(of_field) = field.get_mut("type") {
                        *of_field = projection(of_field, rest);
                    }
                }
            }
            Json::Object(parts)
        }
        other => other.clone(),
    }
}

fn tree_row(subject: &Subject<'_>) -> Result<Box<dyn Candidate>, String> {
    let schema = Arc::clone(&subject.avro.schema);
    let plan = plan(&schema)?;
    let checked = self::plan(&schema)?;
    let again = Arc::clone(&schema);
    let mut buffer = RowBuffer::new();
    let library = Library {
        native: subject.avro.messages.clone(),
        encode: move |tree: &Json, out: &mut Vec<u8>| schema.encode_value(tree, out).map_err(|error| error.to_string()),
        decode: move |bytes: &[u8]| plan.read::<Json>(&mut buffer, bytes).map_err(|error| error.to_string()),
        field: field_of(subject)?,
    };
    let mut buffer = RowBuffer::new();
    let buffer = std::cell::RefCell::new(std::mem::take(&mut buffer));
    library.check(&subject.present, |_, one, _| {
        // Text that people write for a time comes back as text from a row, and what is written from that is the same.
        let (mut first, mut second) = (Vec::new(), Vec::new());
        again.encode_value(one, &mut first).map_err(|error| error.to_string())?;
        let mut buffer = buffer.borrow_mut();
        let row = checked.row(&mut buffer, &first).map_err(|error| error.to_string())?;
        row.datum().encode(&mut second);
        if first != second {
            return Err("the message read back differs".to_owned());
        }
        let mut text = Vec::new();
        row.datum().write_json(&mut text);
        let other: Json = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        if subject.avro.inferred { same_tree(&without_nulls(one), &without_nulls(&other)) } else { Ok(()) }
    })
}

/// The tree without null fields: a schema has null where a message has no field.
fn without_nulls(json: &Json) -> Json {
    match json {
        Json::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Json::Array(elements) => elements.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

fn rows_row(subject: &Subject<'_>) -> Result<Box<dyn Candidate>, String> {
    let schema = Arc::clone(&subject.avro.schema);
    let plan = plan(&schema)?;
    let mut buffer = RowBuffer::new();
    let library = Library {
        native: subject.avro.messages.clone(),
        encode: move |tree: &Json, out: &mut Vec<u8>| schema.encode_value(tree, out).map_err(|error| error.to_string()),
        decode: move |bytes: &[u8]| {
            let row = plan.row(&mut buffer, bytes).map_err(|error| error.to_string())?;
            Ok(row.datum().fields().len())
        },
        field: field_of(subject)?,
    };
    library.check(&subject.present, |_, _, _| Ok(()))
}

fn apache_row(subject: &Subject<'_>) -> Result<Box<dyn Candidate>, String> {
    let schema = apache_avro::Schema::parse_str(&subject.avro.text).map_err(|error| error.to_string())?;
    // It lives as long as the process, which ends after one measurement; reader and writer borrow from it.
    let schema: &'static apache_avro::Schema = Box::leak(Box::new(schema));
    let reader = || GenericDatumReader::builder(schema).build().map_err(|error| error.to_string());
    let writer = GenericDatumWriter::builder(schema).build().map_err(|error| error.to_string())?;
    let first = reader()?;
    let native: Result<Vec<Apache>, String> = subject
        .avro
        .messages
        .iter()
        .map(|tree| {
            let mut bytes = Vec::new();
            subject.avro.schema.encode_value(tree, &mut bytes).map_err(|error| error.to_string())?;
            first.read_value(&mut bytes.as_slice()).map_err(|error| error.to_string())
        })
        .collect();
    let (for_decode, for_field) = (reader()?, reader()?);
    let names = names(subject);
    let library = Library {
        native: native?,
        encode: move |value: &Apache, out: &mut Vec<u8>| {
            writer.write_value_ref(out, value).map(|_| ()).map_err(|error| error.to_string())
        },
        decode: move |bytes: &[u8]| for_decode.read_value(&mut &*bytes).map_err(|error| error.to_string()),
        field: move |bytes: &[u8]| {
            let value = for_field.read_value(&mut &*bytes).map_err(|error| error.to_string())?;
            let found = names.iter().try_fold(&value, |value, name| of_apache(value, name));
            Ok(found.map_or(0, mark_apache))
        },
    };
    library.check(
        &subject.present,
        |_, one, other| {
            if one == other { Ok(()) } else { Err("another value came back".to_owned()) }
        },
    )
}

fn plain(value: &Apache) -> &Apache {
    match value {
        Apache::Union(_, inner) => inner,
        other => other,
    }
}

fn of_apache<'v>(value: &'v Apache, name: &str) -> Option<&'v Apache> {
    match plain(value) {
        Apache::Record(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
        Apache::Map(entries) => entries.get(name),
        _ => None,
    }
}

fn mark_apache(value: &Apache) -> u64 {
    match plain(value) {
        Apache::Null => 0,
        Apache::String(text) | Apache::Enum(_, text) => mark_text(text),
        Apache::Int(number) => mark_number(f64::from(*number)),
        Apache::Long(number) => mark_number(*number as f64),
        Apache::Float(number) => mark_number(f64::from(*number)),
        Apache::Double(number) => mark_number(*number),
        Apache::Boolean(value) => mark(&Json::Bool(*value)),
        _ => 1,
    }
}
