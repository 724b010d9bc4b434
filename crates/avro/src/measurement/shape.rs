//! Which schemas are measurements: a metric, tags, a time and a value, in this order.

use thiserror::Error;

/// The type of a record's field, as far as measurements care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// `string`.
    String,
    /// `map` of `string`.
    StringMap,
    /// `int`, with or without a logical type.
    Int,
    /// `long`, with or without a logical type.
    Long,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Anything else.
    Other,
}

/// The type of a measurement's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// `int`.
    Int,
    /// `long`.
    Long,
    /// `float`.
    Float,
    /// `double`.
    Double,
}

/// What stands before each message's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Nothing.
    Bare,
    /// Avro's single-object encoding: the bytes C3 01 and the schema's CRC-64-AVRO fingerprint, little-endian.
    SingleObject(u64),
    /// A schema registry's: a zero byte and the schema's id, big-endian.
    Registry(u32),
}

impl Frame {
    /// The header's bytes, in the first `length` of the array.
    pub(super) fn header(self) -> ([u8; 10], usize) {
        let mut header = [0; 10];
        let written: &[&[u8]] = match self {
            Frame::Bare => &[],
            Frame::SingleObject(fingerprint) => &[&[0xc3, 0x01], &fingerprint.to_le_bytes()],
            Frame::Registry(id) => &[&[0], &id.to_be_bytes()],
        };
        let mut length = 0;
        for byte in written.iter().copied().flatten() {
            if let Some(place) = header.get_mut(length) {
                *place = *byte;
            }
            length += 1;
        }
        (header, length)
    }
}

/// How measurements are written: their frame and their value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// What stands before each message.
    pub frame: Frame,
    /// The value's type.
    pub value: ValueType,
}

/// A schema that is not a measurement's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the schema is not a measurement's: {reason}; it must be a record of a string (the metric), a map of strings (the tags), a long (the time in milliseconds) and an int, long, float or double (the value), in this order and nothing else"
)]
pub struct ShapeError {
    /// What is different.
    pub reason: String,
}

impl Shape {
    /// The shape of a record with these fields, name and type, in the writer's order.
    pub fn of(frame: Frame, fields: &[(&str, FieldType)]) -> Result<Self, ShapeError> {
        let expected: [(&str, &[FieldType]); 4] = [
            ("metric", &[FieldType::String]),
            ("tags", &[FieldType::StringMap]),
            ("time", &[FieldType::Long]),
            ("value", &[FieldType::Int, FieldType::Long, FieldType::Float, FieldType::Double]),
        ];
        if fields.len() != expected.len() {
            return Err(ShapeError { reason: format!("it has {} fields, not 4", fields.len()) });
        }
        for (at, ((name, found), (role, allowed))) in fields.iter().zip(expected).enumerate() {
            if !allowed.contains(found) {
                let reason = format!("field {} ({name:?}) cannot be the {role}: its type is {found:?}", at + 1);
                return Err(ShapeError { reason });
            }
        }
        let value = match fields.last() {
            Some((_, FieldType::Int)) => ValueType::Int,
            Some((_, FieldType::Float)) => ValueType::Float,
            Some((_, FieldType::Double)) => ValueType::Double,
            _ => ValueType::Long,
        };
        Ok(Self { frame, value })
    }
}
