//! Filters: their matches, compared with an evaluation on the decoded tree, and on bytes that aren't values.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use fastrand::Rng;
use rawline_value::{Filter, FilterError, Limits, Value, json};
use std::cmp::Ordering;

const ROUNDS: usize = if cfg!(miri) { 50 } else { 20_000 };

fn filter(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A connection as Zeek logs it: one key contains a dot, another table has tables.
fn connection() -> Vec<u8> {
    let text = r#"{"@data-type":"table","data":[
        {"key":{"@data-type":"string","data":"id.resp_p"},"value":{"@data-type":"port","data":"53/udp"}},
        {"key":{"@data-type":"string","data":"id"},"value":{"@data-type":"table","data":[
            {"key":{"@data-type":"string","data":"orig_h"},"value":{"@data-type":"address","data":"10.1.2.3"}},
            {"key":{"@data-type":"string","data":"resp_h"},"value":{"@data-type":"address","data":"2001:db8::53"}}]}},
        {"key":{"@data-type":"string","data":"query"},"value":{"@data-type":"string","data":"this and that"}},
        {"key":{"@data-type":"string","data":"ts"},"value":
            {"@data-type":"timestamp","data":"2022-04-10T07:00:00.5"}},
        {"key":{"@data-type":"string","data":"rtt"},"value":{"@data-type":"timespan","data":"20ms"}},
        {"key":{"@data-type":"string","data":"bytes"},"value":{"@data-type":"count","data":18446744073709551615}},
        {"key":{"@data-type":"string","data":"delta"},"value":{"@data-type":"integer","data":-7}},
        {"key":{"@data-type":"string","data":"score"},"value":{"@data-type":"real","data":0.25}},
        {"key":{"@data-type":"string","data":"ok"},"value":{"@data-type":"boolean","data":true}},
        {"key":{"@data-type":"string","data":"proto"},"value":{"@data-type":"enum-value","data":"Conn::LOG"}},
        {"key":{"@data-type":"string","data":"net"},"value":{"@data-type":"subnet","data":"10.0.0.0/8"}},
        {"key":{"@data-type":"count","data":1},"value":{"@data-type":"count","data":1}},
        {"key":{"@data-type":"string","data":"list"},"value":{"@data-type":"vector","data":[
            {"@data-type":"count","data":5},{"@data-type":"vector","data":[{"@data-type":"string","data":"in"}]}]}}]}"#;
    let mut bytes = Vec::new();
    json::typed::read(text.as_bytes(), &mut bytes).unwrap();
    bytes
}

#[test]
fn conditions_hold_for_fields_of_every_type() {
    let bytes = connection();
    for yes in [
        "id.resp_p=53/udp",
        "id.resp_p = 53",
        "id.resp_p>=53/tcp",
        "id.orig_h=10.1.2.3",
        "id.orig_h=10.0.0.0/8",
        "id.orig_h!=192.168.0.0/16",
        "id.orig_h<10.1.2.4",
        "id.resp_h=2001:db8::/32",
        "id.resp_h!=10.0.0.0/8",
        r#"query="this and that""#,
        r#"query="this and that" and ok=true"#,
        "query>this",
        "ok=TRUE",
        "ok=True and ok!=FALSE",
        r#"query!="=this""#,
        r#"query!="this or that""#,
        "query!=or",
        "query!=order and ok=true",
        "ts>2022-04-10T07:00:00Z",
        "ts=2022-04-10T07:00:00.500Z",
        "ts=2022-04-10T09:00:00.500+02:00",
        "rtt<=20ms",
        "rtt<0.5s",
        "bytes=18446744073709551615",
        "bytes>18446744073709551614",
        "bytes>1.5",
        "delta<0",
        "delta=-7",
        "delta>-7.5",
        "score=0.25",
        "score<1",
        "ok=T",
        "proto=Conn::LOG",
        "net=10.0.0.0/8",
        "list.0=5",
        "list.1.0=in",
        "list.0>4 and list.0<6 and ok!=false",
        r#""id.resp_p" != 54/udp"#,
    ] {
        assert!(filter(yes).matches(&bytes), "{yes}");
    }
    for no in [
        "id.resp_p=53/tcp",
        "id.resp_p=54",
        "id.resp_p=dns",
        "id.resp_p!=dns",
        "id.orig_h!=10.0.0.0/8",
        "id.orig_h<10.0.0.0/8",
        "id.orig_h=::/8",
        "id=10.1.2.3",
        "id.orig=10.1.2.3",
        "id.orig_h.x=10.1.2.3",
        "nothing=1",
        "nothing!=1",
        "1=1",
        "list=5",
        "list.00=5",
        "list.+0=5",
        "list.2=5",
        "list.99999999999999999999=5",
        "ok=true and ok=false",
        "bytes=-1",
        "ts=yesterday",
        "net=10.0.0.0/9",
    ] {
        assert!(!filter(no).matches(&bytes), "{no}");
    }
}

