//! Messages read as they were written, good and bad.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_avro::{FaultKind, Limits, Plan, RowBuffer};
use support::{MEASUREMENT, json, measurement, plan, schema};

#[test]
fn the_articles_message() {
    let plan = plan(MEASUREMENT, MEASUREMENT);
    let message = measurement();
    let mut buffer = RowBuffer::new();
    for _ in 0..2 {
        let row = plan.row(&mut buffer, &message).unwrap();
        assert_eq!(row.field("metric").unwrap().as_str(), Some("metric.name"));
        assert_eq!(row.at(2).unwrap().as_long(), Some(1_600_000_000_000));
        assert_eq!(row.at(3).unwrap().as_long(), Some(1));
        let tags: Vec<_> = row.field("tags").unwrap().entries().map(|(k, v)| (k, v.as_str().unwrap())).collect();
        let wanted =
            [("tag1", "value1"), ("tag4", "value4"), ("tag5", "value5"), ("tag2", "value2"), ("tag3", "value3")];
        assert_eq!(tags, wanted);
        assert!(row.at(4).is_none() && row.field("other").is_none());
        let mut again = Vec::new();
        row.datum().encode(&mut again);
        assert_eq!(again, message);
    }
}

#[test]
fn a_cut_message_names_field_and_byte() {
    let plan = plan(MEASUREMENT, MEASUREMENT);
    let message = measurement();
    for length in 0..message.len() {
        let error = json(&plan, &message[..length]).unwrap_err();
        assert!(matches!(error.fault.kind, FaultKind::Truncated | FaultKind::Length), "{length}: {error}");
        assert!(error.fault.position <= length, "{error}");
        let path = match length {
            0..12 => "metric",
            12 => "tags",
            73 => "tags",
            13..74 => "tags",
            74..80 => "logtime",
            _ => "value",
        };
        assert!(error.path.starts_with(path), "{length}: {error}");
    }
    let mut long = message;
    long.push(0);
    let error = json(&plan, &long).unwrap_err();
    assert_eq!((error.fault.kind, error.fault.position), (FaultKind::Remainder, 81));
}

#[test]
fn text_that_is_not_utf8_is_refused_where_it_is() {
    let plan = plan(MEASUREMENT, MEASUREMENT);
    let good = measurement();
    for at in [1, 11, 14, 19, 72] {
        let mut message = good.clone();
        message[at] = 0xff;
        let error = json(&plan, &message).unwrap_err();
        assert_eq!(error.fault.kind, FaultKind::Utf8, "{at}");
        assert!(error.fault.position < at && error.fault.position + 12 > at, "{at} {error}");
    }
    // Two-byte characters, at the end and at the begin of a string.
    let mut message = good;
    message[10..12].copy_from_slice("ä".as_bytes());
    message[14..16].copy_from_slice("ö".as_bytes());
    assert!(json(&plan, &message).unwrap().starts_with(r#"{"metric":"metric.naä","tags":{"ög1":"value1""#));
}

#[test]
fn blocks_with_sizes_are_read_and_checked() {
    let array = r#"{"type":"array","items":"long"}"#;
    let plan = plan(array, array);
    assert_eq!(json(&plan, &[0]).unwrap(), "[]");
    // A block of two that says three bytes, then one of one.
    assert_eq!(json(&plan, &[3, 6, 2, 0x80, 1, 2, 4, 0]).unwrap(), "[1,64,2]");
    for wrong in [[3, 4, 2, 0x80, 1, 2, 4, 0], [3, 8, 2, 0x80, 1, 2, 4, 0], [3, 5, 2, 0x80, 1, 2, 4, 0]] {
        assert_eq!(json(&plan, &wrong).unwrap_err().fault.kind, FaultKind::Length, "{wrong:?}");
    }
    // The least number, whose opposite does not exist, and a size that is larger than the message.
    let mut least = vec![0xff; 9];
    least.extend([1, 0, 0]);
    assert_eq!(json(&plan, &least).unwrap_err().fault.kind, FaultKind::Length);
}

#[test]
fn lying_counts_cost_nothing() {
    let nulls = r#"{"type":"array","items":"null"}"#;
    let mut message = vec![0x80; 8];
    message.extend([0x40, 0]);
    let error = json(&plan(nulls, nulls), &message).unwrap_err();
    assert_eq!(error.fault.kind, FaultKind::Elements, "{error}");
    let longs = r#"{"type":"array","items":"long"}"#;
    assert_eq!(json(&plan(longs, longs), &message).unwrap_err().fault.kind, FaultKind::Length);
    // Elements of no bytes in blocks of few still add up.
    let limits = Limits { elements_max: 10, ..Limits::default() };
    let plan = Plan::same(&schema(nulls), limits).unwrap();
    assert_eq!(json(&plan, &[10, 10, 0]).unwrap().matches("null").count(), 10);
    assert_eq!(json(&plan, &[10, 12, 0]).unwrap_err().fault.kind, FaultKind::Elements);
    // Records of no bytes.
    let empty = r#"{"type":"array","items":{"type":"record","name":"E","fields":[]}}"#;
    assert_eq!(json(&self::plan(empty, empty), &message).unwrap_err().fault.kind, FaultKind::Elements);
}

#[test]
fn a_list_is_as_deep_as_the_limit() {
    let list =
        r#"{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}"#;
    let limits = Limits { depth_max: 8, ..Limits::default() };
    let plan = Plan::same(&schema(list), limits).unwrap();
    let message = |depth: usize| [[2, 2].repeat(depth), vec![2, 0]].concat();
    assert_eq!(json(&plan, &message(1)).unwrap(), r#"{"v":1,"next":{"v":1,"next":null}}"#);
    assert!(json(&plan, &message(3)).is_ok());
    let error = json(&plan, &message(4)).unwrap_err();
    assert_eq!((error.fault.kind, error.path.as_str()), (FaultKind::Depth, "next.next.next.next"));
    let endless = r#"{"type":"record","name":"E","fields":[{"name":"e","type":"E"}]}"#;
    assert_eq!(json(&self::plan(endless, endless), &[]).unwrap_err().fault.kind, FaultKind::Depth);
}

#[test]
fn paths_name_elements_of_shared_types() {
    let point = r#"{"type":"record","name":"P","fields":[{"name":"x","type":"boolean"}]}"#;
    let both = format!(
        r#"{{"type":"record","name":"R","fields":[{{"name":"a","type":{point}}},{{"name":"b",
            "type":{{"type":"array","items":"P"}}}},
        {{"name":"c","type":{{"type":"map","values":["null","P"]}}}}]}}"#
    );
    let plan = plan(&both, &both);
    assert_eq!(json(&plan, &[1, 2, 0, 0, 0]).unwrap(), r#"{"a":{"x":true},"b":[{"x":false}],"c":{}}"#);
    let path = |message: &[u8]| json(&plan, message).unwrap_err().path;
    assert_eq!(path(&[2]), "a.x");
    assert_eq!(path(&[1, 2, 2]), "b[].x");
    assert_eq!(path(&[1, 0, 2, 2, b'k', 2, 2]), "c.value.x");
    assert_eq!(path(&[1, 0, 2, 2, b'k', 4]), "c.value");
}

