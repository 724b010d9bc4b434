//! Bodies of the fuzzers.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::fmt::Write;
use std::sync::Arc;

use apache_avro::types::Value;
use fastrand::Rng;
use rawline_avro::{Datum, FaultKind, Kind, Limits, Plan, RowBuffer, Schema, TypeId};

/// Any bytes, as a message of one of a few schemas: nothing panics, and what is read is written and read again.
pub fn decode(input: &[u8]) {
    let Some((choice, message)) = input.split_first() else { return };
    let writer = SCHEMAS[usize::from(choice & 15) % SCHEMAS.len()];
    let reader = SCHEMAS[usize::from(choice >> 4) % SCHEMAS.len()];
    for reader in [writer, reader] {
        let (writer, reader) = (Arc::new(Schema::parse(writer).unwrap()), Arc::new(Schema::parse(reader).unwrap()));
        let limits = Limits { depth_max: 20, elements_max: 1000 };
        let Ok(plan) = Plan::new(&writer, &reader, limits) else { continue };
        let mut buffer = RowBuffer::new();
        let mut encoded = Vec::new();
        let mut text = Vec::new();
        match plan.row(&mut buffer, message) {
            Ok(row) => {
                row.datum().encode(&mut encoded);
                row.datum().write_json(&mut text);
            }
            Err(error) => {
                assert!(error.fault.position <= message.len(), "{error}");
                continue;
            }
        }
        let again = Plan::same(&reader, limits).unwrap();
        let mut second = Vec::new();
        again.row(&mut buffer, &encoded).unwrap().datum().encode(&mut second);
        assert_eq!(second, encoded);
        // A key that was written twice is one of JSON.
        let _ = reader.encode_json(str::from_utf8(&text).unwrap(), &mut second);
    }
}

const SCHEMAS: [&str; 5] = [
    include_str!("../../../../vectors/avro/measurement.avsc"),
    r#"{"type":"record","name":"Measurement","fields":[{"name":"value","type":"double"},{"name":"tags",
        "type":{"type":"map","values":["null","string","long"]}},
        {"name":"new","type":{"type":"array","items":"Measurement"},"default":[]}]}"#,
    r#"{"type":"record","name":"Measurement","fields":[{"name":"value","type":["long","string"]},{"name":"tags",
        "type":{"type":"map","values":"bytes"}},
        {"name":"new","type":{"type":"array","items":"Measurement"},"default":[]},{"name":"e",
            "type":{"type":"enum","name":"E","symbols":["A","B"]},"default":"B"}]}"#,
    r#"{"type":"array","items":["null",{"type":"fixed","name":"F","size":3},{"type":"map","values":{"type":"int",
        "logicalType":"date"}}]}"#,
    r#"[{"type":"array","items":"null"},{"type":"bytes","logicalType":"decimal","precision":10,"scale":2},
        {"type":"long","logicalType":"timestamp-millis"},"boolean","float"]"#,
];

/// A random schema, a random message of it, some of its bytes changed: `apache-avro` reads the same.
pub fn differential(input: &[u8]) {
    let (seed, changes) = match input.split_first_chunk::<8>() {
        Some((seed, changes)) => (u64::from_le_bytes(*seed), changes),
        None => (u64::from(input.first().copied().unwrap_or_default()), &[][..]),
    };
    let mut random = Rng::with_seed(seed);
    let mut names = 0;
    let json = random_schema(&mut random, 4, &mut names);
    let schema = Arc::new(Schema::parse(&json).unwrap_or_else(|error| panic!("{json}: {error}")));
    let theirs = apache_avro::Schema::parse_str(&json).unwrap();
    assert_eq!(schema.canonical(), theirs.canonical_form(), "{json}");
    let print = theirs.fingerprint::<apache_avro::rabin::Rabin>().bytes;
    assert_eq!(schema.fingerprint().to_le_bytes(), print[..], "{json}");
    let mut message = Vec::new();
    random_message(&mut random, &schema, schema.root(), 0, &mut message);
    for change in changes.chunks_exact(3) {
        if message.is_empty() {
            break;
        }
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % message.len();
        match change[1] >> 6 {
            0 => drop(message.remove(place)),
            1 => message.insert(place, change[2]),
            2 => message[place] = change[2] % 16,
            _ => message[place] ^= 1 << (change[2] % 8),
        }
    }
    compare(&schema, &theirs, &message, changes.len() < 3, &json);
}

