//! The binary on small samples: the table and the page, and an error of every input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let lab = env!("CARGO_BIN_EXE_rawline-lab");
    Command::new(lab).args(arguments).args(["--seconds", "1", "--messages", "50"]).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn orders(count: usize) -> String {
    let order = |i: usize| {
        let mut order = json!({
            "id": i, "host.name": format!("10.0.0.{}", i % 200),
            "customer": {"name": format!("name {i}"), "age": i % 90},
            "lines": [{"sku": format!("s{i}"), "price": 0.5 + i as f64}, {"sku": "t", "price": 2, "note": "gift"}],
            "matrix": [[1, 2], [], [i]], "paid": i.is_multiple_of(2),
                "either": if i.is_multiple_of(3) { json!(i) } else { json!("text") },
        });
        if i.is_multiple_of(4) {
            order["comment"] = json!("please hurry");
        }
        if i.is_multiple_of(5) {
            order["nothing"] = Value::Null;
        }
        format!("{order}\n")
    };
    (0..count).map(order).collect()
}

#[test]
fn every_format_is_measured_on_any_json() {
    let folder = tempfile::tempdir().unwrap();
    let sample = written(folder.path(), "orders.jsonl", &orders(300));
    let page = folder.path().join("page.html");
    let figures = folder.path().join("figures.jsonl");
    let [sample, page, figures] = [&sample, &page, &figures].map(|path| path.to_str().unwrap());
    let mut arguments = vec![sample, "--output", page, "--json", figures];
    arguments.extend(["--field", "customer.name", "--as", "host.name=address"]);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", told(&output));
    let table = shown(&output);
    let libraries = "serde_json sonic-rs rmp-serde ciborium minicbor-serde rawline-avro apache-avro prost-reflect";
    for library in libraries.split(' ').chain(["rawline-value, typed", "values, list", "MessagePack, array"]) {
        assert!(table.contains(library), "{library} is missing:\n{table}");
    }
    assert!(!table.contains("without figures"), "{table}");
    assert!(table.contains("I would choose") && table.contains("the one field read is customer.name"), "{table}");
    assert!(table.contains("50 of 300 messages were measured"), "{table}");

    let lines: Vec<Value> =
        fs::read_to_string(figures).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let operations = |library: &str| lines.iter().filter(|line| line["library"] == library).count();
    assert_eq!(operations("serde_json"), 4, "encode, decode, field and size");
    assert!(lines.iter().filter(|line| line["operation"] != "size").all(|line| {
        let ns = |key: &str| line[key].as_f64().unwrap();
        ns("ns_low") <= ns("ns") && ns("ns") <= ns("ns_high") && ns("ns") > 0.0
    }));
    // The smallest JSON is the sample's own.
    let of =
        |library: &str| lines.iter().find(|line| line["library"] == library && line["operation"] == "size").unwrap();
    assert!(of("serde_json")["bytes"].as_f64() > of("rawline-avro")["bytes"].as_f64());
    assert_ne!(of("serde_json")["version"], "");

    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("I would choose") && page.contains("message Message {") && page.contains("host_name"));
}

#[test]
fn schemas_of_the_users_own_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let sample =
        written(folder.path(), "points.jsonl", "{\"name\":\"a\",\"x\":1}\n{\"name\":\"b\",\"x\":2,\"tag\":\"t\"}\n");
    let avro = written(
        folder.path(),
        "point.avsc",
        r#"{"type":"record","name":"Point","fields":[{"name":"x","type":"int"},{"name":"name","type":"string"},
            {"name":"tag","type":["null","string"],"default":null}]}"#,
    );
    let proto = written(
        folder.path(),
        "point.proto",
        "syntax = \"proto3\"; package shop; message Other { int32 y = 1; }\n\
         message Point { int32 x = 1; string name = 2; optional string tag = 3; }",
    );
    let arguments = [sample.to_str().unwrap(), "--schema", avro.to_str().unwrap(), "--schema", proto.to_str().unwrap()];
    let several = run(&arguments);
    assert_eq!(several.status.code(), Some(1));
    assert!(told(&several).contains("--message: shop.Other, shop.Point"), "{}", told(&several));
    let output = run(&[&arguments[..], &["--message", "shop.Point", "--field", "name"]].concat());
    assert!(output.status.success(), "{}", told(&output));
    let table = shown(&output);
    assert!(!table.contains("without figures") && !table.contains("inferred"), "{table}");
    // x as an int, a length and a letter: two bytes and one for the absent tag, or three for the one that is there.
    let of_avro = table.lines().find(|line| line.starts_with("Avro")).unwrap();
    assert!(of_avro.contains("  5  "), "{of_avro}");
}

