//! Rust types to and from a value's bytes by serde.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rawline_value::json::plain;
use rawline_value::{
    Address, Limits, Name, Port, Protocol, SerdeError, Subnet, TimespanNs, TimestampNs, Value, ValueError, as_set,
    from_bytes, to_bytes, to_bytes_into,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Connection<'a> {
    uid: &'a str,
    host: Address,
    port: Port,
    network: Option<Subnet>,
    started: TimestampNs,
    duration: Option<TimespanNs>,
    log: Name,
    state: State,
    #[serde(with = "as_set")]
    tags: BTreeSet<u64>,
    notes: BTreeMap<String, i32>,
    payload: (bool, f64, Vec<u8>),
    extra: Value,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Open,
    Closed(u16),
    Reset(u8, u8),
    Failed { reason: String },
}

fn connection(state: State) -> Connection<'static> {
    Connection {
        uid: "CHhAvVGS1DHFjwGM9",
        host: "10.0.0.1".parse().unwrap(),
        port: Port::new(53, Protocol::Udp),
        network: Some("10.0.0.0/8".parse().unwrap()),
        started: TimestampNs(1_649_574_000_123_456_789),
        duration: None,
        log: Name("Conn::LOG".into()),
        state,
        tags: [3, 1, 2].into(),
        notes: [("b".into(), -2), ("a".into(), 1)].into(),
        payload: (true, f64::NEG_INFINITY, vec![7]),
        extra: Value::Vector(vec![Value::Integer(-1), Value::None]),
    }
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) {
    let bytes = to_bytes(&value).unwrap();
    Value::decode(&bytes, &Limits::default()).unwrap();
    assert_eq!(from_bytes::<T>(&bytes).unwrap(), value);
}

#[test]
fn a_record_becomes_a_vector_of_its_types() {
    let bytes = to_bytes(&connection(State::Open)).unwrap();
    assert_eq!(
        plain::to_string(&bytes).unwrap(),
        concat!(
            r#"["CHhAvVGS1DHFjwGM9","10.0.0.1","53/udp","10.0.0.0/8","2022-04-10T07:00:00.123456789Z","#,
            r#"null,"Conn::LOG","#,
            r#""Open",[1,2,3],{"a":1,"b":-2},[true,"-inf",[7]],[-1,null]]"#
        )
    );
    let Value::Vector(fields) = Value::decode(&bytes, &Limits::default()).unwrap() else {
        panic!("no vector");
    };
    assert_eq!(fields[1], Value::Address("10.0.0.1".parse().unwrap()));
    assert_eq!(fields[2], Value::Port(Port::new(53, Protocol::Udp)));
    assert_eq!(fields[4], Value::Timestamp(1_649_574_000_123_456_789));
    assert_eq!(fields[6], Value::Enum("Conn::LOG".into()));
    assert_eq!(fields[7], Value::Enum("Open".into()));
    assert!(matches!(&fields[8], Value::Set(tags) if tags.len() == 3));
    assert!(matches!(&fields[9], Value::Table(notes) if notes.len() == 2));
}

#[test]
fn records_come_back() {
    for state in [State::Open, State::Closed(80), State::Reset(1, 2), State::Failed { reason: "timeout".into() }] {
        let value = connection(state);
        let bytes = to_bytes(&value).unwrap();
        let back: Connection<'_> = from_bytes(&bytes).unwrap();
        assert_eq!(back, value);
        assert!(bytes.as_ptr_range().contains(&back.uid.as_ptr()), "the text is borrowed");
    }
}

#[test]
fn the_originals_event_is_a_tuple() {
    let bytes = to_bytes(&(1_u64, 1_u64, ("event_1", (42_i64, "test")))).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "0e030200000000000000010200000000000000010e0205076576656e745f310e0203000000000000002a050474657374");
    let (_, _, (name, (number, text))): (u64, u64, (&str, (i64, &str))) = from_bytes(&bytes).unwrap();
    assert_eq!((name, number, text), ("event_1", 42, "test"));
}

#[test]
fn ordinary_types_come_back() {
    round_trip(());
    round_trip(None::<u8>);
    round_trip(Some(7_u8));
    round_trip((u64::MAX, i64::MIN, u128::from(u64::MAX), i128::from(i64::MIN)));
    round_trip((1.5_f32, f64::MIN_POSITIVE, -0.0_f64, f64::INFINITY));
    round_trip(('ü', String::from("a\0b"), "x".repeat(70_000)));
    round_trip(vec![vec![1_u32; 200]; 130]);
    round_trip(HashMap::from([((1, 2), "a".to_owned()), ((3, 4), "b".to_owned())]));
    round_trip([Some(State::Open), None]);
    round_trip(Value::Set([Value::Count(1), Value::Real(f64::INFINITY)].into_iter().collect()));
}

#[test]
fn a_field_that_is_left_out_keeps_its_place() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sparse {
        #[serde(skip_serializing_if = "Option::is_none")]
        first: Option<u8>,
        second: u8,
    }
    round_trip(Sparse { first: None, second: 2 });
    round_trip(Sparse { first: Some(1), second: 2 });
}

