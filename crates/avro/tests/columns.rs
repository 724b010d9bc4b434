//! Messages to columns and back: types, faults, dictionaries, refused values, and memory.

#![cfg(feature = "arrow")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]

mod arrows;
mod ids;
mod support;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use arrows::{same_row, text, validate};
use ids::Ids;
use rawline_avro::{ColumnDecoder, ColumnEncoder, Encoded, FaultKind, Limits, Plan, RowBuffer, StringAs, StringIds};
use rawline_testkit::allocator::{Counting, allocations_of};
use support::{MEASUREMENT, measurement, plan, schema};

#[global_allocator]
static COUNTING: Counting = Counting;

fn every_way() -> [StringAs; 3] {
    [StringAs::Utf8, StringAs::Utf8View, StringAs::Dictionary(Ids::new(100))]
}

#[test]
fn the_articles_message() {
    for strings in every_way() {
        let mut decoder = ColumnDecoder::new(Arc::new(plan(MEASUREMENT, MEASUREMENT)), strings).unwrap();
        for rows in [3, 0, 1] {
            (0..rows).for_each(|_| decoder.append(&measurement()).unwrap());
            assert_eq!(decoder.rows(), rows);
            let batch = decoder.finish();
            validate(&batch);
            assert_eq!((batch.num_rows(), batch.num_columns(), decoder.rows()), (rows, 4, 0));
            for row in 0..rows {
                assert_eq!(text(batch.column(0), row), "metric.name");
                let tags = batch.column(1).as_map().value(row);
                assert_eq!((tags.len(), text(tags.column(1), 4)), (5, "value3".to_owned()));
                assert_eq!(batch.column(2).as_primitive::<Int64Type>().value(row), 1_600_000_000_000);
            }
        }
    }
}

#[test]
fn messages_allocate_nothing_after_the_first_batch() {
    let message = measurement();
    let mut long = message.clone();
    long.splice(..12, [52_u8].into_iter().chain(*b"a.metric.of.26.characters."));
    for strings in every_way() {
        let mut decoder = ColumnDecoder::new(Arc::new(plan(MEASUREMENT, MEASUREMENT)), strings).unwrap();
        let messages = || (0..1000).flat_map(|_| [&message[..], &long]);
        decoder.append_batch(messages());
        drop(decoder.finish());
        let (appended, allocations) = allocations_of(|| decoder.append_batch(messages()));
        assert_eq!((appended.rows, allocations), (2000, 0));
        // A batch takes as many allocations as it has buffers, however many rows.
        let (batch, allocations) = allocations_of(|| decoder.finish());
        assert_eq!(batch.num_rows(), 2000);
        assert!(allocations < 100, "{allocations}");
    }
}

#[test]
fn bad_messages_are_counted_and_leave_nothing() {
    let good = measurement();
    let mut bad = good.clone();
    bad[72] = 0xff;
    let plan = Arc::new(plan(MEASUREMENT, MEASUREMENT));
    for strings in every_way() {
        let mut decoder = ColumnDecoder::new(Arc::clone(&plan), strings).unwrap();
        let messages = [&good[..], &good[..80], &bad, &good, &[], &good];
        let counts = decoder.append_batch(messages);
        assert_eq!((counts.messages, counts.rows, counts.faulty, counts.dropped), (6, 3, 3, 0));
        let faults: Vec<_> = decoder.faults().iter().map(ToString::to_string).collect();
        let mut buffer = RowBuffer::new();
        for ((number, message), fault) in [(1, &good[..80]), (2, &bad), (4, &[])].into_iter().zip(faults) {
            assert_eq!(fault, format!("message {number}, {}", plan.row(&mut buffer, message).unwrap_err()));
        }
        let batch = decoder.finish();
        validate(&batch);
        (0..3).for_each(|row| same_row(&batch, row, plan.row(&mut buffer, &good).unwrap().datum()));
        assert_eq!(batch.column(1).as_map().entries().len(), 15);
    }
}

