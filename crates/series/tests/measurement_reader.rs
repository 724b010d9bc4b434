//! Measurements of several schemas in one run of messages: the rows of each, in order, as one schema would give them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // A test.

use std::sync::Arc;

use rawline_avro::{Counts, FAULTS_MAX, Framing, Schema, SchemaStore, WriterId};
use rawline_series::{Columns, MEASUREMENT_SCHEMA, MeasurementReader, SeriesLimits, SeriesTable, Shape, ValueType};
use serde_json::{Value, json};

const LONGS: &str = r#"{"type": "record", "name": "Measurement", "fields": [
    {"name": "metric", "type": "string"}, {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "logtime", "type": "long"}, {"name": "value", "type": "long"}]}"#;

/// In another order, under other names that tell the old ones, with a nullable time in microseconds and more fields.
const LATER: &str = r#"{"type": "record", "name": "Sample", "namespace": "later", "fields": [
    {"name": "reading", "type": ["null", "float"], "aliases": ["value"]},
    {"name": "unit", "type": ["null", "string"]},
    {"name": "at", "aliases": ["logtime"], "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    {"name": "labels", "aliases": ["tags"], "type": {"type": "map", "values": ["null", "string"]}},
    {"name": "history", "type": {"type": "array", "items": "double"}},
    {"name": "metric", "type": "bytes"}]}"#;

fn schema(json: &str) -> Arc<Schema> {
    Arc::new(Schema::parse(json).unwrap())
}

fn table() -> Arc<SeriesTable> {
    Arc::new(SeriesTable::new(SeriesLimits::for_series(1_000), 7).unwrap())
}

fn message(id: WriterId, schema: &Schema, value: &Value) -> Vec<u8> {
    let mut message = Vec::new();
    id.write(&mut message);
    schema.encode_value(value, &mut message).unwrap();
    message
}

/// Rows as names, times and values.
fn rows(columns: &Columns, table: &SeriesTable) -> Vec<(String, i64, f64)> {
    let name = |id: u32| {
        let series = table.get(id).unwrap();
        format!("{} {:?}", series.metric(), series.tags().collect::<Vec<_>>())
    };
    let others = columns.time_ms.iter().zip(&columns.value);
    columns.series.iter().zip(others).map(|(id, (time, value))| (name(*id), *time, *value)).collect()
}

fn decode(reader: &mut MeasurementReader, messages: &[Vec<u8>]) -> (Counts, Columns) {
    let mut columns = Columns::default();
    let counts = reader.decode(messages.iter().map(Vec::as_slice), &mut columns);
    assert_eq!((columns.series.len(), columns.len()), (columns.time_ms.len(), columns.value.len()));
    (counts, columns)
}

#[test]
fn three_schemas_by_turns_read_as_one() {
    let schemas = [schema(LONGS), schema(MEASUREMENT_SCHEMA), schema(LATER)];
    let wide = |number: i64| {
        let (metric, tags) = (format!("m{}", number % 7), json!({"host": format!("h{}", number % 3), "zone": "z"}));
        let (time, value) = (1_600_000_000_000 + number, number * 2);
        [
            json!({"metric": metric, "tags": tags, "logtime": time, "value": value}),
            json!({"metric": metric, "tags": tags, "logtime": time, "value": value as f64}),
            json!({"reading": value as f64, "unit": "ms", "at": time * 1000 + 999, "labels": tags,
                   "history": [1.0, 2.0], "metric": metric}),
        ]
    };
    for framing in [Framing::SingleObject, Framing::Registry] {
        let store = Arc::new(SchemaStore::default());
        let ids: Vec<WriterId> = (7..)
            .zip(&schemas)
            .map(|(number, schema)| match framing {
                Framing::Registry => {
                    store.add_as(WriterId::Number(number), schema).unwrap();
                    WriterId::Number(number)
                }
                _ => store.add(schema).unwrap(),
            })
            .collect();
        let (table, alone) = (table(), table());
        let mut reader = MeasurementReader::new(store.clone(), framing, table.clone());
        // One by one; in runs shorter and longer than a block; one run after the other.
        for run in [1, 5, 63, 64, 65, 200] {
            let of = |which: &dyn Fn(usize) -> usize| -> Vec<Vec<u8>> {
                let each = (0..1_000).map(|number| (which(number), number as i64));
                each.map(|(which, number)| message(ids[which], &schemas[which], &wide(number)[which])).collect()
            };
            let (counts, columns) = decode(&mut reader, &of(&|number| number / run % 3));
            assert_eq!(
                (counts, reader.faults()),
                (Counts { messages: 1_000, rows: 1_000, ..Counts::default() }, &[][..])
            );
            assert!(!reader.missing_schema());
            for which in 0..3 {
                let mut one = MeasurementReader::new(store.clone(), framing, alone.clone());
                let (_, expected) = decode(&mut one, &of(&|_| which));
                assert_eq!(rows(&columns, &table), rows(&expected, &alone), "{framing:?}, runs of {run}");
            }
        }
        assert_eq!((table.len(), alone.len()), (21, 21));
    }
}

