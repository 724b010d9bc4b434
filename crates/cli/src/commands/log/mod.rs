//! The log of the broker, on stderr: human-readable text, or a JSON object a line. No line is repeated within a minute.

mod json;
mod repeats;

use super::CommandError;
use crate::environment;
use repeats::{Once, Repeated, Repeats};
use std::io::IsTerminal;
use std::sync::Arc;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;

/// The default of `RUST_LOG`.
const LOG_DEFAULT: &str = "info,object_store=warn";

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Human-readable text
    Text,
    /// A JSON object a line
    Json,
}

/// The log, once it was started.
#[derive(Clone)]
pub struct Log {
    format: LogFormat,
    repeats: Arc<Repeats>,
}

/// Starts the log, with the filter `RUST_LOG`.
pub fn start(format: LogFormat) -> Result<Log, CommandError> {
    let requested = environment::log_filter();
    let filter: Targets = requested.as_deref().unwrap_or(LOG_DEFAULT).parse().map_err(|error| {
        CommandError::Usage(format!("RUST_LOG is not a log filter: {error}; give levels, such as {LOG_DEFAULT}"))
    })?;
    let repeats = Arc::new(Repeats::default());
    let log = tracing_subscriber::fmt::layer::<Registry>().with_writer(std::io::stderr);
    // A file gets no escape codes. On a terminal, the library looks at NO_COLOR.
    let log = if std::io::stderr().is_terminal() { log } else { log.with_ansi(false) };
    let text = Once { format: tracing_subscriber::fmt::format().with_target(false), repeats: repeats.clone() };
    let json = Once { format: json::Json, repeats: repeats.clone() };
    let log = match format {
        LogFormat::Text => log.event_format(text).with_filter(filter).boxed(),
        LogFormat::Json => log.event_format(json).with_filter(filter).boxed(),
    };
    // It fails if the process has a log already, which is then used.
    let _ = tracing_subscriber::registry().with(log).try_init();
    Ok(Log { format, repeats })
}

impl Log {
    /// Writes a line about the broker's start or end, whatever the filter is.
    pub fn say(&self, message: &str) {
        match self.format {
            LogFormat::Text => eprintln!("rawline: {message}"),
            LogFormat::Json => eprintln!("{}", json::line("info", message, serde_json::Map::new())),
        }
    }

    /// Reports how often lines were left out, as long as it is polled.
    pub async fn report(&self) {
        loop {
            tokio::time::sleep(repeats::WINDOW / 6).await;
            self.report_all(self.repeats.ended());
        }
    }

    /// Reports what is left, at the end.
    pub fn end(&self) {
        self.report_all(self.repeats.all());
    }

    fn report_all(&self, all: Vec<Repeated>) {
        for Repeated { message, count } in all {
            self.say(&format!("left out {count} repetitions of {message:?} within a minute; the first one was logged"));
        }
    }
}