#[test]
fn a_message_that_does_not_fit_the_schema_is_told_with_line_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let sample = written(folder.path(), "s.jsonl", "{\"x\":1}\n\n{\"x\":\"two\"}\n");
    let schema = |name: &str, text: &str| {
        let path = written(folder.path(), name, text);
        let output = run(&[sample.to_str().unwrap(), "--schema", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        told(&output)
    };
    let avro = schema("s.avsc", r#"{"type":"record","name":"S","fields":[{"name":"x","type":"long"}]}"#);
    assert!(avro.contains("line 3") && avro.contains('x') && avro.contains("an integer of 64 bits"), "{avro}");
    let proto = schema("s.proto", "syntax = \"proto3\"; message S { int64 x = 1; }");
    assert!(proto.contains("line 3") && proto.contains("x: "), "{proto}");
    let unknown = schema("t.proto", "syntax = \"proto3\"; message S { int64 y = 1; }");
    assert!(unknown.contains("line 1") && unknown.contains('x'), "{unknown}");
    assert!(schema("b.avsc", "{").contains("b.avsc"));
    assert!(schema("b.proto", "message {").contains("b.proto"));
    assert!(schema("b.xsd", "").contains(".avsc or .proto"));
}

#[test]
fn what_is_no_sample_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, arguments: &[&str]| {
        let sample = written(folder.path(), "s.jsonl", text);
        let output = run(&[&[sample.to_str().unwrap()], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        told(&output)
    };
    assert!(refused("", &[]).contains("no message"));
    assert!(refused("\n \n", &[]).contains("no message"));
    let broken = refused("{\"x\":1}\n{\"x\":\n", &[]);
    assert!(broken.contains("line 2") && broken.contains("not JSON"), "{broken}");
    assert!(refused("[1]\n", &[]).contains("line 1: it is no object"));
    assert!(refused("{\"x\":1}\n", &["--field", "y"]).contains("there is no y; there are x"));
    let types = refused("{\"x\":\"nowhere\"}\n", &["--as", "x=address"]);
    assert!(types.contains("line 1: field x") && types.contains("--as"), "{types}");
    let missing = run(&["/no/such/file.jsonl"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(told(&missing).contains("/no/such/file.jsonl"));
    assert_eq!(run(&[]).status.code(), Some(2));
}

#[test]
fn of_a_huge_file_places_are_taken_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let sample = written(folder.path(), "huge.jsonl", &orders(12_000));
    assert!(fs::metadata(&sample).unwrap().len() > 2 << 20);
    let output = run(&[sample.to_str().unwrap(), "--memory-mb", "1"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(shown(&output).contains("messages were taken from 64 places, 1 MB together"), "{}", shown(&output));
}

/// Versions are shown from the laboratory's lock file; packages are built by the repository's.
#[test]
fn packages_have_the_versions_that_are_shown() {
    let lock = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let version = |lock: &str, library: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{library}\"\nversion = ")).unwrap();
        rest.lines().next().unwrap().to_owned()
    };
    let (shown, built) = (lock("../Cargo.lock"), lock("../../../Cargo.lock"));
    let libraries = "apache-avro ciborium minicbor-serde prost-reflect protox rmp-serde rmpv serde_json sonic-rs zstd";
    for library in libraries.split(' ') {
        let update = format!("cargo update -p {library} --precise VERSION makes them the same");
        assert_eq!(version(&built, library), version(&shown, library), "{library}: {update}");
    }
}

#[test]
fn messages_without_names_are_shorter_in_messagepack_too() {
    let folder = tempfile::tempdir().unwrap();
    let sample = written(folder.path(), "orders.jsonl", &orders(50));
    let figures = folder.path().join("figures.jsonl");
    let [sample, figures] = [&sample, &figures].map(|path| path.to_str().unwrap());
    let output = run(&[sample, "--field", "customer.name", "--json", figures]);
    assert!(output.status.success(), "{}", told(&output));
    let lines: Vec<Value> =
        fs::read_to_string(figures).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let bytes = |format: &str| {
        let size = |line: &&Value| line["format"] == format && line["operation"] == "size";
        lines.iter().find(size).unwrap()["bytes"].as_f64().unwrap()
    };
    // The keys of the outer object alone have 41 letters.
    assert!(bytes("msgpack-array") + 41.0 < bytes("msgpack"), "{} {}", bytes("msgpack-array"), bytes("msgpack"));
}
