//! `rawline profile`: named brokers with keys and certificates.

mod file;

pub use file::{Profile, ProfileFile};

use super::broker::{BrokerArgs, Target};
use super::list::FormatArgs;
use super::table::{Align, table, terminal_width};
use super::{CommandError, print, print_json};
use clap::Subcommand;
use file::check_secret;
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  # Add a broker with its key, which is read from a file at each use, and use it from now on
  rawline profile add prod --broker https://events.example.com:51313 --api-key-file prod.key --use

  # Copy the key from stdin to the profile instead
  rawline profile add test --broker http://10.0.0.7:51313 --api-key-stdin < test.key

  # Use another one, for one command or from now on
  rawline topics --profile test
  rawline profile use test

  # List them; the one in use has a *
  rawline profile list

  # Show which broker commands use here, and why
  rawline profile show

Profiles are in ~/.config/rawline/config.toml ($XDG_CONFIG_HOME). A flag takes precedence over a variable, a variable \
over a profile. A profile's key is sent to the profile's broker only: with another --broker or RAWLINE_BROKER, the \
profile isn't used, unless it is named by --profile, or both are named by variables.";

/// Name brokers with their keys and certificates, and choose one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the profiles; keys aren't shown
    List {
        #[command(flatten)]
        output: FormatArgs,
    },

    /// Show which broker commands use, and where its address and key come from
    Show {
        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Add a profile
    Add(Box<Add>),

    /// Use a profile from now on; none without a name
    Use {
        /// Profile to use
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },

    /// Remove a profile, with its key
    Remove {
        /// Profile to remove
        #[arg(value_name = "NAME")]
        name: String,
    },
}

// No flag has a variable here: what is stored is what was given.
#[derive(Debug, clap::Args)]
struct Add {
    /// Name of the profile: letters, digits, '-', '_' and '.'
    #[arg(value_name = "NAME")]
    name: String,

    /// URL of the broker; several, separated by commas, if they share a storage
    #[arg(long, value_name = "URL")]
    broker: String,

    /// File with the API key, which only you may read
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,

    /// Read the API key from stdin, and store it in the profile
    #[arg(long, conflicts_with = "api_key_file")]
    api_key_stdin: bool,

    /// Zone that commands run in
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,

    /// Authorities' certificates (PEM) to trust for https:// instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Client's certificate (PEM), for a broker that requires one
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// Private key of --client-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,

    /// Use it from now on
    #[arg(long = "use")]
    is_used: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<(), CommandError> {
    let mut file = ProfileFile::load()?;
    match args.command {
        Command::List { output } => list(&file, output),
        Command::Show { broker } => show(&broker),
        Command::Add(args) => {
            let (name, is_used) = (args.name.clone(), args.is_used);
            file.add(&name, &args.profile()?)?;
            if is_used {
                file.set_current(Some(&name))?;
            }
            report(&file, &format!("added profile {name}"))
        }
        Command::Use { name } => {
            file.set_current(name.as_deref())?;
            let name = name.map_or_else(|| "no profile".to_owned(), |name| format!("profile {name}"));
            report(&file, &format!("commands use {name}"))
        }
        Command::Remove { name } => {
            file.remove(&name)?;
            report(&file, &format!("removed profile {name}"))
        }
    }
}

/// Saves the file and says what changed.
fn report(file: &ProfileFile, what: &str) -> Result<(), CommandError> {
    let path = file.save()?;
    eprintln!("rawline: {what} in {}", path.display());
    Ok(())
}

impl Add {
    fn profile(self) -> Result<Profile, CommandError> {
        if let Some(file) = &self.api_key_file {
            check_secret(file)?;
        }
        // They are used from any directory.
        let absolute = |file: Option<PathBuf>| file.as_deref().map(absolute).transpose();
        let profile = Profile {
            broker: self.broker,
            api_key: self.api_key_stdin.then(read_key).transpose()?,
            api_key_file: absolute(self.api_key_file)?,
            zone: self.zone,
            ca: absolute(self.ca)?,
            client_cert: absolute(self.client_cert)?,
            client_key: absolute(self.client_key)?,
        };
        // An address that no client can have is an error now.
        rawline_client::Client::new(rawline_client::ClientConfig::new(profile.broker.as_str()))?;
        Ok(profile)
    }
}

fn absolute(file: &Path) -> Result<PathBuf, CommandError> {
    std::fs::canonicalize(file).map_err(|error| CommandError::Failed(format!("can't read {}: {error}", file.display())))
}

fn read_key() -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| CommandError::Failed(format!("can't read the key from stdin: {error}")))?;
    match text.trim() {
        "" => Err(CommandError::Usage("stdin has no key; pipe the API key to this command".to_owned())),
        key => Ok(key.to_owned()),
    }
}

/// A profile as JSON, without its key.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    name: &'a str,
    is_current: bool,
    broker: &'a str,
    has_key: bool,
    api_key_file: Option<&'a Path>,
    zone: Option<&'a str>,
    ca: Option<&'a Path>,
    client_cert: Option<&'a Path>,
    client_key: Option<&'a Path>,
}

fn show(broker: &BrokerArgs) -> Result<(), CommandError> {
    let Target { broker, origins, .. } = broker.target()?;
    let key = origins.key.map_or("none".to_owned(), |origin| origin.to_string());
    print(&format!("broker   {} ({})\napi key  {key}\n", broker.escape_debug(), origins.address))
}

fn list(file: &ProfileFile, output: FormatArgs) -> Result<(), CommandError> {
    let profiles: Vec<Shown<'_>> = file
        .profiles()
        .iter()
        .map(|(name, profile)| Shown {
            name,
            is_current: file.current() == Some(name),
            broker: &profile.broker,
            has_key: profile.api_key.is_some() || profile.api_key_file.is_some(),
            api_key_file: profile.api_key_file.as_deref(),
            zone: profile.zone.as_deref(),
            ca: profile.ca.as_deref(),
            client_cert: profile.client_cert.as_deref(),
            client_key: profile.client_key.as_deref(),
        })
        .collect();
    if output.is_json() {
        return print_json(&profiles);
    }
    if profiles.is_empty() {
        eprintln!("rawline: no profiles yet; `rawline profile add` adds one");
        return Ok(());
    }
    let head = ["PROFILE", "BROKER", "KEY", "ZONE", "CA", "CLIENT CERTIFICATE"].map(|name| (name, Align::Name));
    print(&table(head, profiles.iter().map(row).collect(), terminal_width()))
}

fn row(profile: &Shown<'_>) -> [String; 6] {
    let path = |path: Option<&Path>| path.map_or("-".to_owned(), |path| path.display().to_string());
    [
        format!("{}{}", profile.name, if profile.is_current { " *" } else { "" }),
        profile.broker.escape_debug().to_string(),
        match profile.api_key_file {
            None if profile.has_key => "stored".to_owned(),
            file => path(file),
        },
        profile.zone.map_or("-".to_owned(), |zone| zone.escape_debug().to_string()),
        path(profile.ca),
        path(profile.client_cert),
    ]
}
