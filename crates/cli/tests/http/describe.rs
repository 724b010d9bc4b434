//! The API's descriptions, machine-readable and human-readable, match what the server does exactly.

use crate::broker::{Broker, RAWLINE};
use crate::client::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_openapi_document_has_every_path_and_method() {
    let broker = Broker::start(&[]);
    let document = broker.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let paths = document["paths"].as_object().unwrap();
    for (path, operations) in paths {
        for method in METHODS {
            let answer = exchange(broker.address, &request(method, path, &[], b""));
            let is_described = operations.get(method.to_lowercase()).is_some();
            assert_eq!(answer.status != 405, is_described, "{method} {path} returns {}", answer.status);
            assert_ne!(answer.status, 404, "{method} {path}");
        }
    }
}

#[test]
fn the_openapi_document_refers_to_what_is_in_it() {
    fn refs<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| refs(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| refs(value, found)),
            _ => {}
        }
    }
    let document: Value = serde_json::from_str(include_str!("../../../server/src/http/openapi.json")).unwrap();
    let mut found = Vec::new();
    refs(&document, &mut found);
    for reference in &found {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference} doesn't exist");
    }
    for (kind, components) in document["components"].as_object().unwrap() {
        for name in components.as_object().unwrap().keys() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(kind == "securitySchemes" || found.contains(&reference.as_str()), "{reference} is not used");
        }
    }
}

