//! Both JSON mappings, against what the original reads and writes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_value::json::{ReadError, plain, typed};
use rawline_value::{Decoder, Limits, Value, ValueError};
use serde_json::Value as Json;
use support::{unhex, vectors};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(json: &str) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    typed::read(json.as_bytes(), &mut out).map(|()| out)
}

fn read_plain(json: &str) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    plain::read(json.as_bytes(), &mut out).map(|()| out)
}

/// The bytes of `{"@data-type":kind,"data":data}` in hexadecimal.
fn typed_hex(kind: &str, data: &str) -> Result<String, String> {
    read(&format!(r#"{{"@data-type":"{kind}","data":{data}}}"#)).map(|bytes| hex(&bytes)).map_err(|e| e.to_string())
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn json_of_the_original_gives_its_bytes() {
    let mut read_count = 0;
    for vector in vectors("values") {
        if vector["json_roundtrip"] != "exact" || vector["json"].is_null() {
            continue;
        }
        let json = vector["json_text"].as_str().unwrap();
        assert_eq!(hex(&read(json).unwrap()), vector["hex"].as_str().unwrap(), "{}", vector["name"]);
        read_count += 1;
    }
    assert_eq!(read_count, 98);
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn what_the_original_writes_without_loss_is_written_the_same() {
    let mut same_count = 0;
    for vector in vectors("values") {
        if vector["json_roundtrip"] != "exact" || vector["json"].is_null() {
            continue;
        }
        let written = typed::to_string(&unhex(vector["hex"].as_str().unwrap())).unwrap();
        let expected = vector["json_text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Json>(&written).unwrap(), vector["json"], "{}", vector["name"]);
        // To the letter, but for a real's digits.
        if !expected.contains("real") {
            assert_eq!(written, expected, "{}", vector["name"]);
            same_count += 1;
        }
    }
    assert_eq!(same_count, 91);
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn every_value_survives_json() {
    for vector in vectors("values") {
        let bytes = unhex(vector["hex"].as_str().unwrap());
        let written = typed::to_string(&bytes).unwrap();
        serde_json::from_str::<Json>(&written).unwrap();
        assert_eq!(hex(&read(&written).unwrap()), hex(&bytes), "{} as {written}", vector["name"]);
    }
}

#[test]
fn what_the_original_loses_is_written_in_full() {
    let written = |hex: &str| typed::to_string(&unhex(hex)).unwrap();
    let data = |kind: &str, data: &str| format!(r#"{{"@data-type":"{kind}","data":{data}}}"#);
    assert_eq!(written("04fff0000000000000"), data("real", r#""inf""#));
    assert_eq!(written("047ff0000000000000"), data("real", r#""-inf""#));
    assert_eq!(written("04ffffffffffffffff"), data("real", r#""nan""#));
    assert_eq!(written("04400921fb54442d18"), data("real", "3.141592653589793"));
    assert_eq!(written("0503610b00"), data("string", r#""a\u000b\u0000""#));
    assert_eq!(written("0916e476d034142d15"), data("timestamp", r#""2022-04-10T07:00:00.123456789""#));
    assert_eq!(written("09ffffffffe2329b00"), data("timestamp", r#""1969-12-31T23:59:59.500""#));
    assert_eq!(
        written("0503fffe80"),
        "{\"@data-type\":\"string\",\"@bytes\":\"fffe80\",\"data\":\"\u{fffd}\u{fffd}\u{fffd}\"}"
    );
    // A prefix that no address has, and one with bits after it.
    for subnet in [
        "0700000000000000000000ffff0a010203c8",
        "0700000000000000000000ffff0a01020368",
        "0720010db8000000000000000000000001c8",
    ] {
        let written = written(subnet);
        assert!(written.contains("@bytes"), "{written}");
        assert_eq!(hex(&read(&written).unwrap()), subnet);
    }
}

#[test]
fn bytes_next_to_a_text_must_agree_with_it() {
    let string =
        |bytes: &str, data: &str| read(&format!(r#"{{"data":"{data}","@bytes":"{bytes}","@data-type":"string"}}"#));
    assert_eq!(hex(&string("ff", "\u{fffd}").unwrap()), "0501ff");
    assert_eq!(hex(&string("61", "a").unwrap()), "050161");
    for (bytes, data) in [("ff", "a"), ("f", "\u{fffd}"), ("zz", "\u{fffd}"), ("é", "a")] {
        string(bytes, data).unwrap_err();
    }
    read(r#"{"@data-type":"count","data":1,"@bytes":"01"}"#).unwrap_err();
    read(r#"{"@data-type":"address","data":"::1","@bytes":"01"}"#).unwrap_err();
    read(r#"{"@data-type":"subnet","data":"10.0.0.0/8","@bytes":"01"}"#).unwrap_err();
}

/// Where this reader's verdict differs from the original's on purpose; docs/values.md has the reasons.
const STRICTER: [&str; 5] =
    ["json_real_nan_literal", "json_subnet_bad_len", "json_port_unknown_proto", "json_port_overflow", "json_port_text"];

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn malformed_json_is_refused() {
    let (mut accepted, mut refused) = (0, 0);
    for vector in vectors("malformed") {
        let (name, json) = (vector["name"].as_str().unwrap(), vector["json_text"].as_str());
        let Some(json) = json.filter(|_| vector["kind"] == "json") else {
            continue;
        };
        // The frame around the value, which is not this function's.
        if ["json_missing_type", "json_missing_topic", "json_empty_topic"].contains(&name) {
            continue;
        }
        let accept = match name {
            name if STRICTER.contains(&name) || name == "json_string_vertical_tab_escape" => false,
            _ => vector["verdict"] == "accept",
        };
        match read(json) {
            Ok(bytes) => {
                assert!(accept, "{name} is accepted: {json}");
                let expected = match name {
                    // Exact here, rounded there.
                    "json_timespan_2^53+1_ns" => "0a0020000000000001",
                    "json_timespan_int64_max_ns" => "0a7fffffffffffffff",
                    "json_string_escapes" => "050b6122625c630a090d080c2f",
                    _ => vector["envelope_deserialize_json"].as_str().unwrap().split_once("payload=").unwrap().1,
                };
                assert_eq!(hex(&bytes), expected, "{name}");
                accepted += 1;
            }
            Err(error) => {
                assert!(!accept, "{name} is refused: {error}");
                refused += 1;
            }
        }
    }
    assert_eq!((accepted, refused), (30, 33));
}

#[test]
fn texts_are_read_exactly_or_not_at_all() {
    for (text, nanoseconds) in [
        ("0.000000001s", Some(1)),
        ("-0.5h", Some(-1_800_000_000_000)),
        ("9223372036854775807ns", Some(i64::MAX)),
        ("-9223372036854775808ns", Some(i64::MIN)),
        ("9223372036854775808ns", None),
        ("1.5ns", None),
        ("1.s", None),
        (".5s", None),
        ("--5s", None),
        ("+5s", None),
        ("s", None),
        ("", None),
        ("5", None),
        ("1e3s", None),
        ("99999999999999999999s", None),
    ] {
        let expected = nanoseconds.map(|number: i64| format!("0a{number:016x}"));
        assert_eq!(typed_hex("timespan", &format!("{text:?}")).ok(), expected, "{text}");
    }
    for (text, nanoseconds) in [
        ("2262-04-11T23:47:16.854775807Z", Some(i64::MAX)),
        ("1677-09-21T00:12:43.145224192", Some(i64::MIN)),
        ("2262-04-11T23:47:16.854775808Z", None),
        ("2022-04-10T07:00:00.1234567891Z", None),
        ("2022-04-10T07:00:00-01:00", Some(1_649_577_600_000_000_000)),
        ("2022-04-10T07:00:00[Europe/Berlin]", None),
        ("2022-02-30T07:00:00Z", None),
        ("é2022-04-10T07", None),
    ] {
        let expected = nanoseconds.map(|number: i64| format!("09{number:016x}"));
        assert_eq!(typed_hex("timestamp", &format!("{text:?}")).ok(), expected, "{text}");
    }
    assert_eq!(typed_hex("real", "0.1234567").unwrap(), format!("04{:016x}", 0.1234567_f64.to_bits()));
    // Needs a reader that rounds correctly.
    assert_eq!(typed_hex("real", "9007199254740993.0").unwrap(), "044340000000000000");
    assert_eq!(
        typed_hex("real", "51.24817837550540").unwrap(),
        format!("04{:016x}", 51.248_178_375_505_4_f64.to_bits())
    );
    typed_hex("real", "\"1.5\"").unwrap_err();
    typed_hex("count", "true").unwrap_err();
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| {
        format!(
            "{}{}{}",
            r#"{"@data-type":"vector","data":["#.repeat(levels),
            r#"{"@data-type":"none"}"#,
            "]}".repeat(levels)
        )
    };
    let reversed = |levels: usize| {
        format!(
            "{}{}{}",
            r#"{"data":["#.repeat(levels),
            r#"{"@data-type":"none"}"#,
            r#"],"@data-type":"vector"}"#.repeat(levels)
        )
    };
    let tables = |levels: usize| {
        let open = r#"{"@data-type":"table","data":[{"key":{"@data-type":"none"},"value":"#;
        format!("{}{}{}", open.repeat(levels), r#"{"@data-type":"none"}"#, "}]}".repeat(levels))
    };
    for json in [nested(127), reversed(127), tables(127)] {
        let bytes = read(&json).unwrap();
        assert_eq!(read(&typed::to_string(&bytes).unwrap()).unwrap(), bytes);
    }
    for json in [nested(128), reversed(128), tables(128), nested(20_001), reversed(20_001), tables(20_001)] {
        read(&json).unwrap_err();
    }
    for (levels, fits) in [(127, true), (128, false), (100_000, false)] {
        let json = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(read_plain(&format!("[{json}]")).is_ok(), fits, "{levels}");
    }
}

#[test]
fn errors_leave_the_output_alone() {
    let mut out = vec![1, 2, 3];
    for json in
        ["", "{", "[]", r#"{"@data-type":"vector","data":[{"@data-type":"none"},7]}"#, r#"{"@data-type":"none"} x"#]
    {
        typed::read(json.as_bytes(), &mut out).unwrap_err();
        assert_eq!(out, [1, 2, 3], "{json}");
    }
    typed::read(b"\"\xff\"", &mut out).unwrap_err();
    let twice = r#"{"@data-type":"set","data":[{"@data-type":"real","data":0.0},{"@data-type":"real","data":-0.0}]}"#;
    let error = typed::read(twice.as_bytes(), &mut out).unwrap_err();
    assert!(matches!(error, ReadError::Value(ValueError::NotUnique { .. })), "{error}");
    plain::read(br#"{"a":1,"a":2}"#, &mut out).unwrap_err();
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn errors_say_what_was_expected_and_where() {
    let error = read("{\"@data-type\":\"vector\",\"data\":[\n{\"@data-type\":\"count\",\"data\":-1}]}")
        .unwrap_err()
        .to_string();
    assert!(error.contains("a whole number from 0 to") && error.contains("line 2"), "{error}");
    let error = read(r#"{"@data-type":"phone","data":"555"}"#).unwrap_err().to_string();
    assert!(error.contains("\"phone\" isn't a type; write one of none, boolean, count"), "{error}");
}

#[test]
fn the_human_readable_form_shows_a_value() {
    let table = |pairs: Vec<(Value, Value)>| Value::Table(pairs.into_iter().collect());
    let port = |text: &str| Value::Port(text.parse().unwrap());
    let name = |name: &str| Value::Enum(name.into());
    let broken = || Value::String((&b"a\xff"[..]).into());
    for (value, expected) in [
        (Value::None, "null"),
        (Value::Count(u64::MAX), "18446744073709551615"),
        (Value::Integer(-7), "-7"),
        (Value::Real(1.0), "1.0"),
        (Value::Real(f64::NAN), r#""nan""#),
        (broken(), "\"a\u{fffd}\""),
        (Value::Subnet("10.1.2.3/8".parse().unwrap()), r#""10.0.0.0/8""#),
        (port("53/udp"), r#""53/udp""#),
        (Value::Timestamp(-1), r#""1969-12-31T23:59:59.999999999Z""#),
        (Value::Timestamp(0), r#""1970-01-01T00:00:00.000000000Z""#),
        (Value::Timespan(i64::MIN), r#""-9223372036.854775808s""#),
        (Value::Timespan(1_500_000_000), r#""1.5s""#),
        (Value::Timespan(0), r#""0s""#),
        (Value::Set([Value::Count(2), Value::Count(1)].into_iter().collect()), "[1,2]"),
        (table(vec![]), "{}"),
        (table(vec![(port("80/tcp"), table(vec![("a".into(), true.into())]))]), r#"{"80/tcp":{"a":true}}"#),
        (table(vec![(name("A"), Value::None), (name("B"), Value::None)]), r#"{"A":null,"B":null}"#),
        // Keys that are numbers, of two types, no text, or containers: within and after them all is as anywhere else.
        (table(vec![(Value::Count(1), Value::None), (Value::Count(2), Value::None)]), "[[1,null],[2,null]]"),
        (table(vec![("A".into(), 1_u64.into()), (name("A"), 2_u64.into())]), r#"[["A",1],["A",2]]"#),
        (table(vec![(broken(), 1_u64.into())]), "[[\"a\u{fffd}\",1]]"),
        (
            Value::Vector(vec![
                table(vec![(table(vec![("a".into(), Value::None)]), table(vec![(Value::None, Value::None)]))]),
                table(vec![("b".into(), Value::Vector(vec![]))]),
            ]),
            r#"[[[{"a":null},[[null,null]]]],{"b":[]}]"#,
        ),
    ] {
        assert_eq!(plain::to_string(&value.encode()).unwrap(), expected);
    }
}

#[test]
fn plain_json_becomes_values_of_its_own_types() {
    let table = |pairs: Vec<(Value, Value)>| Value::Table(pairs.into_iter().collect());
    let json =
        r#"{"a":[null,true,0,18446744073709551615,-1,1.0,-0.5e3,18446744073709551616],"b":{"x":"10.0.0.1"},"c":{}}"#;
    let numbers = vec![
        Value::None,
        Value::Boolean(true),
        Value::Count(0),
        Value::Count(u64::MAX),
        Value::Integer(-1),
        Value::Real(1.0),
        Value::Real(-500.0),
        Value::Real(18_446_744_073_709_551_616.0),
    ];
    let expected = table(vec![
        ("a".into(), Value::Vector(numbers)),
        ("b".into(), table(vec![("x".into(), "10.0.0.1".into())])),
        ("c".into(), table(vec![])),
    ]);
    assert_eq!(Value::decode(&read_plain(json).unwrap(), &Limits::default()).unwrap(), expected);
    for json in ["", "{", "nan", "[1,]", "1 2", "\u{1}", "{\"a\":1,\"a\":2}", "1e999"] {
        read_plain(json).unwrap_err();
    }
}

#[test]
fn deep_values_are_written_without_recursion() {
    let depth = if cfg!(miri) { 200 } else { 200_000 };
    let bytes = [[0x0d, 1, 5, 0].repeat(depth), vec![0]].concat();
    assert!(plain::to_string(&bytes).unwrap().ends_with(&"}".repeat(depth)));
    assert!(typed::to_string(&bytes).unwrap().ends_with("}]}"));
}

#[test]
fn bytes_that_are_no_value_are_refused() {
    for bytes in ["", "0f", "0e02", "0503", "0000", "0dffffffff0f", "08000104"] {
        typed::to_string(&unhex(bytes)).unwrap_err();
        plain::to_string(&unhex(bytes)).unwrap_err();
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many elements for Miri")]
fn large_containers_have_room_for_their_count() {
    for count in [127, 128, 16_383, 16_384] {
        let value = Value::Vector(vec![Value::Vector(vec![Value::Count(7); count]), Value::Boolean(true)]);
        let bytes = value.encode();
        assert_eq!(read(&typed::to_string(&bytes).unwrap()).unwrap(), bytes);
        assert_eq!(read_plain(&plain::to_string(&bytes).unwrap()).unwrap(), bytes);
    }
}

#[test]
fn random_values_survive_json() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..2_000 {
        let value = random_value(&mut random, 4);
        let bytes = value.encode();
        let written = typed::to_string(&bytes).unwrap();
        assert_eq!(hex(&read(&written).unwrap()), hex(&bytes), "{written}");
        let people = plain::to_string(&bytes).unwrap();
        serde_json::from_str::<Json>(&people).unwrap();
        // The plain mapping forgets types, but what it says it says again.
        let again = plain::to_string(&read_plain(&people).unwrap()).unwrap();
        assert_eq!(again, people);
    }
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn changed_json_never_panics() {
    let mut random = fastrand::Rng::with_seed(4);
    for vector in vectors("values") {
        let mut json = typed::to_string(&unhex(vector["hex"].as_str().unwrap())).unwrap().into_bytes();
        json.truncate(2_000);
        for _ in 0..20 {
            let at = random.usize(..json.len());
            json[at] = *random.choice(br#"{}[]",:0-9.eEtfn\u"#).unwrap();
            let mut out = Vec::new();
            for read in [typed::read, plain::read] {
                if read(&json, &mut out).is_ok() {
                    Value::decode(&out, &Limits::default()).unwrap();
                }
                out.clear();
            }
        }
    }
}

fn random_value(random: &mut fastrand::Rng, depth: u32) -> Value {
    let bytes = |random: &mut fastrand::Rng| -> Vec<u8> {
        let printable = random.bool();
        (0..random.usize(..40)).map(|_| if printable { random.u8(b' '..b'~') } else { random.u8(..) }).collect()
    };
    match random.u8(..if depth == 0 { 12 } else { 15 }) {
        0 => Value::None,
        1 => Value::Boolean(random.bool()),
        2 => Value::Count(random.u64(..)),
        3 => Value::Integer(random.i64(..)),
        4 => {
            let real = f64::from_bits(random.u64(..));
            Value::Real(if real.is_subnormal() { 0.0 } else { real })
        }
        5 => Value::String(bytes(random).into()),
        6 => Value::Address(rawline_value::Address::from_octets(random.u128(..).to_be_bytes())),
        7 => {
            let network = rawline_value::Address::from_octets(random.u128(..).to_be_bytes());
            Value::Subnet(rawline_value::Subnet::from_raw(network, random.u8(..)))
        }
        8 => Value::Port(rawline_value::Port::new(random.u16(..), rawline_value::Protocol::Udp)),
        9 => Value::Timestamp(random.i64(..)),
        10 => Value::Timespan(random.i64(..)),
        11 => Value::Enum(bytes(random).into()),
        12 => Value::Set((0..random.usize(..6)).map(|_| random_value(random, depth - 1)).collect()),
        13 => Value::Table(
            (0..random.usize(..6))
                .map(|_| (random_value(random, depth - 1), random_value(random, depth - 1)))
                .collect(),
        ),
        _ => Value::Vector((0..random.usize(..6)).map(|_| random_value(random, depth - 1)).collect()),
    }
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn a_writer_that_is_used_again_appends_what_is_written() {
    let mut writer = plain::Writer::default();
    // A table that isn't an object, seen late and within others; one that is one follows.
    let other = [("a".into(), Value::from(1u64)), (7u64.into(), Value::None)].into_iter().collect();
    let within = [("a".into(), Value::Table(other)), ("b".into(), "ü\"\n".into())].into_iter().collect();
    let vectors = vectors("values").into_iter().map(|vector| unhex(vector["hex"].as_str().unwrap()));
    for bytes in [Value::Table(within).encode()].into_iter().chain(vectors) {
        let mut out = b"before ".to_vec();
        writer.append(&bytes, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("before {}", plain::to_string(&bytes).unwrap()));
    }
}

#[test]
fn invalid_text_is_found_where_it_is() {
    let error = |json: &[u8]| plain::read(json, &mut Vec::new()).unwrap_err().to_string();
    let found = error(b"{\"a\":\"b\xff\"}");
    assert!(found.contains("invalid unicode code point at line 1 column "), "{found}");
    // Errors before it are found first.
    let found = error(b"{\"a\":x,\"b\":\"\xff\"}");
    assert!(found.contains("expected value at line 1 column 6"), "{found}");
}

#[test]
fn a_value_is_checked_before_its_text_counts() {
    let mut writer = plain::Writer::default();
    // Tables whose keys ascend, are in another order, and are no strings.
    for (bytes, text) in [
        ("0d020501610005016200", r#"{"a":null,"b":null}"#),
        ("0d020501620005016100", r#"{"b":null,"a":null}"#),
        ("0d01010100", "[[true,null]]"),
    ] {
        let mut out = b"before ".to_vec();
        writer.append_checked(&unhex(bytes), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("before {text}"));
    }
    // Duplicates in a table and in a set, an unknown tag, bytes after the value, and none.
    for bytes in ["0d03050162000501610005016200", "0c020000", "0f", "0000", ""] {
        let bytes = unhex(bytes);
        let reason = Decoder::default().decode(&bytes).unwrap_err().to_string();
        assert_eq!(writer.append_checked(&bytes, &mut Vec::new()).unwrap_err().to_string(), reason, "{bytes:?}");
    }
}
