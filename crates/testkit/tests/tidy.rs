//! The rules of `CONTRIBUTING.md` that a program can check, over every tracked file.
//!
//! Each test collects all violations and prints them, so that one run shows everything there is to fix.

#![allow(clippy::unwrap_used, clippy::panic)] // A test.

use regex::Regex;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const COLUMNS_MAX: usize = 120;
const DATA: [&str; 4] = ["r#\"", "{\"", "[\"", "\"["];
const BLOB_BYTES_MAX: u64 = 200_000;

/// Files over [`BLOB_BYTES_MAX`], each with its reason.
const LARGE_FILES: [(&str, &str); 1] =
    [("vectors/value/values.json", "golden bytes made by the original program; one file, read by three languages")];

/// Words and phrases that stand for a standard term, with the term. The first one of a line is reported.
const WORDS: [(&str, &str); 32] = [
    (r"\bbehind\b", "after"),
    (r"\bin front of\b", "before"),
    (r"\bbeside\b", "next to, alongside, compared with"),
    (r"\b(is|are|was|were|be|been) told\b", "is reported, logs, returns an error"),
    (r"\btells? of\b", "reports"),
    (r"\btried again\b", "retried"),
    (r"\berrs\b", "fails, returns an error"),
    (r"\b(let|lets|letting) go of\b", "releases"),
    (r"\bcomes? about\b", "happens"),
    (r"\bon (its|their) way\b", "in flight"),
    (r"\bunder way\b", "in flight, running"),
    (r"\bthere is none\b", "doesn't exist"),
    (r"\bfor ever\b", "forever"),
    (r"\bcompany\b", "more appends to batch"),
    (r"\btime-outs?\b", "timeout"),
    (r"\b(can|could|must|may) so never\b", "so it can never"),
    (r"\bto be had\b", "available"),
    (r"\bhad to be had\b", "be obtained"),
    (r"\bso long as\b", "while, as long as"),
    (r"\bas much again\b", "twice the amount"),
    (r"\bworth an alarm\b", "alerts"),
    (r"[Ww]hat came of it", "results"),
    (r"\b[Nn]obody\b", "no reader, no client; or a passive: is never read"),
    (r"\b[Ww]hoever\b", "the client that"),
    (r"\b[Ss]omebody\b", "a user, another program"),
    (r"\b[Aa]nybody\b", "any client"),
    (r"\bof (its|their|your|one's) own([.,;:)]|$| (for|in|with|without|that|which|and|or)\b)", "its own, separate"),
    (r"\bfor people\b", "human-readable"),
    (r"\b(go|goes|going|went) on\b", "continues"),
    (r"\b[Ii]n vain\b", "without success, forever"),
    (r"\b(is|are|was|were|be|been) there twice\b", "is duplicate"),
    (r"\b[Mm]ay be dropped while\b", "cancel-safe"),
];

/// Lines in which such a word has its literal meaning.
const LITERAL: [&str; 2] =
    [r"behind (a|the|your|its) (proxy|firewall|NAT|load balancer|TLS|feature|reverse)", "tidy: words"];

/// Crates that are used without the command line, so that their messages can't name its flags.
const LIBRARIES: [&str; 8] = ["avro", "batch", "broker", "client", "measure", "series", "server", "value"];

/// Crates that carry acknowledged records: a range that is out of bounds there is an error or a bug, never "nothing".
const CARRIERS: [&str; 4] = ["batch", "broker", "client", "server"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Tracked files that exist, below the root.
fn tracked() -> Vec<String> {
    let output = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).output().unwrap();
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let files = String::from_utf8(output.stdout).unwrap();
    let files: Vec<_> = files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
    assert!(files.len() > 100, "git lists {} files: not a checkout of this project", files.len());
    files.into_iter().filter(|file| root().join(file).is_file()).collect()
}

fn has_extension(file: &str, extensions: &[&str]) -> bool {
    Path::new(file).extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension))
}

