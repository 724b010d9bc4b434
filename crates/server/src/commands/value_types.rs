//! Gives fields of plain JSON objects the types that JSON does not have: `--as id.orig_h=address`.

use rawline_value::{Port, Protocol, Set, Table, TimespanNs, TimestampNs, Value};
use serde_json::Value as Json;
use std::str::FromStr;

/// A field and the type that its value is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldType {
    field: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Address,
    Subnet,
    Timestamp,
    Enum,
    String,
    Count,
    Integer,
    Real,
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
                "address" => Kind::Address,
                "subnet" => Kind::Subnet,
                "timestamp" => Kind::Timestamp,
                "enum" => Kind::Enum,
                "string" => Kind::String,
                "count" => Kind::Count,
                "integer" => Kind::Integer,
                "real" => Kind::Real,
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

/// The value that a line of plain JSON stands for, its fields of the types asked for.
pub fn typed_value(line: &[u8], types: &[FieldType]) -> Result<Value, String> {
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
        pairs.push((Value::from(name.as_str()), value));
    }
    Table::from_pairs(pairs).map(Value::Table).map_err(|error| error.to_string())
}

fn of_kind(kind: &Kind, value: &Json, fields: &serde_json::Map<String, Json>) -> Result<Value, String> {
    if value.is_null() {
        return Ok(Value::None);
    }
    let misfit = || format!("{value} does not fit the type asked for");
    Ok(match (kind, value) {
        (Kind::Address, Json::String(text)) => Value::Address(parsed(text)?),
        (Kind::Subnet, Json::String(text)) => Value::Subnet(parsed(text)?),
        (Kind::Timestamp, Json::String(text)) => parsed::<TimestampNs>(text)?.into(),
        (Kind::Timespan, Json::String(text)) => parsed::<TimespanNs>(text)?.into(),
        (Kind::Timespan, Json::Number(seconds)) => {
            let nanoseconds = (seconds.as_f64().unwrap_or(f64::NAN) * 1e9).round();
            // 2^63 is the first that 64 bits do not hold.
            if nanoseconds.is_nan() || nanoseconds.abs() >= 9_223_372_036_854_775_808.0 {
                return Err(format!("{value} seconds are more than 64 bits of nanoseconds hold"));
            }
            Value::Timespan(nanoseconds as i64)
        }
        (Kind::Enum, Json::String(text)) => Value::Enum(text.as_str().into()),
        (Kind::String, Json::String(text)) => text.as_str().into(),
        (Kind::Count, Json::Number(number)) => Value::Count(number.as_u64().ok_or_else(misfit)?),
        (Kind::Integer, Json::Number(number)) => Value::Integer(number.as_i64().ok_or_else(misfit)?),
        (Kind::Real, Json::Number(number)) => Value::Real(number.as_f64().ok_or_else(misfit)?),
        (Kind::Port { .. }, Json::String(text)) => Value::Port(parsed(text)?),
        (Kind::Port { protocol }, Json::Number(number)) => {
            let number = number.as_u64().and_then(|number| u16::try_from(number).ok()).ok_or_else(misfit)?;
            let protocol = protocol.as_ref().and_then(|field| fields.get(field)).and_then(Json::as_str);
            Value::Port(Port::new(
                number,
                match protocol {
                    Some("tcp") => Protocol::Tcp,
                    Some("udp") => Protocol::Udp,
                    Some("icmp") => Protocol::Icmp,
                    _ => Protocol::Unknown,
                },
            ))
        }
        (Kind::Set, Json::Array(elements)) => Value::Set(elements.iter().map(untyped).collect::<Set>()),
        _ => return Err(misfit()),
    })
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| format!("{text:?}: {error}"))
}

/// A value of plain JSON as what it is without being told.
fn untyped(value: &Json) -> Value {
    match value {
        Json::Null => Value::None,
        Json::Bool(boolean) => Value::Boolean(*boolean),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(count), _) => Value::Count(count),
            (None, Some(integer)) => Value::Integer(integer),
            (None, None) => Value::Real(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(elements) => Value::Vector(elements.iter().map(untyped).collect()),
        // Keys of one object are different, so all are kept.
        Json::Object(fields) => Value::Table(
            fields.iter().map(|(name, value)| (Value::from(name.as_str()), untyped(value))).collect::<Table>(),
        ),
    }
}
