//! Finds out what a topic's directory holds, and seals what an earlier run left open.
//!
//! A segment of an earlier run is never appended to: its end is fixed here, and the next commit begins a new one. So
//! bytes that a crash left after an end can never become visible.

use super::open_files::OpenFiles;
use super::seal::{Entry, Seal};
use super::segment::{Segment, read_seal, segment_path};
use super::sys::{drop_cached, sync_dir};
use super::walk::{self, Damage, Torn, Walked};
use super::{Durability, PARTITIONS_DIR, io_error};
use crate::store::{SETTINGS_NAME, StoreError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ending of an empty file by which a person gives up the damaged records of the segment of the same name.
const ACCEPT: &str = "accept";

/// What a topic's directory holds.
pub(super) struct Recovered {
    pub(super) segments: BTreeMap<u64, Arc<Segment>>,
    pub(super) next_offset: u64,
    /// Acknowledged records are damaged: why nothing may be appended.
    pub(super) damage: Option<StoreError>,
}

/// Recovers the topic in `dir`. Sealed segments are known from their seals, the others are walked object by object;
/// usually that is the newest only.
pub(super) fn recover(dir: &Path, durability: Durability, files: &Arc<OpenFiles>) -> Result<Recovered, StoreError> {
    let names = segment_names(dir)?;
    let mut found = Vec::with_capacity(names.len());
    for (i, &first_offset) in names.iter().enumerate() {
        found.push(Found::open(dir, first_offset, names.get(i + 1).copied(), durability)?);
    }
    // A segment is created when the one before is synced, unless nobody asked for that: then the machine may have gone
    // down with the new segment's name on disk and the end of the old one not.
    let counts = |found: &&Found| durability == Durability::Fsync || !found.seal.entries.is_empty();
    let chain: Vec<&Found> = found.iter().filter(counts).collect();
    check_chain(dir, &chain)?;
    let next_offset = chain.last().map_or(0, |newest| newest.seal.next_offset);
    found.iter().for_each(Found::report);
    let damage = found.iter().find_map(Found::refusal);
    let mut recovered = Recovered { segments: BTreeMap::new(), next_offset, damage };
    for found in found {
        let Seal { first_offset, next_offset, .. } = found.seal;
        if let Some(segment) = found.settle(dir, durability, files)? {
            let end = recovered.next_offset;
            assert!(next_offset <= end, "the segment {first_offset}..{next_offset} of a topic that ends at {end}");
            recovered.segments.insert(first_offset, Arc::new(segment));
        }
    }
    Ok(recovered)
}

/// The objects of a sealed segment, read again.
pub(super) fn entries(dir: &Path, first_offset: u64) -> Result<Vec<Entry>, StoreError> {
    Ok(Found::open(dir, first_offset, None, Durability::PageCache)?.seal.entries)
}

/// The first offsets of the directory's segments, in order. Logs files of others.
fn segment_names(dir: &Path) -> Result<Vec<u64>, StoreError> {
    let names = match std::fs::read_dir(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error("list", dir, &error)),
    };
    let mut offsets = Vec::new();
    let mut foreign = Vec::new();
    for name in names {
        let name = name.map_err(|error| io_error("list", dir, &error))?.file_name();
        let parts = name.to_str().and_then(|name| name.split_once('.'));
        let offset = parts.filter(|(stem, _)| stem.len() == 20).and_then(|(stem, ending)| {
            Some((stem.bytes().all(|byte| byte.is_ascii_digit()).then(|| stem.parse::<u64>().ok())??, ending))
        });
        match offset {
            Some((offset, "seg")) => offsets.push(offset),
            Some((_, "idx" | "torn" | ACCEPT)) => {}
            None if parts == SETTINGS_NAME.split_once('.') || name == PARTITIONS_DIR => {}
            _ => foreign.push(name),
        }
    }
    if !foreign.is_empty() {
        tracing::warn!(
            dir = %dir.display(),
            files = ?foreign,
            "files that are not the broker's are ignored; move them elsewhere"
        );
    }
    offsets.sort_unstable();
    Ok(offsets)
}

/// Segments must follow each other without a gap: the middle of a log is never left out silently.
fn check_chain(dir: &Path, found: &[&Found]) -> Result<(), StoreError> {
    for (one, next) in found.iter().zip(found.iter().skip(1)) {
        if one.seal.next_offset != next.seal.first_offset {
            let torn = match &one.torn {
                Some(torn) => format!(" ({} is damaged at byte {}: {})", one.name(), torn.position, torn.why),
                None => String::new(),
            };
            return Err(StoreError::human(format!(
                "{}: records {} to {} are missing between {} and {}{torn}; put the missing segment back, or, to \
                 continue without what comes after them, move {} and all later files out of the directory",
                dir.display(),
                one.seal.next_offset,
                next.seal.first_offset,
                one.name(),
                next.name(),
                next.name(),
            )));
        }
    }
    Ok(())
}

