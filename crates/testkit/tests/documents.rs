//! Links between documents: the files and the headings that they name exist.

#![allow(clippy::unwrap_used, clippy::panic)] // A test.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Tracked documents by their path below the root, without their blocks of code.
fn documents() -> BTreeMap<PathBuf, String> {
    let output = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z", "*.md"]).output().unwrap();
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let files = String::from_utf8(output.stdout).unwrap();
    let files: Vec<_> = files.split('\0').filter(|file| root().join(file).is_file() && !file.is_empty()).collect();
    assert!(files.len() > 20, "git lists {} documents: not a checkout of this project", files.len());
    let read =
        |file: &str| std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    files.into_iter().map(|file| (PathBuf::from(file), without_code(&read(file)))).collect()
}

fn without_code(text: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The anchors of a document's headings, as code hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let heading = Regex::new(r"(?m)^#{1,6} (.*)$").unwrap();
    let dropped = Regex::new(r"[^\w\- ]").unwrap();
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let anchor = |found: regex::Captures<'_>| {
        let name = dropped.replace_all(&found[1].trim().to_lowercase(), "").replace(' ', "-");
        let before = times.entry(name.clone()).or_default();
        *before += 1;
        if *before == 1 { name } else { format!("{name}-{}", *before - 1) }
    };
    heading.captures_iter(text).map(anchor).collect()
}

/// A path without `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(parts.pop(), "{} leaves the project", path.display()),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

/// The links of `text` that lead nowhere; `documents` are all that a link can name a heading of.
fn broken(file: &Path, text: &str, documents: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let quoted = Regex::new(r"`[^`]*`").unwrap();
    let text = quoted.replace_all(text, "");
    let mut broken = Vec::new();
    for target in link.captures_iter(&text).map(|found| found.extract::<1>().1[0]) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = if path.is_empty() { file.to_owned() } else { normalized(&file.with_file_name(path)) };
        if !root().join(&path).exists() {
            broken.push(format!("{}: {target}: no such file", file.display()));
        } else if let Some(named) = documents.get(&path)
            && !anchor.is_empty()
            && !anchors(named).contains(anchor)
        {
            broken.push(format!("{}: {target}: no such heading", file.display()));
        }
    }
    broken
}

#[test]
fn links_lead_to_files_and_headings() {
    let documents = documents();
    let broken: Vec<_> = documents.iter().flat_map(|(file, text)| broken(file, text, &documents)).collect();
    assert!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn a_link_to_nothing_is_found() {
    let page = PathBuf::from("docs/http.md");
    let text =
        without_code("# A page\n## One `read`, twice\n## One `read`, twice\n```\n# not a heading\n[x](y)\n```\n");
    assert_eq!(anchors(&text), BTreeSet::from(["a-page", "one-read-twice", "one-read-twice-1"].map(str::to_owned)));
    let documents = BTreeMap::from([(page.clone(), text)]);
    let good = "[a](#a-page) [b](http.md#one-read-twice-1) [c](../README.md) [d](https://example.org/x) `[e](f)`";
    assert!(broken(&page, good, &documents).is_empty());
    let bad = "[a](#not-a-heading) [b](nothing.md#a-page)";
    let want = ["docs/http.md: #not-a-heading: no such heading", "docs/http.md: nothing.md#a-page: no such file"];
    assert_eq!(broken(&page, bad, &documents), want);
}