#[test]
fn a_schema_that_comes_later_is_read_from_then_on() {
    let (store, long) = (Arc::new(SchemaStore::default()), schema(LONGS));
    let double = schema(MEASUREMENT_SCHEMA);
    store.add(&double).unwrap();
    let value = |number: i64| json!({"metric": "m", "tags": {}, "logtime": number, "value": number});
    let messages: Vec<_> = (0..20)
        .map(|number| {
            let schema = if number % 4 < 2 { &double } else { &long };
            message(WriterId::Fingerprint(schema.fingerprint()), schema, &value(number))
        })
        .collect();
    let mut reader = MeasurementReader::new(store.clone(), Framing::SingleObject, table());
    for _ in 0..2 {
        let (counts, columns) = decode(&mut reader, &messages);
        assert_eq!((counts.messages, counts.rows, counts.faulty), (20, 10, 10));
        assert!(reader.missing_schema() && columns.time_ms[..4] == [0, 1, 4, 5]);
        let told: Vec<_> = reader.faults().iter().map(|refused| refused.number).collect();
        assert_eq!(told, [2, 3, 6, 7, 10, 11, 14, 15]);
        let expected = format!(
            "message 2, field schema: no schema with the fingerprint {:016x} is known; add the schema that wrote the \
             message",
            long.fingerprint()
        );
        assert_eq!(reader.faults()[0].to_string(), expected);
    }
    store.add(&long).unwrap();
    let (counts, columns) = decode(&mut reader, &messages);
    assert_eq!((counts.rows, counts.faulty, reader.missing_schema()), (20, 0, false));
    assert_eq!(columns.time_ms, (0..20).collect::<Vec<_>>());
}

