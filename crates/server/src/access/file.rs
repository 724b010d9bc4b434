//! The keys file on disk: read whole, replaced at once.

use super::key_file::{Change, KeyFile, KeyFileError};
use super::limits::FILE_BYTES_MAX;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a keys file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It can't be read or replaced.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Its text is wrong.
    #[error("{}: {error}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The place and the reason.
        error: KeyFileError,
    },
    /// The requested change is impossible.
    #[error("{}: {error}", path.display())]
    Change {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Change,
    },
}

/// Reads a keys file.
pub fn read_keys(path: &Path) -> Result<KeyFile, FileError> {
    let text = read(path).map_err(|error| FileError::Io { path: path.to_owned(), error })?;
    KeyFile::parse(&text).map_err(|error| FileError::Text { path: path.to_owned(), error })
}

/// Replaces the text of a keys file with the result of `change`; a missing file counts as empty. The file is replaced
/// atomically, only its owner can read it, and concurrent changes are serialized.
pub fn change_keys(path: &Path, change: impl FnOnce(&str) -> Result<String, Change>) -> Result<(), FileError> {
    let io = |error| FileError::Io { path: path.to_owned(), error };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = File::open(folder).map_err(io)?;
    flock(&folder, FlockOperation::LockExclusive).map_err(|error| io(error.into()))?;
    let text = match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(io)?,
    };
    let changed = change(&text).map_err(|error| FileError::Change { path: path.to_owned(), error })?;
    replace(path, &changed).map_err(io)?;
    // The lock ends with the folder's handle.
    folder.sync_all().map_err(io)
}

pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let message = format!("the file is larger than {FILE_BYTES_MAX} bytes; is it a keys file?");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, &path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_created_for_its_owner_and_replaced_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        change_keys(&path, |text| Ok(format!("{text}# one\n"))).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = File::open(&path).unwrap();
        change_keys(&path, |text| Ok(format!("{text}# two\n"))).unwrap();
        assert_eq!(read(&path).unwrap(), "# one\n# two\n");
        assert_eq!(io::read_to_string(open).unwrap(), "# one\n", "a reader sees the file that it has opened");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let failed = change_keys(&path, |_| Err(Change::NotFound("k".into()))).unwrap_err();
        assert!(failed.to_string().contains("keys.toml: there is no key \"k\""), "{failed}");
        assert_eq!(read(&path).unwrap(), "# one\n# two\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        assert!(change_keys(&folder.path().join("none/keys.toml"), |_| unreachable!()).is_err());
    }

    #[test]
    fn an_error_names_the_file_and_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        assert!(read_keys(&path).unwrap_err().to_string().contains("keys.toml: No such file"));
        std::fs::write(&path, "\n[[key]]\nnames = 1\n").unwrap();
        let error = read_keys(&path).unwrap_err().to_string();
        assert!(error.contains("keys.toml: line 3: unknown field \"names\""), "{error}");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read_keys(&path).is_err());
    }
}
