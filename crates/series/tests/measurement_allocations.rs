//! After warm-up a measurement costs no allocation, whether it is good, bad, dropped or in a new encoding without room.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // A test.

mod encoded;

use std::sync::Arc;

use encoded::{identity, long};
use rawline_avro::{Framing, Schema, SchemaStore, WriterId};
use rawline_series::{
    Columns, MEASUREMENT_SCHEMA, MeasurementDecoder, MeasurementReader, SeriesLimits, SeriesTable, Shape, ValueType,
};

use rawline_testkit::allocator::{Counting, allocated};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_is_allocated_after_warm_up() {
    // Room for half of the series, and for a quarter of their encodings.
    let limits = SeriesLimits { aliases_max: 250, ..SeriesLimits::for_series(500) };
    let table = Arc::new(SeriesTable::new(limits, 7).unwrap());
    let mut decoder = MeasurementDecoder::new(Shape { frame: WriterId::Known, value: ValueType::Long }, table);
    let mut messages: Vec<Vec<u8>> = (0..1000)
        .map(|n| {
            let server = format!("server-{n}");
            let tags: Vec<_> = (0..30).map(|tag| (["a", "b", "server"][tag % 3], server.as_str())).collect();
            [identity("metric.name", &tags), long(n), long(n * n)].concat()
        })
        .collect();
    let cut: Vec<_> = messages.iter().take(100).enumerate().map(|(n, message)| message[..n].to_vec()).collect();
    messages.extend(cut);
    let mut out = Columns::default();
    let mut decode = || {
        out.clear();
        decoder.decode(messages.iter().map(Vec::as_slice), &mut out)
    };
    let first = decode();
    assert_eq!((first.rows, first.dropped, first.faulty), (500, 500, 100));
    let before = allocated().allocations;
    for _ in 0..3 {
        assert_eq!(decode(), first);
    }
    assert_eq!(allocated().allocations - before, 0);
    of_several_schemas();
}

/// Part of the test above: only one may run while allocations are counted.
fn of_several_schemas() {
    let longer =
        MEASUREMENT_SCHEMA.replace("\"fields\": [", "\"fields\": [{\"name\": \"unit\", \"type\": \"string\"},");
    let schemas = [MEASUREMENT_SCHEMA, &longer].map(|json| Arc::new(Schema::parse(json).unwrap()));
    let store = Arc::new(SchemaStore::default());
    let ids = schemas.each_ref().map(|schema| store.add(schema).unwrap());
    let messages: Vec<Vec<u8>> = (0..1000)
        .map(|n| {
            let mut message = Vec::new();
            ids[n % 2].write(&mut message);
            message.extend_from_slice(if n % 2 == 0 { b"" } else { b"\x04ms" });
            message.extend(identity("metric.name", &[("server", &(n % 100).to_string())]));
            message.extend(long(n as i64));
            message.extend((n as f64).to_le_bytes());
            message
        })
        .collect();
    let table = Arc::new(SeriesTable::new(SeriesLimits::for_series(500), 7).unwrap());
    let mut reader = MeasurementReader::new(store, Framing::SingleObject, table);
    let mut out = Columns::default();
    let mut decode = || {
        out.clear();
        reader.decode(messages.iter().map(Vec::as_slice), &mut out).rows
    };
    assert_eq!(decode(), 1000);
    let before = allocated().allocations;
    for _ in 0..3 {
        assert_eq!(decode(), 1000);
    }
    assert_eq!(allocated().allocations - before, 0);
}
