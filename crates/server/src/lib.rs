//! The broker over HTTP, its command line and its benchmarks; `main.rs` puts them together.

pub mod bench;
pub mod commands;
pub mod http;