#[test]
fn every_type() {
    let all = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"null"},{"name":"b","type":"boolean"},
        {"name":"c","type":"int"},{"name":"d","type":"float"},{"name":"e","type":"double"},{"name":"f","type":"bytes"},
        {"name":"g","type":{"type":"enum","name":"E","symbols":["X","Y"]}},{"name":"h","type":{"type":"fixed",
            "name":"F","size":2}},
        {"name":"i","type":["string","F","E"]}]}"#;
    let text = r#"{"a":null,"b":true,"c":-2147483648,"d":1.5,"e":"NaN","f":"ÿ\u0000","g":"Y","h":"ab","i":"Y"}"#;
    assert_eq!(support::pass(all, all, text), text);
    let plan = plan(all, all);
    let mut message = Vec::new();
    schema(all).encode_json(text, &mut message).unwrap();
    let mut buffer = RowBuffer::new();
    let row = plan.row(&mut buffer, &message).unwrap();
    assert!(row.at(0).unwrap().is_null() && row.at(1).unwrap().as_bool().unwrap());
    assert_eq!(row.at(3).unwrap().as_double(), Some(1.5));
    assert_eq!(row.at(5).unwrap().as_bytes(), Some(&[0xff, 0][..]));
    assert_eq!(row.at(6).unwrap().as_symbol(), Some(1));
    assert_eq!(row.at(8).unwrap().branch(), Some(0));
    // A boolean of 2, an int of 33 bits, a branch and a symbol that do not exist.
    let refused = |schema: &str, message: &[u8]| json(&self::plan(schema, schema), message).unwrap_err().fault.kind;
    assert_eq!(refused(r#""boolean""#, &[2]), FaultKind::Boolean);
    assert_eq!(refused(r#""int""#, &[0x80, 0x80, 0x80, 0x80, 0x10]), FaultKind::IntegerTooLong);
    assert_eq!(refused(r#"["null"]"#, &[2]), FaultKind::Branch);
    assert_eq!(refused(r#"["null"]"#, &[1]), FaultKind::Branch);
    assert_eq!(refused(r#"{"type":"enum","name":"E","symbols":["X"]}"#, &[2]), FaultKind::Branch);
}
