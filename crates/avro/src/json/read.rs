//! Encodes JSON as Avro with a schema.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::EncodeError;
use crate::json::{Json, number, text};
use crate::record_parts::RecordParts;
use crate::schema::{Fixed, Kind, Logical, Record, Schema, Type, TypeId};
use crate::write;

/// Maximum number of failed attempts at union branches for one value. It bounds the time that nested unions take.
const ATTEMPTS_MAX: u32 = 10_000;

impl Schema {
    /// Encodes a value from JSON text and appends it. After an error, `out` is unchanged.
    pub fn encode_json(&self, json: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let json = Json::parse(json.as_bytes()).map_err(|error| EncodeError::new("JSON", error.to_string()))?;
        self.encode_tree(&json, out)
    }

    /// Encodes a JSON value and appends it. After an error, `out` is unchanged.
    pub fn encode_value(&self, value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode_tree(&Json::from(value), out)
    }

    /// Encodes parsed JSON and appends it. After an error, `out` is unchanged.
    pub fn encode_tree(&self, value: &Json, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let begin = out.len();
        Reader::new(self, true, u64::MAX).value(self.root(), value, out).inspect_err(|_| out.truncate(begin))
    }
}

/// Appends a field's default, given in the specification's form. Deducts its cost from `work_left`, and fails when
/// nothing is left.
pub(crate) fn encode_default(
    schema: &Schema,
    id: TypeId,
    value: &Value,
    work_left: &mut u64,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let reader = Reader::new(schema, false, *work_left);
    let encoded = reader.spend(1).and_then(|()| reader.value(id, &Json::from(value), out));
    *work_left = reader.work_left.get();
    encoded
}

struct Reader<'s> {
    schema: &'s Schema,
    /// Whether logical types are read from their text.
    texts: bool,
    attempts_left: Cell<u32>,
    /// Work left, in fields, symbols and branches looked up and bytes of defaults copied. At 0, the schema's defaults
    /// are rejected.
    work_left: Cell<u64>,
}

impl<'s> Reader<'s> {
    fn new(schema: &'s Schema, texts: bool, work_max: u64) -> Self {
        Self { schema, texts, attempts_left: Cell::new(ATTEMPTS_MAX), work_left: Cell::new(work_max) }
    }

    fn spend(&self, work: usize) -> Result<(), EncodeError> {
        let left = self.work_left.get().saturating_sub(work as u64);
        self.work_left.set(left);
        if left == 0 {
            return Err(EncodeError::new("a schema whose defaults take at most 16 MiB in all", "more"));
        }
        Ok(())
    }

