//! Which broker a command talks to: flags, variables, a profile, or the default, in this order.

use super::CommandError;
use super::profile::{Profile, ProfileFile};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use rawline_client::{Client, ClientConfig, RetryPolicy, TlsConfig};
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The address without any setting.
const DEFAULT: &str = "http://127.0.0.1:51313";

/// The flags, and where their values come from.
#[derive(Debug, Clone)]
pub struct BrokerArgs {
    flags: Flags,
    profile_rank: Rank,
    broker_rank: Rank,
    key_rank: Rank,
}

#[derive(Debug, Clone, Args)]
struct Flags {
    /// Profile with the broker's address, key and certificates, from `rawline profile`; '' is none
    /// [default: that of `rawline profile use`]
    #[arg(long, value_name = "NAME", env = "RAWLINE_PROFILE")]
    profile: Option<String>,

    /// URL of the broker; several, separated by commas, if they share a storage: the first reachable one is used
    /// [default: that of the profile, else http://127.0.0.1:51313]
    #[arg(long, value_name = "URL", env = "RAWLINE_BROKER")]
    broker: Option<String>,

    /// API key of the broker, if it has one
    #[arg(long, value_name = "KEY", env = "RAWLINE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,

    /// Zone that this command runs in: reads go to a broker of this zone, and brokers count bytes across zones
    #[arg(long, value_name = "NAME", env = "RAWLINE_ZONE")]
    zone: Option<String>,

    /// Authorities' certificates (PEM) to trust for https:// instead of the system's
    #[arg(long, value_name = "FILE", env = "RAWLINE_CA")]
    ca: Option<PathBuf>,

    /// Client's certificate (PEM), for a broker that requires one
    #[arg(long, value_name = "FILE", env = "RAWLINE_CLIENT_CERT", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// Private key of --client-cert (PEM)
    #[arg(long, value_name = "FILE", env = "RAWLINE_CLIENT_KEY", requires = "client_cert")]
    client_key: Option<PathBuf>,
}

/// Where a setting comes from; a greater one takes precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    None,
    Environment,
    Flag,
}

impl Rank {
    fn of(matches: &ArgMatches, name: &str) -> Rank {
        match matches.value_source(name) {
            Some(ValueSource::CommandLine) => Rank::Flag,
            Some(ValueSource::EnvVariable) => Rank::Environment,
            _ => Rank::None,
        }
    }
}

impl Args for BrokerArgs {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for BrokerArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        BrokerArgs::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        // Before the values are moved out.
        let [profile_rank, broker_rank, key_rank] =
            ["profile", "broker", "api_key"].map(|name| Rank::of(matches, name));
        let flags = Flags::from_arg_matches_mut(matches)?;
        Ok(BrokerArgs { flags, profile_rank, broker_rank, key_rank })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = BrokerArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Where the address and the key of this process's client come from, for its errors. A process runs one command.
static ORIGINS: OnceLock<Origins> = OnceLock::new();

/// Where the address and the key come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    pub address: Origin,
    /// `None` without a key.
    pub key: Option<Origin>,
}

impl Origins {
    /// Those of the client of this process, once it was created.
    pub fn current() -> Option<&'static Origins> {
        ORIGINS.get()
    }
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Flag(&'static str),
    Environment(&'static str),
    Profile(String),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "from {flag}"),
            Origin::Environment(variable) => write!(f, "from {variable}"),
            Origin::Profile(name) => write!(f, "from profile {name:?}"),
            Origin::Default => f.write_str("the default"),
        }
    }
}

/// A broker, and how to connect to it.
#[derive(Debug, Clone)]
pub struct Target {
    pub broker: String,
    api_key: Option<String>,
    zone: Option<String>,
    tls: TlsConfig,
    pub origins: Origins,
}

impl BrokerArgs {
    /// A client for this broker. Nothing is sent yet.
    pub fn client(&self) -> Result<Client, CommandError> {
        let Target { broker, api_key, zone, tls, origins } = self.target()?;
        // The first one stays, which is that of the command.
        let _ = ORIGINS.set(origins);
        Ok(Client::new(ClientConfig { api_key, zone, tls, ..ClientConfig::new(broker) })?)
    }

    /// As [`BrokerArgs::client`], for interactive commands: a failure is reported without retries.
    pub fn client_without_retries(&self) -> Result<Client, CommandError> {
        Ok(self.client()?.with_retries(RetryPolicy::NONE))
    }

    /// The broker by the flags, variables and profiles.
    pub fn target(&self) -> Result<Target, CommandError> {
        let file = ProfileFile::load()?;
        let profile = self.profile(&file)?;
        let key = match (&self.flags.api_key, profile) {
            (None, Some((_, profile))) => profile.key()?,
            _ => None,
        };
        Ok(self.target_of(profile, key))
    }

