//! Finds the program `rawline`.

use crate::BrokerError;
use std::path::{Path, PathBuf};

/// The program at `RAWLINE_BIN`, else the one on `PATH`.
pub fn find() -> Result<PathBuf, BrokerError> {
    if let Some(given) = std::env::var_os("RAWLINE_BIN").filter(|given| !given.is_empty()) {
        let given = PathBuf::from(given);
        return of_file(&given).ok_or_else(|| absent(format!("at {}, which RAWLINE_BIN names", given.display())));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).find_map(|folder| of_file(&folder.join("rawline")));
    found.ok_or_else(|| absent("on PATH".to_owned()))
}

fn of_file(file: &Path) -> Option<PathBuf> {
    file.is_file().then(|| file.to_owned())
}

fn absent(place: String) -> BrokerError {
    BrokerError::NoProgram { place }
}