    /// Recurses for each level of the JSON; the parser allows 128.
    fn value(&self, id: TypeId, value: &Json, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let Type { kind, logical } = self.schema.type_at(id);
        if self.texts
            && let Some(logical) = logical
            && let Some(result) = self.logical(*logical, kind, value, out)
        {
            return result;
        }
        let wrong = || EncodeError::new(expected(kind, *logical), value.to_string());
        match (kind, value) {
            (Kind::Null, Json::Null) => {}
            (Kind::Boolean, Json::Bool(value)) => out.push(u8::from(*value)),
            (Kind::Int, value) => {
                let number = integer(value).and_then(|number| i32::try_from(number).ok());
                write::long(out, i64::from(number.ok_or_else(wrong)?));
            }
            (Kind::Long, value) => write::long(out, integer(value).ok_or_else(wrong)?),
            (Kind::Float, value) => {
                let number = real(value).ok_or_else(wrong)?;
                if number.is_finite() && !(number as f32).is_finite() {
                    return Err(wrong());
                }
                out.extend_from_slice(&(number as f32).to_le_bytes());
            }
            (Kind::Double, value) => out.extend_from_slice(&real(value).ok_or_else(wrong)?.to_le_bytes()),
            (Kind::String, Json::String(text)) => write::bytes(out, text.as_bytes()),
            (Kind::Bytes, Json::String(text)) => write::bytes(out, &latin(text).ok_or_else(wrong)?),
            (Kind::Fixed(fixed), Json::String(text)) => {
                let bytes = latin(text).filter(|bytes| bytes.len() == fixed.size).ok_or_else(wrong)?;
                out.extend_from_slice(&bytes);
            }
            (Kind::Enum(symbols), Json::String(text)) => {
                self.spend(symbols.symbols.len())?;
                let index = symbols.symbols.iter().position(|symbol| symbol == text);
                write::length(out, index.ok_or_else(wrong)?);
            }
            (Kind::Array(items), Json::Array(values)) => {
                if !values.is_empty() {
                    write::length(out, values.len());
                }
                for (i, value) in values.iter().enumerate() {
                    self.value(*items, value, out).map_err(|error| error.within(&format!("[{i}]")))?;
                }
                out.push(0);
            }
            (Kind::Map(values), Json::Object(entries)) => {
                if !entries.is_empty() {
                    write::length(out, entries.len());
                }
                for (key, value) in entries {
                    write::bytes(out, key.as_bytes());
                    self.value(*values, value, out).map_err(|error| error.within(key))?;
                }
                out.push(0);
            }
            (Kind::Record(record), Json::Object(fields)) => self.record(record, fields, out)?,
            (Kind::Union(branches), value) => self.union(branches, value, out)?,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn record(&self, record: &Record, fields: &BTreeMap<String, Json>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.spend(record.fields.len())?;
        if !has_all(record, fields) {
            let unknown = fields.keys().find(|key| record.fields.iter().all(|field| field.name != **key));
            let unknown = unknown.map_or("", String::as_str);
            let known: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
            let expected = format!("one of the fields {}", known.join(", "));
            return Err(EncodeError::new(expected, "a field of that name").within(unknown));
        }
        let mut parts = RecordParts::new(record);
        for (index, field) in record.fields.iter().enumerate() {
            if let Some(value) = fields.get(&field.name) {
                parts
                    .write(index, out, |out| self.value(field.type_id, value, out))
                    .map_err(|error| error.within(&field.name))?;
            }
        }
        let begin = out.len();
        parts.finish(out)?;
        self.spend(out.len().saturating_sub(begin))
    }

    fn union(&self, branches: &[TypeId], value: &Json, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.spend(branches.len())?;
        let mut named_refusal = None;
        if self.attempts_left.get() > 0
            && let Some((index, id, value)) = self.named_branch(branches, value)
        {
            match self.attempt(index, id, value, out) {
                Ok(()) => return Ok(()),
                Err(error) => named_refusal = Some(error),
            }
        }
        let mut refusals = Vec::new();
        for rank in 0..2 {
            for (index, id) in branches.iter().enumerate() {
                if self.rank(*id, value) == Some(rank) {
                    match self.attempt(index, *id, value, out) {
                        Ok(()) => return Ok(()),
                        Err(error) => refusals.push(error),
                    }
                }
            }
        }
        if refusals.is_empty() {
            refusals.extend(named_refusal);
        }
        if refusals.len() == 1 {
            return Err(refusals.remove(0));
        }
        let names: Vec<String> = branches.iter().map(|id| self.schema.kind(*id).to_string()).collect();
        Err(EncodeError::new(format!("one of {}", names.join(", ")), value.to_string()))
    }

    /// The branch and the value in Avro's JSON encoding, `{"branch": value}`.
    fn named_branch<'v>(&self, branches: &[TypeId], value: &'v Json) -> Option<(usize, TypeId, &'v Json)> {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let (name, value) = fields.iter().next()?;
        let (index, id) = branches.iter().enumerate().find(|(_, id)| self.schema.kind(**id).name() == name)?;
        Some((index, *id, value))
    }

    /// Whether a value of branch `index`, written without the branch's name, could be read as another branch. Arrays
    /// and objects within `value` are empty, and assumed to match any type.
    fn is_ambiguous(&self, branches: &[TypeId], index: usize, value: &Json) -> bool {
        if self.named_branch(branches, value).is_some() {
            return true;
        }
        let Some(own) = branches.get(index).and_then(|id| self.rank(*id, value)) else { return true };
        branches.iter().enumerate().any(|(other, id)| {
            self.rank(*id, value).is_some_and(|rank| (rank, other) < (own, index)) && self.may_take(*id, value)
        })
    }

    /// Whether a type could accept a value whose arrays and objects are empty.
    fn may_take(&self, id: TypeId, value: &Json) -> bool {
        let may_take = |id, value: &Json| matches!(value, Json::Array(_) | Json::Object(_)) || self.takes(id, value);
        match (self.schema.kind(id), value) {
            (Kind::Array(_), Json::Array(_)) => true,
            (Kind::Map(values), Json::Object(entries)) => entries.values().all(|value| may_take(*values, value)),
            (Kind::Record(record), Json::Object(fields)) => {
                record.fields.iter().all(|field| match fields.get(&field.name) {
                    Some(value) => may_take(field.type_id, value),
                    None => field.default.is_some(),
                })
            }
            _ => self.takes(id, value),
        }
    }

    fn takes(&self, id: TypeId, value: &Json) -> bool {
        self.value(id, value, &mut Vec::new()).is_ok()
    }

    fn attempt(&self, index: usize, id: TypeId, value: &Json, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let begin = out.len();
        write::length(out, index);
        self.value(id, value, out).inspect_err(|_| {
            out.truncate(begin);
            self.attempts_left.set(self.attempts_left.get().saturating_sub(1));
        })
    }

    /// How well a branch accepts a value: 0 unchanged, 1 converted. `None` if it doesn't, or after too many failed
    /// attempts.
    fn rank(&self, id: TypeId, value: &Json) -> Option<u32> {
        let Type { kind, logical } = self.schema.type_at(id);
        if self.attempts_left.get() == 0 {
            return None;
        }
        match (value, kind) {
            (Json::Null, Kind::Null) | (Json::Bool(_), Kind::Boolean) => Some(0),
            (Json::Number(_), Kind::Int | Kind::Long) => Some(0),
            (Json::Number(text), Kind::Float | Kind::Double) => Some(u32::from(number::is_whole(text))),
            (Json::String(_), Kind::String) => Some(u32::from(logical.is_some())),
            (Json::String(text), Kind::Enum(symbols)) => symbols.symbols.contains(text).then_some(0),
            (Json::String(_), Kind::Int | Kind::Long) if logical.is_some() => Some(1),
            (Json::String(_), Kind::Bytes | Kind::Fixed(_) | Kind::Float | Kind::Double) => Some(1),
            (Json::Number(_), Kind::Bytes | Kind::Fixed(_)) if logical.is_some() => Some(1),
            (Json::Array(_), Kind::Array(_)) | (Json::Object(_), Kind::Map(_)) => Some(0),
            (Json::Object(fields), Kind::Record(record)) => {
                self.spend(record.fields.len()).ok()?;
                has_all(record, fields).then_some(0)
            }
            (Json::Object(_), Kind::Fixed(_)) if *logical == Some(Logical::Duration) => Some(0),
            _ => None,
        }
    }

    /// Encodes a logical type from its human-readable form. `None` if the value is to be read as the underlying type.
    fn logical(
        &self,
        logical: Logical,
        kind: &Kind,
        value: &Json,
        out: &mut Vec<u8>,
    ) -> Option<Result<(), EncodeError>> {
        let wrong = || EncodeError::new(expected(kind, Some(logical)), value.to_string());
        let result = match (kind, value) {
            (Kind::Int | Kind::Long, Json::String(text)) => match text::parse_time(logical, text) {
                Some(number) if matches!(kind, Kind::Long) || i32::try_from(number).is_ok() => {
                    write::long(out, number);
                    Ok(())
                }
                _ => Err(wrong()),
            },
            (Kind::String, Json::String(text)) if logical == Logical::Uuid => match text::parse_uuid(text) {
                Some(_) => return None,
                None => Err(wrong()),
            },
            (Kind::Bytes | Kind::Fixed(_), value) => match (logical, value) {
                (Logical::Uuid, Json::String(text)) => binary(kind, &text::parse_uuid(text)?, out).ok_or_else(wrong),
                (Logical::Decimal { precision, scale }, Json::String(text) | Json::Number(text)) => {
                    let size = match kind {
                        Kind::Fixed(fixed) => Some(fixed.size),
                        _ => None,
                    };
                    match text::parse_decimal(text, precision, scale, size) {
                        Some(bytes) => binary(kind, &bytes, out).ok_or_else(wrong),
                        // Longer decimals are read as bytes, as they are written.
                        None if value.as_str().is_some() && latin(text).is_some_and(|bytes| bytes.len() > 16) => {
                            return None;
                        }
                        None => Err(wrong()),
                    }
                }
                (Logical::Duration, Json::Object(parts)) => match duration(parts) {
                    Some(bytes) => binary(kind, &bytes, out).ok_or_else(wrong),
                    None => Err(wrong()),
                },
                _ => return None,
            },
            _ => return None,
        };
        Some(result)
    }
}

/// Whether `value`, which a union's branch `index` holds, must be written with the branch's name to be read as that
/// branch. Arrays and objects within `value` are empty.
pub(crate) fn needs_name(schema: &Schema, branches: &[TypeId], index: usize, value: &Json) -> bool {
    Reader::new(schema, true, u64::MAX).is_ambiguous(branches, index, value)
}

/// Whether the record has a field for each of these names.
fn has_all(record: &Record, fields: &BTreeMap<String, Json>) -> bool {
    record.fields.iter().filter(|field| fields.contains_key(&field.name)).count() == fields.len()
}

fn binary(kind: &Kind, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match kind {
        Kind::Fixed(fixed) if fixed.size != bytes.len() => return None,
        Kind::Fixed(_) => out.extend_from_slice(bytes),
        _ => write::bytes(out, bytes),
    }
    Some(())
}

fn duration(parts: &BTreeMap<String, Json>) -> Option<Vec<u8>> {
    let part = |name| match parts.get(name) {
        None => Some(0),
        Some(Json::Number(text)) => u32::try_from(number::integer(text)?).ok(),
        Some(_) => None,
    };
    let known = ["months", "days", "millis"];
    if parts.keys().any(|key| !known.contains(&key.as_str())) {
        return None;
    }
    let parts: Option<Vec<u32>> = known.into_iter().map(part).collect();
    Some(parts?.into_iter().flat_map(u32::to_le_bytes).collect())
}

/// An integer; `1.0` and `1e3` are accepted.
fn integer(value: &Json) -> Option<i64> {
    match value {
        Json::Number(text) => number::integer(text),
        _ => None,
    }
}

fn real(value: &Json) -> Option<f64> {
    match value {
        Json::Number(text) => text.parse().ok().filter(|real: &f64| real.is_finite()),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// One byte per character.
fn latin(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}

fn expected(kind: &Kind, logical: Option<Logical>) -> String {
    match (kind, logical) {
        (_, Some(Logical::Decimal { precision, scale })) => {
            format!("a decimal of at most {precision} digits, {scale} of them after the point")
        }
        (_, Some(Logical::Date)) => "a date such as 2020-09-13, or days since 1970".to_owned(),
        (_, Some(Logical::TimeMillis | Logical::TimeMicros)) => {
            "a time of day such as 12:26:40.5, or a number".to_owned()
        }
        (_, Some(Logical::LocalTimestampMillis | Logical::LocalTimestampMicros | Logical::LocalTimestampNanos)) => {
            "a timestamp such as 2020-09-13T12:26:40, no finer than its unit, or a number".to_owned()
        }
        (_, Some(Logical::TimestampMillis | Logical::TimestampMicros | Logical::TimestampNanos)) => {
            "a timestamp such as 2020-09-13T12:26:40Z, no finer than its unit, or a number".to_owned()
        }
        (_, Some(Logical::Uuid)) => "a UUID".to_owned(),
        (_, Some(Logical::Duration)) => "an object with months, days and millis".to_owned(),
        (Kind::Int, _) => "an integer of 32 bits".to_owned(),
        (Kind::Long, _) => "an integer of 64 bits".to_owned(),
        (Kind::Float, _) => "a number in the range of a float".to_owned(),
        (Kind::Double, _) => "a number".to_owned(),
        (Kind::Bytes, _) => "a string of the characters U+0000 to U+00FF".to_owned(),
        (Kind::Fixed(fixed), _) => {
            let Fixed { size, .. } = **fixed;
            format!("a string of {size} of the characters U+0000 to U+00FF")
        }
        (Kind::Enum(symbols), _) => format!("one of {}", symbols.symbols.join(", ")),
        (Kind::Record(_) | Kind::Map(_), _) => "an object".to_owned(),
        (kind, _) => kind.to_string(),
    }
}
