//! Follows the keys file: when it changes, the keys are replaced; if it is wrong then, they stay.

use super::audit::Event;
use super::file::{FileError, read_keys};
use super::keys::Access;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the file is checked. A second is short enough that an administrator sees a change take effect at once.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The metadata by which a changed file is recognized. Times have nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Access {
    /// Follows the file, if there is one, and completes the audit log. Never returns.
    pub async fn follow(&self, path: Option<PathBuf>) {
        // The metadata at the start is unknown; the file was valid then.
        let mut seen = None;
        loop {
            tokio::time::sleep(CHECK_EVERY).await;
            self.audit().tick();
            let Some(path) = &path else { continue };
            let now = stamp(path).await;
            if seen != Some(now) {
                seen = Some(now);
                self.reload(path).await;
            }
        }
    }

    /// Reads the file again.
    async fn reload(&self, path: &Path) {
        let outcome = match load(path.to_owned()).await {
            Ok(file) => {
                let keys = file.keys.len();
                if !self.replace(file) {
                    return;
                }
                tracing::info!(path = %path.display(), keys, "the keys file has changed; its keys count now");
                "ok"
            }
            Err(error) => {
                tracing::error!(%error, "the keys file has an error; the previous keys are in force until it is fixed");
                "keys_file_invalid"
            }
        };
        let (action, resource) = ("keys.reload", &*path.to_string_lossy());
        self.audit().note(&Event::of_broker(action, resource, outcome));
    }
}

/// `None` if the file doesn't exist or can't be inspected.
async fn stamp(path: &Path) -> Option<Stamp> {
    let found = tokio::fs::metadata(path).await.ok()?;
    Some(Stamp { inode: found.ino(), bytes: found.len(), modified: (found.mtime(), found.mtime_nsec()) })
}

#[expect(clippy::disallowed_methods, reason = "reading a file blocks")]
async fn load(path: PathBuf) -> Result<super::KeyFile, FileError> {
    match tokio::task::spawn_blocking(move || read_keys(&path)).await {
        Ok(read) => read,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Audit, Grants, KeyEntry, KeyFile, QuotaLimits};

    #[tokio::test]
    async fn a_wrong_file_changes_nothing_and_a_right_one_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let (one, entry) = KeyEntry::generate("one", Grants::all(), QuotaLimits::default()).unwrap();
        let text = KeyFile::add("", &entry).unwrap();
        let access = Access::new(Vec::new(), Some(KeyFile::parse(&text).unwrap()), Audit::default());
        let is_known = |key: &str| access.identify(key.as_bytes()).is_some();
        for wrong in [None, Some("[[key"), Some("[[key]]\nname = 1\n")] {
            if let Some(wrong) = wrong {
                std::fs::write(&path, wrong).unwrap();
            }
            access.reload(&path).await;
            assert!(is_known(&one) && access.generation() == 0, "{wrong:?}");
        }
        let (two, other) = KeyEntry::generate("two", Grants::all(), QuotaLimits::default()).unwrap();
        std::fs::write(&path, KeyFile::add("", &other).unwrap()).unwrap();
        access.reload(&path).await;
        assert!(!is_known(&one) && is_known(&two));
        std::fs::write(&path, "").unwrap();
        access.reload(&path).await;
        assert!(!is_known(&two) && !access.is_open(), "an empty file lets no client in");
    }
}
