//! Derived types: the same bytes as serde's, the attributes, what is refused.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::marker::PhantomData;

use rawline_value::{
    Address, DecodeError, FromValue, Limits, Name, Port, Protocol, Subnet, TableBuilder, TimespanNs, TimestampNs,
    ToValue, Value, ValueError, ValueReader, ValueWriter, decode, encode, encode_into, from_bytes, json, to_bytes,
};
use serde::{Deserialize, Serialize};

/// Written by serde and by the derived code to the same bytes; read by both to the same value.
fn same<'de, T>(value: &T, bytes: &'de mut Vec<u8>)
where
    T: ToValue + FromValue<'de> + Serialize + Deserialize<'de> + PartialEq + Debug,
{
    encode_into(value, bytes).unwrap();
    assert_eq!(*bytes, to_bytes(value).unwrap(), "{value:?}");
    Value::decode(bytes, &Limits::default()).unwrap();
    assert_eq!(decode::<T>(bytes).as_ref(), Ok(value));
    assert_eq!(from_bytes::<T>(bytes).unwrap(), *value);
}

macro_rules! same {
    ($($value:expr),* $(,)?) => {
        $(same(&$value, &mut Vec::new());)*
    };
}

#[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
struct Connection<'a> {
    uid: &'a str,
    host: Address,
    port: Port,
    network: Option<Subnet>,
    started: TimestampNs,
    duration: Option<TimespanNs>,
    log: Name,
    state: State,
    #[serde(with = "rawline_value::as_set")]
    #[value(set)]
    tags: BTreeSet<u64>,
    notes: BTreeMap<String, i32>,
    payload: (bool, f64, Vec<u8>),
    extra: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
enum State {
    Open,
    Closed(u16),
    Reset(u8, u8),
    Failed { reason: String },
}

fn states() -> [State; 4] {
    [State::Open, State::Closed(80), State::Reset(1, 2), State::Failed { reason: "timeout".into() }]
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

#[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
struct Newtype<T>(T);

#[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
struct Pair<A, B>(A, B);

#[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
struct Empty {}

#[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
struct Generic<'a, T, const N: usize> {
    text: &'a str,
    #[serde(borrow)]
    cow: Cow<'a, str>,
    items: Vec<T>,
    #[serde(skip)]
    #[value(skip)]
    skipped: u8,
    last: PhantomData<[T; N]>,
    r#type: u8,
}

#[test]
fn bytes_are_those_of_serde() {
    for state in states() {
        same!(connection(state.clone()), [Some(state.clone()), None], Newtype(state.clone()), Pair(state, Unit));
    }
    same!(
        (),
        Unit,
        Empty {},
        Newtype(7_u8),
        Newtype(Some(Newtype("x".to_owned()))),
        Pair(1_u8, Some(-1_i64)),
        Generic::<u32, 3> { text: "a", cow: "b".into(), items: vec![1; 200], skipped: 0, last: PhantomData, r#type: 1 },
        Some(7_u8),
        None::<u8>,
        (u64::MAX, i64::MIN, usize::MAX, isize::MIN, u16::MAX, i8::MIN),
        (1.5_f32, f64::MIN_POSITIVE, -0.0_f64, f64::INFINITY),
        ('ü', String::from("a\0b"), "x".repeat(70_000)),
        vec![vec![1_u32; 200]; 130],
        VecDeque::from([1_i32, 2]),
        BTreeSet::from([1_u8, 2]),
        HashSet::from([1_u8]),
        HashMap::from([((1_u8, 2_u8), "a".to_owned())]),
        BTreeMap::from([(Newtype2(1), vec![true]), (Newtype2(2), vec![])]),
        Value::Set([Value::Count(1), Value::Real(f64::INFINITY)].into_iter().collect()),
        [1_u8, 2, 3],
        Box::new(7_u8),
    );
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToValue, FromValue)]
struct Newtype2(u8);

/// A type that another macro makes, whose identifiers aren't those of the derived code.
#[test]
fn macros_may_derive() {
    macro_rules! record {
        ($name:ident, $writer:ident: $type:ty) => {
            #[derive(Debug, PartialEq, Serialize, Deserialize, ToValue, FromValue)]
            struct $name {
                $writer: $type,
                reader: $type,
            }
        };
    }
    record!(Made, writer: Option<u8>);
    same!(Made { writer: None, reader: Some(1) });
}