#[test]
fn records_may_grow_and_may_be_tables() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Now {
        name: String,
        #[serde(default)]
        count: u64,
    }
    let expected = Now { name: "a".into(), count: 7 };
    assert_eq!(from_bytes::<Now>(&to_bytes(&("a", 7, [true; 3], "later")).unwrap()).unwrap(), expected);
    assert_eq!(from_bytes::<Now>(&to_bytes(&("a",)).unwrap()).unwrap(), Now { name: "a".into(), count: 0 });
    let mut table = Vec::new();
    plain::read(br#"{"other":[1,{"x":2}],"count":7,"name":"a"}"#, &mut table).unwrap();
    assert_eq!(from_bytes::<Now>(&table).unwrap(), expected);
    from_bytes::<Now>(&to_bytes(&[0; 0]).unwrap()).unwrap_err();
    // The value after an element with ignored fields is read at its own position.
    let bytes = to_bytes(&[("a", 7, vec![1]), ("b", 8, vec![])]).unwrap();
    let both: [Now; 2] = from_bytes(&bytes).unwrap();
    assert_eq!(both[1], Now { name: "b".into(), count: 8 });
}

#[test]
fn own_types_come_out_as_text_where_text_is_asked_for() {
    let bytes = to_bytes(&(TimestampNs(0), TimespanNs(-1_500_000_000), Port::new(8, Protocol::Icmp))).unwrap();
    let text: [String; 3] = from_bytes(&bytes).unwrap();
    assert_eq!(text, ["1970-01-01T00:00:00.000000000Z", "-1.5s", "8/icmp"]);
    let json: serde_json::Value = from_bytes(&bytes).unwrap();
    assert_eq!(json[1], "-1.5s");
    assert_eq!(from_bytes::<&[u8]>(&Value::String((&[0xff_u8][..]).into()).encode()).unwrap(), [0xff]);
    // Never the other way, nor one for another.
    from_bytes::<Address>(&to_bytes("10.0.0.1").unwrap()).unwrap_err();
    from_bytes::<TimestampNs>(&to_bytes(&TimespanNs(1)).unwrap()).unwrap_err();
    from_bytes::<u8>(&to_bytes(&256).unwrap()).unwrap_err();
    from_bytes::<&str>(&Value::String((&[0xff_u8][..]).into()).encode()).unwrap_err();
}

#[test]
fn own_types_are_text_in_human_readable_formats() {
    let value = (TimestampNs(1), TimespanNs(1), "::1".parse::<Address>().unwrap(), Name("A".into()));
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(json, r#"["1970-01-01T00:00:00.000000001Z","0.000000001s","::1","A"]"#);
    assert_eq!(serde_json::from_str::<(TimestampNs, TimespanNs, Address, Name)>(&json).unwrap(), value);
    serde_json::to_string(&Value::None).unwrap_err();
}

#[test]
fn twins_are_refused() {
    #[derive(Serialize)]
    struct Twins(#[serde(with = "as_set")] Vec<u8>);
    let mut out = vec![1];
    let error = to_bytes_into(&Twins(vec![1, 1]), &mut out).unwrap_err();
    assert!(matches!(error, SerdeError::Value(ValueError::NotUnique { .. })), "{error}");
    assert_eq!(out, [1]);
    to_bytes(&Twins(vec![2, 1])).unwrap();
}

#[test]
fn depth_is_limited() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Nested(Vec<Nested>);
    #[derive(Debug, Deserialize)]
    struct Endless(#[allow(dead_code)] Option<Box<Endless>>);

    let nested = |levels: usize| (1..levels).fold(Nested(vec![]), |inner, _| Nested(vec![inner]));
    let bytes = to_bytes(&nested(128)).unwrap();
    from_bytes::<Nested>(&bytes).unwrap();
    assert!(matches!(to_bytes(&nested(129)), Err(SerdeError::TooDeep)));
    let deeper = [&[0x0e, 1], &bytes[..]].concat();
    assert!(matches!(from_bytes::<Nested>(&deeper), Err(SerdeError::TooDeep)));
    assert!(matches!(from_bytes::<Endless>(&[1, 1]), Err(SerdeError::TooDeep)));
    // Skipped values are not recursed into.
    let deepest = [[0x0e, 1].repeat(500_000), vec![0]].concat();
    from_bytes::<IgnoredAny>(&deepest).unwrap();
    assert!(matches!(from_bytes::<Nested>(&deepest), Err(SerdeError::TooDeep)));
}

#[test]
fn damaged_bytes_never_panic() {
    let bytes = to_bytes(&connection(State::Failed { reason: "x".into() })).unwrap();
    for length in 0..bytes.len() {
        from_bytes::<Connection<'_>>(&bytes[..length]).unwrap_err();
    }
    from_bytes::<u8>(&[to_bytes(&1).unwrap(), vec![0]].concat()).unwrap_err();
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
        let mut damaged = bytes.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..damaged.len());
            damaged[at] = if random.bool() { random.u8(..16) } else { random.u8(..) };
        }
        if let Ok(read) = from_bytes::<Connection<'_>>(&damaged) {
            // Only a set or table with twins can be read and not be written as it was.
            to_bytes(&read).unwrap();
        }
    }
}
