//! Bodies of the fuzzers.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rawline_value::zeek::Message;
use rawline_value::{Decoder, Fields, Frame, Kind, Limits, ListBuilder, Step, Value, ValueError, ValueReader, Variant};

/// Any bytes: tree and view say the same, and what is read is written and read again.
pub fn agree(bytes: &[u8]) {
    agree_within(bytes, &Limits::default());
    agree_within(bytes, &Limits { depth_max: 2, elements_max: 5, bytes_max: 200 });
}

/// Valid values with some of their bytes changed: the first byte chooses the value, three bytes each change.
pub fn mutate(input: &[u8]) {
    let Some((choice, changes)) = input.split_first() else {
        return;
    };
    let mut bytes = samples()[usize::from(*choice) % samples().len()].clone();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        match change[1] >> 6 {
            0 => drop(bytes.remove(place)),
            1 => bytes.insert(place, change[2]),
            2 => bytes[place] = change[2] % 16,
            _ => bytes[place] ^= 1 << (change[2] % 8),
        }
        if bytes.is_empty() {
            break;
        }
    }
    agree(&bytes);
    if let Ok(frame) = Frame::parse(&bytes) {
        let mut out = Vec::new();
        frame.encode_into(&mut out).unwrap();
        assert_eq!(out, bytes);
    }
}

fn agree_within(bytes: &[u8], limits: &Limits) {
    let tree = Value::decode(bytes, limits);
    let mut decoder = Decoder::new(*limits);
    let view = decoder.decode(bytes);
    let (tree, view) = match (tree, view) {
        (Ok(tree), Ok(view)) => (tree, view),
        (tree, view) => {
            assert_eq!(tree.clone().err(), view.err(), "{tree:?}");
            // Only what lies in front is looked at, so there may be a value; it must not end the process.
            let _ = Decoder::new(*limits).pick(bytes, &[Step::Index(1), Step::Key("a")]);
            let _ = ValueReader::new(bytes, limits).and_then(|mut reader| skipped(&mut reader));
            return;
        }
    };
    assert_eq!(view.bytes(), bytes);
    same(&tree, &view);
    picked(bytes, &view, limits);
    let mut reader = ValueReader::new(bytes, limits).unwrap();
    assert_eq!(taken(&mut reader), Ok(tree.clone()));
    assert_eq!(reader.finish(), Ok(()));
    let encoded = tree.encode();
    let again = Value::decode(&encoded, limits).expect("what was read is written within the same limits");
    assert_eq!(again.encode(), encoded);
    // The smallest of the numbers that the format keeps turn to zero when they are written.
    if !has_subnormal(&tree) {
        assert_eq!(again, tree);
    }
    let envelope = Decoder::new(*limits).envelope(b"topic", bytes).unwrap();
    assert_eq!(envelope.topic(), b"topic");
    assert_eq!(envelope.bytes(), bytes);
    assert_eq!(envelope.value(), view);
    let mut rebuilt = Vec::new();
    ListBuilder::new(&mut rebuilt).add(view).add(&tree);
    let limits = Limits { depth_max: u32::MAX, ..Limits::default() };
    assert_eq!(Value::decode(&rebuilt, &limits), Ok(Value::Vector(vec![tree, again])));
    if let Some(Message::Batch(batch)) = Message::read(&view) {
        assert_eq!(batch.iter().count(), batch.len());
    }
}

/// The picked value is the view's value.
fn picked(bytes: &[u8], view: &Variant<'_>, limits: &Limits) {
    let mut decoder = Decoder::new(*limits);
    assert_eq!(decoder.pick(bytes, &[]), Ok(Some(*view)));
    for index in 0..=view.to_list().len() {
        assert_eq!(decoder.pick(bytes, &[index.into()]), Ok(view.to_list().get(index)));
        let inner = view.to_list().at(index).to_list();
        assert_eq!(decoder.pick(bytes, &[index.into(), 0.into()]), Ok(inner.get(0)));
    }
    for (key, value) in view.to_table().iter() {
        if let Some(key) = key.as_str() {
            assert_eq!(decoder.pick(bytes, &[key.into()]), Ok(Some(value)));
        }
    }
    assert_eq!(decoder.pick(bytes, &["no such key".into()]), Ok(None));
}

