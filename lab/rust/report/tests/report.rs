//! The binary on a small made-up laboratory: the page, refused input, and the texts of page and documentation.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn line(run: &str, quick: bool, language: &str, format: &str, library: &str, operation: &str, ns: f64) -> String {
    let time = if run == "old" { "2026-01-01T00:00:00Z" } else { "2026-02-01T00:00:00Z" };
    serde_json::json!({
        "run": run, "commit": "abc", "time": time,
        "machine": {"cpu": "a processor", "cores": 4, "os": "linux", "memory_gb": 8},
        "language": language, "runtime": "r", "harness": "h", "format": format, "library": library, "version": "1.0",
        "variant": "", "case": "pingpong", "size": "base", "messages": "varied", "operation": operation, "threads": 1,
        "ns": ns, "ns_low": ns * 0.98, "ns_high": ns * 1.02, "confidence": 0.95, "alloc_bytes": 64, "quick": quick,
    })
    .to_string()
}

fn check(language: &str, format: &str, library: &str, ok: bool) -> String {
    let party = serde_json::json!({"language": language, "library": library, "variant": ""});
    let error = if ok { "" } else { "message 3: names[1] differs" };
    serde_json::json!({
        "writer": party, "reader": party, "format": format, "case": "pingpong", "size": "base",
        "ok": ok, "error": error,
    })
    .to_string()
}

/// A laboratory of four rows: one passes, one fails, one is not checked, one is of an older run.
fn laboratory() -> TempDir {
    let laboratory = tempfile::tempdir().unwrap();
    let folder = laboratory.path();
    fs::create_dir_all(folder.join("out")).unwrap();
    let results = [
        line("old", false, "java", "json", "jackson-databind", "decode", 9_000_000.0),
        line("new", false, "java", "json", "jackson-databind", "encode", 500.0),
        line("new", false, "java", "json", "jackson-databind", "decode", 800.0),
        line("new", false, "rust", "sbe", "broken-sbe", "decode", 7.0),
        line("new", false, "python", "cbor", "unchecked-cbor", "decode", 70.0),
        "{\"run\": \"new\", \"cut off".to_owned(),
    ];
    fs::write(folder.join("out/results.jsonl"), results.join("\n")).unwrap();
    let checks = [check("java", "json", "jackson-databind", true), check("rust", "sbe", "broken-sbe", false)];
    fs::write(folder.join("out/conformance.jsonl"), checks.join("\n")).unwrap();
    fs::create_dir_all(folder.join("report")).unwrap();
    fs::write(
        folder.join("report/article.json"),
        r#"{"source": "s", "run": "r", "rows": [{"case": "pingpong", "format": "json", "counterpart": "jackson",
            "library": "Jackson", "version": "2.12.2", "bytes": 208, "encode_per_ms": [1438, 32],
            "decode_per_ms": [1177, 25], "encode_alloc_bytes": 904, "decode_alloc_bytes": 1920}]}"#,
    )
    .unwrap();
    laboratory
}

fn run(lab: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lab-report")).arg("--lab").arg(lab).args(arguments).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_page_shows_the_newest_run_and_only_what_was_checked() {
    let folder = laboratory();
    let output = run(folder.path(), &["page"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("results.jsonl, line 6 is skipped"), "{}", told(&output));
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("500 ns") && page.contains("800 ns"));
    assert!(!page.contains("9.00 ms"), "a figure of an older run is shown");
    assert!(!page.contains("7.00 ns"), "a row that failed its check has a figure");
    assert!(page.contains("names[1] differs"), "the failed row is not listed with its error");
    assert!(page.contains("unchecked-cbor") && page.contains("not checked"), "the unchecked row is not listed");
    for address in ["http://", "https://", "src=", "@import", "url("] {
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains(address), "the page asks for {address}");
    }
}

