//! Plain JSON whose fields get types that JSON does not have: `{"host":"10.0.0.1"}` with `host=address`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ReadError, plain};
use crate::item::ItemReader;
use crate::wire::put_sized;
use crate::{FieldHint, Hint, Kind, Limits, MisfitError, Protocol, Table, Value, ValueError};

/// The text isn't a JSON object, or its fields aren't of the requested types.
#[derive(Debug, thiserror::Error)]
pub enum HintedError {
    /// It isn't JSON, or exceeds the limits of a value.
    #[error(transparent)]
    Json(#[from] ReadError),
    /// It has no fields.
    #[error("types are requested for fields, and this is no object; write it as {{\"field\":value}}")]
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

/// Reads one JSON object as [`plain::read`] does and appends the bytes of its table to `out`, with its fields converted
/// to the requested types; the first hint for a field counts. After an error, `out` is unchanged.
///
/// - A field of a nested object is named by its path, such as `id.orig_h`; a field with that exact name has priority.
/// - Text is parsed as the type: `"10.0.0.1"`, `"53/udp"`, `"1500ms"`, or the name of an enum.
/// - A number is a time or a duration in seconds, exact to the nanosecond, a port, or a number of the type.
/// - The field with a port's protocol is in the same object.
/// - An array becomes a set if requested, without duplicates; otherwise the type applies to its elements.
/// - `null` is none in every field.
///
/// Objects in arrays keep JSON's types. All tables and sets are ascending.
pub fn read(json: &[u8], fields: &[FieldHint], out: &mut Vec<u8>) -> Result<(), HintedError> {
    read_noting(json, fields, &mut [], out)
}

/// As [`read`]; sets the element of `seen` to true whose hint of `fields` has the same index and names a field of this
/// object.
pub fn read_noting(json: &[u8], fields: &[FieldHint], seen: &mut [bool], out: &mut Vec<u8>) -> Result<(), HintedError> {
    let start = out.len();
    // Addresses are longer than their text, so the length is known at last.
    let written = read_object(json, fields, seen, out).and_then(|()| {
        let written = out.get(start..).unwrap_or_default();
        ItemReader::new(written, &Limits::default()).map(drop).map_err(HintedError::from)
    });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn read_object(json: &[u8], fields: &[FieldHint], seen: &mut [bool], out: &mut Vec<u8>) -> Result<(), HintedError> {
    let Value::Table(table) = plain::read_tree(json)? else {
        return Err(HintedError::NoObject);
    };
    // Times are read from the numbers' own digits, which the tree's doubles don't have.
    let texts = match fields.iter().any(|field| field.hint.is_time()) {
        true => object_texts(json)?,
        false => HashMap::new(),
    };
    HintedTables { fields, seen, path: String::new() }.put_table(&table, &texts, out)
}

/// The JSON text of each field.
type Texts<'j> = HashMap<Cow<'j, str>, &'j RawValue>;

fn object_texts(json: &[u8]) -> Result<Texts<'_>, HintedError> {
    from_slice(json)
}

/// Parses JSON whose nesting [`plain::read_tree`] has checked.
fn from_slice<'j, T: Deserialize<'j>>(json: &'j [u8]) -> Result<T, HintedError> {
    let mut json = serde_json::Deserializer::from_slice(json);
    json.disable_recursion_limit();
    T::deserialize(&mut json).map_err(|error| HintedError::Json(error.into()))
}

/// Writes tables with the requested types.
struct HintedTables<'h> {
    fields: &'h [FieldHint],
    seen: &'h mut [bool],
    /// The path of the table that is being written, and a dot; empty for the outermost.
    path: String,
}

impl HintedTables<'_> {
    fn put_table(&mut self, table: &Table, texts: &Texts<'_>, out: &mut Vec<u8>) -> Result<(), HintedError> {
        put_sized(out, Kind::Table, table.len());
        for (name, value) in table {
            name.encode_into(out);
            // JSON's keys are strings, and UTF-8.
            let key = if let Value::String(name) = name { name.as_str().unwrap_or_default() } else { "" };
            let text = texts.get(key).map(|text| text.get());
            let length = self.path.len();
            self.path.push_str(key);
            if let Some(at) = self.fields.iter().position(|field| field.field == self.path) {
                self.put_field(at, value, text, table, out)?;
            } else if let Value::Table(inner) = value
                && self.has_hints_within()
            {
                self.path.push('.');
                let texts = text.map_or_else(|| Ok(HashMap::new()), |text| object_texts(text.as_bytes()))?;
                self.put_table(inner, &texts, out)?;
            } else {
                value.encode_into(out);
            }
            self.path.truncate(length);
        }
        Ok(())
    }

    /// Whether a hint names a field of the table at `path`.
    fn has_hints_within(&self) -> bool {
        self.fields.iter().any(|field| field.field.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('.')))
    }

    fn put_field(
        &mut self,
        at: usize,
        value: &Value,
        text: Option<&str>,
        table: &Table,
        out: &mut Vec<u8>,
    ) -> Result<(), HintedError> {
        if let Some(seen) = self.seen.get_mut(at) {
            *seen = true;
        }
        let Some(FieldHint { field, hint }) = self.fields.get(at) else { return Ok(()) };
        put(value, text, hint, protocol_of(hint, table), out)
            .map_err(|reason| HintedError::Field { field: field.clone(), reason })
    }
}

/// The protocol that another field of the same object names; unknown where none is named.
fn protocol_of(hint: &Hint, table: &Table) -> Protocol {
    let named = hint.protocol_field().and_then(|field| table.get(&field.into()));
    match named {
        Some(Value::String(name)) => name.as_str().and_then(Protocol::of_name).unwrap_or_default(),
        _ => Protocol::Unknown,
    }
}

/// Appends a value, of the type asked for. `text` is the JSON that it was read from, where that is known.
fn put(
    value: &Value,
    text: Option<&str>,
    hint: &Hint,
    protocol: Protocol,
    out: &mut Vec<u8>,
) -> Result<(), MisfitError> {
    let is_put = match value {
        // JSON is UTF-8.
        Value::String(text) => hint.put_text(text.as_str().unwrap_or_default(), out)?,
        // In JSON 1 and 1.0 are the same number.
        Value::Count(_) | Value::Integer(_) | Value::Real(_) if hint.is_time() => {
            let text = text.unwrap_or_else(|| unreachable!("a time whose text was not kept: {value:?}"));
            hint.put_seconds(text, out)?
        }
        Value::Count(number) => hint.put_number(*number, protocol, out)?,
        Value::Integer(number) => hint.put_number(*number, protocol, out)?,
        Value::Real(real) => hint.put_real(*real, out)?,
        Value::Vector(elements) if hint.kind() == Some(Kind::Set) => {
            Value::Set(elements.iter().cloned().collect()).encode_into(out);
            true
        }
        Value::Vector(elements) => {
            put_sized(out, Kind::Vector, elements.len());
            // Only times need them.
            let texts: Vec<&RawValue> =
                text.filter(|_| hint.is_time()).and_then(|text| from_slice(text.as_bytes()).ok()).unwrap_or_default();
            for (at, element) in elements.iter().enumerate() {
                put(element, texts.get(at).map(|text| text.get()), hint, protocol, out)?;
            }
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