#[test]
fn bad_messages_are_named_with_field_and_byte_whatever_way_they_are_read() {
    let store = Arc::new(SchemaStore::default());
    let (long, later) = (schema(LONGS), schema(LATER));
    let other = schema(r#"{"type": "record", "name": "Order", "fields": [{"name": "metric", "type": "string"}]}"#);
    let array = schema(r#"{"type": "array", "items": "long"}"#);
    let ids: Vec<_> = [&long, &later, &other, &array].into_iter().map(|schema| store.add(schema).unwrap()).collect();
    let short = message(ids[0], &long, &json!({"metric": "m", "tags": {"a": "b"}, "logtime": 1, "value": 2}));
    let full = json!({"reading": 0.5, "unit": null, "at": 1, "labels": {"a": "b"}, "history": [], "metric": "m"});
    let with = |field: &str, value: Value| {
        let mut changed = full.clone();
        changed[field] = value;
        message(ids[1], &later, &changed)
    };
    let good = message(ids[1], &later, &full);
    let messages = [
        short.clone(),
        short[..short.len() - 1].to_vec(),
        [good.clone(), vec![0]].concat(),
        with("at", Value::Null),
        with("labels", json!({"a": null})),
        message(ids[2], &other, &json!({"metric": "m"})),
        message(ids[3], &array, &json!([])),
        b"\xc3\x01\x00".to_vec(),
        Vec::new(),
        good,
    ];
    let mut reader = MeasurementReader::new(store, Framing::SingleObject, table());
    let (counts, columns) = decode(&mut reader, &messages);
    assert_eq!((counts, columns.value), (Counts { messages: 10, rows: 2, dropped: 0, faulty: 8 }, vec![2.0, 0.5]));
    // The time before 1970's first millisecond is over belongs to it.
    assert_eq!((columns.time_ms, columns.series), (vec![1, 0], vec![0, 0]));
    assert!(!reader.missing_schema());
    let told: Vec<_> = reader.faults().iter().map(|refused| (refused.number, refused.field.as_str())).collect();
    let fields =
        [(1, "value"), (2, "end"), (3, "logtime"), (4, "tags.value"), (5, "schema"), (6, "schema"), (7, "frame")];
    assert_eq!(told, [&fields[..], &[(8, "frame")]].concat());
    assert_eq!(told.len(), FAULTS_MAX);
    let reasons: Vec<_> = reader.faults().iter().map(|refused| refused.reason.as_str()).collect();
    assert!(reasons[0].starts_with(&format!("at byte {}: the message ends", short.len() - 1)), "{}", reasons[0]);
    assert!(reasons[1].starts_with(&format!("at byte {}: bytes are left", messages[2].len() - 1)), "{}", reasons[1]);
    assert!(reasons[4].contains("no field \"logtime\""), "{}", reasons[4]);
    assert!(reasons[5].contains("it is a array, not a record"), "{}", reasons[5]);
}

#[test]
fn series_without_room_are_dropped_and_known_ones_continue() {
    let store = Arc::new(SchemaStore::default());
    let schemas = [schema(LONGS), schema(LATER)];
    schemas.iter().for_each(|schema| _ = store.add(schema).unwrap());
    let table = Arc::new(SeriesTable::new(SeriesLimits::for_series(10), 7).unwrap());
    let mut reader = MeasurementReader::new(store, Framing::SingleObject, table);
    let messages: Vec<_> = (0..100)
        .map(|number| {
            let metric = format!("m{}", number % 20);
            let value = if number % 2 == 0 {
                json!({"metric": metric, "tags": {}, "logtime": number, "value": 1})
            } else {
                json!({"reading": 1.0, "unit": null, "at": number, "labels": {}, "history": [], "metric": metric})
            };
            let schema = &schemas[number % 2];
            message(WriterId::Fingerprint(schema.fingerprint()), schema, &value)
        })
        .collect();
    let counts = decode(&mut reader, &messages).0;
    assert_eq!(counts, Counts { messages: 100, rows: 50, dropped: 50, faulty: 0 });
}

/// The effect of each change to the measurement's schema.
#[test]
fn schemas_have_the_shape_or_a_plan_or_neither() {
    let fields = |changes: &[(usize, Value)]| {
        let mut schema: Value = serde_json::from_str(MEASUREMENT_SCHEMA).unwrap();
        for (at, change) in changes {
            let field = schema["fields"][*at].as_object_mut().unwrap();
            field.extend(change.as_object().unwrap().clone());
        }
        schema
    };
    let time = |logical: &str| fields(&[(2, json!({"type": {"type": "long", "logicalType": logical}}))]);
    let mut without_tags = fields(&[]);
    without_tags["fields"].as_array_mut().unwrap().remove(1);
    let swapped =
        fields(&[(2, json!({"name": "value", "type": "long"})), (3, json!({"name": "logtime", "type": "long"}))]);
    // The schema, whether it has the shape, and the time and value of 1500 and 7 as they are read.
    let cases = [
        (fields(&[]), true, Ok((1_500, 7.0))),
        (fields(&[(3, json!({"type": "int"}))]), true, Ok((1_500, 7.0))),
        (fields(&[(3, json!({"name": "amount", "aliases": ["value"]}))]), true, Ok((1_500, 7.0))),
        (time("local-timestamp-millis"), true, Ok((1_500, 7.0))),
        (time("timestamp-micros"), false, Ok((1, 7.0))),
        (time("local-timestamp-nanos"), false, Ok((0, 7.0))),
        (time("time-micros"), false, Err("its time is a TimeMicros")),
        (fields(&[(2, json!({"type": ["null", "int"]}))]), false, Ok((1_500, 7.0))),
        (
            fields(&[(2, json!({"type": ["int", {"type": "long", "logicalType": "timestamp-micros"}]}))]),
            false,
            Err("several units"),
        ),
        (fields(&[(2, json!({"type": "null"}))]), false, Err("can't be read as long")),
        (without_tags, false, Ok((1_500, 7.0))),
        (swapped, false, Ok((1_500, 7.0))),
        (fields(&[(3, json!({"name": "amount"}))]), false, Err("no field \"value\"")),
        (fields(&[(3, json!({"type": "string"}))]), false, Err("can't be read as double")),
    ];
    for (text, is_shape, expected) in cases {
        let schema = schema(&text.to_string());
        assert_eq!(Shape::of_schema(WriterId::Known, &schema).is_ok(), is_shape, "{text}");
        let store = Arc::new(SchemaStore::default());
        store.add_as(WriterId::Known, &schema).unwrap();
        let mut value = json!({"metric": "m", "tags": {"a": "b"}, "logtime": 1_500, "value": 7, "amount": 7});
        if text["fields"][2]["type"] == "null" {
            value["logtime"] = Value::Null;
        }
        if text["fields"][3]["type"] == "string" {
            value["value"] = json!("7");
        }
        let known = text["fields"].as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap());
        let value = known.map(|name| (name.to_owned(), value[name].clone())).collect();
        let mut bytes = Vec::new();
        schema.encode_value(&Value::Object(value), &mut bytes).unwrap();
        let mut reader = MeasurementReader::new(store, Framing::Bare, table());
        let (counts, columns) = decode(&mut reader, &[bytes.clone(), bytes]);
        match expected {
            Ok((time, value)) => {
                assert_eq!(reader.faults(), [], "{text}");
                assert_eq!((columns.time_ms, columns.value), (vec![time; 2], vec![value; 2]), "{text}");
            }
            Err(reason) => {
                assert_eq!((counts.faulty, reader.faults().len()), (2, 2), "{text}");
                let refused = &reader.faults()[0];
                assert!(refused.field == "schema" && refused.reason.contains(reason), "{refused}");
            }
        }
    }
    let double = schema(MEASUREMENT_SCHEMA);
    let shape = Shape::of_schema(WriterId::Number(7), &double).unwrap();
    assert_eq!(shape, Shape { frame: WriterId::Number(7), value: ValueType::Double });
    let error =
        Shape::of_schema(WriterId::Known, &schema(&time("timestamp-nanos").to_string())).unwrap_err().to_string();
    assert!(error.contains("its time is in nanoseconds"), "{error}");
}