#[test]
fn text_is_borrowed() {
    let bytes = encode(&connection(State::Open)).unwrap();
    let back: Connection<'_> = decode(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&back.uid.as_ptr()));
    let bytes = encode("a").unwrap();
    assert!(matches!(decode::<Cow<'_, str>>(&bytes), Ok(Cow::Borrowed("a"))));
}

#[derive(Debug, Clone, PartialEq, ToValue, FromValue)]
#[value(table, rename_all = "camelCase")]
struct Event {
    first_name: String,
    #[value(rename = "n")]
    count: u64,
    rate: Option<f64>,
    #[value(default)]
    added_later: Vec<i32>,
    #[value(default = "seven")]
    level: u8,
    #[value(skip)]
    cache: Option<String>,
    #[value(bytes, default)]
    raw: Vec<u8>,
    #[value(set, default, skip_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[value(with = "as_text", default)]
    number: u32,
    inner: Option<Inner>,
}

#[derive(Debug, Clone, Default, PartialEq, ToValue, FromValue)]
#[value(table)]
struct Inner {
    x: i32,
}

fn seven() -> u8 {
    7
}

mod as_text {
    use super::*;

    pub(crate) fn to_value(number: &u32, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        number.to_string().to_value(writer)
    }

    pub(crate) fn from_value(reader: &mut ValueReader<'_>) -> Result<u32, DecodeError> {
        <&str>::from_value(reader)?.parse().map_err(DecodeError::custom)
    }
}

fn event() -> Event {
    Event {
        first_name: "Ada".into(),
        count: 3,
        rate: None,
        added_later: vec![1],
        level: 2,
        cache: None,
        raw: vec![0xff],
        tags: vec!["b".into(), "a".into()],
        number: 42,
        inner: Some(Inner { x: 1 }),
    }
}

#[test]
fn tables_have_names_and_leave_absent_fields_out() {
    let bytes = encode(&event()).unwrap();
    assert_eq!(
        json::plain::to_string(&bytes).unwrap(),
        concat!(
            r#"{"firstName":"Ada","n":3,"addedLater":[1],"level":2,"raw":"\ufffd","tags":["b","a"],"number":"42","#,
            r#""inner":{"x":1}}"#
        )
        .replace("\\ufffd", "\u{fffd}")
    );
    assert_eq!(decode::<Event>(&bytes), Ok(event()));
    let rare = Event { rate: Some(0.5), tags: vec![], inner: None, ..event() };
    assert_eq!(decode::<Event>(&encode(&rare).unwrap()), Ok(rare));
}

/// Fields in any order, unknown ones between them, missing ones: as a program of another version writes them.
#[test]
fn tables_are_read_in_any_order() {
    // By a fixed seed: rotations, reversals and unknown keys at every place.
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..500 {
        let mut fields: Vec<(&str, u64)> = vec![("firstName", 0), ("n", 1), ("level", 2), ("inner", 3), ("new", 4)];
        random.shuffle(&mut fields);
        fields.push(("unknown", 4));
        let mut bytes = Vec::new();
        let mut table = TableBuilder::new(&mut bytes);
        for (name, number) in &fields {
            match number {
                0 => drop(table.add(*name, "Ada")),
                1 | 2 => drop(table.add(*name, *number)),
                3 => drop(table.table(*name).add("y", 1).add("x", -5)),
                _ => drop(table.list(*name).add(1).add("x")),
            }
        }
        drop(table);
        let read = decode::<Event>(&bytes).unwrap();
        assert_eq!((read.first_name.as_str(), read.count, read.level, read.number), ("Ada", 1, 2, 0), "{fields:?}");
        assert_eq!(read.inner, Some(Inner { x: -5 }));
    }
    let mut defaults = Vec::new();
    TableBuilder::new(&mut defaults).add("n", 1_u64).add("firstName", "");
    assert_eq!(decode::<Event>(&defaults).unwrap().level, 7);
}

#[test]
fn records_may_grow_and_may_be_vectors() {
    let vector = encode(&("Ada", 3_u64, None::<f64>, [1], 2_u64, "raw")).unwrap();
    let read = decode::<Event>(&vector).unwrap();
    assert_eq!((read.first_name.as_str(), read.raw.as_slice(), read.inner), ("Ada", b"raw".as_slice(), None));
    let longer = encode(&(1, [[true]], "later")).unwrap();
    assert_eq!(decode::<Inner>(&longer), Ok(Inner { x: 1 }));
    let two: [Inner; 2] = decode(&encode(&[(1, "a"), (2, "b")]).unwrap()).unwrap();
    assert_eq!(two[1], Inner { x: 2 });
}

#[derive(Debug, PartialEq, ToValue, FromValue)]
#[value(rename_all = "SCREAMING-KEBAB-CASE", table)]
enum Command {
    StopNow,
    #[value(rename = "go")]
    Start(Inner),
    #[value(rename_all = "PascalCase")]
    MoveTo {
        x_axis: i32,
        y_axis: Option<i32>,
    },
}

#[test]
fn variants_have_names() {
    let json = |command: &Command| json::plain::to_string(&encode(command).unwrap()).unwrap();
    let moved = Command::MoveTo { x_axis: 1, y_axis: None };
    assert_eq!(json(&Command::StopNow), r#""STOP-NOW""#);
    assert_eq!(json(&Command::Start(Inner { x: 1 })), r#"["go",{"x":1}]"#);
    assert_eq!(json(&moved), r#"["MOVE-TO",{"XAxis":1}]"#);
    for command in [Command::StopNow, Command::Start(Inner { x: 2 }), moved] {
        assert_eq!(decode::<Command>(&encode(&command).unwrap()), Ok(command));
    }
    // A variant's name may be a string, which is what JSON gives.
    assert_eq!(decode::<Command>(&encode("STOP-NOW").unwrap()), Ok(Command::StopNow));
    for (bytes, wanted) in [
        (encode("go"), "the variant go has no content, unlike the type's variant of this name"),
        (encode(&("STOP-NOW", 1)), "the variant STOP-NOW has content, unlike the type's variant of this name"),
        (encode("x"), "the type has no variant \"x\"; its variants are STOP-NOW, go, MOVE-TO"),
        (encode(&("go", 1, 2)), "a variant is its name, or a vector of its name and its content"),
        (encode(&7), "the value at byte 0 is of type integer, not enum-value; ask for what was written"),
    ] {
        assert_eq!(decode::<Command>(&bytes.unwrap()).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn errors_name_the_field() {
    #[derive(Debug, ToValue, FromValue)]
    #[value(table)]
    struct Outer {
        before: bool,
        inner: Inner,
    }
    let table = |x: Value| {
        let inner = Value::Table([("x".into(), x)].into_iter().collect());
        Value::Table([("before".into(), true.into()), ("inner".into(), inner)].into_iter().collect()).encode()
    };
    let error = decode::<Outer>(&table("text".into())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "field inner.x: the value at byte 24 is of type string, not integer; ask for what was written"
    );
    assert_eq!(error.path(), "inner.x");
    assert!(matches!(error.value_error(), Some(ValueError::Kind { position: 24, .. })));
    let error = decode::<Outer>(&table(Value::Count(1 << 40))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "field inner.x: the field's type can't hold the number 1099511627776; use a larger type"
    );
    let error = decode::<Outer>(&encode(&BTreeMap::from([("before", true)])).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "field inner: missing; send it, or give the field a default");
}

#[test]
fn numbers_and_text_are_read_as_serde_reads_them() {
    assert_eq!(decode::<u8>(&encode(&7_i64).unwrap()), Ok(7));
    assert_eq!(decode::<i8>(&encode(&7_u64).unwrap()), Ok(7));
    assert_eq!(decode::<f64>(&encode(&7_u64).unwrap()), Ok(7.0));
    assert_eq!(decode::<f32>(&encode(&-7_i64).unwrap()), Ok(-7.0));
    decode::<u8>(&encode(&256).unwrap()).unwrap_err();
    decode::<u8>(&encode(&-1).unwrap()).unwrap_err();
    decode::<u8>(&encode(&1.0).unwrap()).unwrap_err();
    let own = encode(&(TimestampNs(0), TimespanNs(-1_500_000_000), Port::new(8, Protocol::Icmp), Name("A".into())));
    let text: [String; 4] = decode(&own.unwrap()).unwrap();
    assert_eq!(text, ["1970-01-01T00:00:00.000000000Z", "-1.5s", "8/icmp", "A"]);
    decode::<Address>(&encode("10.0.0.1").unwrap()).unwrap_err();
    decode::<&str>(&Value::String((&[0xff_u8][..]).into()).encode()).unwrap_err();
    assert_eq!(decode::<&[u8]>(&Value::String((&[0xff_u8][..]).into()).encode()), Ok(&[0xff_u8][..]));
    decode::<[u8; 3]>(&encode(&[1, 2]).unwrap()).unwrap_err();
    decode::<u8>(&[encode(&1).unwrap(), vec![0]].concat()).unwrap_err();
}

/// Refused where they are written and where they are read.
#[test]
fn duplicates_are_refused() {
    #[derive(Debug, ToValue, FromValue)]
    struct Tags(#[value(set)] Vec<u8>);
    let not_unique =
        |error: DecodeError| assert!(matches!(error.value_error(), Some(ValueError::NotUnique { .. })), "{error}");
    let mut out = vec![1];
    assert!(matches!(encode_into(&Tags(vec![1, 1]), &mut out), Err(ValueError::NotUnique { position: 0 })));
    assert_eq!(out, [1]);
    encode(&Tags(vec![2, 1])).unwrap();
    let set = [vec![0x0c, 2], encode(&1_u8).unwrap(), encode(&1_u8).unwrap()].concat();
    not_unique(decode::<Tags>(&set).unwrap_err());
    not_unique(decode::<BTreeSet<u8>>(&set).unwrap_err());
    not_unique(decode::<HashSet<u8>>(&set).unwrap_err());
    let pair = |x: i32| [encode("x").unwrap(), encode(&x).unwrap()].concat();
    let table = [vec![0x0d, 2], pair(1), pair(2)].concat();
    not_unique(decode::<BTreeMap<String, i32>>(&table).unwrap_err());
    not_unique(decode::<HashMap<String, i32>>(&table).unwrap_err());
    assert_eq!(decode::<Inner>(&table).unwrap_err().to_string(), "field x: duplicate; send each key once");
    // Keys that are different in Rust and the same in the format.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Bits(u64);
    impl ToValue for Bits {
        fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
            f64::from_bits(self.0).to_value(writer)
        }
    }
    let zeros = BTreeMap::from([(Bits(0), 1), (Bits(1 << 63), 2)]);
    assert!(matches!(encode(&zeros), Err(ValueError::NotUnique { .. })));
}

#[test]
fn depth_is_limited() {
    #[derive(Debug, PartialEq, ToValue, FromValue)]
    struct Nested(Vec<Nested>);
    #[derive(Debug, ToValue, FromValue)]
    struct Endless(#[allow(dead_code)] Option<Box<Endless>>);
    #[derive(Debug, ToValue, FromValue)]
    #[value(table)]
    struct Chain {
        next: Option<Box<Chain>>,
    }

    let nested = |levels: usize| (1..levels).fold(Nested(vec![]), |inner, _| Nested(vec![inner]));
    let bytes = encode(&nested(128)).unwrap();
    assert_eq!(decode(&bytes), Ok(nested(128)));
    assert!(matches!(encode(&nested(129)), Err(ValueError::TooDeep { .. })));
    let too_deep =
        |error: DecodeError| assert!(matches!(error.value_error(), Some(ValueError::TooDeep { .. })), "{error}");
    too_deep(decode::<Nested>(&[&[0x0e, 1], &bytes[..]].concat()).unwrap_err());
    too_deep(decode::<Endless>(&[1, 1]).unwrap_err());
    // Skipped values aren't recursed into.
    let deepest = [[0x0e, 1].repeat(500_000), vec![0]].concat();
    too_deep(decode::<Nested>(&deepest).unwrap_err());
    #[derive(Debug, PartialEq, ToValue, FromValue)]
    struct Nothing {}
    assert_eq!(decode::<Nothing>(&deepest), Ok(Nothing {}));
    // A level through a pointer counts twice; what is written can be read.
    let chain = |levels: usize| (1..levels).fold(Chain { next: None }, |next, _| Chain { next: Some(Box::new(next)) });
    decode::<Chain>(&encode(&chain(64)).unwrap()).unwrap();
    assert!(matches!(encode(&chain(65)), Err(ValueError::TooDeep { .. })));
    let tree = (0..127).fold(Value::None, |inner, _| Value::Vector(vec![inner]));
    assert_eq!(decode::<(Value,)>(&encode(&(&tree,)).unwrap()), Ok((tree.clone(),)));
    assert!(matches!(encode(&((tree,),)), Err(ValueError::TooDeep { .. })));
}

#[test]
fn limits_are_checked_where_values_are_written() {
    assert!(matches!(encode(&vec![(); (1 << 20) + 1]), Err(ValueError::TooManyElements { .. })));
    assert!(matches!(encode(&"x".repeat(16 << 20)), Err(ValueError::TooLong { .. })));
    let mut out = vec![7];
    encode_into(&vec![(); (1 << 20) + 1], &mut out).unwrap_err();
    assert_eq!(out, [7]);
}

/// Bytes from a hostile sender: whatever the derived code reads, serde's code reads the same or has a reason not to.
#[test]
fn damaged_bytes_never_panic() {
    let samples = states().map(|state| encode(&connection(state)).unwrap());
    let event = encode(&event()).unwrap();
    for length in 0..event.len() {
        decode::<Event>(&event[..length]).unwrap_err();
    }
    let mut random = fastrand::Rng::with_seed(5);
    let (mut read, mut refused) = (0, 0);
    for round in 0..if cfg!(miri) { 20 } else { 20_000 } {
        let mut damaged = if round % 3 == 0 { event.clone() } else { samples[round % 4].clone() };
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..damaged.len());
            damaged[at] = if random.bool() { random.u8(..16) } else { random.u8(..) };
        }
        let _ = decode::<Event>(&damaged);
        match decode::<Connection<'_>>(&damaged) {
            Ok(connection) => {
                read += 1;
                encode(&connection).unwrap();
                // As text: a NaN isn't equal to itself.
                let by_serde = from_bytes::<Connection<'_>>(&damaged).unwrap();
                assert_eq!(format!("{connection:?}"), format!("{by_serde:?}"));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
