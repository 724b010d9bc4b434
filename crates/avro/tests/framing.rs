//! Framings, stores and container files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::sync::Arc;

use rawline_avro::{
    Codec, ContainerError, ContainerReader, ContainerWriter, Framing, FramingError, Limits, MessageReader, RowBuffer,
    SchemaStore, WriterId,
};
use support::{MEASUREMENT, measurement, schema, unhex};

#[test]
fn each_framing_finds_its_schema() {
    let golden = [
        (Framing::SingleObject, include_str!("../../../vectors/avro/measurement-single-object.hex")),
        (Framing::Registry, include_str!("../../../vectors/avro/measurement-registry-7.hex")),
        (Framing::Bare, include_str!("../../../vectors/avro/measurement.hex")),
    ];
    let measurements = schema(MEASUREMENT);
    let store = Arc::new(SchemaStore::new(Limits::default()));
    let ids = [WriterId::Fingerprint(measurements.fingerprint()), WriterId::Number(7), WriterId::Known];
    let mut buffer = RowBuffer::new();
    for ((framing, hex), id) in golden.into_iter().zip(ids) {
        let message = unhex(hex);
        let mut framed = Vec::new();
        id.write(&mut framed);
        framed.extend(measurement());
        assert_eq!(framed, message, "{framing:?}");
        let mut reader = MessageReader::new(Arc::clone(&store), framing, None);
        let unknown = match id {
            WriterId::Known => FramingError::NoWriter,
            WriterId::Fingerprint(print) => FramingError::UnknownFingerprint(print),
            WriterId::Number(number) => FramingError::UnknownNumber(number),
        };
        assert_eq!(reader.open(&message).unwrap_err(), unknown);
        store.add_as(id, &measurements).unwrap();
        for _ in 0..2 {
            let (plan, value) = reader.open(&message).unwrap();
            assert_eq!(plan.row(&mut buffer, value).unwrap().at(3).unwrap().as_long(), Some(1));
        }
        if framing != Framing::Bare {
            assert!(matches!(reader.open(&[&[9], &message[1..]].concat()).unwrap_err(), FramingError::Head { .. }));
            assert!(matches!(reader.open(&message[..4]).unwrap_err(), FramingError::Head { .. }));
        }
        assert_eq!(store.add_as(id, &schema(r#""int""#)), Err(FramingError::Taken(id)));
    }
    assert_eq!(store.add(&measurements), Ok(ids[0]));
}

/// Parts of a schema that fingerprints omit affect how a message is read: the first schema must not read the second
/// one's messages.
#[test]
fn a_schema_that_reads_otherwise_does_not_share_a_fingerprint() {
    let record = |field: &str| schema(&format!(r#"{{"type":"record","name":"R","fields":[{field}]}}"#));
    let decimal = |scale: u32, precision: u32| {
        let logical = format!(r#""logicalType":"decimal","precision":{precision},"scale":{scale}"#);
        record(&format!(r#"{{"name":"a","type":["null",{{"type":"bytes",{logical}}}]}}"#))
    };
    let time = |logical: &str| {
        record(&format!(r#"{{"name":"a","type":{{"type":"array","items":{{"type":"long"{logical}}}}}}}"#))
    };
    let field = |rest: &str| record(&format!(r#"{{"name":"a","type":"int"{rest}}}"#));
    let (millis, micros) = (r#","logicalType":"timestamp-millis""#, r#","logicalType":"timestamp-micros""#);
    let fixed = |rest: &str| schema(&format!(r#"{{"type":"fixed","name":"F","size":16{rest}}}"#));
    for (first, second) in [
        (decimal(2, 18), decimal(6, 18)),
        (decimal(2, 18), decimal(2, 9)),
        (time(millis), time(micros)),
        (time(""), time(millis)),
        (fixed(""), fixed(r#","logicalType":"uuid""#)),
        (field(""), field(r#","aliases":["logtime"]"#)),
        (field(r#","aliases":["b","c"]"#), field(r#","aliases":["b\",\"c"]"#)),
    ] {
        assert_eq!(first.fingerprint(), second.fingerprint());
        assert!(!first.reads_like(&second) && first.reads_like(&first));
        let store = SchemaStore::default();
        let id = store.add(&first).unwrap();
        assert_eq!(store.add(&second), Err(FramingError::Taken(id)));
        assert!(Arc::ptr_eq(&store.schema(id).unwrap(), &first));
        assert_eq!(store.add_as(WriterId::Number(1), &first), Ok(()));
        assert!(store.add_as(WriterId::Number(1), &second).is_err());
    }
    // Neither documentation nor a default changes how a message is read.
    assert!(field("").reads_like(&field(r#","doc":"d","default":5"#)));
    let store = SchemaStore::default();
    let id = store.add(&field("")).unwrap();
    assert_eq!(store.add(&field(r#","doc":"d","default":5"#)), Ok(id));
    let error = store.add(&field(r#","aliases":["x"]"#)).unwrap_err().to_string();
    assert!(error.contains("logical types") && error.contains("give the record another name"), "{error}");
}

#[test]
fn readers_that_differ_in_defaults_alone_have_plans_of_their_own() {
    let store = SchemaStore::new(Limits::default());
    let empty = schema(r#"{"type":"record","name":"R","fields":[]}"#);
    let id = store.add(&empty).unwrap();
    for default in [1, 2, 1] {
        let field = format!(r#"{{"name":"a","type":"int","default":{default}}}"#);
        let reader = schema(&format!(r#"{{"type":"record","name":"R","fields":[{field}]}}"#));
        let plan = store.plan(id, Some(&reader)).unwrap();
        assert_eq!(plan.row(&mut RowBuffer::new(), &[]).unwrap().at(0).unwrap().as_long(), Some(default));
        assert!(Arc::ptr_eq(&plan, &store.plan(id, Some(&reader)).unwrap()));
    }
}

#[test]
fn fingerprints_of_the_specification() {
    // From the specification's test cases, `share/test/data/schema-tests.txt`.
    for (json, print) in
        [(r#""null""#, 7_195_948_357_588_979_594_i64), (r#"{"type":"boolean"}"#, -6_970_731_678_124_411_036)]
    {
        assert_eq!(schema(json).fingerprint(), print.cast_unsigned(), "{json}");
    }
    let json =
        r#"{"fields":[{"type":{"type":"int"},"name":"f1","doc":"d"}],"type":"record","name":"foo","aliases":["x"]}"#;
    assert_eq!(schema(json).canonical(), r#"{"name":"foo","type":"record","fields":[{"name":"f1","type":"int"}]}"#);
}

const CODECS: [Codec; 4] = [Codec::Null, Codec::Deflate, Codec::Snappy, Codec::Zstandard];

fn write(codec: Codec, count: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ContainerWriter::new(&schema(MEASUREMENT), codec, [7; 16], &mut file);
    for _ in 0..count {
        writer.push(&measurement(), &mut file).unwrap();
    }
    writer.flush(&mut file).unwrap();
    file
}

fn read(file: &[u8]) -> Result<i64, ContainerError> {
    let mut sum = 0;
    let mut reader = ContainerReader::open(file, None, Limits::default())?;
    reader.for_each(&mut RowBuffer::new(), |row| sum += row.at(3).unwrap().as_long().unwrap())?;
    Ok(sum)
}

#[test]
fn containers_with_every_codec() {
    for codec in CODECS {
        assert_eq!(read(&write(codec, 0)), Ok(0));
        let file = write(codec, 2000);
        assert_eq!(read(&file), Ok(2000), "{codec:?}");
        let reader = ContainerReader::open(&file, None, Limits::default()).unwrap();
        assert_eq!((reader.codec(), reader.metadata().len()), (codec, 2));
        // A cut file, except at a block's end, and each byte of a small one changed.
        let file = write(codec, 2);
        let head = write(codec, 0).len();
        for length in 0..file.len() {
            assert_eq!(read(&file[..length]).is_ok(), length == head, "{codec:?} {length}");
        }
        for at in 0..file.len() {
            let mut bad = file.clone();
            bad[at] ^= 0x55;
            let _ = read(&bad);
        }
        let mut bad = file;
        *bad.last_mut().unwrap() ^= 1;
        assert!(read(&bad).unwrap_err().to_string().contains("sync marker"));
    }
}

#[test]
fn apache_avro_reads_our_containers_and_we_read_theirs() {
    let theirs = apache_avro::Schema::parse_str(MEASUREMENT).unwrap();
    let codecs = [
        (Codec::Null, apache_avro::Codec::Null),
        (Codec::Deflate, apache_avro::Codec::Deflate(Default::default())),
        (Codec::Snappy, apache_avro::Codec::Snappy),
    ];
    for (ours, codec) in codecs {
        let file = write(ours, 1500);
        let values: Vec<_> = apache_avro::Reader::new(&file[..]).unwrap().map(Result::unwrap).collect();
        assert_eq!(values.len(), 1500);
        let mut writer = apache_avro::Writer::with_codec(&theirs, Vec::new(), codec).unwrap();
        for value in values {
            writer.append_value(value).unwrap();
        }
        let file = writer.into_inner().unwrap();
        assert_eq!(read(&file), Ok(1500));
        assert_eq!(ContainerReader::open(&file, None, Limits::default()).unwrap().codec(), ours);
    }
}

#[test]
fn counts_that_lie_end() {
    let mut file = Vec::new();
    ContainerWriter::new(&schema(r#""null""#), Codec::Null, [7; 16], &mut file);
    for block in [&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0][..], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0x7f, 2, 1]]
    {
        let bad = [&file[..], block, &[7; 16]].concat();
        let error =
            ContainerReader::open(&bad, None, Limits::default()).unwrap().for_each(&mut RowBuffer::new(), |_| {});
        assert!(matches!(error, Err(ContainerError::Value { .. })), "{error:?}");
    }
}
