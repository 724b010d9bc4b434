//! Compiles the git commit, the compiler and the profile into the binary, for the head of every benchmark.

// A build script's settings come from the environment.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A commit, a checkout or an edit changes the commit's name. A path that doesn't exist would make cargo run this on
    // every build.
    for path in [".git/HEAD", ".git/logs/HEAD", "Cargo.lock", "Cargo.toml", "crates"] {
        if root.join(path).exists() {
            println!("cargo:rerun-if-changed={}", root.join(path).display());
        }
    }
    let root = root.to_string_lossy();
    let commit = match output("git", &["-C", &root, "rev-parse", "--short=12", "HEAD"]) {
        Some(commit) => {
            let changed =
                output("git", &["--no-optional-locks", "-C", &root, "status", "--porcelain", "--untracked-files=no"]);
            if changed.is_some_and(|files| !files.is_empty()) { format!("{commit}+dirty") } else { commit }
        }
        None => "unknown".to_owned(),
    };
    println!("cargo:rustc-env=RAWLINE_GIT_COMMIT={commit}");
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    println!("cargo:rustc-env=RAWLINE_RUSTC={}", compiler.unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo:rustc-env=RAWLINE_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
}

/// The program's output, if it succeeds.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
