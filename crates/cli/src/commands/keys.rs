//! `rawline key`: makes, lists and removes the keys of a broker's keys file.

use super::list::FormatArgs;
use super::table::{Align, table, terminal_width};
use super::{CommandError, parse_bytes, print, print_json};
use clap::Subcommand;
use indicatif::BinaryBytes;
use rawline_server::access::{FileError, Grants, KeyEntry, KeyFile, Patterns, QuotaLimits, change_keys, read_keys};
use serde::Serialize;
use std::num::NonZeroU64;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # Make a key that may append to the topics whose names begin with zeek., and print it
  rawline key add collector --write 'zeek.*'

  # Make a key that may read all topics, in groups whose names begin with dash-
  rawline key add dashboard --read '*' --groups 'dash-*'

  # Make a key that may do everything
  rawline key add admin --all

  # List the keys, and remove one
  rawline key list
  rawline key remove collector

A broker that runs with `rawline serve --keys keys.toml` notices a change within two seconds.";

/// Make, list or remove the keys of a broker's keys file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a random key, add its hash to the file, and print the key
    ///
    /// A pattern is a name, or a prefix and *, such as zeek.*; * alone matches every name. Each flag takes one or more
    /// patterns.
    Add(Box<Add>),
    /// List the keys and their grants
    List {
        #[command(flatten)]
        output: FormatArgs,

        #[command(flatten)]
        file: FileArgs,
    },
    /// Remove a key from the file
    Remove {
        /// Name of the key
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        file: FileArgs,
    },
}

#[derive(Debug, clap::Args)]
struct FileArgs {
    /// Keys file
    #[arg(long = "keys", value_name = "FILE", env = "RAWLINE_KEYS", default_value = "keys.toml")]
    path: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Name of the key: letters, digits, '-', '_' and '.'
    #[arg(value_name = "NAME")]
    name: String,

    /// Topics that the key may read
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    read: Vec<String>,

    /// Topics that the key may append to
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    write: Vec<String>,

    /// Topics that the key may create, change, truncate and delete
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    admin: Vec<String>,

    /// Consumer groups that the key may use
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    groups: Vec<String>,

    /// Named producers and transactional ids that the key may use
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    producers: Vec<String>,

    /// Grant access to metrics and statistics
    #[arg(long)]
    monitor: bool,

    /// Grant everything
    #[arg(long, conflicts_with_all = ["read", "write", "admin", "groups", "producers", "monitor"])]
    all: bool,

    /// Maximum append rate in bytes per second [default: unlimited]
    #[arg(long, value_name = "BYTES", value_parser = parse_rate)]
    bytes_in: Option<NonZeroU64>,

    /// Maximum read rate in bytes per second [default: unlimited]
    #[arg(long, value_name = "BYTES", value_parser = parse_rate)]
    bytes_out: Option<NonZeroU64>,

    /// Maximum number of connections [default: unlimited]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,

    #[command(flatten)]
    file: FileArgs,
}

fn parse_rate(text: &str) -> Result<NonZeroU64, String> {
    let bytes = NonZeroU64::new(parse_bytes(text)?);
    bytes.filter(|bytes| i64::try_from(bytes.get()).is_ok()).ok_or_else(|| "give a number from 1 to 2^63".to_owned())
}

/// Runs the command.
pub fn run(args: Args) -> Result<(), CommandError> {
    match args.command {
        Command::Add(add) => self::add(*add),
        Command::List { output, file } => list(output, &file),
        Command::Remove { name, file } => {
            change_keys(&file.path, |text| KeyFile::remove(text, &name)).map_err(failed)?;
            eprintln!("rawline: removed key {name} from {}", file.path.display());
            Ok(())
        }
    }
}

fn add(add: Add) -> Result<(), CommandError> {
    let grants = if add.all { Grants::all() } else { grants(&add)? };
    if grants == Grants::default() {
        let message = "this key would have no grants; add some, such as --read '*' or --all";
        return Err(CommandError::Usage(message.into()));
    }
    let quota = QuotaLimits {
        bytes_in_per_second: add.bytes_in,
        bytes_out_per_second: add.bytes_out,
        connections: add.connections,
    };
    let made = KeyEntry::generate(&add.name, grants, quota);
    let (key, entry) = made.map_err(|error| CommandError::Usage(error.to_string()))?;
    change_keys(&add.file.path, |text| KeyFile::add(text, &entry)).map_err(failed)?;
    eprintln!("rawline: added key {} to {}; it is shown this once:", add.name, add.file.path.display());
    print(&format!("{key}\n"))
}

