//! Compiles the compiler and the profile into the binary, for the head of every benchmark.

// A build script's settings come from the environment.
#![allow(clippy::disallowed_methods)]

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    println!("cargo:rustc-env=RAWLINE_RUSTC={}", compiler.unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo:rustc-env=RAWLINE_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
}

/// The program's output, if it succeeds.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
