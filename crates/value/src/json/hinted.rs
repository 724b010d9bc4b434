//! Plain JSON whose fields get types that JSON does not have: `{"host":"10.0.0.1"}` with `host=address`.

use super::{ReadError, plain};
use crate::item::ItemReader;
use crate::wire::put_sized;
use crate::{FieldHint, Hint, Kind, Limits, MisfitError, Protocol, Table, Value, ValueError};

/// A text is not a JSON object, or its fields are not of the types asked for.
#[derive(Debug, thiserror::Error)]
pub enum HintedError {
    /// It is no JSON, or beyond the limits of a value.
    #[error(transparent)]
    Json(#[from] ReadError),
    /// It has no fields.
    #[error("types are asked for fields, and this is no object; write it as {{\"field\":value}}")]
    NoObject,
    /// A field's value does not fit.
    #[error("field {field}: {reason}")]
    Field {
        /// Its name.
        field: String,
        /// Why not.
        reason: MisfitError,
    },
}

impl From<ValueError> for HintedError {
    fn from(error: ValueError) -> HintedError {
        HintedError::Json(error.into())
    }
}

/// Reads one JSON object as [`plain::read`] does and appends the bytes of its table to `out`, its fields of the types
/// asked for; the first counts if several are asked for one field. After an error `out` is as it was.
///
/// - Text stands for what it names: `"10.0.0.1"`, `"53/udp"`, `"1500ms"`, and is an enum's name.
/// - A number is a time or a duration in seconds, a port, or any type of numbers that has it.
/// - An array becomes a set if that is asked for, what is there twice once; else its elements get the type.
/// - `null` is none in every field.
///
/// Objects inside keep JSON's own types. All tables and sets come out ascending.
pub fn read(json: &[u8], fields: &[FieldHint], out: &mut Vec<u8>) -> Result<(), HintedError> {
    let start = out.len();
    // Addresses are longer than their text, so the length is known at last.
    let written = read_object(json, fields, out).and_then(|()| {
        let written = out.get(start..).unwrap_or_default();
        ItemReader::new(written, &Limits::default()).map(drop).map_err(HintedError::from)
    });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn read_object(json: &[u8], fields: &[FieldHint], out: &mut Vec<u8>) -> Result<(), HintedError> {
    let Value::Table(table) = plain::read_tree(json)? else {
        return Err(HintedError::NoObject);
    };
    put_sized(out, Kind::Table, table.len());
    for (name, value) in &table {
        name.encode_into(out);
        let is_named = |wanted: &&FieldHint| matches!(name, Value::String(name) if **name == *wanted.field.as_bytes());
        match fields.iter().find(is_named) {
            Some(FieldHint { field, hint }) => put(value, hint, protocol_of(hint, &table), out)
                .map_err(|reason| HintedError::Field { field: field.clone(), reason })?,
            None => value.encode_into(out),
        }
    }
    Ok(())
}

/// The protocol that another field names; unknown where none is named.
fn protocol_of(hint: &Hint, table: &Table) -> Protocol {
    let named = hint.protocol_field().and_then(|field| table.get(&field.into()));
    match named {
        Some(Value::String(name)) => name.as_str().and_then(Protocol::of_name).unwrap_or_default(),
        _ => Protocol::Unknown,
    }
}

/// Appends a value, of the type asked for.
fn put(value: &Value, hint: &Hint, protocol: Protocol, out: &mut Vec<u8>) -> Result<(), MisfitError> {
    let is_put = match value {
        // JSON is UTF-8.
        Value::String(text) => hint.put_text(text.as_str().unwrap_or_default(), out)?,
        // In JSON 1 and 1.0 are the same number.
        Value::Count(seconds) if hint.is_time() => hint.put_real(*seconds as f64, out)?,
        Value::Integer(seconds) if hint.is_time() => hint.put_real(*seconds as f64, out)?,
        Value::Count(number) => hint.put_number(*number, protocol, out)?,
        Value::Integer(number) => hint.put_number(*number, protocol, out)?,
        Value::Real(real) => hint.put_real(*real, out)?,
        Value::Vector(elements) if hint.kind() == Some(Kind::Set) => {
            Value::Set(elements.iter().cloned().collect()).encode_into(out);
            true
        }
        Value::Vector(elements) => {
            put_sized(out, Kind::Vector, elements.len());
            elements.iter().try_for_each(|element| put(element, hint, protocol, out))?;
            true
        }
        _ => false,
    };
    if !is_put {
        hint.check(value.kind())?;
        value.encode_into(out);
    }
    Ok(())
}