#[test]
fn the_documentation_gets_tables_and_the_charts_it_shows() {
    let folder = laboratory();
    let document = folder.path().join("formats.md");
    let text = "# Formats\n\n<!-- lab:table pingpong -->\n<!-- /lab:table \
     -->\n\n![c](formats/pingpong-base-decode.svg)\n\
                ![c](formats/order-base-decode.svg)\n";
    fs::write(&document, text).unwrap();
    let output = run(folder.path(), &["docs", "--document", document.to_str().unwrap()]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("nothing was measured for the charts order-base-decode"), "{}", told(&output));
    let filled = fs::read_to_string(&document).unwrap();
    let row = "| JSON | jackson-databind (Java) | – | 2000 ±40 | 1250 ±25 | 64 / 64 | Jackson 2.12.2: 208 | 1438 ±32 \
     | 1177 ±25 | 904 / 1920 |";
    assert!(filled.contains(row), "{filled}");
    let chart = fs::read_to_string(folder.path().join("formats/pingpong-base-decode.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.contains("800 ns") && chart.contains("prefers-color-scheme:dark"));
    assert!(!folder.path().join("formats/order-base-decode.svg").exists());
}

#[test]
fn a_run_can_be_named_and_an_unknown_one_is_told() {
    let folder = laboratory();
    assert!(run(folder.path(), &["page", "--run", "old"]).status.success());
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("9.00 ms") && !page.contains("800 ns"));
    let output = run(folder.path(), &["page", "--run", "never"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("has no run \"never\""), "{}", told(&output));
}

#[test]
fn a_run_that_was_broken_off_is_shown_only_where_it_is_named() {
    let folder = laboratory();
    // Sizes are written last: the old run has come to its end, the new one has not.
    let results = folder.path().join("out/results.jsonl");
    let size =
        line("old", false, "java", "json", "jackson-databind", "size", 1.0).replace("\"ns\":1.0", "\"bytes\":216.0");
    fs::write(&results, format!("{size}\n{}", fs::read_to_string(&results).unwrap())).unwrap();
    let shown = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        assert!(output.status.success(), "{}", told(&output));
        fs::read_to_string(folder.path().join("out/report.html")).unwrap()
    };
    let page = shown(&["page"]);
    assert!(page.contains("9.00 ms") && !page.contains("800 ns"));
    let page = shown(&["page", "--run", "new"]);
    assert!(page.contains("800 ns") && !page.contains("9.00 ms"));
}

#[test]
fn without_results_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["page"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("run `make lab-quick`"), "{}", told(&output));
}