fn grants(add: &Add) -> Result<Grants, CommandError> {
    let patterns = |flag: &str, texts: &[String]| {
        let parsed = Patterns::parse(texts.iter().map(String::as_str));
        parsed.map_err(|invalid| CommandError::Usage(format!("{flag}: {invalid}")))
    };
    Ok(Grants {
        read: patterns("--read", &add.read)?,
        write: patterns("--write", &add.write)?,
        admin: patterns("--admin", &add.admin)?,
        groups: patterns("--groups", &add.groups)?,
        producers: patterns("--producers", &add.producers)?,
        monitor: add.monitor,
    })
}

/// A key as JSON. Its hashes stay in the file.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    name: &'a str,
    read: Vec<String>,
    write: Vec<String>,
    admin: Vec<String>,
    groups: Vec<String>,
    producers: Vec<String>,
    monitor: bool,
    bytes_in_per_second: Option<NonZeroU64>,
    bytes_out_per_second: Option<NonZeroU64>,
    connections: Option<u32>,
}

impl<'a> Shown<'a> {
    fn new(key: &'a KeyEntry) -> Shown<'a> {
        let Grants { read, write, admin, groups, producers, monitor } = &key.grants;
        let QuotaLimits { bytes_in_per_second, bytes_out_per_second, connections } = key.quota;
        Shown {
            name: &key.name,
            read: read.texts().collect(),
            write: write.texts().collect(),
            admin: admin.texts().collect(),
            groups: groups.texts().collect(),
            producers: producers.texts().collect(),
            monitor: *monitor,
            bytes_in_per_second,
            bytes_out_per_second,
            connections,
        }
    }
}

fn list(output: FormatArgs, file: &FileArgs) -> Result<(), CommandError> {
    let keys = read_keys(&file.path).map_err(failed)?.keys;
    if output.is_json() {
        return print_json(&keys.iter().map(Shown::new).collect::<Vec<_>>());
    }
    let head = ["KEY", "READ", "WRITE", "ADMIN", "GROUPS", "PRODUCERS", "MONITOR", "QUOTA"];
    print(&table(head.map(|name| (name, Align::Name)), keys.iter().map(row).collect(), terminal_width()))
}

fn row(key: &KeyEntry) -> [String; 8] {
    let Grants { read, write, admin, groups, producers, monitor } = &key.grants;
    // Names of groups may have any character: escapes keep them from controlling the terminal.
    let patterns = |patterns: &Patterns| {
        let text = patterns.to_string();
        if text.is_empty() { "-".to_owned() } else { text.escape_debug().to_string() }
    };
    let QuotaLimits { bytes_in_per_second, bytes_out_per_second, connections } = key.quota;
    let rate =
        |rate: Option<NonZeroU64>, direction| rate.map(|rate| format!("{direction} {}/s", BinaryBytes(rate.get())));
    let quota = [
        rate(bytes_in_per_second, "in"),
        rate(bytes_out_per_second, "out"),
        connections.map(|count| format!("{count} connections")),
    ];
    let quota: Vec<String> = quota.into_iter().flatten().collect();
    [
        key.name.to_string(),
        patterns(read),
        patterns(write),
        patterns(admin),
        patterns(groups),
        patterns(producers),
        (if *monitor { "yes" } else { "-" }).to_owned(),
        if quota.is_empty() { "-".to_owned() } else { quota.join(", ") },
    ]
}

fn failed(error: FileError) -> CommandError {
    let advice = match &error {
        FileError::Io { .. } => "name another file with --keys or RAWLINE_KEYS",
        FileError::Text { .. } | FileError::Change { .. } => return CommandError::Failed(error.to_string()),
    };
    CommandError::Failed(format!("{error}; {advice}"))
}
