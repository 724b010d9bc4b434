//! Writes Avro values as JSON.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::datum::{Datum, Entries};
use crate::item::Item;
use crate::json::{Json, read, text};
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
            Item::Map { .. } if has_repeated_key(datum.entries()) => {
                put_list(b"{}", last_of_each_key(datum.entries()), out, put_entry);
            }
            Item::Map { .. } => put_list(b"{}", datum.entries(), out, put_entry),
        }
    }
}

fn put_entry((key, value): (&str, Datum<'_, '_>), out: &mut Vec<u8>) {
    put(key, out);
    out.push(b':');
    value.write_json(out);
}

/// Whether a map has a duplicate key, which Avro doesn't forbid.
fn has_repeated_key(entries: Entries<'_, '_>) -> bool {
    /// Up to this number, comparing each key with those after it is faster than hashing.
    const COMPARED_MAX: usize = 16;
    if entries.len() <= COMPARED_MAX {
        let mut rest = entries;
        return std::iter::from_fn(|| rest.next().map(|(key, _)| (key, rest.clone())))
            .any(|(key, mut later)| later.any(|(other, _)| other == key));
    }
    let mut seen = HashSet::with_capacity(entries.len());
    !entries.map(|(key, _)| key).all(|key| seen.insert(key))
}

/// The entries whose key no later one has.
fn last_of_each_key<'r, 'm>(entries: Entries<'r, 'm>) -> impl Iterator<Item = (&'m str, Datum<'r, 'm>)> {
    let last: HashMap<&str, usize> = entries.clone().enumerate().map(|(index, (key, _))| (key, index)).collect();
    entries.enumerate().filter(move |(index, (key, _))| last.get(key) == Some(index)).map(|(_, entry)| entry)
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
fn shape(datum: Datum<'_, '_>) -> Json {
    match datum.item() {
        Item::Array { .. } => Json::Array(Vec::new()),
        Item::Map { .. } => Json::Object(datum.entries().map(|(key, value)| (key.to_owned(), part(value))).collect()),
        Item::Record { .. } => {
            Json::Object(datum.fields().map(|(field, value)| (field.name.clone(), part(value))).collect())
        }
        _ => part(datum),
    }
}

fn part(datum: Datum<'_, '_>) -> Json {
    match datum.plain().item() {
        Item::Array { .. } => Json::Array(Vec::new()),
        Item::Map { .. } | Item::Record { .. } => Json::Object(BTreeMap::new()),
        _ => {
            let mut json = Vec::new();
            datum.write_json(&mut json);
            // The written bytes are JSON.
            Json::parse(&json).unwrap_or(Json::Null)
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
