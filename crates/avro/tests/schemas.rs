//! Schemas: refused ones with the reason, valid defaults, and hostile ones that must not cost time.

#![allow(clippy::unwrap_used)]

mod support;

use rawline_avro::{Kind, Limits, Logical, Plan, Schema};
use support::{pass, schema};

fn refuse(json: &str) -> String {
    Schema::parse(json).unwrap_err().to_string()
}

/// A record of one field.
fn record(name: &str, field: &str) -> String {
    format!(r#"{{"type":"record","name":"{name}","fields":[{field}]}}"#)
}

#[test]
fn a_default_of_a_record_defined_in_place_takes_that_records_own() {
    let inner = record("Inner", r#"{"name":"n","type":"int","default":7}"#);
    let reader = record("Outer", &format!(r#"{{"name":"inner","type":{inner},"default":{{}}}}"#));
    assert_eq!(pass(&record("Outer", ""), &reader, "{}"), r#"{"inner":{"n":7}}"#);
}

#[test]
fn a_default_of_a_record_within_itself_may_leave_out_a_later_field() {
    let fields = r#"{"name":"items","type":{"type":"array","items":"R"},"default":[{"items":[]}]},
        {"name":"later","type":"int","default":5}"#;
    let wanted = r#"{"items":[{"items":[],"later":5}],"later":5}"#;
    assert_eq!(pass(&record("R", ""), &record("R", fields), "{}"), wanted);
}

#[test]
fn a_default_that_contains_itself_is_refused() {
    let error = refuse(&record("R", r#"{"name":"r","type":"R","default":{}}"#));
    assert!(error.contains("the default of field \"r\" of \"R\""), "{error}");
}

/// Each level holds the one below twice, so that its default is twice as long; 3.4 kB of JSON ask for 2^40 bytes.
#[test]
fn defaults_that_double_at_each_level_are_refused_at_once() {
    let mut json = record("R0", r#"{"name":"x","type":"int","default":1}"#);
    for level in 1..40 {
        let (first, second) = (format!(r#"{{"name":"a","type":{json},"default":{{}}}}"#), level - 1);
        json = record(&format!("R{level}"), &format!(r#"{first},{{"name":"b","type":"R{second}","default":{{}}}}"#));
    }
    assert!(json.len() < 5_000, "{}", json.len());
    let error = refuse(&json);
    assert!(error.contains("16 MiB"), "{error}");
}

/// As above, but of records without a byte.
#[test]
fn nested_defaults_without_bytes_are_read() {
    let mut json = record("R0", "");
    for level in 1..40 {
        json = record(&format!("R{level}"), &format!(r#"{{"name":"a","type":{json},"default":{{}}}}"#));
    }
    schema(&json);
}

/// Each took minutes when names were searched one by one: 10^10 comparisons. The limits count work, not time.
#[test]
fn planning_takes_time_in_proportion_to_the_schema() {
    const COUNT: usize = 60_000;
    let list = |of: &dyn Fn(usize) -> String| (0..COUNT).map(of).collect::<Vec<_>>().join(",");
    let quoted = |of: &dyn Fn(usize) -> String| list(&|i| format!("\"{}\"", of(i)));
    let symbols = |of: &dyn Fn(usize) -> String| format!(r#"{{"type":"enum","name":"E","symbols":[{}]}}"#, quoted(of));
    let fields =
        |of: &dyn Fn(usize) -> String| record("R", &list(&|i| format!(r#"{{"name":"{}","type":"int"}}"#, of(i))));
    let union = |of: &dyn Fn(usize) -> String| {
        format!("[{}]", list(&|i| format!(r#"{{"type":"fixed","name":"{}","size":1}}"#, of(i))))
    };
    let (forward, backward) = (|i: usize| format!("a{i}"), |i: usize| format!("a{}", COUNT - 1 - i));
    for (writer, reader) in [
        (symbols(&forward), symbols(&backward)),
        (fields(&forward), fields(&backward)),
        (union(&forward), union(&backward)),
    ] {
        Plan::new(&schema(&writer), &schema(&reader), Limits::default()).unwrap();
    }
}

#[test]
fn unions_whose_branches_all_look_alike_are_refused_instead_of_compared_without_end() {
    let union = |prefix: &str, fields: &str| {
        let branch = |i: usize| {
            format!(r#"{{"type":"record","name":"{prefix}{i}.X","fields":[{{"name":"{fields}","type":"int"}}]}}"#)
        };
        format!("[{}]", (0..2_000).map(branch).collect::<Vec<_>>().join(","))
    };
    let plan = Plan::new(&schema(&union("a", "f")), &schema(&union("b", "g")), Limits::default());
    assert!(plan.unwrap_err().to_string().contains("split them"));
}

#[test]
fn what_a_schema_may_not_say_is_named() {
    for (json, wanted) in [
        ("5", "found 5"),
        (r#"{"name":"R"}"#, "no \"type\""),
        (r#"{"type":"record","fields":[]}"#, "no \"name\""),
        (r#"{"type":"record","name":"R"}"#, "\"fields\""),
        (r#"{"type":"record","name":"R","fields":[{"type":"int"}]}"#, "field 0 of the record \"R\" has no \"name\""),
        (r#"{"type":"record","name":"R","fields":[{"name":"a"}]}"#, "has no \"type\""),
        (r#"{"type":"record","name":"R","fields":[{"name":"a b","type":"int"}]}"#, "\"a b\""),
        (
            r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}"#,
            "like an earlier field",
        ),
        (r#"{"type":"record","name":"1","fields":[]}"#, "doesn't begin with a digit"),
        (r#"{"type":"enum","name":"E","symbols":["A","A"]}"#, "duplicate"),
        (r#"{"type":"enum","name":"E","symbols":["A-B"]}"#, "\"A-B\""),
        (r#"{"type":"enum","name":"E","symbols":["A"],"default":"B"}"#, "\"B\""),
        (r#"{"type":"fixed","name":"F","size":-1}"#, "\"size\""),
        (r#"{"type":"array"}"#, "\"items\""),
        (r#"{"type":"map"}"#, "\"values\""),
        (r#"["int","int"]"#, "two branches of one type, int"),
        (r#"["string",{"type":"string","logicalType":"uuid"}]"#, "two branches of one type, string"),
        (r#"["null",["int"]]"#, "directly within a union"),
        (r#"{"type":"array","items":"Other"}"#, "\"Other\""),
        (r#"[{"type":"fixed","name":"F","size":1},{"type":"fixed","name":"F","size":2}]"#, "more than once"),
    ] {
        let error = refuse(json);
        assert!(error.contains(wanted), "{json}: {error}");
    }
}

#[test]
fn names_have_the_namespace_around_them_or_their_own() {
    let json = r#"{"type":"record","name":"a.b.R","fields":[
        {"name":"e","type":{"type":"enum","name":"E","symbols":["X"],"aliases":["Old","c.Old"]}},
        {"name":"f","type":{"type":"fixed","name":"F","namespace":"c","size":1}},
        {"name":"g","type":{"type":"fixed","name":"F","namespace":"","size":1}},
        {"name":"again","type":["a.b.E","E2"],"default":"X"}]}"#;
    assert!(refuse(json).contains("\"a.b.E2\""));
    let schema = schema(&json.replace(r#"["a.b.E","E2"]"#, r#"["E","c.F",".F","R"]"#));
    let Kind::Record(record) = schema.kind(schema.root()) else { unreachable!() };
    let names: Vec<_> = record.fields.iter().map(|field| schema.kind(field.type_id).name()).collect();
    assert_eq!(names, ["a.b.E", "c.F", "F", "union"]);
    let Kind::Enum(symbols) = schema.kind(record.fields.first().unwrap().type_id) else { unreachable!() };
    assert_eq!(symbols.name.aliases, ["a.b.Old", "c.Old"]);
}

#[test]
fn a_logical_type_that_does_not_fit_is_ignored() {
    let logical = |json: &str| {
        let schema = schema(json);
        schema.type_at(schema.root()).logical
    };
    assert_eq!(logical(r#"{"type":"int","logicalType":"date"}"#), Some(Logical::Date));
    assert_eq!(logical(r#"{"type":{"type":"int"},"logicalType":"date"}"#), Some(Logical::Date));
    for json in [
        r#"{"type":"long","logicalType":"date"}"#,
        r#"{"type":"bytes","logicalType":"decimal"}"#,
        r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}"#,
        r#"{"type":"fixed","name":"F","size":15,"logicalType":"uuid"}"#,
        r#"{"type":"string","logicalType":"of another library"}"#,
        r#"{"type":"int","logicalType":7}"#,
    ] {
        assert_eq!(logical(json), None, "{json}");
    }
}

#[test]
fn the_fingerprint_of_a_string_is_the_specifications() {
    assert_eq!(schema(r#""string""#).fingerprint(), 0x8f01_4872_6345_03c7);
}
