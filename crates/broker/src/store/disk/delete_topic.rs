//! Deletes a topic: its directory is moved aside, durably and whatever it holds, and then its files are deleted.
//!
//! Moving it needs no free space and is one step: after a crash the topic is there as it was, or it isn't there. The
//! next start deletes what is left in a directory that was moved aside.

use super::sys::sync_dir;
use super::{Inner, PARTITIONS_DIR, io_error};
use crate::limits::TOPIC_NAME_BYTES_MAX;
use crate::store::{SETTINGS_NAME, StoreError, parse_log_name};
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Begins the name of a directory that was moved aside. No topic's name begins with a dot.
const PREFIX: &str = ".deleted.";

const _: () = assert!(PREFIX.len() + TOPIC_NAME_BYTES_MAX + ".18446744073709551615".len() <= 255, "it is a file name");

/// Whether a directory with this name was moved aside.
pub(super) fn is_left(name: &str) -> bool {
    name.starts_with(PREFIX)
}

impl Inner {
    /// Moves the topic's directory aside. If it doesn't exist, the topic was deleted before.
    pub(super) fn mark_deleted(&self, topic: &str) -> Result<(), StoreError> {
        let dir = self.dir(topic)?;
        let is_others = |log: &str| parse_log_name(log).is_none_or(|(other, _)| other != topic);
        let ended: Vec<_> = {
            let logs = self.logs.read().unwrap_or_else(PoisonError::into_inner);
            logs.iter().filter(|(name, _)| !is_others(name)).map(|(_, log)| log.clone()).collect()
        };
        ended.iter().for_each(|log| log.end());
        let nothing_is_stored = self.storing.write().unwrap_or_else(PoisonError::into_inner);
        self.deletions.fetch_add(1, Ordering::AcqRel);
        let moved = self.move_aside(topic, &dir);
        // Other logs begin with the next use, also if the directory is still there.
        self.logs.write().unwrap_or_else(PoisonError::into_inner).retain(|name, _| is_others(name));
        drop(nothing_is_stored);
        moved?;
        sync_dir(&self.topics_dir)
    }

    fn move_aside(&self, topic: &str, dir: &Path) -> Result<(), StoreError> {
        let failed = |error: io::Error| io_error("move", dir, &error);
        let mut number = 0u64;
        let aside = loop {
            // What an earlier deletion left may have a name already.
            let aside = self.topics_dir.join(format!("{PREFIX}{topic}.{number}"));
            match aside.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break aside,
                Err(error) => return Err(failed(error)),
                Ok(_) => number += 1,
            }
        };
        match std::fs::rename(dir, aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Deletes what is left of a deleted topic. A failure costs disk space until the next start, and no more.
    pub(super) fn delete_topic(&self, topic: &str) -> Result<(), StoreError> {
        let dir = self.dir(topic)?;
        if dir.symlink_metadata().is_ok() {
            // Its settings say that it is deleted: the directory was copied from another store.
            self.mark_deleted(topic)?;
        }
        let error = |error| io_error("list", &self.topics_dir, &error);
        for entry in std::fs::read_dir(&self.topics_dir).map_err(error)? {
            let entry = entry.map_err(error)?;
            if entry.file_name().to_str().and_then(topic_of) == Some(topic) {
                remove(&entry.path());
            }
        }
        Ok(())
    }
}

/// The topic whose directory was moved aside under this name.
fn topic_of(name: &str) -> Option<&str> {
    let (topic, number) = name.strip_prefix(PREFIX)?.rsplit_once('.')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(topic)
}

/// Deletes the broker's files in a directory that was moved aside, and the directory unless others' files are in it.
/// Others may do the same at the same time.
pub(super) fn remove(dir: &Path) {
    match remove_partitions(dir).and_then(|()| remove_log(dir)) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            let dir = dir.display();
            tracing::warn!(%dir, "files of a deleted topic that are not the broker's stay; move them elsewhere");
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let dir = dir.display();
            tracing::warn!(%dir, %error, "a deleted topic still takes disk space; the next start deletes it again");
        }
        _ => {}
    }
}

/// Removes the directories of a topic's other partitions.
fn remove_partitions(dir: &Path) -> io::Result<()> {
    let partitions = dir.join(PARTITIONS_DIR);
    let entries = match std::fs::read_dir(&partitions) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            match remove_log(&entry.path()) {
                Err(error) if !is_left_or_gone(&error) => return Err(error),
                _ => {}
            }
        }
    }
    match std::fs::remove_dir(&partitions) {
        Err(error) if !is_left_or_gone(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Whether a directory stays because others' files are in it, or somebody else has removed it.
fn is_left_or_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound)
}

/// Removes the broker's files in a log's directory, and the directory.
fn remove_log(dir: &Path) -> io::Result<()> {
    remove_files(dir)?;
    std::fs::remove_dir(dir)
}

fn remove_files(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_ours) {
            match std::fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether a topic's directory has a file of this name from the broker.
fn is_ours(name: &str) -> bool {
    let is_offset = |stem: &str| stem.len() == 20 && stem.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_segment = |(stem, ending)| is_offset(stem) && ["seg", "idx", "torn", "accept"].contains(&ending);
    name == SETTINGS_NAME || name.split_once('.').is_some_and(is_of_segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_of_a_directory_that_was_moved_aside_is_found() {
        for (name, topic) in [
            (".deleted.t.0", Some("t")),
            (".deleted.a.b.17", Some("a.b")),
            (".deleted.a.0.1", Some("a.0")),
            (".deleted.t", None),
            (".deleted.t.x", None),
            ("t.0", None),
        ] {
            assert_eq!(topic_of(name), topic, "{name}");
        }
        assert!(is_left(".deleted.t.0") && !is_left("deleted.t.0"));
    }

    #[test]
    fn files_of_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let topic = dir.path().join(".deleted.t.0");
        std::fs::create_dir(&topic).unwrap();
        let offset = "00000000000000000000";
        for ours in [SETTINGS_NAME, &format!("{offset}.seg"), &format!("{offset}.idx"), &format!("{offset}.torn")] {
            std::fs::write(topic.join(ours), "x").unwrap();
        }
        std::fs::write(topic.join("notes.txt"), "x").unwrap();
        let partitions = topic.join(PARTITIONS_DIR);
        for number in ["1", "2"] {
            std::fs::create_dir_all(partitions.join(number)).unwrap();
            std::fs::write(partitions.join(number).join(format!("{offset}.seg")), "x").unwrap();
        }
        std::fs::write(partitions.join("2/notes.txt"), "x").unwrap();
        remove(&topic);
        let names = |dir: &Path| -> Vec<_> {
            let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&topic), ["notes.txt", PARTITIONS_DIR]);
        assert_eq!((names(&partitions), names(&partitions.join("2"))), (vec!["2".into()], vec!["notes.txt".into()]));
        std::fs::remove_file(topic.join("notes.txt")).unwrap();
        std::fs::remove_file(partitions.join("2/notes.txt")).unwrap();
        remove(&topic);
        assert!(!topic.exists());
        remove(&topic);
    }
}