    /// The profile that applies. One that isn't named where the address is, or with precedence over it, applies to its
    /// own address only: otherwise its key would be sent to another broker.
    fn profile<'f>(&self, file: &'f ProfileFile) -> Result<Option<(&'f str, &'f Profile)>, CommandError> {
        let name = match &self.flags.profile {
            Some(name) if name.is_empty() => return Ok(None),
            Some(name) => Some(name.as_str()),
            None => file.current(),
        };
        let Some(name) = name else { return Ok(None) };
        let (name, profile) = file.get(name)?;
        let is_its_own = self.flags.broker.as_ref().is_none_or(|broker| *broker == profile.broker);
        Ok((is_its_own || self.profile_rank >= self.broker_rank).then_some((name, profile)))
    }

    /// The settings with those of a profile, whose key this is.
    fn target_of(&self, profile: Option<(&str, &Profile)>, profile_key: Option<String>) -> Target {
        let Flags { broker, api_key, zone, ca, client_cert, client_key, .. } = self.flags.clone();
        let (name, profile) = profile.unzip();
        let by_profile = || Origin::Profile(name.unwrap_or_default().to_owned());
        let given = |rank, flag, variable| match rank {
            Rank::Flag => Some(Origin::Flag(flag)),
            Rank::Environment => Some(Origin::Environment(variable)),
            Rank::None => None,
        };
        let address = given(self.broker_rank, "--broker", "RAWLINE_BROKER");
        let address = address.or_else(|| profile.map(|_| by_profile())).unwrap_or(Origin::Default);
        let broker = broker.or_else(|| profile.map(|profile| profile.broker.clone()));
        // An empty variable is no key.
        let api_key = api_key.filter(|key| !key.is_empty());
        let key = match (&api_key, &profile_key) {
            (Some(_), _) => given(self.key_rank, "--api-key", "RAWLINE_API_KEY"),
            (None, Some(_)) => Some(by_profile()),
            (None, None) => None,
        };
        let file = |own: Option<PathBuf>, file: fn(&Profile) -> &Option<PathBuf>| {
            own.or_else(|| profile.and_then(|profile| file(profile).clone()))
        };
        // A certificate goes with its key.
        let has_own = client_cert.is_some();
        let of_pair = |own: Option<PathBuf>, of_profile: fn(&Profile) -> &Option<PathBuf>| {
            if has_own { own } else { file(None, of_profile) }
        };
        Target {
            broker: broker.unwrap_or_else(|| DEFAULT.to_owned()),
            api_key: api_key.or(profile_key),
            zone: zone.filter(|zone| !zone.is_empty()).or_else(|| profile.and_then(|profile| profile.zone.clone())),
            tls: TlsConfig {
                ca_file: file(ca, |profile| &profile.ca),
                certificate_file: of_pair(client_cert, |profile| &profile.client_cert),
                key_file: of_pair(client_key, |profile| &profile.client_key),
            },
            origins: Origins { address, key },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str], environment: &[&str]) -> BrokerArgs {
        let command = BrokerArgs::augment_args(Command::new("test").no_binary_name(true))
            .mut_args(|arg| arg.env(None::<&'static str>));
        let words = words.iter().chain(environment).copied();
        let mut args = BrokerArgs::from_arg_matches(&command.get_matches_from(words)).unwrap();
        // As if they came from variables.
        let ranks = [&mut args.profile_rank, &mut args.broker_rank, &mut args.key_rank];
        for (rank, flag) in ranks.into_iter().zip(["--profile", "--broker", "--api-key"]) {
            if environment.iter().any(|word| word.starts_with(flag)) {
                *rank = Rank::Environment;
            }
        }
        args
    }

    #[test]
    fn a_profile_is_used_for_its_own_broker_unless_it_is_named() {
        let file = ProfileFile::parse(
            "current = \"prod\"\n[profiles.prod]\nbroker = \"https://prod:1\"\napi_key = \"secret\"\nzone = \"a\"\n\
             [profiles.test]\nbroker = \"http://test:1\"\n",
        )
        .unwrap();
        let (flag, variable) = (Origin::Flag("--broker"), Origin::Environment("RAWLINE_BROKER"));
        let profile = |name: &str| Origin::Profile(name.to_owned());
        for (words, environment, broker, address, key) in [
            (&[][..], &[][..], "https://prod:1", profile("prod"), Some("secret")),
            (&["--broker=http://other:1"], &[], "http://other:1", flag.clone(), None),
            (&["--broker=https://prod:1"], &[], "https://prod:1", flag.clone(), Some("secret")),
            (&[], &["--broker=http://other:1"], "http://other:1", variable.clone(), None),
            (&["--profile=test"], &[], "http://test:1", profile("test"), None),
            (&["--profile=prod", "--broker=http://other:1"], &[], "http://other:1", flag.clone(), Some("secret")),
            (&["--profile=prod"], &["--broker=http://other:1"], "http://other:1", variable.clone(), Some("secret")),
            (&["--broker=http://other:1"], &["--profile=prod"], "http://other:1", flag.clone(), None),
            (&["--profile="], &[], DEFAULT, Origin::Default, None),
            (&["--api-key=mine"], &[], "https://prod:1", profile("prod"), Some("mine")),
        ] {
            let args = args(words, environment);
            let profile = args.profile(&file).unwrap();
            let target = args.target_of(profile, profile.and_then(|(_, profile)| profile.api_key.clone()));
            let found = (target.broker.as_str(), &target.origins.address, target.api_key.as_deref());
            assert_eq!(found, (broker, &address, key), "{words:?} {environment:?}");
        }
        let missing = args(&["--profile=staging"], &[]);
        let error = missing.profile(&file).unwrap_err().to_string();
        assert!(error.contains("no profile \"staging\"") && error.contains("prod, test"), "{error}");
    }
}
