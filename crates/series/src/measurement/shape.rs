//! Recognizes schemas of measurements: a metric, tags, a time and a value, in this order.

use rawline_avro::{Kind, Schema, TypeId, WriterId};
use thiserror::Error;

use super::roles::{ROLES, TimeUnit, roles};

/// The type of a record's field, as far as it matters for measurements.
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

/// How measurements are written: their frame and their value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The header before each message.
    pub frame: WriterId,
    /// The value's type.
    pub value: ValueType,
}

/// A schema that doesn't describe a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the schema is not one of a measurement: {reason}; it must be a record of a string (the metric), a map of strings \
     (the tags), a long (the time in milliseconds) and an int, long, float or double (the value), in this order and \
     nothing else"
)]
pub struct ShapeError {
    /// The difference.
    pub reason: String,
}

impl Shape {
    /// The shape of a record with these fields, name and type, in the writer's order.
    pub fn of(frame: WriterId, fields: &[(&str, FieldType)]) -> Result<Self, ShapeError> {
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

    /// The shape of messages of this schema. Each field must have its role's name, or have it as an alias: types alone
    /// don't distinguish a time from a value that is a long. The time's unit must be the millisecond, explicitly or by
    /// default.
    pub fn of_schema(frame: WriterId, schema: &Schema) -> Result<Self, ShapeError> {
        let Kind::Record(record) = schema.kind(schema.root()) else {
            return Err(ShapeError { reason: format!("it is a {}, not a record", schema.kind(schema.root())) });
        };
        let fields: Vec<_> =
            record.fields.iter().map(|field| (field.name.as_str(), field_type(schema, field.type_id))).collect();
        let shape = Self::of(frame, &fields)?;
        for (at, (role, found)) in ROLES.iter().zip(roles(record)).enumerate() {
            if found != Some(at) {
                let name = fields.get(at).map_or("", |(name, _)| name);
                let reason = format!("field {} ({name:?}) is not called {role:?} and has no such alias", at + 1);
                return Err(ShapeError { reason });
            }
        }
        let time = record.fields.get(2).map(|field| TimeUnit::of(schema, field.type_id));
        match time {
            Some(Ok(TimeUnit::Milliseconds)) => Ok(shape),
            Some(Ok(unit)) => Err(ShapeError { reason: format!("its time is in {unit}") }),
            Some(Err(reason)) => Err(ShapeError { reason }),
            None => Err(ShapeError { reason: "it has no time".to_owned() }),
        }
    }
}

fn field_type(schema: &Schema, id: TypeId) -> FieldType {
    match schema.kind(id) {
        Kind::String => FieldType::String,
        Kind::Map(values) if matches!(schema.kind(*values), Kind::String) => FieldType::StringMap,
        Kind::Int => FieldType::Int,
        Kind::Long => FieldType::Long,
        Kind::Float => FieldType::Float,
        Kind::Double => FieldType::Double,
        _ => FieldType::Other,
    }
}
