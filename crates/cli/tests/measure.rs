//! `rawline measure` as a process: a kill in the middle doesn't change the roll-ups.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)] // Tests.

mod support;

use rawline_avro::{Schema, WriterId};
use rawline_client::{Client, ClientConfig};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::Broker;

/// Enough for four commits with the minimum memory, and part of another.
const MEASUREMENTS: u32 = 280_000;
const SERIES: u32 = 50;

/// Appends measurements of two schemas, the schemas first. Times are out of order, and values have many digits.
async fn append(broker: &Broker) {
    let client = Client::new(ClientConfig::new(broker.url())).unwrap();
    let schema = |value: &str| {
        let fields = json!([
            {"name": "metric", "type": "string"},
            {"name": "tags", "type": {"type": "map", "values": "string"}},
            {"name": "logtime", "type": "long"},
            {"name": "value", "type": value},
        ]);
        json!({"type": "record", "name": "Measurement", "fields": fields}).to_string()
    };
    let schemas = [schema("double"), schema("long")];
    for text in &schemas {
        client.append_records("_schemas", &[text.len() as u32], text.clone().into()).await.unwrap();
    }
    let schemas = schemas.map(|text| Schema::parse(&text).unwrap());
    for batch in 0..MEASUREMENTS / 10_000 {
        let (mut sizes, mut data) = (Vec::new(), Vec::new());
        for n in batch * 10_000..(batch + 1) * 10_000 {
            let begin = data.len();
            let schema = &schemas[(n % 7 == 0) as usize];
            WriterId::Fingerprint(schema.fingerprint()).write(&mut data);
            let value = f64::from(n.wrapping_mul(2_654_435_761) % 100_000);
            let value = if n % 7 == 0 { json!(value as i64) } else { json!(value / 7.0) };
            let time = 1_600_000_000_000_i64 + i64::from(n / 10 + n % 60 * 1000);
            let tags = json!({"host": format!("h{}", n % SERIES), "region": if n % 2 == 0 { "eu" } else { "sg" }});
            let message = json!({"metric": "load", "tags": tags, "logtime": time, "value": value});
            schema.encode_value(&message, &mut data).unwrap();
            sizes.push((data.len() - begin) as u32);
        }
        client.append_records("load", &sizes, data.into()).await.unwrap();
    }
}

fn measure(broker: &Broker, storage: &Path) -> std::process::Command {
    // With the minimum memory, so that there are several commits.
    let mut command = broker.rawline(&["measure", "load", "--memory", "10485760", "--storage"]);
    command.arg(storage);
    command
}

fn commits(storage: &Path) -> usize {
    std::fs::read_dir(storage.join(".measure/load/commit")).map_or(0, Iterator::count)
}

fn answers(broker: &Broker, storage: &Path) -> Vec<Value> {
    let mut answers = Vec::new();
    for tier in ["raw", "minute", "hour"] {
        for agg in ["count", "sum", "min", "max", "last", "p90"] {
            let storage = storage.to_str().unwrap();
            let output = broker.run(
                &[
                    "query",
                    "load",
                    "load",
                    "--format=json",
                    "--step=1h",
                    "--agg",
                    agg,
                    "--tier",
                    tier,
                    "--storage",
                    storage,
                ],
                b"",
            );
            let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            // The amount that was read may differ.
            answer.as_object_mut().unwrap().remove("read");
            answers.push(answer);
        }
    }
    answers
}

#[tokio::test]
async fn a_kill_in_the_middle_changes_nothing() {
    let broker = support::broker(&[]);
    append(&broker).await;
    let [killed, whole] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let output = measure(&broker, whole.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("280,000 measurements of 50 series"), "{said}");

    for wanted in 1..=3 {
        let mut child = measure(&broker, killed.path()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while commits(killed.path()) < wanted && started.elapsed() < Duration::from_secs(60) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(commits(killed.path()) >= wanted, "nothing was committed");
    }
    let was_cut = commits(killed.path()) < commits(whole.path());
    let output = measure(&broker, killed.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(answers(&broker, killed.path()), answers(&broker, whole.path()), "cut: {was_cut}");

    let again = measure(&broker, killed.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing new"), "{again:?}");
}

#[test]
fn errors_say_what_is_wrong() {
    let broker = support::broker(&[]);
    let storage = tempfile::tempdir().unwrap();
    let fails = |args: &[&str], code: i32, said: &str| {
        let output = broker.rawline(args).arg("--storage").arg(storage.path()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    };
    broker.run(&["topic", "set", "nothing", "--payload", "bytes"], b"");
    let output = broker.rawline(&["measure", "nothing", "--storage"]).arg(storage.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is empty"), "{output:?}");
    fails(&["measure", "no/topic"], 1, "can't be a topic's name");
    broker.run(&["produce", "text"], b"no measurement\n");
    fails(&["measure", "text", "--memory=1KiB"], 2, "not enough");
    fails(&["measure", "text", "--from=middle"], 2, "give an offset");
    // If no record is a measurement, nothing is committed, unless that is allowed.
    fails(&["measure", "text"], 1, "1 of 1 records of topic text are not measurements, and nothing was committed");
    fails(&["measure", "text"], 1, "--framing, --schema");
    let measure = |args: &[&str]| -> String {
        let args = [&["measure", "text"], args].concat();
        let output = broker.rawline(&args).arg("--storage").arg(storage.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = measure(&["--accept-bad"]);
    assert!(said.contains("1 bad record") && said.contains("offset 0"), "{said}");
    let said = measure(&[]);
    assert!(said.contains("nothing new") && said.contains("--start-over"), "{said}");
    let said = measure(&["--start-over", "--accept-bad"]);
    assert!(said.contains("1 bad record"), "{said}");
    fails(&["series", "text"], 1, "no series");
}