#[test]
fn ids_are_the_tables_in_every_batch_and_thread() {
    let ids = Ids::new(100);
    ids.intern(b"tag5").unwrap();
    let plan = Arc::new(plan(MEASUREMENT, MEASUREMENT));
    let batches: Vec<_> = std::thread::scope(|scope| {
        let run = || {
            let strings = StringAs::Dictionary(ids.clone());
            let mut decoder = ColumnDecoder::new(Arc::clone(&plan), strings).unwrap();
            [0; 2].map(|_| {
                decoder.append(&measurement()).unwrap();
                decoder.finish()
            })
        };
        let threads = [0; 4].map(|_| scope.spawn(run));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for batch in &batches {
        validate(batch);
        assert_eq!(batch, &batches[0]);
        let keys = batch.column(1).as_map().keys().as_dictionary::<UInt32Type>();
        assert_eq!(keys.keys().value(2), 0);
        for id in batch.column(0).as_dictionary::<UInt32Type>().keys().values() {
            assert_eq!(ids.get(*id), Some("metric.name"));
        }
    }
}

#[test]
fn a_full_table_of_strings_drops_what_is_new() {
    let plan = Arc::new(plan(MEASUREMENT, MEASUREMENT));
    let mut decoder = ColumnDecoder::new(plan, StringAs::Dictionary(Ids::new(11))).unwrap();
    let known = measurement();
    decoder.append(&known).unwrap();
    let mut new = known.clone();
    new[19] = b'V';
    let error = decoder.append(&new).unwrap_err();
    assert_eq!(
        (error.path.as_str(), error.fault.kind, error.fault.position),
        ("tags.value", FaultKind::StringsFull, 18)
    );
    let counts = decoder.append_batch([&new[..], &known]);
    assert_eq!((counts.rows, counts.dropped, counts.faulty), (1, 1, 0));
    assert_eq!(decoder.finish().num_rows(), 2);
}

#[test]
fn a_table_that_may_outgrow_one_arrow_array_is_refused() {
    let plan = Arc::new(plan(MEASUREMENT, MEASUREMENT));
    for (bytes_max, is_refused) in [((1 << 31) - 1, false), (1 << 31, true)] {
        let decoder = ColumnDecoder::new(Arc::clone(&plan), StringAs::Dictionary(Ids::with_bytes(1, bytes_max)));
        assert_eq!(decoder.is_err_and(|error| error.to_string().contains("below 2 GiB")), is_refused);
    }
}

#[test]
fn types_and_names() {
    let all = r#"{"type":"record","name":"R","fields":[
        {"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
        {"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
        {"name":"local","type":{"type":"long","logicalType":"local-timestamp-nanos"}},
        {"name":"id","type":[{"type":"string","logicalType":"uuid"},"null"]},
        {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
        {"name":"any","type":["null","int",{"type":"fixed","name":"F","size":0}]},
        {"name":"suit","type":{"type":"enum","name":"E","symbols":["X","Y"]}},
        {"name":"names","type":{"type":"array","items":["string","null"]}},
        {"name":"empty","type":{"type":"record","name":"Z","fields":[]}}]}"#;
    let decoder = ColumnDecoder::new(Arc::new(plan(all, all)), StringAs::Utf8).unwrap();
    let types: Vec<_> = decoder.schema().fields().iter().map(|field| field.to_string()).collect();
    let wanted = [
        "Date32 nullable",
        "Timestamp(µs, \"+00:00\")",
        "Timestamp(ns)",
        "FixedSizeBinary(16) nullable",
        "Decimal128(9, 2)",
        "Union(Dense",
        "Dictionary(Int32, Utf8)",
        "List(",
        "Struct(",
    ];
    let nullable: Vec<_> = decoder.schema().fields().iter().map(|field| field.is_nullable()).collect();
    assert_eq!(nullable, [true, false, false, true, false, true, false, false, false]);
    for (found, wanted) in decoder.schema().fields().iter().zip(wanted) {
        let wanted = wanted.trim_end_matches(" nullable");
        assert!(found.data_type().to_string().starts_with(wanted), "{} {wanted} {types:?}", found.data_type());
    }
    let id = decoder.schema().field_with_name("id").unwrap().clone();
    assert_eq!(id.metadata()["ARROW:extension:name"], "arrow.uuid");
}

#[test]
fn values_of_no_logical_type_are_refused_where_they_are() {
    let of = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},
        {"name":"id","type":["null",{"type":"string","logicalType":"uuid"}]},
        {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":3,"scale":0}}]}"#;
    let mut decoder = ColumnDecoder::new(Arc::new(plan(of, of)), StringAs::Utf8View).unwrap();
    let uuid = b"\x48f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    let message = |id: &[u8], price: &[u8]| [&[2], id, price].concat();
    decoder.append(&message(&[&[2], &uuid[..]].concat(), &[4, 3, 0xe7])).unwrap();
    decoder.append(&message(&[0], &[0])).unwrap();
    let error = decoder.append(&message(&[2, 2, b'x'], &[0])).unwrap_err();
    assert_eq!((error.path.as_str(), error.fault.kind, error.fault.position), ("id", FaultKind::Logical, 2));
    let error = decoder.append(&message(&[0], &[4, 3, 0xe8])).unwrap_err();
    assert_eq!((error.path.as_str(), error.fault.kind, error.fault.position), ("price", FaultKind::Logical, 2));
    let batch = decoder.finish();
    validate(&batch);
    assert_eq!((batch.num_rows(), batch.column(1).null_count()), (2, 1));
}

#[test]
fn schemas_without_columns_are_refused() {
    let refused = |json: &str| ColumnDecoder::new(Arc::new(plan(json, json)), StringAs::Utf8).unwrap_err().to_string();
    let list =
        r#"{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}"#;
    assert!(
        refused(list).starts_with("field next: L contains itself, and Arrow has no type for that; leave the field out")
    );
    // A writer's recursive field that the reader leaves out is no trouble.
    let reader = r#"{"type":"record","name":"L","fields":[{"name":"v","type":"int"}]}"#;
    let mut decoder = ColumnDecoder::new(Arc::new(plan(list, reader)), StringAs::Utf8).unwrap();
    decoder.append(&[2, 2, 4, 0]).unwrap();
    assert_eq!(decoder.finish().num_columns(), 1);
    // Each record has the one before it twice: 2^20 columns.
    let mut record = r#"{"type":"record","name":"R0","fields":[{"name":"v","type":"int"}]}"#.to_owned();
    for i in 1..20 {
        let fields = format!(r#"[{{"name":"a","type":{record}}},{{"name":"b","type":"R{}"}}]"#, i - 1);
        record = format!(r#"{{"type":"record","name":"R{i}","fields":{fields}}}"#);
    }
    assert!(refused(&record).contains("more than 65536 columns"));
}

#[test]
fn a_message_that_is_no_record_is_the_column_value() {
    let array = r#"{"type":"array","items":"long"}"#;
    let mut decoder = ColumnDecoder::new(Arc::new(plan(array, array)), StringAs::Utf8).unwrap();
    decoder.append(&[2, 4, 0]).unwrap();
    decoder.append(&[0]).unwrap();
    let batch = decoder.finish();
    let list = batch.column_by_name("value").unwrap().as_list::<i32>();
    assert_eq!((list.value(0).as_primitive::<Int64Type>().values().as_ref(), list.value(1).len()), (&[2][..], 0));
    let mut encoded = Encoded::default();
    ColumnEncoder::new(schema(array)).encode(&batch, &mut encoded).unwrap();
    assert_eq!(encoded, Encoded { sizes: vec![3, 1], data: vec![2, 4, 0, 0] });
}

#[test]
fn what_columns_ask_of_their_schema() {
    let of = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":["null",
        "string"],"default":null},
        {"name":"c","type":{"type":"enum","name":"E","symbols":["X","Y"]},"default":"Y"}]}"#;
    let encoder = ColumnEncoder::new(schema(of));
    let mut out = Encoded::default();
    let batch = |columns: Vec<(&'static str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let int: ArrayRef = Arc::new(Int32Array::from(vec![-1, 300]));
    let b: ArrayRef = Arc::new(StringArray::from(vec![None, Some("é")]));
    // Another order, a narrower integer, a field that has a default.
    encoder.encode(&batch(vec![("b", b), ("a", Arc::clone(&int))]), &mut out).unwrap();
    let messages: Vec<_> = out.messages().collect();
    assert_eq!(messages, [&[1, 0, 2][..], &[0xd8, 4, 2, 4, 0xc3, 0xa9, 2]]);
    assert_eq!(out.sizes, [3, 7]);
    let before = out.clone();
    let mut refused = |columns: Vec<(&'static str, ArrayRef)>| {
        let error = encoder.encode(&batch(columns), &mut out).unwrap_err().to_string();
        assert_eq!(out, before);
        error
    };
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["X", "Z"]));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    assert!(refused(vec![("b", Arc::clone(&texts))]).starts_with("field a: it has neither a column nor a default"));
    assert!(
        refused(vec![("a", Arc::clone(&int)), ("d", Arc::clone(&int))])
            .starts_with("the column \"d\" isn't a field of R")
    );
    assert!(refused(vec![("a", Arc::clone(&texts))]).starts_with("field a: a column of Utf8 can't be written as long"));
    assert!(
        refused(vec![("a", Arc::clone(&int)), ("b", Arc::clone(&int))])
            .starts_with("field b: a column of Int32 can't be")
    );
    assert!(refused(vec![("a", nulls)]).starts_with("field a: row 1: it is null, but its type isn't nullable"));
    assert!(refused(vec![("a", int), ("c", texts)]).starts_with("field c: row 1: its text isn't a symbol of the enum"));
}

