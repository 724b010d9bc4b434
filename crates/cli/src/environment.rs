//! The process's environment: the one place of the command line that reads it. Flags with variables go through clap.

#![allow(clippy::disallowed_methods)]

/// The log filter, from `RUST_LOG`.
pub fn log_filter() -> Option<String> {
    std::env::var("RUST_LOG").ok()
}
