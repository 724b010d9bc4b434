//! The process's environment: the one place of the command line that reads it. Flags with variables go through clap.

#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

/// The log filter, from `RUST_LOG`.
pub fn log_filter() -> Option<String> {
    std::env::var("RUST_LOG").ok()
}

/// The directory of this user's settings: `$XDG_CONFIG_HOME`, or `~/.config`.
pub fn config_directory() -> Option<PathBuf> {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    directory("XDG_CONFIG_HOME").or_else(|| Some(directory("HOME")?.join(".config")))
}
