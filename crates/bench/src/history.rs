//! One line of JSON for each run of a benchmark, appended to a file and never edited: the data of a trend over commits.

use super::environment::Environment;
use crate::error::BenchError;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The main figures of a benchmark: numbers by name, the unit last in the name.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MainFigures(BTreeMap<String, f64>);

impl MainFigures {
    /// Adds a figure. The name may hold any text; it is written in lower case with `_` between words. A figure that is
    /// not a finite number was not measured and is left out.
    pub fn add(&mut self, name: &str, value: f64) {
        let name = words(name);
        assert!(!name.is_empty(), "a figure of value {value} has no name");
        if value.is_finite() {
            let earlier = self.0.insert(name.clone(), value);
            assert!(earlier.is_none(), "two figures have the name {name}: {earlier:?} and {value}");
        }
    }

    /// Adds a figure that some runs lack, such as the CPU time of a remote broker.
    pub fn add_some(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }
}

/// `value, record, view` becomes `value_record_view`.
fn words(name: &str) -> String {
    let words = name.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// The result of a benchmark.
pub trait Measured {
    /// Its main figures.
    fn figures(&self) -> MainFigures;
}

/// A file of such lines.
pub struct History {
    path: PathBuf,
    file: File,
}

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    /// When the benchmark began, RFC 3339.
    time: String,
    /// Git commit of the binary, `+dirty` if files were changed.
    commit: Option<&'a str>,
    version: &'a str,
    rustc: &'a str,
    machine: Machine<'a>,
    benchmark: &'a str,
    settings: &'a Value,
    figures: &'a MainFigures,
}

#[derive(Serialize)]
struct Machine<'a> {
    cpu: &'a str,
    cores: usize,
    memory_bytes: u64,
    memory_available_bytes: u64,
    kernel: &'a str,
    tcp_congestion_control: &'a str,
    load_average: f32,
    filesystem: Option<&'a str>,
}

impl History {
    /// Opens the file, or creates it. Done before anything is measured, so that no measurement is lost to a wrong path.
    pub fn open(path: &Path) -> Result<History, BenchError> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path);
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(History { path: path.to_owned(), file })
    }

    /// Appends the line of one run in one write call, so that two benchmarks can share the file.
    pub fn append(
        mut self,
        benchmark: &str,
        began: Timestamp,
        environment: &Environment,
        flags: &Value,
        figures: &MainFigures,
    ) -> Result<(), BenchError> {
        let mut settings = flags.clone();
        if let Some(settings) = settings.as_object_mut() {
            // Output files are not a setting of the measurement.
            settings.retain(|name, _| name != "json" && name != "append");
        }
        let line = Line {
            time: began.to_string(),
            commit: Some(environment.commit).filter(|&commit| commit != "unknown"),
            version: environment.version,
            rustc: &environment.rustc,
            machine: Machine {
                cpu: &environment.cpu_model,
                cores: environment.cores,
                memory_bytes: environment.memory_bytes,
                memory_available_bytes: environment.memory_available_bytes,
                kernel: &environment.kernel,
                tcp_congestion_control: &environment.tcp_congestion_control,
                load_average: environment.load_average,
                filesystem: environment.filesystem.as_deref(),
            },
            benchmark,
            settings: &settings,
            figures,
        };
        let line = serde_json::to_string(&line)
            .map_err(|error| BenchError::Failed(format!("can't write the figures as JSON: {error}")))?;
        assert!(!line.contains('\n'), "a run takes one line, and this has several: {line}");
        let failed = |error: &io::Error| unwritable(&self.path, error);
        // An earlier write may have been truncated, by a full disk for example; this line begins after it.
        let start = if self.ends_inside_a_line().map_err(|error| failed(&error))? { "\n" } else { "" };
        self.file.write_all(format!("{start}{line}\n").as_bytes()).map_err(|error| failed(&error))
    }

    fn ends_inside_a_line(&self) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(false);
        }
        let mut end = [0];
        self.file.read_exact_at(&mut end, metadata.len() - 1)?;
        Ok(end != *b"\n")
    }
}

fn unwritable(path: &Path, error: &io::Error) -> BenchError {
    BenchError::Failed(format!("can't append to {}: {error}; give --append a file that can be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn append(path: &Path, value: f64) {
        let mut figures = MainFigures::default();
        figures.add("Some, thing_per_second", value);
        figures.add("not_measured", f64::NAN);
        let flags = json!({ "runs": 1, "json": "x.json", "append": "y.jsonl", "durability": "fsync" });
        let history = History::open(path).unwrap();
        history.append("write", Timestamp::UNIX_EPOCH, &Environment::read(None), &flags, &figures).unwrap();
    }

    #[test]
    fn lines_are_appended_after_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        append(&path, 1.0);
        append(&path, 2.0);
        let before = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = before.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["time"], "1970-01-01T00:00:00Z");
        assert_eq!(lines[1]["benchmark"], "write");
        assert_eq!(lines[1]["settings"], json!({ "runs": 1, "durability": "fsync" }));
        assert_eq!(lines[1]["figures"], json!({ "some_thing_per_second": 2.0 }));
        assert!(lines[1]["machine"]["cores"].as_u64().unwrap() > 0);

        // A truncated line stays alone.
        std::fs::write(&path, format!("{before}{{\"time\":")).unwrap();
        append(&path, 3.0);
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(after.starts_with(&before));
        assert_eq!(after.lines().count(), 4);
        let last: Value = serde_json::from_str(after.lines().last().unwrap()).unwrap();
        assert_eq!(last["figures"]["some_thing_per_second"], 3.0);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported_with_its_flag() {
        let error = History::open(Path::new("/no/such/folder/history.jsonl")).err().unwrap();
        assert!(error.to_string().contains("--append"), "{error}");
    }
}
