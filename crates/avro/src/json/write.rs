//! Writes Avro values as JSON.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::datum::Datum;
use crate::item::Item;
use crate::json::{read, text};
use crate::schema::{Kind, Logical, Schema, TypeId};

impl Datum<'_, '_> {
    /// Appends the value as one line of human-readable JSON, without the newline. Recurses for each level; the plan's
    /// limits bound the depth.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let datum = self.plain();
        if let Some(branch) = self.branch()
            && let Kind::Union(branches) = &self.schema_type().kind
            && (has_one_key(datum) || has_choice(self.schema(), branches))
            && read::needs_name(self.schema(), branches, branch as usize, &shape(datum))
        {
            out.push(b'{');
            put_name(datum.schema_type().kind.name(), out);
            out.push(b':');
            datum.write_json(out);
            out.push(b'}');
            return;
        }
        let logical = datum.schema_type().logical;
        match datum.item() {
            Item::Null | Item::Union { .. } => out.extend_from_slice(b"null"),
            Item::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Item::Int(value) => put_integer(logical, i64::from(value), out),
            Item::Long(value) => put_integer(logical, value, out),
            Item::Float(value) if value.is_finite() => put(&value, out),
            Item::Float(value) => put_name(not_finite(f64::from(value)), out),
            Item::Double(value) if value.is_finite() => put(&value, out),
            Item::Double(value) => put_name(not_finite(value), out),
            Item::String(value) => put(value, out),
            Item::Symbol(_) => put_name(datum.as_str().unwrap_or_default(), out),
            Item::Bytes(bytes) | Item::Fixed(bytes) => put_binary(logical, bytes, out),
            Item::Record { .. } => put_list(b"{}", datum.fields(), out, |(field, datum), out| {
                out.extend_from_slice(field.json_key.as_bytes());
                datum.write_json(out);
            }),
            Item::Array { .. } => put_list(b"[]", datum.elements(), out, |element, out| element.write_json(out)),
            Item::Map { .. } => put_list(b"{}", datum.entries(), out, |(key, value), out| {
                put(key, out);
                out.push(b':');
                value.write_json(out);
            }),
        }
    }
}

/// Appends a number or a text.
#[inline]
fn put<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // Writing a scalar to memory doesn't fail.
    let _ = serde_json::to_writer(out, value);
}

/// Appends a text that needs no escape: the parser of schemas has checked names and symbols.
#[inline]
fn put_name(name: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

/// Appends items between brackets, with commas between them.
#[inline]
fn put_list<T>(
    [begin, end]: &[u8; 2],
    items: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
    mut put: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(*begin);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put(item, out);
    }
    out.push(*end);
}

fn put_integer(logical: Option<Logical>, value: i64, out: &mut Vec<u8>) {
    if logical.and_then(|logical| text::put_time(logical, value, out)).is_none() {
        put(&value, out);
    }
}

/// Whether a union has more than one type besides null.
fn has_choice(schema: &Schema, branches: &[TypeId]) -> bool {
    branches.iter().filter(|id| !matches!(schema.kind(**id), Kind::Null)).count() > 1
}

/// Whether the value's JSON is an object with one key, which might be the name of a branch.
fn has_one_key(datum: Datum<'_, '_>) -> bool {
    match datum.item() {
        Item::Map { count, .. } => count == 1,
        Item::Record { .. } => datum.fields().len() == 1,
        _ => false,
    }
}

/// The value's JSON, with empty arrays and objects within it.
fn shape(datum: Datum<'_, '_>) -> Value {
    match datum.item() {
        Item::Array { .. } => Value::Array(Vec::new()),
        Item::Map { .. } => Value::Object(datum.entries().map(|(key, value)| (key.to_owned(), part(value))).collect()),
        Item::Record { .. } => {
            Value::Object(datum.fields().map(|(field, value)| (field.name.clone(), part(value))).collect())
        }
        _ => part(datum),
    }
}

fn part(datum: Datum<'_, '_>) -> Value {
    match datum.plain().item() {
        Item::Array { .. } => Value::Array(Vec::new()),
        Item::Map { .. } | Item::Record { .. } => Value::Object(Map::new()),
        _ => {
            let mut json = Vec::new();
            datum.write_json(&mut json);
            // What was written is JSON.
            serde_json::from_slice(&json).unwrap_or_default()
        }
    }
}

fn put_binary(logical: Option<Logical>, bytes: &[u8], out: &mut Vec<u8>) {
    let text = match logical {
        Some(Logical::Decimal { scale, .. }) => text::decimal(bytes, scale),
        Some(Logical::Uuid) => text::uuid(bytes),
        Some(Logical::Duration) => {
            if let ([months, days, millis], []) = bytes.as_chunks::<4>() {
                let parts = [("months", months), ("days", days), ("millis", millis)];
                return put_list(b"{}", parts.into_iter(), out, |(name, part), out| {
                    put_name(name, out);
                    out.push(b':');
                    put(&u32::from_le_bytes(*part), out);
                });
            }
            None
        }
        _ => None,
    };
    // One character per byte.
    put(&text.unwrap_or_else(|| bytes.iter().copied().map(char::from).collect()), out);
}

fn not_finite(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}