/// A value taken piece by piece.
fn taken(reader: &mut ValueReader<'_>) -> Result<Value, ValueError> {
    let kind = reader.kind()?;
    assert_eq!(reader.none(), kind == Kind::None);
    Ok(match kind {
        Kind::None => Value::None,
        Kind::Boolean => Value::Boolean(reader.boolean()?),
        Kind::Count => Value::Count(reader.count()?),
        Kind::Integer => Value::Integer(reader.integer()?),
        Kind::Real => Value::Real(reader.real()?),
        Kind::String => Value::String(reader.string()?.into()),
        Kind::Address => Value::Address(reader.address()?),
        Kind::Subnet => Value::Subnet(reader.subnet()?),
        Kind::Port => Value::Port(reader.port()?),
        Kind::Timestamp => Value::Timestamp(reader.timestamp()?),
        Kind::Timespan => Value::Timespan(reader.timespan()?),
        Kind::Enum => Value::Enum(reader.enum_name()?.into()),
        Kind::Vector => Value::Vector((0..reader.vector()?).map(|_| taken(reader)).collect::<Result<_, _>>()?),
        Kind::Set => Value::Set((0..reader.set()?).map(|_| taken(reader)).collect::<Result<_, _>>()?),
        Kind::Table => Value::Table(
            (0..reader.table()?.left()).map(|_| Ok((taken(reader)?, taken(reader)?))).collect::<Result<_, _>>()?,
        ),
    })
}

/// Takes a table's fields, as many as there are.
fn skipped(reader: &mut ValueReader<'_>) -> Result<(), ValueError> {
    let mut pairs = reader.table()?;
    while pairs.field(reader, &Fields::new(["a"]))?.is_some() {
        reader.skip()?;
    }
    reader.finish()
}

/// A view and a tree of the same value, all the way down.
fn same(tree: &Value, view: &Variant<'_>) {
    assert_eq!(view.kind(), tree.kind());
    assert_eq!(*view, *tree);
    assert_eq!(view.to_value(), *tree);
    let alone: Result<Value, ValueError> = Value::decode(view.bytes(), &Limits::default());
    assert_eq!(alone.as_ref(), Ok(tree));
    match tree {
        Value::Vector(values) => {
            let list = view.to_list();
            assert_eq!(list.len(), values.len());
            values.iter().enumerate().for_each(|(index, value)| same(value, &list.get(index).unwrap()));
            assert!(list.get(values.len()).is_none() && list.at(values.len()).is_none());
        }
        Value::Set(set) => {
            assert_eq!(view.to_set().len(), set.len());
            set.iter().zip(view.to_set().iter()).for_each(|(value, view)| same(value, &view));
            assert!(set.iter().all(|value| view.to_set().contains(value) && set.contains(value)));
        }
        Value::Table(table) => {
            let pairs = view.to_table();
            assert_eq!(pairs.len(), table.len());
            for ((key, value), (key_view, value_view)) in table.iter().zip(pairs.iter()) {
                same(key, &key_view);
                same(value, &value_view);
                // Compared and not walked again: a walk for each would cost four times as much with every level.
                assert_eq!(pairs.get(key), Some(value_view));
                assert_eq!(pairs.get_variant(&key_view), Some(value_view));
                assert_eq!(key_view.as_str().is_some(), key_view.as_str().and_then(|key| pairs.get_str(key)).is_some());
                assert_eq!(table.get(key), Some(value));
            }
        }
        Value::Real(real) => assert_eq!(view.to_real(0.5).to_bits(), real.to_bits()),
        _ => assert!(view.to_list().is_empty() && view.to_set().is_empty() && view.to_table().is_empty()),
    }
    assert_eq!(view.as_count().is_some(), view.kind() == Kind::Count);
    let mut hasher = DefaultHasher::new();
    tree.hash(&mut hasher);
    let mut again = DefaultHasher::new();
    view.to_value().hash(&mut again);
    assert_eq!(hasher.finish(), again.finish());
}

fn has_subnormal(value: &Value) -> bool {
    match value {
        Value::Real(real) => real.is_subnormal(),
        Value::Vector(values) => values.iter().any(has_subnormal),
        Value::Set(set) => set.iter().any(has_subnormal),
        Value::Table(table) => table.iter().any(|(key, value)| has_subnormal(key) || has_subnormal(value)),
        _ => false,
    }
}

/// Short valid values of every type, and a frame.
fn samples() -> Vec<Vec<u8>> {
    const TEXT: &str = include_str!("../../../../vectors/value/values.json");
    static SAMPLES: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    SAMPLES
        .get_or_init(|| {
            let unhex = |text: &str| -> Vec<u8> {
                (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
            };
            let values = TEXT.split("\"hex\": \"").skip(1);
            let mut samples: Vec<Vec<u8>> = values.map(|rest| unhex(rest.split('"').next().unwrap())).collect();
            samples.retain(|sample| sample.len() < 4000);
            samples.push([&[0; 32][..], &[1, 0, 16, 0, 1, b't', 1, 1]].concat());
            samples
        })
        .clone()
}
