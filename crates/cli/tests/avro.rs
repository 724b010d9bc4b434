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

/// A registry gives each version of a schema its number.
#[test]
fn a_topic_with_several_numbers_of_a_registry_is_read_with_a_schema_for_each() {
    let shell = Shell::new();
    let v1 = shell.file("v1.avsc", r#"{"type":"record","name":"C","fields":[{"name":"x","type":"int"}]}"#);
    let fields = r#"[{"name":"y","type":"string"},{"name":"x","type":"int"}]"#;
    let v2 = shell.file("v2.avsc", &format!(r#"{{"type":"record","name":"C","fields":{fields}}}"#));
    let produce = |schema: &Path, number: &str, record: &str| {
        let framing = format!("--framing=registry:{number}");
        shell.ok(&["produce", "t", "--format=avro", "--schema", text(schema), &framing], record);
    };
    produce(&v1, "7", r#"{"x":1}"#);
    produce(&v2, "8", r#"{"x":2,"y":"b"}"#);
    let (seven, eight) = (format!("--writer-schema=7={}", text(&v1)), format!("--writer-schema=8={}", text(&v2)));
    let consume = ["consume", "t", "--format=avro"];
    let read = |more: &[&str]| shell.ok(&[&consume[..], more].concat(), "");
    assert_eq!(read(&["--framing=registry", &seven, &eight]), "{\"x\":1}\n{\"y\":\"b\",\"x\":2}\n");
    assert_eq!(read(&["--framing=registry", &seven, &eight, "--schema", text(&v1)]), "{\"x\":1}\n{\"x\":2}\n");
    let first = format!("--writer-schema={}", text(&v1));
    assert_eq!(read(&["--framing=registry:7", &first, &eight]), "{\"x\":1}\n{\"y\":\"b\",\"x\":2}\n");
    let fails = |more: &[&str], code, said: &str| shell.fails(&[&consume[..], more].concat(), "", code, said);
    fails(&["--framing=registry:7", &first], 1, "no schema with the number 8 is known");
    fails(&["--framing=registry:7", &first], 1, "--framing registry --writer-schema 8=FILE");
    fails(&["--framing=registry", &first], 2, "give the number of each schema");
    fails(
        &["--framing=registry", &seven, &format!("--writer-schema=7={}", text(&v2))],
        2,
        "another schema has the number 7",
    );
    fails(&["--framing=bare", &seven], 2, "needs --framing registry");
    let produce = ["produce", "t", "--format=avro", "--schema", text(&v1), "--framing=registry"];
    shell.fails(&produce, "", 2, "registry:7");
}

/// Avro's fingerprints leave out logical types: the second schema's records would be read as the first one's.
#[test]
fn a_schema_with_the_fingerprint_of_another_is_refused() {
    let shell = Shell::new();
    let decimal = |scale: u32| {
        let amount = format!(r#"{{"type":"bytes","logicalType":"decimal","precision":18,"scale":{scale}}}"#);
        format!(r#"{{"type":"record","name":"Payment","fields":[{{"name":"amount","type":{amount}}}]}}"#)
    };
    let time = |unit: &str| {
        let at = format!(r#"{{"type":"long","logicalType":"timestamp-{unit}"}}"#);
        format!(r#"{{"type":"record","name":"Event","fields":[{{"name":"at","type":{at}}}]}}"#)
    };
    for (topics, first, second, record) in [
        (["orders", "transfers"], decimal(2), decimal(6), r#"{"amount":"12.50"}"#),
        (["ev1", "ev2"], time("millis"), time("micros"), r#"{"at":"2026-01-01T00:00:00Z"}"#),
    ] {
        let [orders, transfers] = topics;
        let (first, second) = (shell.file("first.avsc", &first), shell.file("second.avsc", &second));
        shell.ok(&["produce", orders, "--format=avro", "--schema", text(&first)], record);
        let produce = ["produce", transfers, "--format=avro", "--schema", text(&second)];
        shell.fails(&produce, record, 1, "give the record another name or namespace");
        assert_eq!(shell.run(&["consume", transfers], "").status.code(), Some(1), "nothing was appended");
        // A container file has its schema in itself; registering that one is refused, too.
        let bare_topic = format!("{transfers}-bare");
        let bare = ["produce", &bare_topic, "--format=avro", "--framing=bare", "--schema", text(&second)];
        shell.ok(&bare, record);
        let file =
            ["consume", &bare_topic, "--format=avro", "--framing=bare", "--output=avro", "--schema", text(&second)];
        let container = shell.folder.path().join("second.avro");
        std::fs::write(&container, shell.run(&file, "").stdout).unwrap();
        shell.fails(&["produce", transfers, text(&container), "--format=avro"], "", 1, "another name or namespace");
        // With another name, both are read as they were written.
        let renamed = std::fs::read_to_string(&second).unwrap().replacen("\"name\":\"", "\"name\":\"n.", 1);
        let renamed = shell.file("renamed.avsc", &renamed);
        shell.ok(&["produce", transfers, "--format=avro", "--schema", text(&renamed)], record);
        for topic in topics {
            let written = if topic == transfers { record.replace("12.50", "12.500000") } else { record.to_owned() };
            assert_eq!(shell.ok(&["consume", topic, "--format=avro"], ""), format!("{written}\n"), "{topic}");
        }
        // Another program has appended the schema all the same: readers say so, and keep the first.
        shell.ok(&["produce", "_schemas"], &std::fs::read_to_string(&second).unwrap());
        let read = shell.run(&["consume", orders, "--format=avro"], "");
        assert!(String::from_utf8_lossy(&read.stdout).ends_with(&format!("{record}\n")), "{read:?}");
        assert!(String::from_utf8_lossy(&read.stderr).contains("another schema has the fingerprint"), "{read:?}");
    }
    // A default or documentation changes nothing in how records are read.
    let same = r#"{"type":"record","name":"D","fields":[{"name":"x","type":"int"}]}"#;
    let same = [same.to_owned(), same.replace("\"int\"", "\"int\",\"default\":1,\"doc\":\"d\"")];
    for (index, schema) in same.iter().enumerate() {
        let schema = shell.file(&format!("same{index}.avsc"), schema);
        shell.ok(&["produce", "same", "--format=avro", "--schema", text(&schema)], "{\"x\":1}");
    }
}

#[test]
fn constants_and_columns_are_put_next_to_what_the_record_has() {
    let shell = Shell::new();
    let record = |topic: &str, flags: &[&str], line: &str| {
        shell.ok(&[&["produce", topic, "--format=avro", "--schema=measurement"][..], flags].concat(), line);
        let shown = shell.lines(&["consume", topic, "--format=avro"]).pop().unwrap();
        (shown["tags"].clone(), shown["value"].clone())
    };
    let line = |tags: &str| format!(r#"{{"metric":"cpu","tags":{tags},"h":"a1","logtime":0,"value":1}}"#);
    let set = ["--set=tags.region=eu", "--skip=h"];
    assert_eq!(record("a", &set, &line(r#"{"host":"a1"}"#)).0, json!({"host": "a1", "region": "eu"}));
    // A constant is one.
    assert_eq!(record("a", &set, &line(r#"{"region":"us"}"#)).0, json!({"region": "eu"}));
    assert_eq!(record("a", &["--set=value=5", "--skip=h"], &line("{}")).1, json!(5.0));
    assert_eq!(record("a", &set, &line("null")).0, json!({"region": "eu"}));
    let column = ["--column=tags.host=h"];
    assert_eq!(record("b", &column, &line(r#"{"zone":"z"}"#)).0, json!({"zone": "z", "host": "a1"}));
    // One column for two fields.
    let columns = ["--column=tags.host=h", "--column=tags.server=h"];
    assert_eq!(record("b", &columns, &line("{}")).0, json!({"host": "a1", "server": "a1"}));
    let produce =
        |flags: &[&'static str]| [&["produce", "c", "--format=avro", "--schema=measurement"][..], flags].concat();
    shell.fails(&produce(&column), &line(r#"{"host":"other"}"#), 1, "tags.host has two values");
    shell.fails(&produce(&column), &line("5"), 1, "tags has two values");
    shell.fails(&produce(&set), &line("5"), 1, "tags is 5, which has no region");
    shell.fails(&produce(&["--column=metric=h"]), &line("{}"), 1, "metric has two values");
    shell.fails(&produce(&["--column=metric=h", "--column=metric=g"]), "", 2, "two columns, h and g");
    // The same in CSV.
    let csv = |topic: &str, flags: &[&str], rows: &str| record(topic, &[&["--input=csv"], flags].concat(), rows).0;
    let flags = ["--set=tags.region=eu", "--set=metric=m"];
    let rows = "logtime,value,tags,tags.host,x\n0,1,\"{\"\"zone\"\":\"\"z\"\"}\",a1,5\n";
    let all = json!({"zone": "z", "host": "a1", "x": "5", "region": "eu"});
    assert_eq!(csv("d", &[&flags[..], &["--column=tags.x=x"]].concat(), rows), all);
    let twice = [&flags[..], &["--column=tags.a=x", "--column=tags.b=x"]].concat();
    assert_eq!(csv("d", &twice, "logtime,value,x\n0,1,5\n"), json!({"a": "5", "b": "5", "region": "eu"}));
    let csv = |flags: &[&'static str], rows: &str, said: &str| {
        shell.fails(&produce(&[&["--input=csv"], flags].concat()), rows, 1, said);
    };
    csv(&[], "value,value\n1,2\n", "the columns value and value are both the field value");
    csv(&["--column=value=x"], "value,x\n1,2\n", "the columns value and x are both the field value");
    csv(&["--column=value=x"], "value,y\n1,2\n", "--column value=x: the first line has value, y");
}

/// Cells follow RFC 4180, and rows end as spreadsheets end them.
#[test]
fn csv_keeps_its_rows_and_its_white_space() {
    let shell = Shell::new();
    let fields = r#"[{"name":"a","type":"string"},{"name":"b","type":["null","double"],"default":null}]"#;
    let schema = shell.file("s.avsc", &format!(r#"{{"type":"record","name":"T","fields":{fields}}}"#));
    let mut topics = 0..;
    let mut read = |csv: &str| {
        let topic = format!("t{}", topics.next().unwrap());
        let file = shell.file("input.csv", csv);
        shell.ok(&["produce", &topic, text(&file), "--format=avro", "--schema", text(&schema)], "");
        let lines = shell.lines(&["consume", &topic, "--format=avro"]);
        lines.iter().map(|line| (line["a"].as_str().unwrap().to_owned(), line["b"].clone())).collect::<Vec<_>>()
    };
    let row = |a: &str, b: Value| (a.to_owned(), b);
    let (one, two, three) = (row("x", json!(1.0)), row("y", json!(2.0)), row("z", json!(3.0)));
    for end in ["\n", "\r", "\r\n"] {
        assert_eq!(read(&["a,b", "x,1", "y,2", "z,3", ""].join(end)), [one.clone(), two.clone(), three.clone()]);
        assert_eq!(read(&["\u{feff}a,b", "x,1"].join(end)), std::slice::from_ref(&one));
    }
    assert_eq!(read("a,b\nx,1\ny,2\rz,3\r\n\n\r\r"), [one, two, three]);
    let quoted = "a,b\n\"  in \", 1 \n\"q ,\n\"\"\",2\n5\" pipe,\n un , \n\"\",\n";
    let expected = [
        row("  in ", json!(1.0)),
        row("q ,\n\"", json!(2.0)),
        row("5\" pipe", json!(null)),
        row(" un ", json!(null)),
        row("", json!(null)),
    ];
    assert_eq!(read(quoted), expected);
}

#[test]
fn numbers_in_csv_are_those_that_other_programs_write() {
    let shell = Shell::new();
    let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":20,"scale":2}"#;
    let field = |name: &str, of: &str| format!(r#"{{"name":"{name}","type":{of}}}"#);
    let fields = [field("x", "\"double\""), field("n", "\"long\""), field("d", decimal)].join(",");
    let schema = shell.file("s.avsc", &format!(r#"{{"type":"record","name":"T","fields":[{fields}]}}"#));
    let produce = ["produce", "t", "--format=avro", "--schema", text(&schema), "--input=csv"];
    let rows = "x,n,d\n.5,+7,1234567890123456.78\n+Inf,1e3,+.5\n-inf, 5 ,1E3\nNaN,-1,0\n5.,0,-0.01\ninfinity,0,7\n";
    shell.ok(&produce, rows);
    let read = shell.lines(&["consume", "t", "--format=avro"]);
    let row = |x: Value, n: i64, d: &str| json!({"x": x, "n": n, "d": d});
    assert_eq!(
        read,
        [
            row(json!(0.5), 7, "1234567890123456.78"),
            row(json!("Infinity"), 1000, "0.50"),
            row(json!("-Infinity"), 5, "1000.00"),
            row(json!("NaN"), -1, "0.00"),
            row(json!(5.0), 0, "-0.01"),
            row(json!("Infinity"), 0, "7.00"),
        ]
    );
    // A number of JSON has all its digits, too, also next to a constant.
    let json = r#"{"x":1,"d":1234567890123456.78}"#;
    for flags in [&["--set=n=5"][..], &["--column=n=k"]] {
        let line = json.replace("\"x\"", if flags[0].starts_with("--set") { "\"x\"" } else { "\"k\":5,\"x\"" });
        shell.ok(&[&["produce", "j", "--format=avro", "--schema", text(&schema)], flags].concat(), &line);
        assert_eq!(
            shell.lines(&["consume", "j", "--format=avro"]).pop(),
            Some(row(json!(1.0), 5, "1234567890123456.78"))
        );
    }
    for (wrong, said) in [("1e999", "larger than a double"), ("x", "isn't a number"), ("", "isn't a number")] {
        shell.fails(&produce, &format!("x,n,d\n{wrong},1,1\n"), 1, said);
    }
}

/// A local time isn't UTC's only because its zone isn't read.
#[test]
fn a_time_with_a_zones_name_is_refused() {
    let shell = Shell::new();
    let produce = ["produce", "t", "--format=avro", "--schema=measurement", "--set=metric=m", "--set=tags.a=b"];
    let csv = [&produce[..], &["--input=csv"]].concat();
    for time in
        ["2024-07-01T12:00:00[Europe/Berlin]", "2024-07-01T12:00:00+02:00[Europe/Berlin]", "2024-07-01T12:00:60Z"]
    {
        shell.fails(&csv, &format!("logtime,value\n{time},1\n"), 1, "expected a timestamp such as");
        shell.fails(&produce, &format!(r#"{{"logtime":"{time}","value":1}}"#), 1, "expected a timestamp such as");
    }
}

/// A producer that sends Unix seconds where milliseconds are counted has all its measurements in January 1970.
#[test]
fn times_that_are_probably_seconds_are_reported() {
    let shell = Shell::new();
    let storage = format!("--storage={}", shell.broker.directory().display());
    for (topic, time, is_reported) in [("seconds", 1_763_596_800_i64, true), ("milliseconds", 1_763_596_800_000, false)]
    {
        let line = format!(r#"{{"metric":"m","tags":{{}},"logtime":{time},"value":1}}"#);
        shell.ok(&["produce", topic, "--format=avro", "--schema=measurement"], &line);
        let output = shell.run(&["measure", topic, &storage], "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        let said = "newest time of these measurements is 1970-01-21T09:53:16.8Z: logtime counts milliseconds";
        assert_eq!(error.contains(said), is_reported, "{error}");
    }
}

/// A byte order mark, as Windows' programs write it, is not a part of the first line.
#[test]
fn a_byte_order_mark_before_lines_is_left_out() {
    let shell = Shell::new();
    let line = "\u{feff}{\"metric\":\"m\",\"tags\":{},\"logtime\":0,\"value\":1}\n";
    shell.ok(&["produce", "t", "--format=avro", "--schema=measurement"], line);
    shell.ok(&["produce", "v", "--format=value"], line);
    assert_eq!(shell.lines(&["consume", "t", "--format=avro"]).len(), 1);
    assert_eq!(shell.lines(&["consume", "v", "--format=value"]).len(), 1);
    // Lines that aren't read are unchanged.
    shell.ok(&["produce", "l"], line);
    assert_eq!(shell.ok(&["consume", "l"], ""), line);
}

/// The records before a bad one are written once, and the offset after them is committed.
#[test]
fn a_group_gets_past_a_record_that_cannot_be_shown() {
    let shell = Shell::new();
    for (format, good) in [("value", r#"{"a":1}"#), ("avro", r#"{"metric":"m","tags":{},"logtime":0,"value":1}"#)] {
        let topic = format!("poisoned-{format}");
        let format = format!("--format={format}");
        let mut produce = vec!["produce", &topic, &format];
        if format == "--format=avro" {
            produce.push("--schema=measurement");
        }
        shell.ok(&produce, &format!("{good}\n{good}\n"));
        shell.ok(&["produce", &topic], "neither a value nor Avro\n");
        shell.ok(&produce, &format!("{good}\n"));
        let consume = ["consume", &topic, "--group=g", &format];
        for (run, lines) in [(1, 2), (2, 0)] {
            let output = shell.run(&consume, "");
            let (written, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!((output.status.code(), written.lines().count()), (Some(1), lines), "run {run}: {error}");
            assert!(error.contains("offset 2") && error.contains("--skip-bad"), "{error}");
        }
        let skipping = [&consume[..], &["--skip-bad"]].concat();
        let output = shell.run(&skipping, "");
        let (written, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), written.lines().count()), (Some(0), 1), "{error}");
        assert!(error.contains("skipped 1 record; the first: ") && error.contains("offset 2"), "{error}");
        assert_eq!(shell.ok(&skipping, ""), "");
        // Without a group, the bad one ends the command or is skipped.
        let plain = ["consume", &topic, &format];
        assert_eq!(shell.run(&plain, "").status.code(), Some(1));
        assert_eq!(shell.ok(&[&plain[..], &["--skip-bad"]].concat(), "").lines().count(), 3);
    }
    // Into a container file: it has the committed records.
    let file = ["consume", "poisoned-avro", "--group=file", "--format=avro", "--output=avro"];
    let output = shell.run(&file, "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(apache_avro::Reader::new(&output.stdout[..]).unwrap().count(), 2);
    let output = shell.run(&[&file[..], &["--skip-bad"]].concat(), "");
    assert_eq!(apache_avro::Reader::new(&output.stdout[..]).unwrap().count(), 1);
    // The same of a subscription, whose position is in a file.
    let cursor = shell.folder.path().join("cursor");
    let subscribe = ["subscribe", "poisoned-value", "--from=first", "--format=value", "--cursor-file", text(&cursor)];
    for lines in [2, 0] {
        let output = shell.run(&subscribe, "");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), lines);
    }
    let output = shell.run(&[&subscribe[..], &["--skip-bad", "--max-records=2"]].concat(), "");
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"{\"a\":1}\n".to_vec()));
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
    shell.fails(&produce(&["--set=value=high"]), "", 2, "isn't a number");
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
    shell.fails(&["produce", "t", "--format=avro", "--schema", text(&broken)], "", 1, "not an Avro schema");
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
