//! The arguments of `rawline lab`, and its help.

use rawline_value::{FieldHint, Hint};
use std::path::PathBuf;

// Paragraphs are one line each: the terminal's width wraps them.
const HELP: &str = "\
Examples:
  # Measure for 20 seconds, print a table and write a page with charts
  rawline lab orders.jsonl --output orders.html

  # Keep addresses and times as such in Rawline's values; read what another program prints
  zcat dns.json.gz | rawline lab - --as id.orig_h=address --as ts=timestamp

  # Use your own schemas, and time the reading of one field
  rawline lab orders.jsonl --schema order.avsc --schema order.proto --message shop.Order --field customer.name

Exit codes: 0 measured, 1 a file, the messages or a schema can't be used, 2 wrong usage.";

/// Measure wire formats on your own messages and recommend one: bytes, and time to write and read
///
/// Needs no broker and no schema: for Avro and Protobuf one is inferred, and the page shows it. Measures the formats
/// that need no schema or accept one at run time: JSON, MessagePack, CBOR, Rawline's values, Avro and Protobuf. Code
/// that a compiler makes of a schema is faster.
///
/// The table has the mean bytes of a message: uncompressed; by zstd, each alone; by zstd, each alone with a dictionary
/// of other messages; by zstd, all together. Encode, decode and field (one field is read) are medians, with half of
/// their 95 % interval. Recommended is the row with the smallest product of bytes and time (encode and decode).
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Messages, one JSON object per line; - is stdin
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) sample: PathBuf,

    /// Schema of the messages, .avsc or .proto; can be given once of each
    #[arg(long = "schema", value_name = "S.avsc|S.proto")]
    pub(crate) schemas: Vec<PathBuf>,

    /// Message in the .proto file; needed if it has several
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Option<String>,

    /// Field to read, such as customer.name [default: a string in the message's middle]
    #[arg(long, value_name = "PATH")]
    pub(crate) field: Option<String>,

    #[arg(long = "as", value_name = "FIELD=TYPE", help = types_help())]
    pub(crate) types: Vec<FieldHint>,

    /// Write the page with charts to this file
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) output: Option<PathBuf>,

    /// Write the figures to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Time to measure, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,

    /// Maximum number of messages to measure
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) messages: u64,

    /// Maximum size of the messages to read, in MiB; of a larger file, 64 places spread over it
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) memory_mb: u64,
}

fn types_help() -> String {
    format!(
        "Type of a field in Rawline's values: {}; port@FIELD takes the protocol from that field; timestamps as numbers \
         are in seconds; can be given many times",
        Hint::names()
    )
}