#[test]
fn sizes_are_of_the_bytes_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("out/wire/rust/some-json+reused buffers");
    fs::create_dir_all(&wire).unwrap();
    let mut file = Vec::new();
    for length in [100u32, 300] {
        file.extend_from_slice(&length.to_le_bytes());
        file.extend(std::iter::repeat_n(b'x', length as usize));
    }
    fs::write(wire.join("json.pingpong.base.bin"), &file).unwrap();
    fs::write(wire.join("json.pingpong.10k.bin"), &file[..50]).unwrap();
    let output = run(folder.path(), &["sizes"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("json.pingpong.10k.bin: message 1 is truncated"), "{}", told(&output));
    let lines = fs::read_to_string(folder.path().join("out/results.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(line["bytes"], 200.0);
    assert_eq!((line["library"].as_str(), line["variant"].as_str()), (Some("some-json"), Some("reused buffers")));
    assert!(line["bytes_zstd"].as_f64().unwrap() < 50.0);
    assert!(line["bytes_zstd_batch"].as_f64().unwrap() < line["bytes_zstd"].as_f64().unwrap());
    fs::write(wire.join("json.order.base.bin"), &file).unwrap();
    fs::remove_file(folder.path().join("out/results.jsonl")).unwrap();
    let output = run(folder.path(), &["sizes", "--quick"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", told(&output));
    let lines = fs::read_to_string(folder.path().join("out/results.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!((line["case"].as_str(), line["quick"].as_bool()), (Some("pingpong"), Some(true)));
}

#[test]
fn two_passes_under_one_run_id_are_reported() {
    let folder = laboratory();
    let results = folder.path().join("out/results.jsonl");
    let mut text = fs::read_to_string(&results).unwrap();
    text.push_str(&format!("\n{}\n", line("new", false, "java", "json", "jackson-databind", "encode", 400.0)));
    fs::write(&results, text).unwrap();
    let output = run(folder.path(), &["page"]);
    assert!(
        told(&output).contains("run new has measured jackson-databind of pingpong (encode) twice"),
        "{}",
        told(&output)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 figures of run new"), "the first pass stays");
}

#[test]
fn rows_whose_intervals_overlap_are_all_the_fastest() {
    let folder = laboratory();
    let mut results = vec![line("new", false, "java", "json", "jackson-databind", "decode", 800.0)];
    results.push(line("new", false, "java", "cbor", "close-cbor", "decode", 820.0));
    results.push(line("new", false, "java", "msgpack", "far-msgpack", "decode", 990.0));
    fs::write(folder.path().join("out/results.jsonl"), results.join("\n")).unwrap();
    let formats = [("json", "jackson-databind"), ("cbor", "close-cbor"), ("msgpack", "far-msgpack")];
    let checks: Vec<String> = formats.iter().map(|(format, library)| check("java", format, library, true)).collect();
    fs::write(folder.path().join("out/conformance.jsonl"), checks.join("\n")).unwrap();
    let document = folder.path().join("doc.md");
    fs::write(&document, "<!-- lab:table best -->\n<!-- /lab:table -->\n").unwrap();
    let output = run(folder.path(), &["docs", "--document", document.to_str().unwrap()]);
    assert!(output.status.success(), "{}", told(&output));
    let text = fs::read_to_string(&document).unwrap();
    assert!(text.contains("JSON by jackson-databind: 800 ns; CBOR by close-cbor: 820 ns |"), "{text}");
}

/// Every line of the history has what `docs/benchmarks.md` says of it, and can be drawn.
#[test]
fn the_history_of_the_benchmarks_is_drawn() {
    let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/benchmarks.jsonl");
    let text = fs::read_to_string(&history).unwrap();
    for (number, line) in text.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let figures = line["figures"].as_object().unwrap();
        let has_all = line["time"].as_str().is_some_and(|time| time.ends_with('Z')) && line["machine"].is_object();
        assert!(has_all && line["settings"].is_object() && !figures.is_empty(), "line {}: {line}", number + 1);
        assert!(figures.values().all(serde_json::Value::is_number), "line {}: {line}", number + 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("trend.svg");
    let arguments = [
        "trend",
        history.to_str().unwrap(),
        "--output",
        picture.to_str().unwrap(),
        "--only",
        "write",
        "--runs-min",
        "2",
    ];
    let output = run(folder.path(), &arguments);
    assert!(output.status.success() && !told(&output).contains("skipped"), "{}", told(&output));
    let svg = fs::read_to_string(&picture).unwrap();
    assert!(svg.contains("write: records_per_second") && !svg.contains("latency: p50_ms"), "{svg}");
}

#[test]
fn a_trend_is_drawn_from_appended_runs() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("bench.jsonl");
    let run_of = |time: &str, commit: &str, rate: f64| {
        serde_json::json!({
            "time": time, "commit": commit, "version": "0.1.0", "machine": {"cpu": "c"}, "benchmark": "write",
            "settings": {"workers": 16}, "figures": {"records_per_second": rate}, "new_field": {},
        })
        .to_string()
    };
    let lines = [
        run_of("2026-01-01T00:00:00Z", "aaaaaaaaaaaaaaaa", 1.0e6),
        "not JSON".to_owned(),
        run_of("2026-01-02T00:00:00Z", "bbb", 1.5e6),
    ];
    fs::write(&runs, lines.join("\n")).unwrap();
    let picture = folder.path().join("trend.svg");
    let arguments = ["trend", runs.to_str().unwrap(), "--output", picture.to_str().unwrap()];
    let output = run(folder.path(), &arguments);
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("line 2 is skipped"), "{}", told(&output));
    let svg = fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg xmlns") && svg.contains("write: records_per_second"), "{svg}");
    assert!(svg.contains("1.50 M at bbb") && svg.contains("2026-01-01 aaaaaaaaaaaa<"), "{svg}");
}
