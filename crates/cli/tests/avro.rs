//! Avro through the command line and a broker: JSON and CSV in, JSON out, schemas that change over time.

#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // Tests.

mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;
use support::Broker;
use tempfile::TempDir;

struct Shell {
    broker: Broker,
    folder: TempDir,
}

impl Shell {
    fn new() -> Shell {
        let folder = TempDir::new().unwrap();
        Shell { broker: support::broker(&[]), folder }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, args: &[&str], stdin: &str) -> Output {
        support::run(self.broker.rawline(args), stdin.as_bytes())
    }

    fn ok(&self, args: &[&str], stdin: &str) -> String {
        let output = self.run(args, stdin);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, args: &[&str], stdin: &str, code: i32, said: &str) {
        let output = self.run(args, stdin);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }

    fn lines(&self, args: &[&str]) -> Vec<Value> {
        self.ok(args, "").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn csv_becomes_measurements_and_json_again() {
    let shell = Shell::new();
    let csv = shell.file(
        "cpu.csv",
        "timestamp,value,\"comment, if any\"\n2014-02-14 14:30:00,0.132,\"two\nlines\"\n2014-02-14T14:35:00Z,-1e3,\n",
    );
    let produce = [
        "produce",
        "cpu",
        text(&csv),
        "--format=avro",
        "--schema=measurement",
        "--column=logtime=timestamp",
        "--skip=comment, if any",
        "--set=metric=ec2.cpu",
        "--set=tags.instance=24ae8d",
        "--set=tags.region=us-east-1",
    ];
    shell.ok(&produce, "");
    let tags = json!({"instance": "24ae8d", "region": "us-east-1"});
    let row = |time: &str, value: f64| json!({"metric": "ec2.cpu", "tags": tags, "logtime": time, "value": value});
    let expected = [row("2014-02-14T14:30:00Z", 0.132), row("2014-02-14T14:35:00Z", -1000.0)];
    assert_eq!(shell.lines(&["consume", "cpu", "--format=avro"]), expected);
    // The log has the schema only once, even if the command is run again.
    shell.ok(&produce, "");
    assert_eq!(shell.ok(&["consume", "_schemas"], "").lines().count(), 1);
}

#[test]
fn three_versions_of_a_schema_are_read_with_each_of_the_three() {
    let shell = Shell::new();
    let schema = |fields: Value| json!({"type": "record", "name": "Login", "fields": fields}).to_string();
    // The second adds a field; the third renames it, moves it to the front and widens the first one.
    let versions = [
        schema(json!([{"name": "user", "type": "long"}])),
        schema(json!([
            {"name": "user", "type": "long"},
            {"name": "host", "type": "string", "default": "?"},
        ])),
        schema(json!([
            {"name": "origin", "type": ["null", "string"], "default": null, "aliases": ["host"]},
            {"name": "user", "type": "long"},
            {"name": "level", "type": "double", "default": 1.5},
        ])),
    ]
    .iter()
    .enumerate()
    .map(|(i, text)| shell.file(&format!("v{i}.avsc"), text))
    .collect::<Vec<_>>();
    let records = [r#"{"user":1}"#, r#"{"user":2,"host":"a"}"#, r#"{"origin":"b","user":3,"level":2.5}"#];
    for (schema, record) in versions.iter().zip(records) {
        shell.ok(&["produce", "logins", "--format=avro", "--schema", text(schema)], record);
    }
    assert_eq!(shell.ok(&["consume", "_schemas"], "").lines().count(), 3);
    let expected = [
        [r#"{"user":1}"#, r#"{"user":2}"#, r#"{"user":3}"#],
        [r#"{"user":1,"host":"?"}"#, r#"{"user":2,"host":"a"}"#, r#"{"user":3,"host":"?"}"#],
        [
            r#"{"origin":null,"user":1,"level":1.5}"#,
            r#"{"origin":"a","user":2,"level":1.5}"#,
            r#"{"origin":"b","user":3,"level":2.5}"#,
        ],
    ];
    for (reader, expected) in versions.iter().zip(expected) {
        let read = shell.ok(&["consume", "logins", "--format=avro", "--schema", text(reader)], "");
        assert_eq!(read.lines().collect::<Vec<_>>(), expected);
    }
    // Each record as it was written.
    assert_eq!(shell.ok(&["consume", "logins", "--format=avro"], "").lines().collect::<Vec<_>>(), records);

    // A schema without a counterpart for the written value: the earlier records are still shown.
    let narrow = schema(json!([{"name": "user", "type": "long"}, {"name": "host", "type": "string"}]));
    let narrow = shell.file("narrow.avsc", &narrow);
    let wrong = shell.run(&["consume", "logins", "--offset=1", "--format=avro", "--schema", text(&narrow)], "");
    assert_eq!((wrong.status.code(), wrong.stdout), (Some(1), b"{\"user\":2,\"host\":\"a\"}\n".to_vec()));
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(said.contains("offset 2") && said.contains("host"), "{said}");
}

#[test]
fn records_that_do_not_name_their_schema_are_read_with_the_one_given() {
    let shell = Shell::new();
    let line = r#"{"metric": "m", "tags": {"a": "b"}, "logtime": 5, "value": 2}"#;
    for framing in ["bare", "registry:7"] {
        let framing = format!("--framing={framing}");
        let topic = framing.replace(['=', ':'], "-");
        let topic = topic.trim_start_matches('-');
        shell.ok(&["produce", topic, "--format=avro", "--schema=measurement", &framing], line);
        let read = shell.lines(&["consume", topic, "--format=avro", "--schema=measurement", &framing]);
        let time = "1970-01-01T00:00:00.005Z";
        assert_eq!(read, [json!({"metric": "m", "tags": {"a": "b"}, "logtime": time, "value": 2.0})]);
        shell.fails(&["consume", topic, "--format=avro", &framing], "", 2, "--writer-schema");
        shell.fails(&["consume", topic, "--format=avro"], "", 1, "another framing");
    }
}

#[test]
fn records_that_do_not_match_the_schema_are_reported_with_their_line() {
    let shell = Shell::new();
    let produce =
        |more: &[&'static str]| [&["produce", "t", "--format=avro", "--schema=measurement"][..], more].concat();
    let good = r#"{"metric": "m", "tags": {}, "logtime": 5, "value": 2}"#;
    let bad = format!("{good}\n\n{{\"metric\": \"m\", \"tags\": {{}}, \"logtime\": 5}}\n");
    shell.fails(&produce(&[]), &bad, 1, "line 3");
    shell.fails(&produce(&[]), "{", 1, "line 1: not JSON");
    shell.fails(&produce(&["--set=tag.a=b"]), "", 2, "the schema has no field tag.a; there are metric, tags");
    shell.fails(&produce(&["--set=value=high"]), "", 2, "no number");
    shell.fails(&produce(&["--input=csv"]), "time,value\n1,2\n", 1, "column time");
    shell.fails(
        &produce(&["--input=csv"]),
        "logtime,value\n1,2,3\n",
        1,
        "line 2: 3 columns, but the first line names 2",
    );
    shell.fails(&produce(&["--input=csv"]), "logtime,value\n\"1,2\n", 1, "line 2: not CSV: a quote is not closed");
    shell.fails(&["produce", "t", "--format=avro"], "", 2, "--schema");
    shell.fails(&["produce", "t", "--format=avro", "--schema=nowhere.avsc"], "", 1, "nowhere.avsc");
    let broken = shell.file("broken.avsc", "{\"type\": \"record\"}");
    shell.fails(&["produce", "t", "--format=avro", "--schema", text(&broken)], "", 1, "no Avro schema");
    // Records before the bad line were appended.
    assert_eq!(shell.lines(&["consume", "t", "--format=avro"]).len(), 1);
}

#[test]
fn container_files_are_read_and_written() {
    let shell = Shell::new();
    let schema = shell.file("point.avsc", r#"{"type":"record","name":"P","fields":[{"name":"x","type":"int"}]}"#);
    let lines: String = (0..50_000).map(|x| format!("{{\"x\":{x}}}\n")).collect();
    shell.ok(&["produce", "points", "--format=avro", "--schema", text(&schema)], &lines);
    let written = shell.run(&["consume", "points", "--format=avro", "--output=avro"], "");
    assert!(written.status.success(), "{written:?}");
    assert!(written.stdout.starts_with(b"Obj\x01"));
    // Another library reads the same values.
    let values: Vec<_> = apache_avro::Reader::new(&written.stdout[..]).unwrap().map(Result::unwrap).collect();
    assert_eq!(values.len(), 50_000);
    let file = shell.folder.path().join("points.avro");
    std::fs::write(&file, &written.stdout).unwrap();

    shell.ok(&["produce", "again", text(&file), "--format=avro"], "");
    let again = shell.lines(&["consume", "again", "--format=avro"]);
    assert_eq!(again.len(), 50_000);
    assert_eq!(again[49_999], json!({"x": 49_999}));

    let wider =
        r#"{"type":"record","name":"P","fields":[{"name":"x","type":"long"},{"name":"y","type":"int","default":5}]}"#;
    let wider = shell.file("wider.avsc", wider);
    shell.ok(&["produce", "wider", text(&file), "--format=avro", "--schema", text(&wider)], "");
    assert_eq!(shell.lines(&["consume", "wider", "--format=avro"])[7], json!({"x": 7, "y": 5}));

    // A topic without records becomes a file without values, if its schema is known.
    shell.ok(&["produce", "none", "--format=avro", "--schema", text(&schema)], "");
    let none = ["consume", "points", "--offset=latest", "--format=avro", "--output=avro"];
    shell.fails(&none, "", 1, "give it with --schema");
    let none = shell.run(&[&none[..], &["--schema", text(&schema)]].concat(), "");
    assert_eq!(apache_avro::Reader::new(&none.stdout[..]).unwrap().count(), 0);

    shell.fails(&["produce", "bad", "--format=avro", "--input=avro"], "x", 1, "not an Avro container file");
    let cut = shell.folder.path().join("cut.avro");
    std::fs::write(&cut, &written.stdout[..written.stdout.len() - 1]).unwrap();
    shell.fails(&["produce", "bad", text(&cut), "--format=avro"], "", 1, "sync marker");
    let set = ["produce", "bad", text(&file), "--format=avro", "--set=x=1"];
    shell.fails(&set, "", 2, "--set, --column and --skip are for JSON and CSV");
}

/// Each level of the record contains the next level twice: its defaults would take 2^60 bytes, and took forever.
#[test]
fn a_hostile_schema_in_the_log_is_reported_and_skipped() {
    let shell = Shell::new();
    let mut hostile = r#"{"type":"record","name":"R0","fields":[{"name":"x","type":"int","default":1}]}"#.to_owned();
    for level in 1..40 {
        let first = format!(r#"{{"name":"a","type":{hostile},"default":{{}}}}"#);
        let second = format!(r#"{{"name":"b","type":"R{}","default":{{}}}}"#, level - 1);
        hostile = format!(r#"{{"type":"record","name":"R{level}","fields":[{first},{second}]}}"#);
    }
    shell.ok(&["produce", "_schemas"], &format!("{hostile}\nno schema\n"));
    let schema = shell.file("point.avsc", r#"{"type":"record","name":"P","fields":[{"name":"x","type":"int"}]}"#);
    let output = shell.run(&["produce", "points", "--format=avro", "--schema", text(&schema)], "{\"x\":1}\n");
    assert!(output.status.success(), "{output:?}");
    let output = shell.run(&["consume", "points", "--format=avro"], "");
    assert_eq!(output.stdout, b"{\"x\":1}\n");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    for skipped in ["skipped the record at offset 0 of _schemas", "skipped the record at offset 1 of _schemas"] {
        assert!(error.contains(skipped), "{error}");
    }
    // If no record names a schema, none is read.
    shell.ok(&["produce", "bare", "--format=avro", "--framing=bare", "--schema", text(&schema)], "{\"x\":1}\n");
    let bare = shell.run(&["consume", "bare", "--format=avro", "--framing=bare", "--schema", text(&schema)], "");
    assert_eq!((bare.stdout, bare.stderr), (b"{\"x\":1}\n".to_vec(), Vec::new()));
}

#[test]
fn lines_that_are_converted_on_all_cores_keep_their_order() {
    let shell = Shell::new();
    let rows = 20_000;
    let csv: String = (0..rows).map(|row| format!("2014-02-14T14:30:00Z,{row}\n")).collect();
    let csv = shell.file("cpu.csv", &format!("logtime,value\n{csv}"));
    shell.ok(
        &["produce", "cpu", text(&csv), "--format=avro", "--schema=measurement", "--set=metric=m", "--set=tags.a=b"],
        "",
    );
    let shown = shell.lines(&["consume", "cpu", "--format=avro"]);
    assert_eq!(shown.len(), rows);
    assert!(shown.iter().zip(0..).all(|(line, row)| line["value"].as_f64() == Some(f64::from(row))));
    // As JSON again, to Avro again.
    let json = shell.ok(&["consume", "cpu", "--format=avro"], "");
    shell.ok(&["produce", "again", "--format=avro", "--schema=measurement"], &json);
    assert!(shell.ok(&["consume", "again", "--format=avro"], "") == json);
}
