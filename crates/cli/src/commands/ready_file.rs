//! `--ready-file`: where the broker listens, for the program that started it.

use super::CommandError;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Addresses of a broker that listens, as JSON.
#[derive(Debug, Serialize)]
pub struct Ready {
    /// URL of the HTTP API.
    pub url: String,
    /// Host and port for Kafka's clients, if it listens for them.
    pub kafka: Option<String>,
    /// Id of the broker's process.
    pub pid: u32,
}

/// The file, which exists while the broker listens.
#[derive(Debug)]
pub struct ReadyFile(PathBuf);

impl ReadyFile {
    /// Removes a file that an earlier broker has left, which names old addresses.
    pub fn new(path: &Path) -> Result<ReadyFile, CommandError> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritable(path, &error)),
            _ => Ok(ReadyFile(path.to_owned())),
        }
    }

    /// Writes the file at once: a reader sees all of it, or none.
    pub fn write(&self, ready: &Ready) -> Result<(), CommandError> {
        let mut text = serde_json::to_string(ready).map_err(|error| CommandError::Failed(error.to_string()))?;
        text.push('\n');
        let mut name = self.0.as_os_str().to_owned();
        name.push(format!(".{}", ready.pid));
        let written = std::fs::write(&name, text).and_then(|()| std::fs::rename(&name, &self.0));
        written.map_err(|error| {
            // A part of the file is of no use.
            let _ = std::fs::remove_file(&name);
            unwritable(&self.0, &error)
        })
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!(
        "can't write {}: {error}; give --ready-file a path in a directory that the broker can write to",
        path.display()
    ))
}