/// The document describes every response of an operation: status, content type, fields of JSON.
#[test]
fn responses_match_the_openapi_document() {
    let broker = Broker::start(&["--api-key", "key"]);
    let document: Value = serde_json::from_str(include_str!("../../../server/src/http/openapi.json")).unwrap();
    let ask = |method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]| {
        let headers = [&[("authorization", "Bearer key")], headers].concat();
        let answer = exchange(broker.address, &request(method, target, &headers, body));
        let path = target.split('?').next().unwrap();
        let operation = &document["paths"][path][method.to_lowercase()];
        let mut response = &operation["responses"][answer.status.to_string()];
        if let Some(reference) = response["$ref"].as_str() {
            response = document.pointer(&reference[1..]).unwrap();
        }
        assert!(response.is_object(), "{method} {target}: {} is not described", answer.status);
        if let Some(content_type) = answer.header("content-type") {
            let content_type = content_type.split(';').next().unwrap();
            assert!(response["content"][content_type].is_object(), "{method} {target}: {content_type}");
            if content_type == JSON && path != "/openapi.json" {
                check(&document, &response["content"][JSON]["schema"], &answer.json(), target);
            }
        }
    };
    ask("POST", "/records?topic-name=t", &[("content-type", LINES)], b"a\n\xff");
    ask("POST", "/records?topic-name=t", &[("content-type", MULTIPART)], &multipart("[1]", b"a"));
    ask("POST", "/records?topic-name=t", &[("content-type", "text/plain")], b"a");
    ask("POST", "/records?topic-name=t", &[("content-type", LINES), ("content-encoding", "br")], b"a");
    for accept in [BATCH, LINES, JSON, "*/*", "image/png"] {
        ask("GET", "/records?topic-name=t&offset=0", &[("accept", accept)], b"");
        ask("GET", "/records?topic-name=t&offset=9&timeout=0s", &[("accept", accept)], b"");
    }
    for target in [
        "/record?topic-name=t&offset=0",
        "/record?topic-name=t&offset=9",
        "/topic?topic-name=t",
        "/topic?topic-name=empty",
        "/topic",
        "/topics",
        "/topics?totals=true",
        "/topics?totals=maybe",
        "/stats",
        "/measurements",
        "/measurements/metrics",
        "/measurements/metrics?topic-name=t",
        "/measurements/tags?topic-name=t&selector=cpu",
        "/measurements/query?topic-name=t&selector=cpu",
        "/offset?topic-name=t&time=2026-01-01T00:00:00Z",
        "/metrics",
        "/health",
        "/openapi.json",
        "/",
    ] {
        ask("GET", target, &[], b"");
    }
    ask("POST", "/ticket", &[], b"");
    ask("PUT", "/topic?topic-name=t", &[], br#"{"retain_hours":0.5,"retain_bytes":1000000}"#);
    ask("PUT", "/topic?topic-name=t", &[], b"[]");
    ask("POST", "/trim?topic-name=t&before=1", &[], b"");
    ask("POST", "/trim?topic-name=t&before=9", &[], b"");
    ask("GET", "/topic?topic-name=t", &[], b"");
    for _ in 0..2 {
        ask("POST", "/topic?topic-name=new", &[], b"{}");
    }
    ask("POST", "/topic?topic-name=new", &[], b"[]");
    for _ in 0..2 {
        ask("DELETE", "/topic?topic-name=new", &[], b"");
    }
    ask("DELETE", "/topic", &[], b"");
    ask("POST", "/member?group-name=g", &[], br#"{"topics":["t"]}"#);
    ask("POST", "/member?group-name=g", &[], br#"{"topics":[]}"#);
    ask("POST", "/member?group-name=g", &[], br#"{"topics":["t"],"member":"none"}"#);
    ask("PUT", "/member?group-name=g&member=none&generation=1", &[], b"");
    ask("DELETE", "/member?group-name=g&member=none", &[], b"");
    for target in ["/group?group-name=g", "/group?group-name=none", "/group", "/groups"] {
        ask("GET", target, &[], b"");
    }
    ask("PUT", "/group?group-name=other", &[], br#"{"offsets":[{"topic":"t","offset":1,"metadata":"m"}]}"#);
    ask("PUT", "/group?group-name=other", &[], br#"{"offsets":[{"topic":"none","offset":1}]}"#);
    ask("GET", "/group?group-name=other", &[], b"");
    ask("DELETE", "/group?group-name=g", &[], b"");
    for _ in 0..2 {
        ask("DELETE", "/group?group-name=other", &[], b"");
    }
}

/// Checks the subset of JSON Schema that the document uses for responses.
fn check(document: &Value, schema: &Value, value: &Value, what: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        check(document, document.pointer(&reference[1..]).unwrap(), value, what);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = |choice: &&Value| {
            let choice =
                choice["$ref"].as_str().map_or(*choice, |reference| document.pointer(&reference[1..]).unwrap());
            choice["required"].as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
        };
        assert_eq!(choices.iter().filter(fits).count(), 1, "{what}: {value}");
        return;
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match &schema["type"] {
        Value::String(want) => assert_eq!(want, kind, "{what}: {value}"),
        Value::Array(kinds) => {
            let fits = |want: &Value| want == kind || want == "number" && kind == "integer";
            assert!(kinds.iter().any(fits), "{what}: {value}");
        }
        _ => {}
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{what}: no {name} in {value}");
    }
    if let (Some(known), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
        for (name, field) in fields {
            check(document, known.get(name).unwrap_or_else(|| panic!("{what}: {name} is not described")), field, what);
        }
    }
    for item in value.as_array().into_iter().flatten() {
        check(document, &schema["items"], item, what);
    }
}

/// Every code that a response can have, with its status.
fn codes() -> BTreeSet<(String, u16)> {
    let mut codes: BTreeSet<(String, u16)> =
        rawline_contract::code::ALL.iter().map(|code| (code.name.to_owned(), code.status)).collect();
    let is_code = |text: &str| text.starts_with("batch_") && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let batch = std::fs::read_to_string(root().join("crates/batch/src/error.rs")).unwrap();
    // A body is any number of batches, which the broker neither slices nor decompresses on receipt.
    let unreachable = ["batch_trailing_bytes", "batch_range", "batch_slice_compressed", "batch_decompress"];
    let of_batches = batch.split('"').filter(|text| is_code(text) && !unreachable.contains(text));
    codes.extend(of_batches.map(|name| (name.to_owned(), if name == "batch_limit" { 413 } else { 400 })));
    codes
}

#[test]
fn every_error_code_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/http.md")).unwrap();
    let (_, table) = page.split_once("## Errors").unwrap();
    let documented: BTreeSet<(String, u16)> = table
        .lines()
        .filter_map(|line| {
            let (code, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((code.to_owned(), rest.split(' ').next()?.parse().ok()?))
        })
        .collect();
    let codes = codes();
    let missing: Vec<_> = codes.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/http.md: {missing:?}");
    let unknown: Vec<_> = documented.difference(&codes).collect();
    assert!(unknown.is_empty(), "only in docs/http.md: {unknown:?}");
}

/// `docs/http.md` shows commands and their output. A `…` there stands for any text.
#[test]
fn the_examples_of_the_page_print_its_output() {
    assert!(run_examples("docs/http.md") >= 15, "the page has too few examples");
}

#[test]
fn the_examples_of_subscriptions_print_their_output() {
    assert!(run_examples("docs/subscriptions.md") >= 2, "the page has too few examples");
}

#[test]
fn the_examples_of_security_print_their_output() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    let (first, rest) = page.split_once("```sh\nrawline serve").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let before = Broker::start(&[]);
    assert_eq!(run_blocks(first, &before, folder.path()), 4);
    let keys = folder.path().join("keys.toml");
    let broker = Broker::start(&["--keys", &keys.display().to_string()]);
    assert_eq!(run_blocks(rest, &broker, folder.path()), 4);
}

/// The fields of `docs/security.md` are those that a file can have.
#[test]
fn every_field_of_the_keys_file_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    let (_, section) = page.split_once("## The keys file").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |").map(|(names, _)| names));
    let documented: BTreeSet<&str> =
        rows.flat_map(|names| names.split(", ")).map(|name| name.trim_matches('`')).collect();
    let source = std::fs::read_to_string(root().join("crates/server/src/access/key_file.rs")).unwrap();
    let (_, fields) = source.split_once("const FIELDS: [&str; 13] = [").unwrap();
    let (fields, _) = fields.split_once("];").unwrap();
    let fields: BTreeSet<&str> = fields.split(',').map(|field| field.trim().trim_matches('"')).collect();
    assert_eq!(documented, fields.into_iter().filter(|field| !field.is_empty()).collect());
}

/// Runs the examples of a page; returns their number.
fn run_examples(page: &str) -> u32 {
    let page = std::fs::read_to_string(root().join(page)).unwrap();
    let broker = Broker::start(&["--memory", "512MiB"]);
    let folder = tempfile::tempdir().unwrap();
    run_blocks(&page, &broker, folder.path())
}

fn run_blocks(page: &str, broker: &Broker, folder: &Path) -> u32 {
    let bin = Path::new(RAWLINE).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut examples = 0;
    for block in page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for example in block.split("$ ").skip(1) {
            let command_lines = 1 + example.lines().take_while(|line| line.ends_with('\\')).count();
            let command: String = example.lines().take(command_lines).map(|line| format!("{line}\n")).collect();
            let want: Vec<&str> = example.lines().skip(command_lines).filter(|line| !line.is_empty()).collect();
            let output = Command::new("sh")
                .args(["-ec", &command.replace("127.0.0.1:51313", &broker.address.to_string())])
                .current_dir(folder)
                .env("PATH", &path)
                .env("RAWLINE_BROKER", format!("http://{}", broker.address))
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
            let got: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
            let same = got.len() == want.len() && got.iter().zip(&want).all(|(got, want)| fits(got, want));
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(same && output.status.success(), "$ {command}{text}{stderr}\nThe page says:\n{}", want.join("\n"));
            examples += 1;
        }
    }
    examples
}

/// Whether a line matches the page's.
fn fits(line: &str, pattern: &str) -> bool {
    let Some((start, mut rest)) = pattern.split_once('…') else { return line == pattern };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    while let Some((middle, after)) = rest.split_once('…') {
        let Some(at) = line.find(middle) else { return false };
        line = &line[at + middle.len()..];
        rest = after;
    }
    line.ends_with(rest)
}

/// `docs/operating.md` lists every setting of `rawline serve`, and no others.
#[test]
fn every_setting_is_documented() {
    let output = Command::new(RAWLINE).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, options) = help.split_once("Options:").unwrap();
    let (options, _) = options.split_once("Examples:").unwrap();
    let there: BTreeSet<(String, String)> = options
        .split("\n      --")
        .skip(1)
        .filter_map(|text| {
            let flag = text.split([' ', '\n']).next().unwrap().to_owned();
            Some((flag, text.split("[env: ").nth(1)?.split([']', '=']).next().unwrap().to_owned()))
        })
        .collect();
    assert!(there.len() > 10, "{help}");
    let page = std::fs::read_to_string(root().join("docs/operating.md")).unwrap();
    let told = page.lines().filter_map(|line| {
        let (flag, rest) = line.strip_prefix("| `--")?.split_once('`')?;
        Some((flag.to_owned(), rest.split('`').nth(1)?.to_owned()))
    });
    assert_eq!(told.collect::<BTreeSet<_>>(), there);
}
