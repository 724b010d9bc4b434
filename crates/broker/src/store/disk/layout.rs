//! How a directory is laid out: `DIR/storage.json` says so if it has a journal.

use super::{Durability, io_error, sys};
use crate::storage_id::StorageId;
use crate::store::StoreError;
use crate::store::s3::Layout;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;

/// Name of the file.
pub(super) const STORAGE: &str = "storage.json";

/// The format that this version writes.
const FORMAT: u32 = 2;

/// The number of journals in a storage.
const JOURNALS: u32 = 1;

/// What a version without journals on directories finds where it looks for topics: it can't start.
const TOPICS_NOTE: &str =
    "The topics of this storage are in its journal. Use the version of Rawline that wrote it, or a newer one.\n";

/// What the file says. A member that this version doesn't know may change what is safe, so it is refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    format: u32,
    journals: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<StorageId>,
}

/// The directory's layout, and its id if it has one. An empty directory gets `new`.
pub(super) fn find_or_decide(
    dir: &Path,
    new: Layout,
    durability: Durability,
) -> Result<(Layout, Option<StorageId>), StoreError> {
    let path = dir.join(STORAGE);
    match std::fs::read(&path) {
        Ok(content) => {
            return match serde_json::from_slice::<Storage>(&content) {
                Ok(Storage { format: FORMAT, journals: JOURNALS, id }) => Ok((Layout::Journal, id)),
                _ => Err(StoreError::human(format!(
                    "{} says {:?}; this version reads storages of format {FORMAT} with {JOURNALS} journal: use the \
                     version that wrote it, or a newer one",
                    path.display(),
                    String::from_utf8_lossy(&content)
                ))),
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io_error("read", &path, &error)),
    }
    let topics = dir.join("topics");
    if new == Layout::Topics || has_topics(&topics)? {
        return Ok((Layout::Topics, None));
    }
    let id = Some(StorageId::draw());
    let decided = Storage { format: FORMAT, journals: JOURNALS, id };
    let create = || {
        // An earlier version may have been started here, without a topic.
        match std::fs::remove_dir(&topics) {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(error);
            }
            _ => {}
        }
        std::fs::write(&topics, TOPICS_NOTE)?;
        let mut draft = tempfile::NamedTempFile::new_in(dir)?;
        draft.write_all(&serde_json::to_vec(&decided)?)?;
        if durability == Durability::Fsync {
            sys::sync(draft.as_file())?;
        }
        draft.persist(&path)?;
        Ok(())
    };
    create().map_err(|error: io::Error| io_error("create", &path, &error))?;
    if durability == Durability::Fsync {
        sys::sync_dir(dir)?;
    }
    Ok((Layout::Journal, id))
}

/// Whether there is a topic, or anything else.
fn has_topics(topics: &Path) -> Result<bool, StoreError> {
    match std::fs::read_dir(topics) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        // A start that was interrupted has left its note.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(io_error("list", topics, &error)),
    }
}
