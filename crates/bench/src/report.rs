//! The report of a benchmark: prints its configuration, writes its figures to files.

use super::args::OutputArgs;
use super::environment::Environment;
use super::history::{History, Measured};
use crate::error::BenchError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use rawline_broker::{Clock, SystemClock};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The head of a report, already printed.
pub struct Report {
    bench: &'static str,
    began: Timestamp,
    environment: Environment,
    flags: Value,
    json: Option<PathBuf>,
    history: Option<History>,
}

impl Report {
    /// Prints the configuration of the benchmark. `storage` is the directory whose filesystem matters, if one does.
    pub fn begin(
        bench: &'static str,
        storage: Option<&Path>,
        flags: &impl Serialize,
        output: &OutputArgs,
    ) -> Result<Report, BenchError> {
        let history = output.append.as_deref().map(History::open).transpose()?;
        let began = i64::try_from(SystemClock.now_us()).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
        let environment = Environment::read(storage);
        let flags = serde_json::to_value(flags).map_err(unwritable)?;
        println!("bench {bench}");
        for (name, value) in environment.lines() {
            println!("  {name:<20} {value}");
        }
        for (name, value) in flags.as_object().into_iter().flatten() {
            if !value.is_null() {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                println!("  --{:<18} {value}", name.replace('_', "-"));
            }
        }
        println!();
        let json = output.json.clone();
        Ok(Report { bench, began: began.unwrap_or_default(), environment, flags, json, history })
    }

    /// Writes the JSON file and appends the line of the history, if the flags name them.
    pub fn finish(self, figures: &(impl Serialize + Measured)) -> Result<(), BenchError> {
        if let Some(path) = &self.json {
            self.write_json(path, figures)?;
        }
        match self.history {
            Some(history) => history.append(self.bench, self.began, &self.environment, &self.flags, &figures.figures()),
            None => Ok(()),
        }
    }

    fn write_json(&self, path: &Path, figures: &impl Serialize) -> Result<(), BenchError> {
        let mut whole = json!({ "bench": self.bench, "environment": self.environment, "flags": self.flags });
        let figures = serde_json::to_value(figures).map_err(unwritable)?;
        if let (Some(whole), Value::Object(figures)) = (whole.as_object_mut(), figures) {
            whole.extend(figures);
        }
        let mut text = serde_json::to_string_pretty(&whole).map_err(unwritable)?;
        text.push('\n');
        std::fs::write(path, text).map_err(|error| {
            let path = path.display();
            BenchError::Failed(format!("can't write {path}: {error}; give --json a file that can be written"))
        })
    }
}

fn unwritable(error: serde_json::Error) -> BenchError {
    BenchError::Failed(format!("can't write the figures as JSON: {error}; please report this"))
}

/// A progress bar on stderr, if that is a terminal.
pub fn progress(what: String, length: u64) -> ProgressBar {
    // 4 updates per second are visible, and cost too little to change a figure.
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(4));
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.with_message(what)
}
