//! Writes Avro values as JSON.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};

use crate::datum::Datum;
use crate::item::Item;
use crate::json::{read, text};
use crate::schema::{Kind, Logical, Schema, TypeId};

impl Datum<'_, '_> {
    /// Appends the value as one line of JSON, without the newline.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        // Neither writing to memory nor serializing a decoded value fails.
        let _ = serde_json::to_writer(out, self);
    }
}

/// The value as human-readable JSON. Recurses for each level; the plan's limits bound the depth.
impl Serialize for Datum<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let datum = self.plain();
        if let Some(branch) = self.branch()
            && let Kind::Union(branches) = &self.schema_type().kind
            && (has_one_key(datum) || has_choice(self.schema(), branches))
            && read::needs_name(self.schema(), branches, branch as usize, &shape(datum))
        {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(datum.schema_type().kind.name(), &datum)?;
            return map.end();
        }
        let logical = datum.logical();
        match datum.item() {
            Item::Null | Item::Union { .. } => serializer.serialize_unit(),
            Item::Boolean(value) => serializer.serialize_bool(value),
            Item::Int(value) => match logical.and_then(|logical| text::time(logical, i64::from(value))) {
                Some(text) => serializer.serialize_str(&text),
                None => serializer.serialize_i32(value),
            },
            Item::Long(value) => match logical.and_then(|logical| text::time(logical, value)) {
                Some(text) => serializer.serialize_str(&text),
                None => serializer.serialize_i64(value),
            },
            Item::Float(value) if value.is_finite() => serializer.serialize_f32(value),
            Item::Float(value) => serializer.serialize_str(not_finite(f64::from(value))),
            Item::Double(value) if value.is_finite() => serializer.serialize_f64(value),
            Item::Double(value) => serializer.serialize_str(not_finite(value)),
            Item::String(value) => serializer.serialize_str(value),
            Item::Symbol(_) => serializer.serialize_str(datum.as_str().unwrap_or_default()),
            Item::Bytes(bytes) | Item::Fixed(bytes) => binary(logical, bytes, serializer),
            Item::Record { .. } => {
                let fields = datum.fields();
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (field, datum) in fields {
                    map.serialize_entry(&field.name, &datum)?;
                }
                map.end()
            }
            Item::Array { .. } => {
                let elements = datum.elements();
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    list.serialize_element(&element)?;
                }
                list.end()
            }
            Item::Map { .. } => {
                let entries = datum.entries();
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, &value)?;
                }
                map.end()
            }
        }
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
        // Serializing a scalar to memory doesn't fail.
        _ => serde_json::to_value(datum).unwrap_or_default(),
    }
}

fn binary<S: Serializer>(logical: Option<Logical>, bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let text = match logical {
        Some(Logical::Decimal { scale, .. }) => text::decimal(bytes, scale),
        Some(Logical::Uuid) => text::uuid(bytes),
        Some(Logical::Duration) => {
            let (parts, rest) = bytes.as_chunks::<4>();
            if let ([months, days, millis], []) = (parts, rest) {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("months", &u32::from_le_bytes(*months))?;
                map.serialize_entry("days", &u32::from_le_bytes(*days))?;
                map.serialize_entry("millis", &u32::from_le_bytes(*millis))?;
                return map.end();
            }
            None
        }
        _ => None,
    };
    match text {
        Some(text) => serializer.serialize_str(&text),
        None => serializer.collect_str(&Latin(bytes)),
    }
}

/// One character per byte.
struct Latin<'a>(&'a [u8]);

impl std::fmt::Display for Latin<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        self.0.iter().try_for_each(|byte| out.write_char(char::from(*byte)))
    }
}

fn not_finite(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}
