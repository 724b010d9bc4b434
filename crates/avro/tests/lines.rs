//! Lines of JSON in one pass: the bytes are those of the general encoder.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::sync::Arc;

use rawline_avro::{LineEncoder, Schema};
use support::schema;

const EVENT: &str = r#"{"type":"record","name":"Event","fields":[
    {"name":"ts","type":{"type":"long","logicalType":"timestamp-micros"}},
    {"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},
    {"name":"host","type":"string"},
    {"name":"port","type":"int"},
    {"name":"bytes","type":["null","long"],"default":null},
    {"name":"rtt","type":["double","null"],"default":0.5},
    {"name":"ratio","type":"float","default":1.5},
    {"name":"ok","type":"boolean","default":false},
    {"name":"nothing","type":"null","default":null},
    {"name":"proto","type":["null",{"type":"enum","name":"Proto","symbols":["tcp","udp"]}],"default":null},
    {"name":"answers","type":["null",{"type":"array","items":"string"}],"default":null},
    {"name":"tags","type":{"type":"map","values":["null","string"]},"default":{}},
    {"name":"inner","type":["null",{"type":"record","name":"Inner","fields":[
        {"name":"a","type":"int","default":7},
        {"name":"b","type":{"type":"array","items":{"type":"map","values":"int"}}},
        {"name":"next","type":["null","Inner"],"default":null}
    ]}],"default":null},
    {"name":"raw","type":"bytes","default":""},
    {"name":"choice","type":["null","int","string"],"default":null}
]}"#;

/// Whether the line is encoded in one pass. The bytes are then those of the general way.
fn is_encoded(encoder: &mut LineEncoder, schema: &Schema, line: &[u8]) -> bool {
    let mut out = b"before".to_vec();
    if !encoder.encode(line, &mut out) {
        assert_eq!(out, b"before", "{}", String::from_utf8_lossy(line));
        return false;
    }
    let mut wanted = b"before".to_vec();
    let general = schema.encode_json(str::from_utf8(line).unwrap(), &mut wanted);
    assert_eq!(general.map_err(|error| error.to_string()), Ok(()), "{}", String::from_utf8_lossy(line));
    assert_eq!(out, wanted, "{}", String::from_utf8_lossy(line));
    true
}

/// These are encoded in one pass.
const LINES: [&str; 12] = [
    r#"{"ts":1600000000000000,"host":"a","port":53}"#,
    r#" { "port" : -1 , "ts" : "2020-09-13T12:26:40.5Z" , "host" : "b\n\"ü" } "#,
    r#"{"ts":1,"day":"2020-09-13","host":"","port":2147483647,"bytes":9223372036854775807,"rtt":null,"ratio":0.1,
        "ok":true,"nothing":null,"proto":"udp","answers":["x","y"],"tags":{"a":"1","b":null},"inner":null}"#,
    r#"{"ts":1,"host":"a","port":53,"rtt":2,"ratio":3,"answers":[],"tags":{}}"#,
    r#"{"host":"a","port":53,"rtt":-1.5e-3,"ts":1,"proto":null,"bytes":null,"day":18518,"nothing":null}"#,
    r#"{"ts":1,"host":"a","port":53,"inner":{"b":[]}}"#,
    r#"{"ts":1,"host":"a","port":53,"inner":{"a":1,"b":[{"x":1,"y":2},{}]}}"#,
    r#"{"inner":{"next":{"b":[{}],"next":{"next":null,"a":3,"b":[]}},"b":[{"z":-1}]},"ts":1,"port":53,"host":"a"}"#,
    r#"{"ts":1,"host":"a","port":53,"raw":""}"#,
    r#"{"ts":1,"host":"a","port":53,"choice":null}"#,
    r#"{"ts":1,"host":"a","port":53,"tags":{"":"","a":"","aa":"","b":""}}"#,
    r#"{"ts":1,"host":"a","port":53,"inner":{"a":1,"b":[{"Inner":1}]}}"#,
];

/// Lines that are left to the general way, which encodes some of them.
const OTHERS: [&str; 20] = [
    r#"{"ts":1,"host":"a"}"#,
    r#"{"ts":1,"host":"a","port":53,"other":1}"#,
    r#"{"ts":1,"host":"a","port":2147483648}"#,
    r#"{"ts":1,"host":"a","port":53.0}"#,
    r#"{"ts":1,"host":"a","port":"53"}"#,
    r#"{"ts":1,"host":"a","port":53,"port":54}"#,
    r#"{"ts":"2020-09-13","host":"a","port":53}"#,
    r#"{"ts":1,"host":null,"port":53}"#,
    r#"{"ts":1,"host":"a","port":53,"ratio":1e300}"#,
    r#"{"ts":1,"host":"a","port":53,"rtt":"NaN"}"#,
    r#"{"ts":1,"host":"a","port":53,"proto":"icmp"}"#,
    r#"{"ts":1,"host":"a","port":53,"tags":{"b":null,"a":null}}"#,
    r#"{"ts":1,"host":"a","port":53,"tags":{"a":null,"a":null}}"#,
    r#"{"ts":1,"host":"a","port":53,"inner":{"Inner":{"a":1,"b":[]}}}"#,
    r#"{"ts":1,"host":"a","port":53,"choice":1}"#,
    r#"{"ts":1,"host":"a","port":53,"bytes":{"long":1}}"#,
    r#"{"ts":1,"host":"a","port":53} 1"#,
    r#"[1]"#,
    "null",
    "",
];

