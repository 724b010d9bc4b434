//! Type hints: their names, the meaning of texts and numbers, and fields of JSON.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_value::json::{hinted, typed};
use rawline_value::{FieldHint, Hint, Kind, Limits, Port, Protocol, TimespanNs, TimestampNs, Value};

fn hint(name: &str) -> Hint {
    name.parse().unwrap()
}

fn told(result: Result<impl Sized, impl std::fmt::Display>) -> String {
    result.err().unwrap().to_string()
}

/// The written form of a text or a number; none if it is unchanged.
fn put<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>) -> Result<Option<Value>, E> {
    let mut out = vec![7];
    let is_put = write(&mut out)?;
    assert_eq!(is_put, out.len() > 1, "false is nothing appended");
    Ok(is_put.then(|| Value::decode(&out[1..], &Limits::FORMAT).unwrap()))
}

fn of_text(name: &str, text: &str) -> Result<Option<Value>, String> {
    put(|out| hint(name).put_text(text, out)).map_err(|error| error.to_string())
}

fn of_number(name: &str, number: impl Into<i128>) -> Result<Option<Value>, String> {
    put(|out| hint(name).put_number(number, Protocol::Udp, out)).map_err(|error| error.to_string())
}

fn of_real(name: &str, real: f64) -> Result<Option<Value>, String> {
    put(|out| hint(name).put_real(real, Protocol::Udp, out)).map_err(|error| error.to_string())
}

#[test]
fn every_name_is_read_and_shown() {
    let names = Hint::names();
    assert_eq!(
        names,
        "any, address, subnet, port, port@FIELD, timestamp, timespan, enum, string, count, integer, real, set"
    );
    for name in names.split(", ") {
        assert_eq!(hint(name).to_string(), name);
    }
    assert_eq!(hint("any"), Hint::ANY);
    assert_eq!(hint("enum").kind(), Some(Kind::Enum));
    assert_eq!((hint("port@a@b").kind(), hint("port@a@b").protocol_field()), (Some(Kind::Port), Some("a@b")));
    for name in ["", "adress", "Address", "enum-value", "boolean", "table", "none", "FIELD"] {
        assert_eq!(told(name.parse::<Hint>()), format!("{name:?} isn't a type; use one of {names}"));
    }
    for name in ["string@x", "any@x", "port@", "@port"] {
        assert!(told(name.parse::<Hint>()).contains("only a port takes its protocol from another field"), "{name}");
    }
    let field: FieldHint = "id.orig_p=port@proto".parse().unwrap();
    assert_eq!((field.field.as_str(), field.hint), ("id.orig_p", hint("port@proto")));
    assert!(told("address".parse::<FieldHint>()).contains("FIELD=TYPE"));
    assert!(told("x=colour".parse::<FieldHint>()).contains("\"colour\" isn't a type"));
}