fn compare(schema: &Arc<Schema>, theirs: &apache_avro::Schema, message: &[u8], valid: bool, json: &str) {
    let theirs = apache_avro::reader::datum::GenericDatumReader::builder(theirs).build().unwrap();
    let plan = Plan::same(schema, Limits::default()).unwrap();
    let mut buffer = RowBuffer::new();
    let row = match plan.row(&mut buffer, message) {
        Ok(row) => row,
        Err(error) => {
            assert!(!valid, "{json} {message:02x?}: {error}");
            // Messages that we refuse and they accept: they neither count elements nor compare a block with its size,
            // do not look at what is left, read numbers beyond their type, and take a length that does not fit as one
            // that does. Asking them may cost gigabytes.
            if matches!(error.fault.kind, FaultKind::Utf8 | FaultKind::Branch | FaultKind::Boolean) {
                let read = theirs.read_value(&mut &message[..]);
                assert!(read.is_err(), "{json} {message:02x?}: {error}, but they read {read:?}");
            }
            return;
        }
    };
    let mut rest = message;
    match theirs.read_value(&mut rest) {
        Ok(value) => {
            assert!(rest.is_empty(), "{json} {message:02x?}");
            assert!(same(row.datum(), &value), "{json} {message:02x?}: {value:?}");
            let mut encoded = Vec::new();
            row.datum().encode(&mut encoded);
            let again = theirs.read_value(&mut &encoded[..]).unwrap();
            assert!(same(row.datum(), &again), "{json} {encoded:02x?}");
        }
        Err(error) => panic!("{json} {message:02x?}: they refuse what we read: {error}"),
    }
}

/// Whether we and they read the same.
pub fn same(ours: Datum<'_, '_>, theirs: &Value) -> bool {
    match theirs {
        Value::Union(branch, value) => ours.branch() == Some(*branch) && same(ours.plain(), value),
        Value::Null => ours.is_null(),
        Value::Boolean(value) => ours.as_bool() == Some(*value),
        Value::Int(value) => ours.as_long() == Some(i64::from(*value)),
        Value::Long(value) => ours.as_long() == Some(*value),
        // As a double, a NaN may lose its signal.
        Value::Float(value) => ours
            .as_double()
            .is_some_and(|ours| (ours as f32).to_bits() == value.to_bits() || ours.is_nan() && value.is_nan()),
        Value::Double(value) => ours.as_double().map(f64::to_bits) == Some(value.to_bits()),
        Value::Bytes(value) | Value::Fixed(_, value) => ours.as_bytes() == Some(value.as_slice()),
        Value::String(value) => ours.as_str() == Some(value.as_str()),
        Value::Enum(index, symbol) => ours.as_symbol() == Some(*index) && ours.as_str() == Some(symbol.as_str()),
        Value::Array(values) => {
            ours.elements().len() == values.len() && ours.elements().zip(values).all(|(ours, value)| same(ours, value))
        }
        Value::Map(values) => {
            // Of a key that was written twice they keep the last.
            let ours: std::collections::HashMap<_, _> = ours.entries().collect();
            ours.len() == values.len() && ours.iter().all(|(key, ours)| same(*ours, &values[*key]))
        }
        Value::Record(fields) => {
            ours.fields().len() == fields.len()
                && ours
                    .fields()
                    .zip(fields)
                    .all(|((field, ours), (name, value))| field.name == *name && same(ours, value))
        }
        other => panic!("a logical type in a schema without any: {other:?}"),
    }
}