#[test]
fn lines_are_encoded_as_the_general_way_encodes_them() {
    let schema = schema(EVENT);
    let mut encoder = LineEncoder::new(schema.clone(), &[], &[]).unwrap();
    for line in LINES {
        let is_given = !line.contains(r#""raw""#);
        assert_eq!(is_encoded(&mut encoder, &schema, line.as_bytes()), is_given, "{line}");
    }
    for line in OTHERS {
        assert!(!is_encoded(&mut encoder, &schema, line.as_bytes()), "{line}");
    }
    assert!(!is_encoded(&mut encoder, &schema, b"{\"ts\":1,\"host\":\"\xff\",\"port\":53}"));
    // The count of a block in one byte.
    let many =
        |count: usize| format!(r#"{{"ts":1,"host":"a","port":53,"answers":[{}]}}"#, vec!["\"x\""; count].join(","));
    assert!(is_encoded(&mut encoder, &schema, many(63).as_bytes()));
    assert!(!is_encoded(&mut encoder, &schema, many(64).as_bytes()));
}

#[test]
fn other_schemas_are_encoded_too() {
    for (json, lines, others) in [
        (r#""string""#, vec![r#""a""#], vec!["1"]),
        (r#"["null","int"]"#, vec!["1", "null"], vec![r#"{"int":1}"#]),
        (r#"{"type":"array","items":"long"}"#, vec!["[1,2]", "[]"], vec!["{}"]),
        (r#"{"type":"map","values":{"type":"array","items":"int"}}"#, vec![r#"{"a":[1],"b":[]}"#], vec![r#"{"a":1}"#]),
        (r#"["null",{"type":"map","values":"int"}]"#, vec![r#"{"a":1}"#], vec![r#"{"map":1}"#]),
        (r#"{"type":"string","logicalType":"uuid"}"#, vec![], vec![r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#]),
        (r#"{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}"#, vec![], vec![r#""1.50""#, "1"]),
    ] {
        let schema = schema(json);
        let mut encoder = LineEncoder::new(schema.clone(), &[], &[]).unwrap();
        for line in lines {
            assert!(is_encoded(&mut encoder, &schema, line.as_bytes()), "{json} {line}");
        }
        for line in others {
            assert!(!is_encoded(&mut encoder, &schema, line.as_bytes()), "{json} {line}");
        }
    }
}

#[test]
fn fields_have_other_names_in_lines_and_names_are_ignored() {
    let schema: Arc<Schema> = schema(
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":9}]}"#,
    );
    let encoded = |renamed: &[(&str, &str)], skipped: &[&str], line: &str| {
        let mut out = Vec::new();
        let mut encoder = LineEncoder::new(schema.clone(), renamed, skipped).unwrap();
        encoder.encode(line.as_bytes(), &mut out).then_some(out)
    };
    let bytes = |a: u8, b: u8| Some(vec![a << 1, b << 1]);
    assert_eq!(encoded(&[("a", "x.y")], &[], r#"{"x.y":1,"b":2}"#), bytes(1, 2));
    assert_eq!(encoded(&[("a", "x.y")], &[], r#"{"b":2,"a":1}"#), bytes(1, 2));
    assert_eq!(encoded(&[("a", "x.y")], &[], r#"{"x.y":1,"a":1}"#), None);
    // The fields change their names.
    assert_eq!(encoded(&[("a", "b"), ("b", "a")], &[], r#"{"a":1,"b":2}"#), bytes(2, 1));
    assert_eq!(encoded(&[("a", "b")], &[], r#"{"b":2}"#), bytes(2, 9));
    assert_eq!(encoded(&[], &["b", "c"], r#"{"c":[{"d":1}],"a":1,"b":2}"#), bytes(1, 9));
    assert_eq!(encoded(&[("b", "x")], &["x"], r#"{"x":3,"a":1}"#), bytes(1, 9));
    // Ignored fields must be JSON too.
    assert_eq!(encoded(&[], &["c"], r#"{"c":1e999,"a":1}"#), None);
    // A member of an inner object, a name that stands for two fields, and fields of a value that has none.
    assert!(LineEncoder::new(schema.clone(), &[("a.b", "c")], &[]).is_none());
    assert!(LineEncoder::new(schema.clone(), &[("a", "c"), ("b", "c")], &[]).is_none());
    assert!(LineEncoder::new(support::schema("\"int\""), &[], &["c"]).is_none());
}

/// Lines that differ from others in a few bytes.
#[test]
fn changed_lines_are_encoded_alike_or_left_to_the_general_way() {
    let schema = schema(EVENT);
    let mut encoder = LineEncoder::new(schema.clone(), &[], &[]).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let bytes = b"\"\\{}[]:,.-+eE0123456789abtnu \n\x00\xff";
    let mut encoded = 0;
    for _ in 0..40_000 {
        let lines = if random.bool() { &LINES[..] } else { &OTHERS[..18] };
        let mut line = lines[random.usize(..lines.len())].as_bytes().to_vec();
        for _ in 0..random.usize(1..3) {
            let (at, byte) = (random.usize(..line.len()), bytes[random.usize(..bytes.len())]);
            match random.u8(..4) {
                0 => line.insert(at, byte),
                1 if line.len() > 1 => drop(line.remove(at)),
                2 => line.truncate(at.max(1)),
                _ => line[at] = byte,
            }
        }
        encoded += u32::from(is_encoded(&mut encoder, &schema, &line));
    }
    assert!(encoded > 1000, "{encoded}");
}