#[test]
fn a_text_stands_for_what_it_names() {
    for (name, text, bytes) in [
        ("address", "10.0.0.1", "{\"@data-type\":\"address\",\"data\":\"10.0.0.1\"}"),
        ("subnet", "10.0.0.0/8", "{\"@data-type\":\"subnet\",\"data\":\"10.0.0.0/8\"}"),
        ("port", "53/udp", "{\"@data-type\":\"port\",\"data\":\"53/udp\"}"),
        ("port@proto", "53/tcp", "{\"@data-type\":\"port\",\"data\":\"53/tcp\"}"),
        ("timestamp", "1970-01-01T00:00:01Z", "{\"@data-type\":\"timestamp\",\"data\":\"1970-01-01T00:00:01.000\"}"),
        ("timespan", "-1.5ms", "{\"@data-type\":\"timespan\",\"data\":\"-1500us\"}"),
        ("enum", "", "{\"@data-type\":\"enum-value\",\"data\":\"\"}"),
    ] {
        let value = of_text(name, text).unwrap().unwrap();
        assert_eq!(typed::to_string(&value.encode()).unwrap(), bytes);
    }
    for name in ["any", "string", "count", "integer", "real", "set"] {
        assert_eq!(of_text(name, "1").unwrap(), None, "{name}");
    }
    for (name, text, why) in [
        ("address", "10.0.0", "\"10.0.0\": not an IPv4 or IPv6 address"),
        ("subnet", "10.0.0.0/33", "\"10.0.0.0/33\": a prefix of 33 bits is longer"),
        ("port", "65536/tcp", "the number at most 65535"),
        ("port", "53", "write it as 443/tcp"),
        ("timestamp", "yesterday", "not a time"),
        ("timespan", "1", "not a duration"),
        ("timespan", "293y", "not a duration"),
    ] {
        let error = of_text(name, text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_number_stands_for_a_value_of_its_range() {
    assert_eq!(of_number("count", u64::MAX).unwrap(), Some(Value::Count(u64::MAX)));
    assert_eq!(of_number("integer", i64::MIN).unwrap(), Some(Value::Integer(i64::MIN)));
    assert_eq!(of_number("real", u64::MAX).unwrap(), Some(Value::Real(18_446_744_073_709_551_616.0)));
    assert_eq!(of_number("port", 65535).unwrap(), Some(Port::new(65535, Protocol::Udp).into()));
    assert_eq!(of_number("timestamp", -1).unwrap(), Some(TimestampNs(-1).into()));
    assert_eq!(of_number("timespan", i64::MAX).unwrap(), Some(TimespanNs(i64::MAX).into()));
    for name in ["any", "string", "address", "subnet", "enum", "set"] {
        assert_eq!(of_number(name, 1).unwrap(), None, "{name}");
    }
    assert_eq!(of_number("count", -1).unwrap_err(), "-1 isn't a valid count; the range is 0 to 18446744073709551615");
    assert_eq!(of_number("port", 65536).unwrap_err(), "65536 isn't a valid port; the range is 0 to 65535");
    assert_eq!(of_number("port@proto", -1).unwrap_err(), "-1 isn't a valid port; the range is 0 to 65535");
    for name in ["integer", "timestamp", "timespan"] {
        assert!(of_number(name, u64::MAX).unwrap_err().contains("to 9223372036854775807"), "{name}");
    }
}

#[test]
fn a_real_is_seconds_of_a_time() {
    assert_eq!(of_real("timespan", -0.25).unwrap(), Some(TimespanNs(-250_000_000).into()));
    assert_eq!(of_real("timespan", 1.6e-9).unwrap(), Some(TimespanNs(2).into()));
    assert_eq!(of_real("timestamp", 1.5).unwrap(), Some(TimestampNs(1_500_000_000).into()));
    assert_eq!(of_real("timespan", 9e9).unwrap(), Some(TimespanNs(9_000_000_000_000_000_000).into()));
    for seconds in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, 9_223_372_036.9, -9_223_372_036.9] {
        assert!(of_real("timespan", seconds).unwrap_err().contains("64 bits of nanoseconds"), "{seconds}");
    }
    // A whole number may be written with a point or an exponent.
    assert_eq!(of_real("count", 1e3).unwrap(), Some(Value::Count(1000)));
    assert_eq!(of_real("count", -0.0).unwrap(), Some(Value::Count(0)));
    assert_eq!(of_real("integer", -5.0).unwrap(), Some(Value::Integer(-5)));
    assert_eq!(of_real("port", 53.0).unwrap(), Some(Port::new(53, Protocol::Udp).into()));
    assert!(of_real("count", -1.0).unwrap_err().contains("-1 isn't a valid count"));
    // Its digits may have been other ones.
    assert_eq!(of_real("count", 9_007_199_254_740_992.0).unwrap(), None);
    for name in ["count", "integer", "port"] {
        assert_eq!(of_real(name, f64::INFINITY).unwrap(), None, "{name}");
        assert_eq!(of_real(name, f64::NAN).unwrap(), None, "{name}");
    }
    for name in ["any", "real", "count", "integer", "port", "address", "set"] {
        assert_eq!(of_real(name, 1.5).unwrap(), None, "{name}");
    }
}

#[test]
fn none_and_a_value_of_the_type_fit() {
    for name in Hint::names().split(", ") {
        assert_eq!(hint(name).check(Kind::None), Ok(()));
        assert_eq!(hint(name).check(hint(name).kind().unwrap_or(Kind::Table)), Ok(()));
        assert_eq!(hint(name).check(Kind::Table).is_ok(), name == "any");
    }
    assert_eq!(
        told(hint("enum").check(Kind::Count)),
        "a value of type count was given for a field of type enum; change one of them"
    );
}

/// The object with the types asked for, as JSON that shows them.
fn read(json: &str, fields: &[&str]) -> Result<String, String> {
    let fields: Vec<FieldHint> = fields.iter().map(|field| field.parse().unwrap()).collect();
    let mut out = vec![7];
    let read = hinted::read(json.as_bytes(), &fields, &mut out).map_err(|error| error.to_string());
    assert_eq!(read.is_err(), out == [7], "after an error nothing is appended");
    read.map(|()| typed::to_string(&out[1..]).unwrap())
}

/// The result of one field.
fn of_field(json: &str, name: &str) -> Result<Value, String> {
    let fields = [FieldHint { field: "x".to_owned(), hint: hint(name) }];
    let mut out = Vec::new();
    hinted::read(format!("{{\"x\":{json}}}").as_bytes(), &fields, &mut out).map_err(|error| error.to_string())?;
    let Value::Table(table) = Value::decode(&out, &Limits::FORMAT).unwrap() else { return Err("no table".to_owned()) };
    Ok(table.get(&"x".into()).unwrap().clone())
}

#[test]
fn fields_of_json_get_their_types() {
    assert_eq!(of_field("1", "timespan"), Ok(TimespanNs(1_000_000_000).into()));
    assert_eq!(of_field("-1", "timespan"), Ok(TimespanNs(-1_000_000_000).into()));
    assert_eq!(of_field("1.0", "timestamp"), Ok(TimestampNs(1_000_000_000).into()));
    assert_eq!(of_field("1521911721", "timestamp"), Ok(TimestampNs(1_521_911_721_000_000_000).into()));
    assert_eq!(of_field("18446744073709551615", "count"), Ok(Value::Count(u64::MAX)));
    assert_eq!(of_field("18446744073709551616", "real"), Ok(Value::Real(18_446_744_073_709_551_616.0)));
    assert_eq!(of_field("7", "integer"), Ok(Value::Integer(7)));
    for (json, whole) in [("1.0", 1), ("1e3", 1000), ("-0", 0), ("-0.0", 0), ("[2.0]", 2)] {
        let list = |value: Value| if json.starts_with('[') { vec![value].into() } else { value };
        assert_eq!(of_field(json, "count"), Ok(list(Value::Count(whole))), "{json}");
        assert_eq!(of_field(json, "integer"), Ok(list(Value::Integer(whole as i64))), "{json}");
        assert_eq!(of_field(json, "port"), Ok(list(Port::new(whole as u16, Protocol::Unknown).into())), "{json}");
    }
    assert_eq!(of_field("7", "any"), Ok(Value::Count(7)));
    assert_eq!(of_field("\"a\"", "string"), Ok("a".into()));
    assert_eq!(of_field("null", "address"), Ok(Value::None));
    assert_eq!(of_field("[\"b\",\"a\",\"b\"]", "set"), Ok(Value::Set(["a".into(), "b".into()].into_iter().collect())));
    let addresses = vec![Value::None, vec!["::1".parse::<rawline_value::Address>().unwrap().into()].into()];
    assert_eq!(of_field("[null,[\"::1\"]]", "address"), Ok(addresses.into()));
    for (json, name, why) in [
        ("7", "address", "field x: a value of type count was given for a field of type address"),
        ("\"::g\"", "address", "field x: \"::g\": not an IPv4"),
        ("[1]", "address", "field x: "),
        ("1.25", "count", "of type real was given for a field of type count"),
        ("1e19", "count", "of type real was given for a field of type count"),
        ("-1.0", "count", "-1 isn't a valid count"),
        ("-1", "count", "-1 isn't a valid count"),
        ("9223372036854775808", "integer", "isn't a valid integer"),
        ("1.5", "integer", "of type real"),
        ("70000", "port", "70000 isn't a valid port"),
        ("true", "enum", "of type boolean"),
        ("{}", "set", "of type table"),
        ("\"a\"", "set", "of type string"),
        ("1521911721000", "timestamp", "64 bits of nanoseconds"),
    ] {
        let error = of_field(json, name).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_ports_protocol_is_another_fields_text() {
    let port = |json: &str| {
        let shown = read(json, &["proto=enum", "p=port@proto"]).unwrap();
        let at = shown.find("\"port\",\"data\":\"").unwrap() + 15;
        shown[at..].split('"').next().unwrap().to_owned()
    };
    assert_eq!(port(r#"{"p":53,"proto":"udp"}"#), "53/udp");
    assert_eq!(port(r#"{"proto":"icmp","p":8}"#), "8/icmp");
    assert_eq!(port(r#"{"p":[53],"proto":"tcp"}"#), "53/tcp");
    for other in [r#","proto":"sctp""#, r#","proto":null"#, ""] {
        assert_eq!(port(&format!("{{\"p\":1{other}}}")), "1/?");
    }
    assert!(read(r#"{"p":1,"proto":17}"#, &["p=port@proto"]).unwrap().contains("1/?"));
}

#[test]
fn an_object_comes_out_ascending_with_the_rest_as_it_is() {
    let shown =
        read(r#"{"b":{"y":1,"x":"::1"},"a":"::1"}"#, &["a=address", "a=string", "x=address", "c=port"]).unwrap();
    let mut plain = Vec::new();
    typed::read(shown.as_bytes(), &mut plain).unwrap();
    let inner = [("x".into(), "::1".into()), ("y".into(), 1u64.into())].into_iter().collect();
    let address = "::1".parse::<rawline_value::Address>().unwrap().into();
    let table = [("a".into(), address), ("b".into(), Value::Table(inner))].into_iter().collect();
    assert_eq!(plain, Value::Table(table).encode());
}

#[test]
fn other_values_are_refused() {
    for json in ["[1]", "1", "null", "\"{}\""] {
        assert!(read(json, &["x=address"]).unwrap_err().contains("this isn't an object"), "{json}");
    }
    assert!(read("{", &["x=address"]).unwrap_err().contains("line 1"));
    assert!(read("{\"x\":1,\"x\":2}", &[]).unwrap_err().contains("duplicate"));
    // An address of two letters takes 17 bytes: a value can pass the limit by its types alone.
    let long = format!("{{\"x\":[\"::\"{}]}}", ",\"::\"".repeat(1_000_000));
    assert!(read(&long, &["x=address"]).unwrap_err().contains("send smaller values"));
}

#[test]
fn a_number_of_seconds_is_exact_to_the_nanosecond() {
    for (seconds, nanoseconds) in [
        ("1521911720.600725", 1_521_911_720_600_725_000),
        ("1521911720.600725001", 1_521_911_720_600_725_001),
        ("-1521911720.600725001", -1_521_911_720_600_725_001),
        ("9223372036.854775807", i64::MAX),
        ("-9223372036.854775808", i64::MIN),
        ("0.0000000005", 1),
        ("-0.0000000005", -1),
        ("0.00000000049999", 0),
        ("1.00000000050000000000000000000000000000000000000", 1_000_000_001),
        ("0.00000000005", 0),
        ("1.5e3", 1_500_000_000_000),
        ("15E-1", 1_500_000_000),
        ("1e-300", 0),
        ("0e99999", 0),
        ("-0.0", 0),
        ("123", 123_000_000_000),
    ] {
        assert_eq!(of_field(seconds, "timestamp"), Ok(TimestampNs(nanoseconds).into()), "{seconds}");
        assert_eq!(of_field(seconds, "timespan"), Ok(TimespanNs(nanoseconds).into()), "{seconds}");
        let list = Value::from(vec![TimestampNs(nanoseconds).into(), Value::None]);
        assert_eq!(of_field(&format!("[{seconds}, null]"), "timestamp"), Ok(list), "{seconds}");
    }
    for seconds in ["9223372036.854775808", "-9223372036.8547758085", "1e10", "1e300", "92233720368547758070"] {
        let error = of_field(seconds, "timestamp").unwrap_err();
        assert!(error.contains("64 bits of nanoseconds"), "{seconds}: {error}");
    }
}

#[test]
fn fields_of_nested_objects_are_named_by_their_path() {
    let json = r#"{"id":{"orig_h":"10.0.0.1","orig_p":53,"proto":"udp","ts":1521911720.600725},"id.resp_h":"::1"}"#;
    let fields = [
        "id.orig_h=address",
        "id.resp_h=address",
        "id.orig_p=port@proto",
        "id.ts=timestamp",
        "id.resp_p=port",
        "i=set",
    ];
    let shown = read(json, &fields).unwrap();
    for part in [
        r#""@data-type":"address","data":"10.0.0.1""#,
        r#""@data-type":"address","data":"::1""#,
        r#""@data-type":"port","data":"53/udp""#,
        r#""@data-type":"timestamp","data":"2018-03-24T17:15:20.600725""#,
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let hints: Vec<FieldHint> = fields.iter().map(|field| field.parse().unwrap()).collect();
    let mut reader = hinted::Reader::new(hints);
    reader.read(json.as_bytes(), &mut Vec::new()).unwrap();
    assert_eq!(reader.seen().map(|(_, seen)| seen).collect::<Vec<_>>(), [true, true, true, true, false, false]);
    // A field of that very name goes before the path.
    let error = read(r#"{"a":{"b":7},"a.b":"::1"}"#, &["a=any", "a.b=address"]);
    assert!(error.is_ok(), "{error:?}");
}

#[test]
fn a_protocol_is_read_in_any_case() {
    for name in ["UDP", "Udp", "udp"] {
        let shown = read(&format!(r#"{{"p":53,"proto":"{name}"}}"#), &["p=port@proto"]).unwrap();
        assert!(shown.contains("\"53/udp\""), "{shown}");
    }
    assert_eq!("53/UDP".parse::<rawline_value::Port>().unwrap().to_string(), "53/udp");
}