/// Hand-written text: code, scripts and documents, without data.
fn texts() -> Vec<(String, String)> {
    let written = |file: &String| {
        has_extension(file, &["rs", "py", "pyi", "java", "sh", "md", "toml", "js", "mjs", "ts", "tsx", "css"])
            || ["Makefile", ".ci/run"].contains(&file.as_str())
    };
    tracked()
        .into_iter()
        .filter(written)
        .map(|file| {
            let text = std::fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            (file, text)
        })
        .collect()
}

fn sources_of(crates: &[&str]) -> Vec<(String, String)> {
    let folders: Vec<_> = crates.iter().map(|name| format!("crates/{name}/src/")).collect();
    texts().into_iter().filter(|(file, _)| folders.iter().any(|folder| file.starts_with(folder))).collect()
}

fn check(violations: &[String]) {
    let mut list = String::new();
    for violation in violations {
        writeln!(list, "{violation}").unwrap();
    }
    assert!(violations.is_empty(), "{} violations:\n{list}", violations.len());
}

#[test]
fn lines_of_code_are_narrow() {
    let mut wide = Vec::new();
    for (file, text) in texts() {
        if !has_extension(&file, &["rs", "py", "pyi", "java", "sh", "js", "mjs", "ts", "tsx"]) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            // A linter's directive has to stand on the line that it concerns.
            let line = line.split("  # type: ").next().unwrap_or(line).split("  # noqa").next().unwrap_or(line);
            let columns = line.chars().count();
            // Schemas and values inside of tests are data, which a line break would change.
            let is_data = file.contains("/tests/") && DATA.iter().any(|start| line.contains(start));
            if columns > COLUMNS_MAX && !is_data {
                wide.push(format!("{file}:{}: {columns} columns", number + 1));
            }
        }
    }
    check(&wide);
}

#[test]
fn a_file_begins_with_its_purpose() {
    let missing = |(file, text): &(String, String)| {
        let first = text.lines().find(|line| !line.starts_with("#!")).unwrap_or_default();
        let has_purpose = match Path::new(file).extension().and_then(|extension| extension.to_str()) {
            Some("rs") => first.starts_with("//! "),
            Some("py") => first.starts_with("\"\"\"") || text.is_empty(),
            _ => true,
        };
        (!has_purpose).then(|| format!("{file}: no sentence on its purpose at the top"))
    };
    check(&texts().iter().filter_map(missing).collect::<Vec<_>>());
}