/// A schema's JSON, with a maximum number of levels.
pub fn random_schema(random: &mut Rng, levels: u32, names: &mut u32) -> String {
    const PRIMITIVES: [&str; 8] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];
    let primitive = |random: &mut Rng| format!("{:?}", PRIMITIVES[random.usize(..8)]);
    if levels == 0 {
        return primitive(random);
    }
    *names += 1;
    let name = format!("T{names}");
    match random.u8(..10) {
        0 | 1 => primitive(random),
        2 => format!(r#"{{"type":"array","items":{}}}"#, random_schema(random, levels - 1, names)),
        3 => format!(r#"{{"type":"map","values":{}}}"#, random_schema(random, levels - 1, names)),
        4 => format!(r#"{{"type":"fixed","name":"{name}","size":{}}}"#, random.u8(..5)),
        5 => format!(r#"{{"type":"enum","name":"n.{name}","symbols":["A","B","C"]}}"#),
        6 => {
            let mut branches = vec![r#""null""#.to_owned(), r#""string""#.to_owned(), r#""long""#.to_owned()];
            branches.truncate(random.usize(1..4));
            let inner = random_schema(random, levels - 1, names);
            if inner.starts_with('{') {
                branches.push(inner);
            }
            random.shuffle(&mut branches);
            format!("[{}]", branches.join(","))
        }
        _ => {
            let mut fields = String::new();
            for i in 0..random.u8(..5) {
                let schema = random_schema(random, levels - 1, names);
                write!(fields, r#"{}{{"name":"f{i}","type":{schema}}}"#, if i > 0 { "," } else { "" }).unwrap();
            }
            if random.u8(..4) == 0 {
                let comma = if fields.is_empty() { "" } else { "," };
                write!(fields, r#"{comma}{{"name":"next","type":["null","{name}"]}}"#).unwrap();
            }
            format!(r#"{{"type":"record","name":"{name}","fields":[{fields}]}}"#)
        }
    }
}

/// A message of a schema, appended.
pub fn random_message(random: &mut Rng, schema: &Schema, id: TypeId, depth: u32, out: &mut Vec<u8>) {
    let long = |out: &mut Vec<u8>, value: i64| {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    };
    let text = |random: &mut Rng, out: &mut Vec<u8>| {
        let text: String =
            (0..random.usize(..9)).map(|_| if random.u8(..9) == 0 { 'é' } else { random.alphanumeric() }).collect();
        long(out, text.len() as i64);
        out.extend_from_slice(text.as_bytes());
    };
    match schema.kind(id) {
        Kind::Null => {}
        Kind::Boolean => out.push(random.u8(..2)),
        Kind::Int => {
            let bits = random.u32(..32);
            long(out, i64::from(random.i32(..) >> bits));
        }
        Kind::Long => {
            let bits = random.u32(..64);
            long(out, random.i64(..) >> bits);
        }
        Kind::Float => out.extend(random.u32(..).to_le_bytes()),
        Kind::Double => out.extend(random.u64(..).to_le_bytes()),
        Kind::Bytes => {
            let length = random.usize(..200);
            long(out, length as i64);
            out.extend((0..length).map(|i| i as u8));
        }
        Kind::String => text(random, out),
        Kind::Fixed(fixed) => out.extend((0..fixed.size).map(|i| i as u8)),
        Kind::Enum(symbols) => long(out, random.usize(..symbols.symbols.len()) as i64),
        Kind::Union(branches) => {
            let null = branches.iter().position(|branch| matches!(schema.kind(*branch), Kind::Null));
            let index = null.filter(|_| depth > 10).unwrap_or_else(|| random.usize(..branches.len()));
            long(out, index as i64);
            random_message(random, schema, branches[index], depth + 1, out);
        }
        Kind::Record(record) => {
            record.fields.iter().for_each(|field| random_message(random, schema, field.type_id, depth + 1, out));
        }
        Kind::Array(inner) | Kind::Map(inner) => {
            for _ in 0..random.u8(..3) {
                let count = random.i64(1..4);
                let mut block = Vec::new();
                for _ in 0..count {
                    if matches!(schema.kind(id), Kind::Map(_)) {
                        text(random, &mut block);
                    }
                    random_message(random, schema, *inner, depth + 1, &mut block);
                }
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
    }
}
