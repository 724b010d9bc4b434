//! Compiles the git commit into the library.

// A build script's settings come from the environment.
#![allow(clippy::disallowed_methods)]

#[path = "src/git.rs"]
mod git;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RAWLINE_COMMIT");
    println!("cargo:rustc-env=RAWLINE_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
}

/// The commit, from the variable in a build without git. Debug builds have none: each commit and each edit would
/// compile the command line again, with all of its tests.
fn commit() -> Option<String> {
    if let Some(given) = std::env::var("RAWLINE_COMMIT").ok().filter(|commit| !commit.is_empty()) {
        return Some(given);
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A commit, a checkout or an edit changes the commit's name. A path that doesn't exist would make cargo run this on
    // every build.
    for path in [".git/HEAD", ".git/logs/HEAD", "Cargo.lock", "Cargo.toml", "crates"] {
        if root.join(path).exists() {
            println!("cargo:rerun-if-changed={}", root.join(path).display());
        }
    }
    git::commit(&root)
}
