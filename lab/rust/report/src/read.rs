//! Reads files of JSON lines; bad lines are reported and skipped.

use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Why a file can't be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read {}: {source}", path.display())]
pub struct ReadFailed {
    path: PathBuf,
    source: std::io::Error,
}

/// The lines of a file, and for its bad lines the number and the reason.
#[derive(Debug)]
pub struct Lines<T> {
    /// The good lines.
    pub items: Vec<T>,
    /// The bad ones, counted from 1.
    pub bad: Vec<(usize, String)>,
}

/// Every line of the file. A missing file is empty: drivers create it with their first line.
pub fn lines<T: DeserializeOwned>(path: &Path) -> Result<Lines<T>, ReadFailed> {
    let failed = |source| ReadFailed { path: path.to_owned(), source };
    let mut lines = Lines { items: Vec::new(), bad: Vec::new() };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(lines),
        Err(error) => return Err(failed(error)),
    };
    for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(failed)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(item) => lines.items.push(item),
            Err(error) => lines.bad.push((index + 1, error.to_string())),
        }
    }
    Ok(lines)
}
