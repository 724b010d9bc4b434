//! The log of the broker, on stderr.

use super::CommandError;
use crate::environment;
use std::io::IsTerminal;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The default of `RUST_LOG`.
const LOG_DEFAULT: &str = "info,object_store=warn";

/// Starts the log, with the filter `RUST_LOG`.
pub fn start() -> Result<(), CommandError> {
    let requested = environment::log_filter();
    let filter: Targets = requested.as_deref().unwrap_or(LOG_DEFAULT).parse().map_err(|error| {
        CommandError::Usage(format!("RUST_LOG is not a log filter: {error}; give levels, such as {LOG_DEFAULT}"))
    })?;
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // A file gets no escape codes. On a terminal, the library looks at NO_COLOR.
    let log = if std::io::stderr().is_terminal() { log } else { log.with_ansi(false) };
    // It fails if the process has a log already, which is then used.
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).try_init();
    Ok(())
}
