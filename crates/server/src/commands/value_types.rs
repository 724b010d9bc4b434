//! Gives fields of plain JSON objects the types that JSON does not have: `--as id.orig_h=address`.

use serde_json::{Value as Json, json};
use std::str::FromStr;

/// A field and the type that its value is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldType {
    field: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A type whose JSON is a text.
    Text(&'static str),
    /// A type whose JSON is a number.
    Number(&'static str),
    /// Seconds as a number, or a text with a unit.
    Timespan,
    /// A text such as `53/udp`, or a number whose protocol another field names.
    Port {
        protocol: Option<String>,
    },
    Set,
}

impl FromStr for FieldType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (field, kind) = text.split_once('=').ok_or("write it as FIELD=TYPE, such as id.orig_h=address")?;
        let kind = match kind.split_once('@') {
            Some(("port", protocol)) => Kind::Port { protocol: Some(protocol.to_owned()) },
            Some(_) => return Err("only a port takes its protocol from another field: FIELD=port@FIELD".to_owned()),
            None => match kind {
                "address" => Kind::Text("address"),
                "subnet" => Kind::Text("subnet"),
                "timestamp" => Kind::Text("timestamp"),
                "enum" => Kind::Text("enum-value"),
                "string" => Kind::Text("string"),
                "count" => Kind::Number("count"),
                "integer" => Kind::Number("integer"),
                "real" => Kind::Number("real"),
                "timespan" => Kind::Timespan,
                "port" => Kind::Port { protocol: None },
                "set" => Kind::Set,
                other => {
                    return Err(format!(
                        "{other:?} is no type; there are address, subnet, port, timestamp, timespan, enum, string, \
                         count, integer, real and set"
                    ));
                }
            },
        };
        Ok(FieldType { field: field.to_owned(), kind })
    }
}

/// A line of plain JSON in the mapping that keeps types, its fields of the types asked for.
pub fn typed_json(line: &[u8], types: &[FieldType]) -> Result<String, String> {
    let parsed: Json = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let Json::Object(fields) = &parsed else {
        return Err("--as is for objects, this line is none".to_owned());
    };
    let mut pairs = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let value = match types.iter().find(|wanted| wanted.field == *name) {
            Some(wanted) => of_kind(&wanted.kind, value, fields).map_err(|why| format!("field {name}: {why}"))?,
            None => untyped(value),
        };
        pairs.push(json!({"key": {"@data-type": "string", "data": name}, "value": value}));
    }
    Ok(json!({"@data-type": "table", "data": pairs}).to_string())
}

fn of_kind(kind: &Kind, value: &Json, fields: &serde_json::Map<String, Json>) -> Result<Json, String> {
    if value.is_null() {
        return Ok(untyped(value));
    }
    let typed = |name: &str, data: Json| Ok(json!({"@data-type": name, "data": data}));
    match (kind, value) {
        (Kind::Text(name), Json::String(text)) => typed(name, json!(text)),
        (Kind::Number("real"), Json::Number(number)) => typed("real", json!(number.as_f64())),
        (Kind::Number(name), Json::Number(_)) => typed(name, value.clone()),
        (Kind::Timespan, Json::String(text)) => typed("timespan", json!(text)),
        (Kind::Timespan, Json::Number(seconds)) => {
            let nanoseconds = seconds.as_f64().unwrap_or_default() * 1e9;
            typed("timespan", json!(format!("{:.0}ns", nanoseconds)))
        }
        (Kind::Port { .. }, Json::String(text)) => typed("port", json!(text)),
        (Kind::Port { protocol }, Json::Number(number)) => {
            let protocol = protocol.as_ref().and_then(|field| fields.get(field)).and_then(Json::as_str);
            let protocol = protocol.filter(|name| ["tcp", "udp", "icmp"].contains(name)).unwrap_or("?");
            typed("port", json!(format!("{number}/{protocol}")))
        }
        (Kind::Set, Json::Array(elements)) => {
            let mut unique: Vec<Json> = Vec::with_capacity(elements.len());
            for element in elements.iter().map(untyped) {
                if !unique.contains(&element) {
                    unique.push(element);
                }
            }
            typed("set", Json::Array(unique))
        }
        _ => Err(format!("{value} does not fit the type asked for")),
    }
}

/// A value of plain JSON as what it is without being told.
fn untyped(value: &Json) -> Json {
    let typed = |name: &str, data: Json| json!({"@data-type": name, "data": data});
    match value {
        Json::Null => typed("none", json!({})),
        Json::Bool(_) => typed("boolean", value.clone()),
        Json::Number(number) if number.is_u64() => typed("count", value.clone()),
        Json::Number(number) if number.is_i64() => typed("integer", value.clone()),
        Json::Number(_) => typed("real", value.clone()),
        Json::String(_) => typed("string", value.clone()),
        Json::Array(elements) => typed("vector", elements.iter().map(untyped).collect()),
        Json::Object(fields) => {
            let pair = |(name, value): (&String, &Json)| json!({"key": {"@data-type": "string", "data": name}, "value": untyped(value)});
            typed("table", fields.iter().map(pair).collect())
        }
    }
}
