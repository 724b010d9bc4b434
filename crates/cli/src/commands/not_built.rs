//! Stands in for `full.rs` in a binary without the feature `full`: the same names, and errors that say how to build it.

use super::CommandError;
use super::log::Log;
use super::storage::StorageArg;
use rawline_client::{Client, Fetched};
use rawline_server::Measurements;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// The commands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Roll up and query measurements, run benchmarks; needs a binary built by `make full`
    #[command(name = "measure", aliases = ["series", "query", "bench"])]
    NotBuilt {
        /// Arguments of the command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },
}

impl Command {
    /// Fails.
    pub async fn run(self) -> Result<(), CommandError> {
        Err(not_built("measurements and benchmarks"))
    }
}

/// Has no flags.
#[derive(Debug, clap::Args)]
pub struct EncodeArgs {}

/// Has no flags.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {}

/// Does not exist.
#[derive(Clone)]
pub enum Encoder {}

impl Encoder {
    pub fn needs_header(&self) -> bool {
        match *self {}
    }

    pub fn has_quotes(&self) -> bool {
        match *self {}
    }

    pub fn encode(&mut self, _line: &[u8], _out: &mut Vec<u8>) -> Result<Option<()>, String> {
        match *self {}
    }
}

/// Does not exist.
pub enum FileRecords {}

impl FileRecords {
    pub fn next_block(&mut self) -> Result<Option<std::iter::Empty<&[u8]>>, String> {
        match *self {}
    }
}

/// Does not exist.
#[derive(Clone)]
pub enum LineShower {}

impl LineShower {
    pub fn show(&mut self, _record: &[u8], _out: &mut Vec<u8>) -> Result<(), String> {
        match *self {}
    }
}

/// Does not exist.
pub enum Shower {}

impl Shower {
    pub fn lines(&self) -> Option<LineShower> {
        match *self {}
    }

    pub async fn meet(&mut self, _fetched: &mut Fetched) -> Result<(), CommandError> {
        match *self {}
    }

    pub fn flush(&mut self, _out: &mut Vec<u8>) -> Result<(), String> {
        match *self {}
    }

    pub fn finish(&mut self, _out: &mut Vec<u8>) -> Result<(), String> {
        match *self {}
    }

    pub fn show(&mut self, _record: &[u8], _out: &mut Vec<u8>) -> Result<(), String> {
        match *self {}
    }
}

/// Fails.
pub async fn encoder(_: &EncodeArgs, _: Option<&Path>, _: &Client) -> Result<Encoder, CommandError> {
    Err(not_built("--format avro"))
}

/// No input is one that this binary can read.
pub fn is_container(_: &EncodeArgs, _: Option<&Path>) -> bool {
    false
}

/// Fails.
pub async fn container(_: &EncodeArgs, _: &[u8], _: &Client) -> Result<FileRecords, CommandError> {
    Err(not_built("--format avro"))
}

/// Fails.
pub async fn shower(_: &DecodeArgs, _: &Client) -> Result<Shower, CommandError> {
    Err(not_built("--format avro"))
}

/// This binary can't query them.
pub fn measurements(_: &StorageArg) -> Option<Arc<dyn Measurements>> {
    None
}

/// Fails.
pub async fn serve_profiles(_: &Log, _: SocketAddr) -> Result<(), CommandError> {
    Err(not_built("--debug-listen"))
}

fn not_built(what: &str) -> CommandError {
    CommandError::Usage(format!("this binary was built without {what}; build one that has it with `make full`"))
}
