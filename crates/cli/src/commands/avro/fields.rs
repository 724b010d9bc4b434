//! The fields of a record to encode: the position of a value, and the meaning of its text.

use rawline_avro::{Json, Kind, Logical, Schema, Type, TypeId};
use rawline_time::iso;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The fields of an object.
pub type Object = BTreeMap<String, Json>;

/// A field and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub field: String,
    pub value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((field, value)) if !field.is_empty() => {
                Ok(Assignment { field: field.to_owned(), value: value.to_owned() })
            }
            _ => Err("write it as FIELD=VALUE, such as tags.region=eu-west-1".to_owned()),
        }
    }
}

pub fn split(field: &str) -> Vec<String> {
    field.split('.').map(str::to_owned).collect()
}

/// The position and type of a field such as `tags.region`.
pub fn find(schema: &Schema, field: &str) -> Result<(Vec<String>, TypeId), String> {
    let path = split(field);
    let mut at = schema.root();
    for name in &path {
        at = match schema.kind(bare(schema, at)) {
            Kind::Map(values) => *values,
            Kind::Record(record) => match record.fields.iter().find(|field| field.name == *name) {
                Some(field) => field.type_id,
                None => {
                    let known: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
                    return Err(format!("the schema has no field {field}; there are {}", known.join(", ")));
                }
            },
            kind => return Err(format!("{field} leads into a {kind}, which has no fields")),
        };
    }
    Ok((path, at))
}

/// The type within a nullable one.
fn bare(schema: &Schema, id: TypeId) -> TypeId {
    match schema.kind(id) {
        Kind::Union(branches) => {
            let mut values = branches.iter().filter(|id| !matches!(schema.kind(**id), Kind::Null));
            match (values.next(), values.next()) {
                (Some(only), None) => *only,
                _ => id,
            }
        }
        _ => id,
    }
}

/// Converts a text to the JSON of the field's type. White space around it is a part of texts and bytes only.
pub fn cell(schema: &Schema, id: TypeId, text: &str) -> Result<Json, String> {
    let inner = bare(schema, id);
    let Type { kind, logical } = schema.type_at(inner);
    let is_verbatim = matches!((kind, logical), (Kind::String | Kind::Bytes | Kind::Fixed(_), None));
    let text = if is_verbatim { text } else { text.trim() };
    if text.is_empty() && inner != id {
        return Ok(Json::Null);
    }
    match kind {
        Kind::Boolean => match text {
            "true" | "1" => Ok(Json::Bool(true)),
            "false" | "0" => Ok(Json::Bool(false)),
            _ => Err(format!("{text:?} is neither true nor false")),
        },
        Kind::Int | Kind::Long => match (whole(text), logical) {
            (Some(number), _) => Ok(number),
            (None, None) => Err(format!("{text:?} isn't a number")),
            // A time without a zone is taken as UTC's.
            (None, Some(logical)) => match iso::datetime(text).filter(|_| is_timestamp(*logical)) {
                Some(time) => Ok(Json::String(format!("{time}Z"))),
                None => Ok(Json::String(text.to_owned())),
            },
        },
        Kind::Float | Kind::Double => real(text),
        Kind::String | Kind::Bytes | Kind::Fixed(_) | Kind::Enum(_) => Ok(Json::String(text.to_owned())),
        Kind::Null if text.is_empty() => Ok(Json::Null),
        _ => Json::parse(text.as_bytes()).map_err(|error| format!("a {kind} is written as JSON: {error}")),
    }
}

/// A whole number, also with a plus, or as JSON writes it: `1e3`.
fn whole(text: &str) -> Option<Json> {
    match (text.parse::<i64>(), Json::parse(text.as_bytes())) {
        (Ok(number), _) => Some(Json::Number(number.to_string())),
        (Err(_), Ok(number @ Json::Number(_))) => Some(number),
        _ => None,
    }
}

/// A number as JSON or other programs write it: `.5`, `+1`, `NaN`, `+Inf`, `-Infinity`.
fn real(text: &str) -> Result<Json, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} isn't a number"))?;
    let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
    match number {
        number if number.is_finite() => Ok(Json::Number(format!("{number:?}"))),
        _ if is_number => Err(format!("{text:?} is larger than a double can be")),
        number if number.is_nan() => Ok(Json::String("NaN".to_owned())),
        number => Ok(Json::String(if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned())),
    }
}

fn is_timestamp(logical: Logical) -> bool {
    matches!(logical, Logical::TimestampMillis | Logical::TimestampMicros | Logical::TimestampNanos)
}

/// Adds a value to an object at its path, and creates the objects on the path. Two objects at one place become one;
/// any other existing value is an error.
pub fn put(fields: &mut Object, path: &[String], value: Json) -> Result<(), String> {
    let Some((name, rest)) = path.split_first() else { return Ok(()) };
    let value = rest.iter().rev().fold(value, |value, name| Json::Object(Object::from([(name.clone(), value)])));
    merge(fields, name, value)
}

/// Recurses as deep as both values.
fn merge(fields: &mut Object, name: &str, value: Json) -> Result<(), String> {
    match (fields.get_mut(name), value) {
        (None, value) => drop(fields.insert(name.to_owned(), value)),
        (Some(Json::Object(there)), Json::Object(more)) => {
            for (inner, value) in more {
                merge(there, &inner, value).map_err(|error| format!("{name}.{error}"))?;
            }
        }
        // A field that is null has no fields yet.
        (Some(there @ Json::Null), value @ Json::Object(_)) => *there = value,
        (Some(Json::Object(_)), Json::Null) => {}
        (Some(there), value) => {
            return Err(format!("{name} has two values, {there} and {value}; leave one out with --skip"));
        }
    }
    Ok(())
}

/// Sets a value in an object at its path, and replaces an existing one. Objects on the path are created, or kept.
pub fn set(fields: &mut Object, path: &[String], value: Json) -> Result<(), String> {
    match path {
        [] => {}
        [name] => drop(fields.insert(name.clone(), value)),
        [name, rest @ ..] => match fields.entry(name.clone()).or_insert(Json::Null) {
            Json::Object(inner) => set(inner, rest, value).map_err(|error| format!("{name}.{error}"))?,
            there @ Json::Null => {
                let mut inner = Object::new();
                set(&mut inner, rest, value)?;
                *there = Json::Object(inner);
            }
            there => {
                return Err(format!("{name} is {there}, which has no {}; leave it out with --skip", rest.join(".")));
            }
        },
    }
    Ok(())
}
