//! `vectors/value/records.json`: records that the three languages write to the same bytes and read.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use rawline_value::{
    Address, FromValue, Limits, Name, Port, Subnet, TimespanNs, TimestampNs, ToValue, Value, decode, encode,
};

/// The types in both forms.
macro_rules! types {
    ($form:ident $(, #[$table:meta])?) => {
        mod $form {
            use super::*;

            #[derive(Debug, PartialEq, ToValue, FromValue)]
            $(#[$table])?
            pub(crate) struct Connection {
                uid: String,
                client: Address,
                port: Port,
                network: Option<Subnet>,
                started: TimestampNs,
                duration: Option<TimespanNs>,
                is_local: bool,
                bytes_sent: u64,
                delta: i32,
                rate: f64,
                state: State,
                outcome: Outcome,
                #[value(bytes)]
                payload: Vec<u8>,
                notes: BTreeMap<String, i64>,
                #[value(set)]
                tags: BTreeSet<String>,
                answers: Vec<Answer>,
                extra: Value,
                log: Name,
            }

            #[derive(Debug, PartialEq, ToValue, FromValue)]
            pub(crate) enum State {
                Open,
                HalfOpen,
            }

            #[derive(Debug, PartialEq, ToValue, FromValue)]
            $(#[$table])?
            pub(crate) enum Outcome {
                Closed { code: i32 },
                Failed { reason: String, after: Option<i64> },
                Unknown,
            }

            #[derive(Debug, PartialEq, ToValue, FromValue)]
            $(#[$table])?
            pub(crate) struct Answer {
                address: Address,
                ttl: TimespanNs,
            }

            pub(crate) fn records() -> [(&'static str, Connection); 3] {
                [("full", full()), ("sparse", sparse()), ("failed", failed())]
            }

            fn full() -> Connection {
                Connection {
                    uid: "CHhAvVGS1DHFjwGM9".into(),
                    client: "10.0.0.1".parse().unwrap(),
                    port: "53/udp".parse().unwrap(),
                    network: Some("10.0.0.0/8".parse().unwrap()),
                    started: TimestampNs(1_649_574_000_123_456_789),
                    duration: Some(TimespanNs(1_500_000_000)),
                    is_local: true,
                    bytes_sent: u64::MAX,
                    delta: -7,
                    rate: 0.25,
                    state: State::HalfOpen,
                    outcome: Outcome::Closed { code: 80 },
                    payload: vec![0xff, 0],
                    notes: [("a".into(), 1), ("b".into(), -2)].into(),
                    tags: ["dns".into(), "ä".into()].into(),
                    answers: vec![
                        Answer { address: "2001:db8::1".parse().unwrap(), ttl: TimespanNs(60_000_000_000) },
                        Answer { address: "192.0.2.1".parse().unwrap(), ttl: TimespanNs(0) },
                    ],
                    extra: Value::Vector(vec![Value::Integer(-1), Value::None]),
                    log: Name("Conn::LOG".into()),
                }
            }

            fn sparse() -> Connection {
                Connection {
                    uid: String::new(),
                    client: "::".parse().unwrap(),
                    port: "0/?".parse().unwrap(),
                    network: None,
                    started: TimestampNs(-1),
                    duration: None,
                    is_local: false,
                    bytes_sent: 0,
                    delta: i32::MIN,
                    rate: f64::NEG_INFINITY,
                    state: State::Open,
                    outcome: Outcome::Unknown,
                    payload: vec![],
                    notes: BTreeMap::new(),
                    tags: BTreeSet::new(),
                    answers: vec![],
                    extra: Value::None,
                    log: Name(String::new()),
                }
            }

            fn failed() -> Connection {
                Connection {
                    uid: "x".repeat(200),
                    client: "255.255.255.255".parse().unwrap(),
                    port: "65535/tcp".parse().unwrap(),
                    network: Some("2001:db8::/32".parse().unwrap()),
                    started: TimestampNs(0),
                    duration: Some(TimespanNs(-1)),
                    is_local: true,
                    bytes_sent: 1 << 40,
                    delta: i32::MAX,
                    rate: -0.0,
                    state: State::Open,
                    outcome: Outcome::Failed { reason: "ü".into(), after: Some(5) },
                    payload: vec![1],
                    notes: [("only".into(), i64::MAX)].into(),
                    tags: ["one".into()].into(),
                    answers: vec![],
                    extra: Value::Boolean(true),
                    log: Name("L".into()),
                }
            }
        }
    };
}

types!(table, #[value(table)]);
types!(vector);

fn same<T: ToValue + for<'de> FromValue<'de> + PartialEq + Debug>(record: &T, wanted: &str) {
    let bytes = encode(record).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, wanted, "{record:?}");
    assert_eq!(decode::<T>(&bytes).as_ref(), Ok(record));
    Value::decode(&bytes, &Limits::default()).unwrap();
}

#[test]
fn records_are_those_of_the_other_languages() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/value/records.json");
    let vectors: Vec<BTreeMap<String, String>> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(vectors.len(), table::records().len());
    for (vector, (named, list)) in vectors.iter().zip(table::records().iter().zip(&vector::records())) {
        assert_eq!(vector["name"], named.0);
        same(&named.1, &vector["table"]);
        same(&list.1, &vector["vector"]);
    }
}
