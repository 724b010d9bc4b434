//! Messages into derived types and back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeMap;

use rawline_avro::{Limits, Plan, ReadError, RowBuffer};
use serde::{Deserialize, Serialize};
use support::{MEASUREMENT, measurement, plan, schema};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Measurement<'a> {
    metric: &'a str,
    #[serde(borrow)]
    tags: BTreeMap<&'a str, &'a str>,
    logtime: i64,
    value: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Swapped {
    value: f64,
    metric: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64, name: Option<String> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Drawing {
    shapes: Vec<Shape>,
    colour: Colour,
    parent: Option<Box<Drawing>>,
    pair: (i32, i32),
}

const DRAWING: &str = r#"{"type":"record","name":"Drawing","fields":[
    {"name":"colour","type":{"type":"enum","name":"Colour","symbols":["Green","Red"]}},
    {"name":"shapes","type":{"type":"array","items":[
        {"type":"record","name":"Circle","fields":[{"name":"radius","type":"double"}]},
        {"type":"record","name":"Square","fields":[{"name":"name","type":["null","string"]},{"name":"side",
            "type":"double"}]}]}},
    {"name":"parent","type":["null","Drawing"]},
    {"name":"pair","type":{"type":"array","items":"int"}},
    {"name":"note","type":"string","default":"none"}]}"#;

#[test]
fn a_measurement_borrows_its_texts() {
    let plan = plan(MEASUREMENT, MEASUREMENT);
    let message = measurement();
    let read: Measurement = plan.read(&mut RowBuffer::new(), &message).unwrap();
    assert_eq!(
        (read.metric, read.tags["tag3"], read.logtime, read.value),
        ("metric.name", "value3", 1_600_000_000_000, 1)
    );
    assert!(message.as_ptr_range().contains(&read.metric.as_ptr()));
    let mut written = Vec::new();
    schema(MEASUREMENT).encode(&read, &mut written).unwrap();
    assert_eq!(plan.read::<Measurement>(&mut RowBuffer::new(), &written).unwrap(), read);
}

#[test]
fn fields_are_found_by_name() {
    let swapped: Swapped = Swapped { value: 2.0, metric: "m".to_owned() };
    let json = r#"{"type":"record","name":"S","fields":[{"name":"metric","type":"string"},{"name":"other",
        "type":"int","default":9},{"name":"value","type":"double"}]}"#;
    let mut written = Vec::new();
    schema(json).encode(&swapped, &mut written).unwrap();
    assert_eq!(support::json(&plan(json, json), &written).unwrap(), r#"{"metric":"m","other":9,"value":2.0}"#);
    let plan = plan(json, json);
    assert_eq!(plan.read::<Swapped>(&mut RowBuffer::new(), &written).unwrap(), swapped);
    let error = plan.read::<Measurement>(&mut RowBuffer::new(), &written).unwrap_err();
    assert!(matches!(error, ReadError::Shape(_)), "{error}");
}

#[test]
fn enums_unions_and_recursion() {
    let inner = Drawing { shapes: vec![], colour: Colour::Green, parent: None, pair: (-1, 2) };
    let shapes = vec![Shape::Square { side: 1.0, name: Some("s".to_owned()) }, Shape::Circle { radius: 0.5 }];
    let drawing = Drawing { shapes, colour: Colour::Red, parent: Some(Box::new(inner)), pair: (3, 4) };
    let schema = schema(DRAWING);
    let mut written = Vec::new();
    schema.encode(&drawing, &mut written).unwrap();
    let plan = Plan::same(&schema, Limits::default()).unwrap();
    assert_eq!(plan.read::<Drawing>(&mut RowBuffer::new(), &written).unwrap(), drawing);
}

#[test]
fn a_double_becomes_a_float_that_is_infinite_only_if_it_was() {
    let float = schema(r#""float""#);
    let encode = |value: f64| {
        let mut out = Vec::new();
        float.encode(&value, &mut out).map(|()| f32::from_le_bytes(out.try_into().unwrap()))
    };
    assert!(encode(f64::NAN).unwrap().is_nan());
    assert_eq!(encode(f64::INFINITY).unwrap(), f32::INFINITY);
    assert_eq!(encode(f64::NEG_INFINITY).unwrap(), f32::NEG_INFINITY);
    assert_eq!(encode(0.1).unwrap(), 0.1);
    assert_eq!(encode(1e300).unwrap_err().to_string(), format!("expected float, found the number {}", 1e300));
    // Of both, a double keeps what the value has.
    let mut out = Vec::new();
    schema(r#"["float","double"]"#).encode(&0.1, &mut out).unwrap();
    assert_eq!((out[0], out.len()), (2, 9));
}

#[test]
fn values_that_do_not_fit_leave_nothing() {
    let schema = schema(MEASUREMENT);
    let mut out = vec![1];
    let refuse = |error: rawline_avro::EncodeError| error.to_string();
    assert_eq!(refuse(schema.encode(&5, &mut out).unwrap_err()), "expected rawline.Measurement, found the integer 5");
    let swapped = Swapped { value: 1.0, metric: String::new() };
    assert_eq!(
        refuse(schema.encode(&swapped, &mut out).unwrap_err()),
        "field value: expected long, found the number 1"
    );
    let map = BTreeMap::from([("metric", "m")]);
    let error = refuse(schema.encode(&map, &mut out).unwrap_err());
    assert_eq!(error, "field tags: expected a value, since it has no default, found nothing");
    assert_eq!(out, [1]);
}
