//! Errors of the libraries as messages of the command line: a library gives the reason, this names the flag.

use super::CommandError;
use super::broker::Origins;
use rawline_broker::store::{Setting, StoreError};
use rawline_client::ClientError;

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        let origins = Origins::current();
        let advice = match &error {
            ClientError::Config { .. } => return CommandError::Usage(error.to_string()),
            ClientError::Connect { .. } => {
                format!("or give another address with --broker, RAWLINE_BROKER or --profile{}", address(origins))
            }
            ClientError::Refused { status: 401, .. } => {
                format!("give the key with --api-key, RAWLINE_API_KEY or a profile ({})", key(origins))
            }
            ClientError::Refused { code, .. } if code == "grant_missing" => {
                format!("or give another key with --api-key ({})", key(origins))
            }
            ClientError::Refused { code, .. } if code == "topic_not_found" => {
                "`rawline topics` lists the topics".to_owned()
            }
            ClientError::Tls { .. } => "the flags of these files are --ca, --client-cert and --client-key".to_owned(),
            _ => return CommandError::Failed(error.to_string()),
        };
        CommandError::Failed(format!("{error}; {advice}"))
    }
}

/// Where the address comes from.
fn address(origins: Option<&Origins>) -> String {
    origins.map_or(String::new(), |origins| format!(" (this one is {})", origins.address))
}

/// Where the key comes from.
fn key(origins: Option<&Origins>) -> String {
    match origins.and_then(|origins| origins.key.as_ref()) {
        Some(origin) => format!("this one is {origin}"),
        None => "none was given".to_owned(),
    }
}

/// The storage can't be opened.
pub fn storage(error: &StoreError, storage: &str) -> CommandError {
    let flag = match error.setting {
        Some(Setting::Journals) => return with_advice(error, "--journals", "the flag is --journals"),
        // The flags are in the reason.
        Some(Setting::Advertise) => return CommandError::Failed(error.to_string()),
        _ => "--storage",
    };
    with_advice(error, flag, &format!("check --storage {storage}"))
}

/// The cache of objects in a bucket can't be opened.
pub fn cache(error: &StoreError) -> CommandError {
    with_advice(error, "--cache-dir", "each broker needs its own directory for its cache: give it one with --cache-dir")
}

/// Adds the advice, unless the error names the flag itself.
fn with_advice(error: &StoreError, flag: &str, advice: &str) -> CommandError {
    let message = error.to_string();
    CommandError::Failed(if message.contains(flag) { message } else { format!("{message}; {advice}") })
}
