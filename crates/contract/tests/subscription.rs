//! The golden messages in `vectors/subscribe/`, and the fuzzer's body on them with some bytes changed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod bodies;

use fastrand::Rng;
use rawline_contract::subscription::{Delivery, DeliveryError, DeliveryKind, Selection, put_selection};
use serde_json::Value;

const MANIFEST: &str = include_str!("../../../vectors/subscribe/messages.json");

fn cases() -> Vec<Value> {
    let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    manifest["cases"].as_array().unwrap().clone()
}

fn unhex(value: &Value) -> Vec<u8> {
    let hex = value.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// The error of a message, apart from its batches.
fn check(message: &[u8], position: u64) -> Result<(), DeliveryError> {
    let (head, content) = Delivery::parse(message)?;
    head.check_position(Some(position))?;
    if head.kind == DeliveryKind::Selection {
        Selection::parse(&head, content)?;
    }
    Ok(())
}

#[test]
fn messages_are_read_and_written() {
    for case in cases().iter().filter(|case| case["error"].is_null()) {
        let (name, message) = (&case["name"], unhex(&case["hex"]));
        let (head, content) = Delivery::parse(&message).unwrap();
        let expected = Delivery {
            kind: [DeliveryKind::Batches, DeliveryKind::RecordBatches, DeliveryKind::Selection]
                [case["kind"].as_u64().unwrap() as usize - 1],
            topic: case["topic"].as_str().unwrap(),
            partition: case["partition"].as_u64().unwrap() as u32,
            first_offset: number(&case["first_offset"]),
            end_offset: number(&case["end_offset"]),
            time_us: number(&case["time_us"]),
        };
        assert_eq!(head, expected, "{name}");
        assert_eq!(check(&message, number(&case["position"])), Ok(()), "{name}");
        let mut written = Vec::new();
        expected.put(&mut written);
        if head.kind == DeliveryKind::Selection {
            let selection = Selection::parse(&head, content).unwrap();
            let entries: Vec<_> = (0..selection.count()).map(|index| selection.entry(index).unwrap()).collect();
            put_selection(&entries, &mut written);
            let position = number(&case["position"]);
            let records = case["records"].as_array().unwrap();
            let offsets = entries.iter().map(|(offset, _)| *offset).filter(|offset| *offset >= position);
            assert!(offsets.eq(records.iter().map(|record| number(&record["offset"]))), "{name}");
            written.extend(selection.data());
        } else {
            written.extend(content);
        }
        assert_eq!(written, message, "{name}");
    }
}

#[test]
fn wrong_messages_are_refused_with_their_reason() {
    let mut codes = Vec::new();
    for case in cases().iter().filter(|case| !case["error"].is_null()) {
        let (name, code) = (&case["name"], case["error"].as_str().unwrap());
        let found = check(&unhex(&case["hex"]), number(&case["position"]));
        // The reader of the batches reports their errors.
        if code.contains("batch_") || code == "content_offsets" {
            assert_eq!(found, Ok(()), "{name}");
            continue;
        }
        let error = found.unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error}");
        codes.push(code.to_owned());
    }
    codes.dedup();
    assert!(codes.len() >= 9, "{codes:?}");
}

#[test]
fn any_bytes_and_valid_messages_changed() {
    let mut random = Rng::with_seed(7);
    let cursor = b"1764000000000000;dns/0=17,1=29;http/0=3".to_vec();
    let control = br#"{"type":"skipped","topic":"dns","partition":1,"records":7,"next_offset":12}"#.to_vec();
    let messages = cases().iter().map(|case| unhex(&case["hex"])).chain([cursor, control]).collect::<Vec<_>>();
    for message in messages.iter().filter(|message| !message.is_empty()) {
        bodies::message(message);
        for _ in 0..500 {
            let mut changed = message.clone();
            for _ in 0..random.usize(1..4) {
                let place = random.usize(..changed.len());
                changed[place] = if random.bool() { random.u8(..) } else { random.u8(..4) };
            }
            changed.truncate(random.usize(..=changed.len() * 2));
            bodies::message(&changed);
        }
    }
    for _ in 0..20_000 {
        let mut input = vec![0; random.usize(..100)];
        random.fill(&mut input);
        bodies::message(&input);
    }
}