#[test]
fn defaults_and_promotions_reach_columns() {
    let writer = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"gone","type":"string"}]}"#;
    let reader = r#"{"type":"record","name":"R","fields":[{"name":"new","type":"string",
        "default":"longer than twelve bytes"},
        {"name":"b","aliases":["a"],"type":["null","double"]}]}"#;
    for strings in every_way() {
        let mut decoder = ColumnDecoder::new(Arc::new(plan(writer, reader)), strings).unwrap();
        decoder.append(&[3, 2, b'x']).unwrap();
        decoder.append(&[4, 0]).unwrap();
        let batch = decoder.finish();
        validate(&batch);
        let texts: HashSet<_> = (0..2).map(|row| text(batch.column(0), row)).collect();
        assert_eq!(texts, HashSet::from(["longer than twelve bytes".to_owned()]));
        assert_eq!(batch.column(1).as_primitive::<arrow_array::types::Float64Type>().values(), &[-2.0, 2.0]);
        assert_eq!(*batch.column(1).data_type(), DataType::Float64);
    }
}

#[test]
fn limits_hold_for_columns_too() {
    let nulls = r#"{"type":"array","items":"null"}"#;
    let limits = Limits { elements_max: 10, ..Limits::default() };
    let plan = Arc::new(Plan::same(&schema(nulls), limits).unwrap());
    let mut decoder = ColumnDecoder::new(plan, StringAs::Utf8).unwrap();
    decoder.append(&[20, 0]).unwrap();
    assert_eq!(decoder.append(&[20, 2, 0]).unwrap_err().fault.kind, FaultKind::Elements);
    let batch = decoder.finish();
    assert_eq!(batch.column(0).as_list::<i32>().values().len(), 10);
    // Four fields and five tags.
    for (elements_max, fits) in [(3, false), (8, false), (9, true)] {
        let limits = Limits { elements_max, ..Limits::default() };
        let plan = Arc::new(Plan::same(&schema(MEASUREMENT), limits).unwrap());
        let wanted = plan.row(&mut RowBuffer::new(), &measurement()).map(drop);
        let mut decoder = ColumnDecoder::new(plan.clone(), StringAs::Utf8).unwrap();
        let found = decoder.append(&measurement());
        assert_eq!((found.is_ok(), found), (fits, wanted));
    }
}