#[test]
fn words_are_the_fields_standard_ones() {
    let compiled = |(word, term): &(&str, &'static str)| (Regex::new(word).unwrap(), *term);
    let words: Vec<_> = WORDS.iter().map(compiled).collect();
    // Most lines have none of them, which one search tells.
    let any = Regex::new(&WORDS.map(|(word, _)| word).join("|")).unwrap();
    let literal = LITERAL.map(|line| Regex::new(line).unwrap());
    let mut found = Vec::new();
    for (file, text) in texts() {
        // The list itself.
        if file.ends_with("tests/tidy.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| any.is_match(line)) {
            let Some((word, term)) = words.iter().find(|(word, _)| word.is_match(line)) else { continue };
            if !literal.iter().any(|literal| literal.is_match(line)) {
                let word = word.find(line).map_or("", |found| found.as_str());
                found.push(format!("{file}:{}: \"{word}\": write {term}", number + 1));
            }
        }
    }
    check(&found);
}

#[test]
fn large_files_have_a_reason() {
    let mut large = Vec::new();
    for file in tracked() {
        let bytes = std::fs::metadata(root().join(&file)).unwrap().len();
        if bytes > BLOB_BYTES_MAX && !LARGE_FILES.iter().any(|(excepted, _)| *excepted == file) {
            large.push(format!("{file}: {bytes} bytes; generate it in the build, or give its reason in tidy.rs"));
        }
    }
    for (file, _) in LARGE_FILES {
        let bytes = std::fs::metadata(root().join(file)).map_or(0, |metadata| metadata.len());
        if bytes <= BLOB_BYTES_MAX {
            large.push(format!("{file}: needs no exception any more"));
        }
    }
    check(&large);
}

#[test]
fn no_source_file_is_dead() {
    let texts = texts();
    let mut dead = Vec::new();
    for (file, _) in texts.iter().filter(|(file, _)| file.starts_with("crates/") && file.contains("/src/")) {
        let path = Path::new(file);
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if ["lib", "main"].contains(&stem) {
            continue;
        }
        // `a/mod.rs` is the module a of the folder above; `a.rs` is the module a of its own folder.
        let (name, folder) = if stem == "mod" {
            let folder = path.parent().unwrap();
            (folder.file_name().unwrap().to_str().unwrap(), folder.parent().unwrap())
        } else {
            (stem, path.parent().unwrap())
        };
        let declaration = Regex::new(&format!(r"(?m)^\s*(pub(\([a-z]+\))? )?mod {name};")).unwrap();
        let above = folder.with_extension("rs");
        let declares = |(other, text): &&(String, String)| {
            let other = Path::new(other);
            (other.parent() == Some(folder) || other == above) && declaration.is_match(text)
        };
        if !texts.iter().any(|text| declares(&text)) {
            dead.push(format!("{file}: no `mod {name};` declares it"));
        }
    }
    check(&dead);
}

/// `make check` does not compile the drivers, whose dependencies take half a minute. So they only name a function that
/// tests run, and this test finds it.
#[test]
fn fuzz_drivers_run_what_tests_run() {
    let driver = Regex::new(concat!(
        r#"\A//! .+\n\n#!\[no_main\]\n\n#\[path = "\.\./\.\./(?<bodies>crates/[a-z]+/tests/bodies/mod\.rs)"\]\n"#,
        r"mod bodies;\n\n",
        r"libfuzzer_sys::fuzz_target!\(\|input: &\[u8\]\| bodies::(?<function>[a-z_]+)\(input\)\);\n\z",
    ));
    let driver = driver.unwrap();
    let texts = texts();
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let mut wrong = Vec::new();
    for (file, text) in texts.iter().filter(|(file, _)| file.starts_with("fuzz/fuzz_targets/")) {
        let Some(parts) = driver.captures(text) else {
            wrong.push(format!("{file}: is not a driver of one line; move what it runs to a crate's tests/bodies"));
            continue;
        };
        let function = Regex::new(&format!(r"(?m)^pub fn {}\(\w+: &\[u8\]\) \{{$", &parts["function"])).unwrap();
        if !texts.iter().any(|(other, bodies)| *other == parts["bodies"] && function.is_match(bodies)) {
            wrong.push(format!("{file}: {} has no function {}", &parts["bodies"], &parts["function"]));
        }
        if !manifest.contains(&format!("path = \"{}\"", file.trim_start_matches("fuzz/"))) {
            wrong.push(format!("{file}: fuzz/Cargo.toml doesn't name it"));
        }
    }
    check(&wrong);
}

#[test]
fn libraries_know_no_flags_of_the_command_line() {
    let flag = Regex::new(r#""[^"]*(^|[ `(])--[a-z][a-z-]+"#).unwrap();
    let mut found = Vec::new();
    for (file, text) in sources_of(&LIBRARIES) {
        for (number, line) in text.lines().enumerate() {
            let code = !line.trim_start().starts_with("//");
            if code && flag.is_match(line) {
                found.push(format!("{file}:{}: names a flag; the command line adds those", number + 1));
            }
        }
    }
    check(&found);
}

#[test]
fn no_wrong_range_is_taken_for_nothing() {
    let hidden = Regex::new(r"\.get\([^)]*\.\.[^)]*\)\s*\.unwrap_or_default\(\)").unwrap();
    let mut found = Vec::new();
    for (file, text) in sources_of(&CARRIERS) {
        for (number, _) in text.lines().enumerate().filter(|(_, line)| hidden.is_match(line)) {
            found.push(format!("{file}:{}: return an error for bytes from outside, assert otherwise", number + 1));
        }
    }
    check(&found);
}
