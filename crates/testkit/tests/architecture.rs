//! `ARCHITECTURE.md` against the code: the arrows between crates, and the files that it names.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // A test.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// Crate to the crates that it depends on, without those of its tests, as the manifests say.
fn arrows_in_manifests() -> BTreeMap<String, BTreeSet<String>> {
    let mut folders: Vec<_> =
        std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.push(root().join("python"));
    let dependency = Regex::new(r"(?m)^rawline-([a-z-]+)(\.workspace)? =").unwrap();
    let arrows = |folder: &PathBuf| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let start = manifest.find("\n[dependencies]").map_or(manifest.len(), |start| start + 1);
        let end = manifest[start..].find("\n[").map_or(manifest.len(), |end| start + end);
        let found = dependency.captures_iter(&manifest[start..end]).map(|found| found[1].to_owned()).collect();
        (folder.file_name().unwrap().to_str().unwrap().to_owned(), found)
    };
    folders.iter().map(arrows).collect()
}

/// The same as the page's block of arrows says: a line `crate -> crate, crate`.
fn arrows_in_page() -> BTreeMap<String, BTreeSet<String>> {
    let line = Regex::new(r"(?m)^([a-z-]+) +-> *([a-z, -]*)$").unwrap();
    line.captures_iter(&page())
        .map(|found| {
            let to = found[2].split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "nothing");
            (found[1].to_owned(), to.map(str::to_owned).collect())
        })
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_the_page_says() {
    assert_eq!(arrows_in_page(), arrows_in_manifests(), "left: ARCHITECTURE.md, right: the manifests");
}

#[test]
fn files_that_the_page_names_exist() {
    let path = Regex::new(r"`([a-z0-9_.]+(/[a-z0-9_.-]+)+/?)`").unwrap();
    let page = page();
    let named: BTreeSet<_> = path.captures_iter(&page).map(|found| found[1].to_owned()).collect();
    assert!(named.len() > 10, "the page names {} files", named.len());
    let missing: Vec<_> = named.iter().filter(|name| !root().join(name).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names files that don't exist: {missing:?}");
}