/// A segment file as it was found.
struct Found {
    path: PathBuf,
    /// What its seal says, or what walking it found.
    seal: Seal,
    /// Whether its seal is on disk.
    sealed: bool,
    damage: Vec<Damage>,
    /// Whether a person has given up what is damaged.
    accepted: bool,
    torn: Option<Torn>,
}

impl Found {
    fn open(
        dir: &Path,
        first_offset: u64,
        next_segment: Option<u64>,
        durability: Durability,
    ) -> Result<Found, StoreError> {
        let path = segment_path(dir, first_offset);
        let file = File::open(&path).map_err(|error| io_error("open", &path, &error))?;
        let length = file.metadata().map_err(|error| io_error("read", &path, &error))?.len();
        if let Some(seal) =
            read_seal(&path, |bytes| Seal::parse(bytes, first_offset))?.filter(|seal| seal.segment_bytes <= length)
        {
            return Ok(Found { path, seal, sealed: true, damage: Vec::new(), accepted: false, torn: None });
        }
        let is_synced = durability == Durability::Fsync;
        if is_synced {
            drop_cached(&file).map_err(|error| io_error("sync", &path, &error))?;
        }
        let next_segment = next_segment.filter(|_| is_synced);
        let known = walk::Known { first_offset, next_segment, is_synced };
        let walked = if length == 0 { Ok(Walked::empty(first_offset)) } else { walk::walk(&file, length, known) };
        let Walked { seal, damage, torn } = walked.map_err(|error| io_error("read", &path, &error))?;
        assert_eq!(seal.first_offset, first_offset, "{} was walked from another offset on", path.display());
        assert!(seal.segment_bytes <= length, "{}: objects up to {} of {length}", path.display(), seal.segment_bytes);
        let accepted = !damage.is_empty() && path.with_extension(ACCEPT).exists();
        Ok(Found { path, seal, sealed: false, damage, accepted, torn })
    }

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Logs what isn't as a clean shutdown leaves it.
    fn report(&self) {
        let segment = self.path.display();
        for Damage { position, why, first_offset, next_offset } in &self.damage {
            tracing::error!(
                %segment, position, why, first_offset, next_offset,
                "acknowledged records are damaged; the other records of the segment are served"
            );
        }
        let Some(Torn { position, why, whole_objects_after }) = &self.torn else { return };
        tracing::warn!(
            %segment, position, why, whole_objects_after, next_offset = self.seal.next_offset,
            "the segment ends with a damaged or incomplete write that nothing after it shows to have been synced; it \
             is ignored and kept in the file"
        );
    }

    /// Why nothing may be appended to the topic while this segment is as it is.
    fn refusal(&self) -> Option<StoreError> {
        let damage = self.damage.first().filter(|_| !self.accepted)?;
        let until = damage.next_offset.map_or("the end".to_owned(), |next| format!("before {next}"));
        Some(StoreError::human(format!(
            "{} is damaged at byte {} ({}): the disk lost acknowledged records from offset {} to {until}. All other \
             records are served, but nothing can be appended. Restore the file from a copy and restart the broker; or \
             give the damaged records up: create an empty file {} next to it and restart the broker",
            self.path.display(),
            damage.position,
            damage.why,
            damage.first_offset,
            self.path.with_extension(ACCEPT).file_name().unwrap_or_default().display(),
        )))
    }

    /// Fixes the segment's end on disk, unless it is damaged. `None`: it has no object, and its file has made room.
    fn settle(self, dir: &Path, durability: Durability, files: &Arc<OpenFiles>) -> Result<Option<Segment>, StoreError> {
        let must_stay = !self.damage.is_empty() && !self.accepted;
        let Seal { first_offset, segment_bytes, .. } = self.seal;
        if self.sealed {
            return Ok(Some(Segment::of_earlier_run(dir, first_offset, segment_bytes, None, files)));
        }
        if self.seal.entries.is_empty() {
            if must_stay {
                return Ok(None);
            }
            assert_eq!(segment_bytes, 0, "{} has objects and would be moved away", self.path.display());
            let moved = match (&self.torn, self.damage.is_empty()) {
                (None, true) => std::fs::remove_file(&self.path),
                // Never deleted: only a person can tell whether somebody misses it.
                _ => std::fs::rename(&self.path, self.path.with_extension("torn")),
            };
            moved.map_err(|error| io_error("move", &self.path, &error))?;
            if durability == Durability::Fsync {
                sync_dir(dir)?;
            }
            return Ok(None);
        }
        let segment = Segment::of_earlier_run(dir, first_offset, segment_bytes, Some(self.seal.entries.clone()), files);
        if !must_stay {
            let file =
                File::options().write(true).open(&self.path).map_err(|error| io_error("open", &self.path, &error))?;
            // Bytes that are no object are kept for a person to look at; nobody reads past the seal's end.
            if self.torn.is_none() && self.damage.is_empty() {
                segment.cut(&file, segment_bytes)?;
            }
            segment.seal(&file, &self.seal.encode(), segment_bytes)?;
        }
        Ok(Some(segment))
    }
}