#[test]
fn messages_of_zeek_are_vectors() {
    let event = support::value_bytes("event_1");
    assert!(filter("2.0=event_1 and 2.1.0=42 and 2.1.1=test").matches(&event));
    assert!(!filter("2.0=event_2").matches(&event));
}

#[test]
fn errors_say_what_to_write() {
    let error = |text: &str| text.parse::<Filter>().unwrap_err();
    assert_eq!(error(""), FilterError::NoField { text: String::new() });
    assert_eq!(error("=1"), FilterError::NoField { text: "=1".into() });
    assert_eq!(error("a"), FilterError::NoOperator { text: "a".into() });
    assert_eq!(error("a!1"), FilterError::NoOperator { text: "a!1".into() });
    assert_eq!(error("a="), FilterError::NoValue { path: "a".into() });
    assert_eq!(error("a=1 and "), FilterError::NoField { text: String::new() });
    assert_eq!(error("a=1 and b"), FilterError::NoOperator { text: "b".into() });
    assert_eq!(error(r#"a="x"#), FilterError::Unclosed { text: r#""x"#.into() });
    assert_eq!(error(r#"a="x" or b=1"#), FilterError::NoAnd { text: " or b=1".into() });
    let operator = |value: &str| FilterError::Operator { value: value.into() };
    assert_eq!(error("a==1"), operator("=1"));
    assert_eq!(error("a=>1"), operator(">1"));
    assert_eq!(error("a<>1"), operator(">1"));
    assert_eq!(error("a = = 1"), operator("= 1"));
    for (text, value, word) in [
        ("a=1 or b=2", "1 or b=2", "or"),
        ("a=1 OR b=2", "1 OR b=2", "OR"),
        ("a=1 AND b=2", "1 AND b=2", "AND"),
        ("a=1 And b=2 and c=3", "1 And b=2", "And"),
        ("a=1 && b=2", "1 && b=2", "&&"),
        ("a=1 || b=2", "1 || b=2", "||"),
        ("a=not 1", "not 1", "not"),
        ("a=1\tand b=2", "1\tand b=2", "and"),
    ] {
        assert_eq!(error(text), FilterError::Word { value: value.into(), word: word.into() }, "{text}");
    }
    assert_eq!(error("not a=1"), FilterError::Spaces { path: "not a".into() });
    assert_eq!(error("a=1 and b c=2"), FilterError::Spaces { path: "b c".into() });
    assert_eq!(error(&"a".repeat(1025)), FilterError::TooLong { bytes: 1025 });
    assert_eq!(error(&["a=1"; 17].join(" and ")), FilterError::TooMany);
    assert!(error("a").to_string().contains("write one of = != < <= > >="));
}

/// The result of a filter with one condition on a tree.
fn holds(value: &Value, path: &[&str], operator: &str, text: &str) -> bool {
    let Some((_, below)) = path.split_first() else {
        return compare(value, text).is_some_and(|order| match operator {
            "=" => order.is_eq(),
            "!=" => order.is_ne(),
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        });
    };
    match value {
        Value::Vector(values) => {
            let index: usize = path[0].parse().unwrap_or(usize::MAX);
            values.get(index).is_some_and(|value| holds(value, below, operator, text))
        }
        // A key takes one part of the path or more.
        Value::Table(table) => (1..=path.len()).any(|parts| {
            let key = Value::String(path[..parts].join(".").into());
            table.get(&key).is_some_and(|value| holds(value, &path[parts..], operator, text))
        }),
        _ => false,
    }
}

fn compare(value: &Value, text: &str) -> Option<Ordering> {
    match value {
        Value::Boolean(boolean) => Some(boolean.cmp(&text.parse().ok()?)),
        Value::Count(count) => Some(i128::from(*count).cmp(&text.parse().ok()?)),
        Value::Integer(number) => Some(i128::from(*number).cmp(&text.parse().ok()?)),
        Value::String(other) | Value::Enum(other) => Some(other.as_bytes().cmp(text.as_bytes())),
        Value::Address(address) => Some(address.cmp(&text.parse().ok()?)),
        _ => None,
    }
}

const KEYS: [&str; 5] = ["a", "b", "a.b", "0", "a.0"];
const TEXTS: [&str; 6] = ["1", "-1", "a", "10.0.0.1", "true", "2"];

fn any_value(random: &mut Rng, depth: u32) -> Value {
    match random.u32(..if depth == 0 { 6 } else { 10 }) {
        0 => Value::Boolean(random.bool()),
        1 => Value::Count(random.u64(..3)),
        2 => Value::Integer(random.i64(-2..3)),
        3 => Value::String(TEXTS[random.usize(..TEXTS.len())].into()),
        4 => Value::Address("10.0.0.1".parse().unwrap()),
        5 => Value::None,
        6 => Value::Vector((0..random.usize(..3)).map(|_| any_value(random, depth - 1)).collect()),
        _ => {
            let mut keys: Vec<&str> = KEYS.into_iter().filter(|_| random.bool()).collect();
            random.shuffle(&mut keys);
            let pairs = keys.into_iter().map(|key| (Value::String(key.into()), any_value(random, depth - 1)));
            Value::Table(pairs.collect())
        }
    }
}

#[test]
fn bytes_and_trees_have_the_same_matches() {
    let mut random = random();
    let mut matches = 0;
    for _ in 0..ROUNDS {
        let value = any_value(&mut random, 3);
        let path: Vec<&str> = (0..random.usize(1..4)).map(|_| ["a", "b", "0", "1"][random.usize(..4)]).collect();
        let operator = ["=", "!=", "<", "<=", ">", ">="][random.usize(..6)];
        let text = TEXTS[random.usize(..TEXTS.len())];
        let filter = filter(&format!("{}{operator}{text}", path.join(".")));
        let expected = holds(&value, &path, operator, text);
        assert_eq!(filter.matches(&value.encode()), expected, "{filter:?} of {value:?}");
        matches += usize::from(expected);
    }
    assert!(matches > ROUNDS / 400, "{matches} matches");
}

/// Damaged bytes end no process, and a filter that matches a value that can be decoded says what its tree says.
#[test]
fn damaged_bytes_never_panic() {
    let mut random = random();
    let filters = ["a.b=1", "0.0.a>1", "a.0!=a", "1=10.0.0.0/8"].map(filter);
    for _ in 0..ROUNDS {
        let mut bytes = any_value(&mut random, 3).encode();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] = random.u8(..16),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let is_whole = Value::decode(&bytes, &Limits::default());
        for filter in &filters {
            let is_match = filter.matches(&bytes);
            if let Ok(value) = &is_whole {
                assert_eq!(filter.matches(&value.encode()), is_match, "{value:?}");
            }
        }
    }
}

/// Conditions are text from outside.
#[test]
fn any_text_is_a_filter_or_an_error() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let parts = ["a", ".", "=", "!", "<", ">", "\"", "\\", " and ", " ", "and", "1", "ü", "10.0.0.0/8"];
        let text: String = (0..random.usize(..12)).map(|_| parts[random.usize(..parts.len())]).collect();
        if let Ok(filter) = text.parse::<Filter>() {
            filter.matches(&connection());
        }
    }
}

fn random() -> Rng {
    #[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
    let seed = std::env::var("RAWLINE_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    println!("RAWLINE_SEED={seed}");
    Rng::with_seed(seed)
}
