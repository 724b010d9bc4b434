//! Records the compiler's version, which every figure needs.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=RUSTC_VERSION={}", version.split(" (").next().unwrap_or_default().trim());
    println!("cargo::rerun-if-changed=build.rs");
}
