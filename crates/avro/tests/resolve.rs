//! Messages of one schema read as another.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_avro::{FaultKind, Limits, Plan};
use support::{json, pass, plan, schema};

fn record(name: &str, fields: &str) -> String {
    format!(r#"{{"type":"record","name":"{name}","fields":[{fields}]}}"#)
}

fn refuse(writer: &str, reader: &str) -> String {
    Plan::new(&schema(writer), &schema(reader), Limits::default()).unwrap_err().to_string()
}

#[test]
fn three_versions_of_one_schema_each_read_with_each() {
    // The second adds a unit and drops the host; the third renames, reorders, promotes and nests.
    let versions = [
        record(
            "M",
            r#"{"name":"metric","type":"string"},{"name":"host","type":"string","default":"?"},
            {"name":"value","type":"int"}"#,
        ),
        record(
            "M",
            r#"{"name":"metric","type":"string"},{"name":"value","type":"long"},{"name":"unit",
            "type":["null","string"],"default":null}"#,
        ),
        record(
            "N",
            r#"{"name":"amount","type":"double","aliases":["value"]},{"name":"unit","type":["string","null"],
                "default":"none"},
            {"name":"metric","type":"bytes"},{"name":"at","type":{"type":"record","name":"P","fields":[{"name":"x",
                "type":"int"},{"name":"y","type":{"type":"array","items":"string"}}]},"default":{"x":7,"y":["a",
                "b"]}}"#,
        )
        .replace(r#""name":"N""#, r#""name":"N","aliases":["M"]"#),
    ];
    let values = [
        r#"{"metric":"cpu","host":"a","value":5}"#,
        r#"{"metric":"cpu","value":6,"unit":"s"}"#,
        r#"{"amount":7.0,"unit":null,"metric":"cpu","at":{"x":1,"y":[]}}"#,
    ];
    let wanted: [[Result<&str, &str>; 3]; 3] = [
        [
            Ok(values[0]),
            Ok(r#"{"metric":"cpu","value":5,"unit":null}"#),
            Ok(r#"{"amount":5.0,"unit":"none","metric":"cpu","at":{"x":7,"y":["a","b"]}}"#),
        ],
        [
            Err("field value: the writer's long can't be read as int"),
            Ok(values[1]),
            Ok(r#"{"amount":6.0,"unit":"s","metric":"cpu","at":{"x":7,"y":["a","b"]}}"#),
        ],
        [
            Err("the writer's N can't be read as M; if it was renamed, add the old name as an alias"),
            Err("the writer's N can't be read as M; if it was renamed, add the old name as an alias"),
            Ok(values[2]),
        ],
    ];
    for (writer, wanted) in wanted.iter().enumerate() {
        for (reader, wanted) in wanted.iter().enumerate() {
            match wanted {
                Ok(wanted) => assert_eq!(pass(&versions[writer], &versions[reader], values[writer]), *wanted),
                Err(wanted) => assert_eq!(refuse(&versions[writer], &versions[reader]), *wanted),
            }
        }
    }
}

#[test]
fn promotions() {
    let all = ["int", "long", "float", "double", "string", "bytes"];
    let allowed = [
        ("int", "long"),
        ("int", "float"),
        ("int", "double"),
        ("long", "float"),
        ("long", "double"),
        ("float", "double"),
        ("string", "bytes"),
        ("bytes", "string"),
    ];
    for writer in all {
        for reader in all {
            let (from, to) = (format!("{writer:?}"), format!("{reader:?}"));
            if writer == reader || allowed.contains(&(writer, reader)) {
                let value = if writer == "string" || writer == "bytes" { r#""a""# } else { "3" };
                let wanted = if reader == "float" || reader == "double" { "3.0" } else { value };
                assert_eq!(pass(&from, &to, value), wanted, "{writer} {reader}");
            } else {
                assert_eq!(refuse(&from, &to), format!("the writer's {writer} can't be read as {reader}"));
            }
        }
    }
    // Bytes that become a string are checked.
    let error = json(&plan(r#""bytes""#, r#""string""#), &[2, 0xff]).unwrap_err();
    assert_eq!(error.fault.kind, FaultKind::Utf8);
}

#[test]
fn unions_on_either_side() {
    assert_eq!(pass(r#"["null","int"]"#, r#"["string","long","null"]"#, "5"), "5");
    assert_eq!(pass(r#"["null","int"]"#, r#""long""#, "5"), "5");
    assert_eq!(pass(r#""int""#, r#"["null","double","int"]"#, "5"), "5");
    assert_eq!(pass(r#""int""#, r#"["null","double"]"#, "5"), "5.0");
    // Refused only when it comes.
    let plan = plan(r#"["null","int"]"#, r#""long""#);
    assert_eq!(json(&plan, &[0]).unwrap_err().fault.kind, FaultKind::Unresolvable);
    assert_eq!(refuse(r#"["null","string"]"#, r#""int""#), "the writer's null can't be read as int");
    assert_eq!(
        refuse(r#""string""#, r#"["null","int"]"#),
        "no branch of the reader's union accepts the writer's string"
    );
    // A branch that has the same name but does not fit leaves the next one.
    let a = record("a.R", r#"{"name":"x","type":"string"}"#);
    let union = format!(
        "[{},{}]",
        record("a.R", r#"{"name":"x","type":"int"}"#),
        record("b.R", r#"{"name":"x","type":"bytes"}"#)
    );
    assert_eq!(pass(&a, &union, r#"{"x":"t"}"#), r#"{"x":"t"}"#);
}

#[test]
fn enums_and_fixed() {
    let symbols =
        |symbols: &str, default: &str| format!(r#"{{"type":"enum","name":"E","symbols":[{symbols}]{default}}}"#);
    let (from, to) = (symbols(r#""A","B","C""#, ""), symbols(r#""C","A""#, ""));
    assert_eq!(pass(&from, &to, r#""C""#), r#""C""#);
    assert_eq!(json(&plan(&from, &to), &[2]).unwrap_err().fault.kind, FaultKind::Unresolvable);
    assert_eq!(pass(&from, &symbols(r#""C","A""#, r#","default":"A""#), r#""B""#), r#""A""#);
    let fixed = |size: u8| format!(r#"{{"type":"fixed","name":"n.F","size":{size}}}"#);
    assert_eq!(pass(&fixed(2), &fixed(2), r#""ab""#), r#""ab""#);
    assert!(refuse(&fixed(2), &fixed(3)).contains("has 2 bytes, the reader's 3"));
}

#[test]
fn removed_fields_of_every_type_are_passed_over() {
    let writer = record(
        "R",
        r#"{"name":"a","type":"boolean"},{"name":"b","type":{"type":"map","values":{"type":"array",
            "items":"double"}}},{"name":"k","type":"int"},
        {"name":"c","type":["null",{"type":"record","name":"L","fields":[{"name":"s","type":"string"},{"name":"n",
            "type":["null","L"]}]}]},
        {"name":"d","type":{"type":"fixed","name":"F","size":3}},{"name":"e","type":{"type":"enum","name":"E",
            "symbols":["X"]}},{"name":"m","type":"L"}"#,
    );
    let reader = record("R", r#"{"name":"k","type":"int"}"#);
    let value = r#"{"a":true,"b":{"x":[1,2,3],"y":[]},"k":42,"c":{"s":"a","n":{"s":"b","n":null}},
        "d":"abc","e":"X","m":{"s":"z","n":null}}"#;
    assert_eq!(pass(&writer, &reader, value), r#"{"k":42}"#);
    let mut message = Vec::new();
    schema(&writer).encode_json(value, &mut message).unwrap();
    let plan = plan(&writer, &reader);
    for length in 0..message.len() {
        let error = json(&plan, &message[..length]).unwrap_err();
        assert!(!error.path.is_empty(), "{length} {error}");
    }
    assert_eq!(json(&plan, &message[..message.len() - 1]).unwrap_err().path, "m");
}

#[test]
fn blocks_are_passed_over_by_their_size() {
    let writer = record("R", r#"{"name":"a","type":{"type":"array","items":"string"}},{"name":"k","type":"int"}"#);
    let plan = plan(&writer, &record("R", r#"{"name":"k","type":"int"}"#));
    // The block's bytes are no strings, but its size says where it ends.
    assert_eq!(json(&plan, &[5, 6, 0xff, 0xff, 0xff, 0, 2]).unwrap(), r#"{"k":1}"#);
    assert_eq!(json(&plan, &[5, 8, 0xff, 0xff, 0xff, 0, 2]).unwrap_err().fault.kind, FaultKind::Length);
    assert_eq!(json(&plan, &[5, 5, 0xff, 0xff, 0xff, 0, 2]).unwrap_err().fault.kind, FaultKind::Length);
    // 2^60 elements of no bytes take no time.
    let nulls = record("R", r#"{"name":"a","type":{"type":"array","items":"null"}},{"name":"k","type":"int"}"#);
    let message = [vec![0x80; 8], vec![0x40, 0, 2]].concat();
    assert_eq!(
        json(&self::plan(&nulls, &record("R", r#"{"name":"k","type":"int"}"#)), &message).unwrap(),
        r#"{"k":1}"#
    );
}

#[test]
fn recursive_types_evolve() {
    let writer = record(
        "T",
        r#"{"name":"v","type":"int"},{"name":"gone","type":"string"},{"name":"kids","type":{"type":"array",
            "items":"T"}}"#,
    );
    let reader = record(
        "T",
        r#"{"name":"kids","type":{"type":"array","items":"T"}},{"name":"v","type":"long"},{"name":"new",
            "type":["null","T"],"default":null}"#,
    );
    let value = r#"{"v":1,"gone":"x","kids":[
        {"v":2,"gone":"","kids":[{"v":3,"gone":"","kids":[]}]},{"v":4,"gone":"","kids":[]}]}"#;
    let wanted = concat!(
        r#"{"kids":[{"kids":[{"kids":[],"v":3,"new":null}],"v":2,"new":null},"#,
        r#"{"kids":[],"v":4,"new":null}],"v":1,"new":null}"#
    );
    assert_eq!(pass(&writer, &reader, value), wanted);
}

#[test]
fn what_does_not_fit_names_the_field() {
    let writer = record(
        "R",
        r#"{"name":"a","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"p",
            "type":"string"}]}}}"#,
    );
    let reader = record(
        "R",
        r#"{"name":"a","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"p",
            "type":"int"}]}}}"#,
    );
    assert_eq!(refuse(&writer, &reader), "field a[].p: the writer's string can't be read as int");
    let reader = record("R", r#"{"name":"a","type":{"type":"array","items":"int"}},{"name":"b","type":"int"}"#);
    assert_eq!(
        refuse(&record("R", ""), &reader),
        "field a: the writer's schema lacks it; give it a default in the reader's"
    );
}
