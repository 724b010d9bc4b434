//! The line of `rawline --version`: version, commit and what this binary was built with.

use rawline_server::Build;
use std::sync::LazyLock;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let features = if cfg!(feature = "full") { "full" } else { "without measurements, Avro and benchmarks" };
    let debug = if cfg!(debug_assertions) { ", debug" } else { "" };
    format!("{} (commit {}, {features}{debug})", env!("CARGO_PKG_VERSION"), rawline_version::COMMIT)
});

/// The same for metrics.
pub fn build() -> Build {
    let features = if cfg!(feature = "full") { "full" } else { "" };
    Build { version: env!("CARGO_PKG_VERSION"), commit: rawline_version::COMMIT, features }
}

/// The line without the program's name.
pub fn text() -> &'static str {
    TEXT.as_str()
}
