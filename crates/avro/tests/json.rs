//! JSON to Avro and back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use support::{pass, schema};

fn refuse(json: &str, value: &str) -> String {
    let mut out = vec![7];
    let error = schema(json).encode_json(value, &mut out).unwrap_err();
    assert_eq!(out, [7], "what was there before stays alone");
    error.to_string()
}

#[test]
fn logical_types_as_people_write_them() {
    let of = |kind: &str, logical: &str| format!(r#"{{"type":"{kind}","logicalType":"{logical}"}}"#);
    let cases = [
        (of("long", "timestamp-millis"), r#""2020-09-13T12:26:40.5Z""#, "1600000000500"),
        (of("long", "timestamp-micros"), r#""1969-12-31T23:59:59.999999Z""#, "-1"),
        (of("long", "timestamp-nanos"), r#""1970-01-01T00:00:00.000000001Z""#, "1"),
        (of("long", "local-timestamp-millis"), r#""2020-09-13T12:26:40""#, "1600000000000"),
        (of("int", "date"), r#""2020-09-13""#, "18518"),
        (of("int", "time-millis"), r#""12:26:40.5""#, "44800500"),
        (of("long", "time-micros"), r#""00:00:01""#, "1000000"),
    ];
    for (schema, text, number) in &cases {
        assert_eq!(pass(schema, schema, text), *text);
        assert_eq!(pass(schema, schema, number), *text);
    }
    // Outside of what a text can say, a number; a text finer than the unit is refused.
    assert_eq!(pass(&cases[0].0, &cases[0].0, "9223372036854775807"), "9223372036854775807");
    assert!(refuse(&cases[0].0, r#""2020-09-13T12:26:40.0001Z""#).starts_with("expected a timestamp such as"));
    let uuid = of("string", "uuid");
    assert_eq!(
        pass(&uuid, &uuid, r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#),
        r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#
    );
    assert!(refuse(&uuid, r#""6ba7b810""#).starts_with("expected a UUID"));
    let uuid = r#"{"type":"fixed","size":16,"name":"U","logicalType":"uuid"}"#;
    assert_eq!(
        pass(uuid, uuid, r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#),
        r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#
    );
    let duration = r#"{"type":"fixed","size":12,"name":"D","logicalType":"duration"}"#;
    assert_eq!(pass(duration, duration, r#"{"days":2}"#), r#"{"months":0,"days":2,"millis":0}"#);
}

#[test]
fn decimals() {
    let bytes = r#"{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}"#;
    let fixed = r#"{"type":"fixed","name":"F","size":4,"logicalType":"decimal","precision":6,"scale":2}"#;
    for schema in [bytes, fixed] {
        for (text, wanted) in [
            (r#""12.5""#, r#""12.50""#),
            ("-0.01", r#""-0.01""#),
            ("0", r#""0.00""#),
            ("1.28", r#""1.28""#),
            ("-1.28", r#""-1.28""#),
            (r#""9999.99""#, r#""9999.99""#),
            ("-327.68", r#""-327.68""#),
            ("327.68", r#""327.68""#),
            ("1.500", r#""1.50""#),
            ("1e3", r#""1000.00""#),
            (r#""1e3""#, r#""1000.00""#),
            (r#""+.5""#, r#""0.50""#),
            ("125E-2", r#""1.25""#),
        ] {
            assert_eq!(pass(schema, schema, text), wanted, "{text}");
        }
        for wrong in ["12345.67", r#""1.234""#, r#""x""#, r#""""#, r#""--1""#, "1e4", "1e-3", r#""٣""#] {
            let error = refuse(schema, wrong);
            assert!(error.starts_with("expected a decimal of at most 6 digits, 2 of them after the point"), "{error}");
        }
    }
}

/// A double has 15 to 17 digits, and a decimal as many as its precision.
#[test]
fn a_number_keeps_the_digits_that_a_double_lacks() {
    let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":38,"scale":2}"#;
    for text in [
        "1234567890123456.78",
        "9007199254740993.27",
        "12345678901234567.89",
        "18446744073709551616.00",
        "-1234567890123456.78",
        "123456789012345678901234567890123456.78",
        "0.01",
    ] {
        assert_eq!(pass(decimal, decimal, text), format!("\"{text}\""), "as a number");
        assert_eq!(pass(decimal, decimal, &format!("\"{text}\"")), format!("\"{text}\""), "as a string");
        let nullable = format!(r#"["null",{decimal}]"#);
        assert_eq!(pass(&nullable, &nullable, text), format!("\"{text}\""), "in a union");
    }
    // The same for whole numbers that are written with a point or an exponent.
    for (text, wanted) in [("9007199254740993.0", "9007199254740993"), ("9223372036854775807e0", "9223372036854775807")]
    {
        assert_eq!(pass(r#""long""#, r#""long""#, text), wanted);
    }
    for wrong in ["9223372036854775808", "1e19", "1.5", "1e-1"] {
        assert!(refuse(r#""long""#, wrong).starts_with("expected an integer of 64 bits"), "{wrong}");
    }
    assert!(refuse(r#""double""#, "1e400").starts_with("expected a number, found 1e400"));
}

#[test]
fn a_part_of_a_time_that_the_type_lacks_is_refused() {
    let of = |kind: &str, logical: &str| format!(r#"{{"type":"{kind}","logicalType":"{logical}"}}"#);
    for (schema, text) in [
        (of("long", "timestamp-millis"), "2024-07-01T12:00:00[Europe/Berlin]"),
        (of("long", "timestamp-millis"), "2024-07-01T12:00:00+02:00[Europe/Berlin]"),
        (of("long", "timestamp-millis"), "2024-07-01T12:00:00+25:00"),
        (of("long", "timestamp-millis"), "2024-06-30T23:59:60Z"),
        (of("long", "local-timestamp-millis"), "2024-07-01T12:00:00+02:00"),
        (of("long", "local-timestamp-millis"), "2024-07-01T12:00:00[Europe/Berlin]"),
        (of("int", "date"), "2024-07-01T23:00:00-05:00"),
        (of("int", "time-millis"), "12:00:00+02:00"),
        (of("int", "time-millis"), "2024-07-01T12:00:00"),
    ] {
        assert!(refuse(&schema, &format!("\"{text}\"")).starts_with("expected a "), "{text}");
    }
}

#[test]
fn of_a_repeated_key_the_last_is_written() {
    let map = r#"{"type":"map","values":"int"}"#;
    let plan = support::plan(map, map);
    // Two blocks: a=1, b=2 and a=3.
    let message = [&[4, 2, b'a', 2, 2, b'b', 4][..], &[2, 2, b'a', 6], &[0]].concat();
    assert_eq!(support::json(&plan, &message).unwrap(), r#"{"b":2,"a":3}"#);
    let mut many = Vec::new();
    for i in 0..60_u8 {
        many.extend([2, 2, b'a' + i % 20, i * 2 % 128]);
    }
    many.push(0);
    let json: serde_json::Value = serde_json::from_str(&support::json(&plan, &many).unwrap()).unwrap();
    assert_eq!(support::json(&plan, &many).unwrap().matches("\"a\"").count(), 1);
    assert_eq!(json["t"], 59);
}

#[test]
fn unions_take_the_branch_that_fits() {
    let union = r#"["null","long",{"type":"long","logicalType":"timestamp-millis"}]"#;
    assert!(rawline_avro::Schema::parse(union).is_err());
    let record = |name: &str, field: &str, of: &str| {
        format!(r#"{{"type":"record","name":"{name}","fields":[{{"name":"{field}","type":"{of}"}}]}}"#)
    };
    let union = format!(
        r#"["null","boolean","int","double","bytes","string",{{"type":"array","items":"long"}},{},{},{}]"#,
        record("A", "x", "int"),
        record("B", "x", "string"),
        record("C", "y", "int")
    );
    let branch = |value: &str| {
        let mut out = Vec::new();
        schema(&union).encode_json(value, &mut out).unwrap();
        out[0] >> 1
    };
    let cases = [
        ("null", 0),
        ("true", 1),
        ("5", 2),
        ("3000000000", 3),
        ("1.5", 3),
        (r#""text""#, 5),
        ("[1]", 6),
        (r#"{"x":1}"#, 7),
        (r#"{"x":"s"}"#, 8),
        (r#"{"y":1}"#, 9),
        (r#"{"bytes":"a"}"#, 4),
        (r#"{"B":{"x":"s"}}"#, 8),
        (r#"{"double":"NaN"}"#, 3),
    ];
    for (value, wanted) in cases {
        assert_eq!(branch(value), wanted, "{value}");
        assert!(!pass(&union, &union, value).is_empty());
    }
    assert!(refuse(&union, r#"{"z":1}"#).starts_with("expected one of null, boolean, int"));
    let nullable = r#"["null",{"type":"long","logicalType":"timestamp-millis"}]"#;
    assert_eq!(pass(nullable, nullable, r#""2020-09-13T12:26:40Z""#), r#""2020-09-13T12:26:40Z""#);
    // Unions within unions that never fit end.
    let mut deep = r#""int""#.to_owned();
    for i in 0..12 {
        let field = format!(r#"[{{"name":"x","type":{deep}}}]"#);
        deep = format!(
            r#"["null",{{"type":"record","name":"R{i}","fields":{field}}},{{"type":"record","name":"S{i}",
                "fields":[{{"name":"x","type":"{}"}}]}}]"#,
            if i == 0 { "int".to_owned() } else { format!("R{}", i - 1) }
        );
    }
    let value = format!("{}\"no\"{}", r#"{"x":"#.repeat(12), "}".repeat(12));
    refuse(&deep, &value);
}

#[test]
fn errors_name_field_and_what_was_expected() {
    let json = r#"{"type":"record","name":"R","fields":[{"name":"items","type":{"type":"array","items":
        {"type":"record","name":"I","fields":[{"name":"price","type":"int"},{"name":"tags","type":{"type":"map",
            "values":"string"},"default":{}}]}}}]}"#;
    let cases = [
        (
            r#"{"items":[{"price":1},{"price":3000000000}]}"#,
            "field items[1].price: expected an integer of 32 bits, found 3000000000",
        ),
        (r#"{"items":[{"price":1,"tags":{"a":1}}]}"#, "field items[0].tags.a: expected string, found 1"),
        (
            r#"{"items":[{"price":1,"cost":2}]}"#,
            "field items[0].cost: expected one of the fields price, tags, found a field of that name",
        ),
        (r#"{"items":[{}]}"#, "field items[0].price: expected a value, since it has no default, found nothing"),
        (r#"{}"#, "field items: expected a value, since it has no default, found nothing"),
        (r#"[]"#, "expected an object, found an array"),
        (r#"{"items":[{"price":1.5}]}"#, "field items[0].price: expected an integer of 32 bits, found 1.5"),
    ];
    for (value, wanted) in cases {
        assert_eq!(refuse(json, value), wanted);
    }
    assert_eq!(pass(json, json, r#"{"items":[{"price":1.0}]}"#), r#"{"items":[{"price":1,"tags":{}}]}"#);
    assert!(refuse(json, "{").contains("expected JSON"));
    assert!(refuse(r#""float""#, "1e300").contains("a number in the range of a float"));
    assert!(refuse(r#""bytes""#, r#""€""#).contains("U+00FF"));
}

#[test]
fn schemas_that_are_wrong_say_why() {
    for (json, wanted) in [
        ("{", "not an Avro schema"),
        (r#""text""#, "text"),
        (
            r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}"#,
            "the default of field \"a\" of \"R\"",
        ),
    ] {
        let error = rawline_avro::Schema::parse(json).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// JSON that a union's value is written as is read back as the branch it came from, bit for bit.
#[test]
fn json_of_a_union_is_read_back_as_the_branch_it_came_from() {
    let time = r#"{"type":"long","logicalType":"timestamp-millis"}"#;
    let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}"#;
    let record = |name: &str, fields: &str| format!(r#"{{"type":"record","name":"{name}","fields":[{fields}]}}"#);
    let (x, y) = (r#"{"name":"x","type":"int"}"#, r#"{"name":"y","type":"int","default":0}"#);
    let (small, large) = (record("Small", x), record("n.Large", &format!("{x},{y}")));
    let named = record("Named", r#"{"name":"map","type":"int"}"#);
    let unions = [
        (r#"["bytes","float"]"#.to_owned(), r#"{"float":"NaN"}"#, r#"{"float":"NaN"}"#),
        (r#"["float","bytes"]"#.to_owned(), r#"{"bytes":"NaN"}"#, r#"{"bytes":"NaN"}"#),
        (r#"["float","bytes"]"#.to_owned(), r#"{"bytes":"other"}"#, r#""other""#),
        (format!(r#"["string",{time}]"#), r#"{"long":5}"#, r#"{"long":"1970-01-01T00:00:00.005Z"}"#),
        (format!(r#"[{time},"string"]"#), r#"{"string":"1970-01-01T00:00:00Z"}"#, r#""1970-01-01T00:00:00Z""#),
        (format!(r#"["string",{decimal}]"#), r#"{"bytes":"1.50"}"#, r#"{"bytes":"1.50"}"#),
        (format!(r#"["null",{decimal}]"#), r#"{"bytes":"1.50"}"#, r#""1.50""#),
        (r#"["int","long"]"#.to_owned(), r#"{"long":5}"#, r#"{"long":5}"#),
        (r#"["int","long"]"#.to_owned(), r#"{"long":3000000000}"#, "3000000000"),
        (r#"["float","double"]"#.to_owned(), r#"{"double":0.1}"#, r#"{"double":0.1}"#),
        (r#"["string",{"type":"enum","name":"E","symbols":["A"]}]"#.to_owned(), r#"{"E":"A"}"#, r#"{"E":"A"}"#),
        (format!("[{small},{large}]"), r#"{"n.Large":{"x":1,"y":2}}"#, r#"{"x":1,"y":2}"#),
        (format!("[{large},{small}]"), r#"{"Small":{"x":1}}"#, r#"{"Small":{"x":1}}"#),
        (format!(r#"["null",{named}]"#), r#"{"Named":{"map":1}}"#, r#"{"map":1}"#),
        (
            r#"["null",{"type":"map","values":["null","int",{"type":"map","values":"int"}]}]"#.to_owned(),
            r#"{"map":{"map":{"a":1}}}"#,
            r#"{"map":{"map":{"a":1}}}"#,
        ),
        (format!(r#"["null",{small},{{"type":"map","values":"int"}}]"#), r#"{"map":{"x":1}}"#, r#"{"map":{"x":1}}"#),
    ];
    for (union, given, wanted) in unions {
        let schema = schema(&union);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        schema.encode_json(given, &mut first).unwrap();
        let written = pass(&union, &union, given);
        assert_eq!(written, wanted, "{union}");
        schema.encode_json(&written, &mut second).unwrap();
        assert_eq!(first, second, "{union}: {given}");
    }
}
