//! Helpers that the tests of columns share: random schemas and messages, and columns compared with rows.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use fastrand::Rng;
use rawline_avro::{Datum, Kind, Logical, Schema, TypeId};
use serde_json::{Value, json};

/// A schema by chance.
pub struct Schemas {
    pub random: Rng,
    names: u32,
}

impl Schemas {
    pub fn new(seed: u64) -> Self {
        Self { random: Rng::with_seed(seed), names: 0 }
    }

    pub fn record(&mut self, depth: u32) -> Value {
        let count = self.random.u32(0..6);
        let fields: Vec<_> = (0..count).map(|i| json!({"name": format!("f{i}"), "type": self.any(depth)})).collect();
        json!({"type": "record", "name": self.name("R"), "fields": fields})
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn any(&mut self, depth: u32) -> Value {
        if depth > 0 && self.random.u32(0..10) < 6 {
            return match self.random.u32(0..6) {
                0 => json!({"type": "array", "items": self.any(depth - 1)}),
                1 => json!({"type": "map", "values": self.any(depth - 1)}),
                2 => self.record(depth - 1),
                3 | 4 => {
                    let mut union = vec![json!("null"), self.no_union(depth - 1)];
                    if self.random.bool() {
                        union.reverse();
                    }
                    Value::Array(union)
                }
                _ => self.union(depth - 1),
            };
        }
        self.leaf()
    }

    fn no_union(&mut self, depth: u32) -> Value {
        loop {
            let schema = self.any(depth);
            if !schema.is_array() && schema != json!("null") {
                return schema;
            }
        }
    }

    fn union(&mut self, depth: u32) -> Value {
        let mut union = vec![json!("string"), json!("long"), self.record(depth)];
        if self.random.bool() {
            union.push(json!("null"));
        }
        if self.random.bool() {
            union.push(json!({"type": "map", "values": self.any(depth)}));
        }
        if self.random.bool() {
            union.push(json!({"type": "int", "logicalType": "date"}));
        }
        self.random.shuffle(&mut union);
        union.truncate(self.random.usize(1..=union.len()));
        Value::Array(union)
    }

    fn leaf(&mut self) -> Value {
        let logical = |of: &str, logical: &str| json!({"type": of, "logicalType": logical});
        match self.random.u32(0..28) {
            0 => json!("null"),
            1 | 2 => json!("boolean"),
            3 => json!("int"),
            4 | 5 => json!("long"),
            6 => json!("float"),
            7 => json!("double"),
            8 => json!("bytes"),
            9..13 => json!("string"),
            13 => json!({"type": "fixed", "name": self.name("F"), "size": self.random.u32(0..20)}),
            14 => json!({"type": "enum", "name": self.name("E"), "symbols": ["A", "B", "C"]}),
            15 => logical("int", "date"),
            16 => logical("int", "time-millis"),
            17 => logical("long", "time-micros"),
            18 => logical("long", "timestamp-millis"),
            19 => logical("long", "timestamp-micros"),
            20 => logical("long", "timestamp-nanos"),
            21 => logical("long", "local-timestamp-millis"),
            22 => logical("long", "local-timestamp-micros"),
            23 => logical("long", "local-timestamp-nanos"),
            24 => logical("string", "uuid"),
            25 => json!({"type": {"type": "fixed", "name": self.name("D"), "size": 12}, "logicalType": "duration"}),
            26 => json!({"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 4}),
            _ => {
                let fixed = json!({"type": "fixed", "name": self.name("Q"), "size": 30});
                json!({"type": fixed, "logicalType": "decimal", "precision": 70, "scale": 2})
            }
        }
    }

    /// A later reader's version of the schema.
    pub fn later(&mut self, schema: &Value) -> Value {
        match schema {
            Value::String(name) => {
                let wider: &[&str] = match name.as_str() {
                    "int" => &["int", "long", "float", "double"],
                    "long" => &["long", "float", "double"],
                    "float" => &["float", "double"],
                    "string" | "bytes" => &["string", "bytes"],
                    _ => return schema.clone(),
                };
                // Bytes by chance are not always text.
                let wider = if name == "bytes" { &["bytes"][..] } else { wider };
                json!(wider[self.random.usize(..wider.len())])
            }
            Value::Object(object) => {
                let mut object = object.clone();
                match object["type"].as_str() {
                    Some("record") => {
                        let fields = object["fields"].as_array().unwrap().clone();
                        let mut later = Vec::new();
                        for mut field in fields {
                            if self.random.u32(0..5) == 0 {
                                continue;
                            }
                            let of = self.later(&field["type"]);
                            let nullable = !of.is_array() && of != json!("null") && self.random.u32(0..4) == 0;
                            field["type"] = if nullable { json!(["null", of]) } else { of };
                            later.push(field);
                        }
                        if self.random.bool() {
                            later.push(
                                json!({"name": "text", "type": "string", "default": "a text of more than twelve"}),
                            );
                        }
                        if self.random.bool() {
                            let items = json!({"type": "array", "items": ["null", "int"]});
                            later.push(json!({"name": "items", "type": items, "default": []}));
                        }
                        self.random.shuffle(&mut later);
                        object.insert("fields".to_owned(), Value::Array(later));
                    }
                    Some("array") => {
                        let items = self.later(&object["items"]);
                        object.insert("items".to_owned(), items);
                    }
                    Some("map") => {
                        let values = self.later(&object["values"]);
                        object.insert("values".to_owned(), values);
                    }
                    _ => {}
                }
                Value::Object(object)
            }
            _ => schema.clone(),
        }
    }
}

/// A value by chance, encoded.
pub fn value(schema: &Schema, id: TypeId, random: &mut Rng, out: &mut Vec<u8>) {
    let of = schema.type_at(id);
    let text = |random: &mut Rng| -> String {
        let length = random.usize(0..20);
        let mut of = || if random.u32(0..40) == 0 { 'ß' } else { char::from(random.u8(b'a'..=b'z')) };
        (0..length).map(|_| of()).collect()
    };
    match (&of.kind, of.logical) {
        (Kind::Null, _) => {}
        (Kind::Boolean, _) => out.push(random.u8(0..2)),
        (Kind::Int, _) => long(out, i64::from(random.i32(..) >> random.u32(0..32))),
        (Kind::Long, _) => long(out, random.i64(..) >> random.u32(0..64)),
        (Kind::Float, _) => out.extend((random.f32() * 1e3).to_le_bytes()),
        (Kind::Double, _) => out.extend((random.f64() * 1e9).to_le_bytes()),
        (Kind::Bytes, Some(Logical::Decimal { .. })) => {
            let number = random.i128(..) >> random.u32(32..128);
            let begin = random.usize(0..13);
            let number = number >> 8_usize.saturating_sub(begin);
            let long = number.to_be_bytes();
            let front = if number < 0 { 0xff } else { 0 };
            bytes(out, &[&vec![front; begin][..], &long].concat());
        }
        (Kind::Bytes, _) => {
            let length = random.usize(0..30);
            bytes(out, &(0..length).map(|_| random.u8(..)).collect::<Vec<_>>());
        }
        (Kind::String, Some(Logical::Uuid)) => {
            let hex = format!("{:032x}", random.u128(..));
            let uuid = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
            bytes(out, uuid.as_bytes());
        }
        (Kind::String, _) => bytes(out, text(random).as_bytes()),
        (Kind::Fixed(_), Some(Logical::Duration)) => {
            out.extend((0..3).flat_map(|_| (random.u32(..) >> 1).to_le_bytes()));
        }
        (Kind::Fixed(fixed), Some(Logical::Decimal { .. })) => {
            let number = random.i128(..);
            let front = if number < 0 { 0xff } else { 0 };
            out.extend(vec![front; fixed.size - 16]);
            out.extend(number.to_be_bytes());
        }
        (Kind::Fixed(fixed), _) => out.extend((0..fixed.size).map(|_| random.u8(..))),
        (Kind::Enum(symbols), _) => long(out, random.i64(0..symbols.symbols.len() as i64)),
        (Kind::Array(items), _) => blocks(random, out, |random, out| value(schema, *items, random, out)),
        (Kind::Map(values), _) => blocks(random, out, |random, out| {
            bytes(out, text(random).as_bytes());
            value(schema, *values, random, out);
        }),
        (Kind::Union(branches), _) => {
            let branch = random.usize(..branches.len());
            long(out, branch as i64);
            value(schema, branches[branch], random, out);
        }
        (Kind::Record(record), _) => {
            for field in &record.fields {
                value(schema, field.type_id, random, out);
            }
        }
    }
}

fn blocks(random: &mut Rng, out: &mut Vec<u8>, mut element: impl FnMut(&mut Rng, &mut Vec<u8>)) {
    for _ in 0..random.u32(0..3) {
        let count = random.i64(1..4);
        let mut block = Vec::new();
        (0..count).for_each(|_| element(random, &mut block));
        if random.bool() {
            long(out, count);
        } else {
            long(out, -count);
            long(out, block.len() as i64);
        }
        out.extend(block);
    }
    out.push(0);
}

pub fn long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    long(out, bytes.len() as i64);
    out.extend(bytes);
}

/// Row `row` of the batch is the message's value.
pub fn same_row(batch: &RecordBatch, row: usize, datum: Datum) {
    let fields = datum.fields();
    if matches!(datum.schema_type().kind, Kind::Record(_)) {
        assert_eq!(fields.len(), batch.num_columns());
        for (column, (field, datum)) in batch.columns().iter().zip(fields) {
            assert_eq!(batch.schema().field_with_name(&field.name).unwrap().data_type(), column.data_type());
            same(column, row, datum);
        }
    } else {
        same(batch.column(0), row, datum);
    }
}

/// A string in any of its columns.
pub fn text(array: &dyn Array, row: usize) -> String {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Dictionary(key, _) => {
            let keys = array.as_any_dictionary();
            let key = match **key {
                DataType::Int32 => array.as_dictionary::<Int32Type>().keys().value(row) as usize,
                _ => array.as_dictionary::<UInt32Type>().keys().value(row) as usize,
            };
            keys.values().as_string::<i32>().value(key).to_owned()
        }
        other => panic!("{other} is no text"),
    }
}

fn same(array: &ArrayRef, row: usize, datum: Datum) {
    let of = datum.plain().schema_type();
    if let DataType::Union(..) = array.data_type() {
        let union = array.as_union();
        assert_eq!(Some(union.type_id(row) as u32), datum.branch());
        let child = union.child(union.type_id(row));
        // The value within, whose type is no union.
        return same(child, union.value_offset(row), datum.plain());
    }
    assert_eq!(array.is_null(row) || *array.data_type() == DataType::Null, datum.is_null());
    if datum.is_null() {
        return;
    }
    let number = || datum.as_long().unwrap();
    match (array.data_type(), of.logical) {
        (DataType::Boolean, None) => assert_eq!(Some(array.as_boolean().value(row)), datum.as_bool()),
        (DataType::Int32, None) => assert_eq!(i64::from(array.as_primitive::<Int32Type>().value(row)), number()),
        (DataType::Date32, Some(Logical::Date)) => {
            assert_eq!(i64::from(array.as_primitive::<Date32Type>().value(row)), number());
        }
        (DataType::Time32(TimeUnit::Millisecond), Some(Logical::TimeMillis)) => {
            assert_eq!(i64::from(array.as_primitive::<Time32MillisecondType>().value(row)), number());
        }
        (DataType::Int64, None) => assert_eq!(array.as_primitive::<Int64Type>().value(row), number()),
        (DataType::Time64(TimeUnit::Microsecond), Some(Logical::TimeMicros)) => {
            assert_eq!(array.as_primitive::<Time64MicrosecondType>().value(row), number());
        }
        (DataType::Timestamp(unit, zone), Some(logical)) => {
            let (value, wanted) = match unit {
                TimeUnit::Millisecond => (
                    array.as_primitive::<TimestampMillisecondType>().value(row),
                    [Logical::LocalTimestampMillis, Logical::TimestampMillis],
                ),
                TimeUnit::Microsecond => (
                    array.as_primitive::<TimestampMicrosecondType>().value(row),
                    [Logical::LocalTimestampMicros, Logical::TimestampMicros],
                ),
                _ => (
                    array.as_primitive::<TimestampNanosecondType>().value(row),
                    [Logical::LocalTimestampNanos, Logical::TimestampNanos],
                ),
            };
            assert_eq!((value, wanted[usize::from(zone.is_some())]), (number(), logical));
        }
        (DataType::Float32, None) => {
            let value = f64::from(array.as_primitive::<Float32Type>().value(row));
            assert_eq!(value.to_bits(), datum.as_double().unwrap().to_bits());
        }
        (DataType::Float64, None) => {
            let value = array.as_primitive::<Float64Type>().value(row);
            assert_eq!(value.to_bits(), datum.as_double().unwrap().to_bits());
        }
        (DataType::Binary, None) => assert_eq!(array.as_binary::<i32>().value(row), datum.as_bytes().unwrap()),
        (DataType::FixedSizeBinary(16), Some(Logical::Uuid)) => {
            let hex: String = array.as_fixed_size_binary().value(row).iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(hex, datum.as_str().unwrap().replace('-', "").to_lowercase());
        }
        (DataType::FixedSizeBinary(_), None) => {
            assert_eq!(array.as_fixed_size_binary().value(row), datum.as_bytes().unwrap());
        }
        (DataType::Interval(IntervalUnit::MonthDayNano), Some(Logical::Duration)) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let milliseconds = (value.nanoseconds / 1_000_000) as u32;
            let parts = [value.months as u32, value.days as u32, milliseconds];
            assert_eq!(parts.map(u32::to_le_bytes).as_flattened(), datum.as_bytes().unwrap());
        }
        (DataType::Decimal128(..) | DataType::Decimal256(..), Some(Logical::Decimal { precision, scale })) => {
            let (of, value) = match array.data_type() {
                DataType::Decimal128(p, s) => ((*p, *s), array.as_primitive::<Decimal128Type>().value(row).to_string()),
                DataType::Decimal256(p, s) => ((*p, *s), array.as_primitive::<Decimal256Type>().value(row).to_string()),
                _ => unreachable!(),
            };
            assert_eq!(of, (precision as u8, scale as i8));
            let wanted = datum.as_bytes().unwrap();
            let last: &[u8] = &wanted[wanted.len().saturating_sub(32)..];
            let negative = wanted.first().is_some_and(|first| first & 0x80 != 0);
            let mut number = [if negative { 0xff } else { 0 }; 32];
            number[32 - last.len()..].copy_from_slice(last);
            assert_eq!(value, arrow_buffer::i256::from_be_bytes(number).to_string());
        }
        (DataType::List(_), None) => {
            let list = array.as_list::<i32>().value(row);
            assert_eq!(list.len(), datum.elements().len());
            datum.elements().enumerate().for_each(|(i, element)| same(&list, i, element));
        }
        (DataType::Map(..), None) => {
            let map = array.as_map().value(row);
            assert_eq!(map.len(), datum.entries().len());
            for (i, (key, value)) in datum.entries().enumerate() {
                assert_eq!(text(map.column(0), i), key);
                same(map.column(1), i, value);
            }
        }
        (DataType::Struct(fields), None) => {
            assert_eq!(fields.len(), datum.fields().len());
            for (i, (field, datum)) in datum.fields().enumerate() {
                assert_eq!(fields[i].name(), &field.name);
                same(array.as_struct().column(i), row, datum);
            }
        }
        (_, None) => assert_eq!(text(array, row), datum.as_str().unwrap()),
        (of, logical) => panic!("{of} for {logical:?}"),
    }
}

/// Checks with Arrow's own, full, validation.
pub fn validate(batch: &RecordBatch) {
    for column in batch.columns() {
        column.to_data().validate_full().unwrap();
    }
}

pub fn parse(schema: &Value) -> Arc<Schema> {
    Arc::new(Schema::parse(&schema.to_string()).unwrap_or_else(|error| panic!("{error}: {schema}")))
}
