//! Finds out what a journal's directory holds, and seals what an earlier run left open.
//!
//! A segment of an earlier run is never appended to: its end is fixed here, and the next object begins a new one. So
//! bytes that a crash left after an end can never become visible.

use super::files::numbers_in;
use super::seal::{Entry, Seal};
use super::segments::Stored;
use super::walk::{Torn, Walked, walk};
use crate::store::StoreError;
use crate::store::disk::durability::Durability;
use crate::store::disk::io_error;
use crate::store::disk::open_files::OpenFiles;
use crate::store::disk::segment::{Segment, read_seal, segment_path};
use crate::store::disk::sys::{drop_cached, sync_dir};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment file as it was found.
struct Found {
    path: PathBuf,
    seal: Seal,
    /// Whether its seal is on disk.
    is_sealed: bool,
    torn: Option<Torn>,
}

/// The segments in `dir`, and the number that the next object has. `covered`: the newest snapshot covers the objects
/// below this number.
pub(super) fn recover(
    dir: &Path,
    covered: u64,
    durability: Durability,
    files: &Arc<OpenFiles>,
) -> Result<(BTreeMap<u64, Arc<Stored>>, u64), StoreError> {
    let mut found: Vec<Found> = Vec::new();
    // The newest first: what a segment says of the one before.
    for first_number in numbers_in(dir, "seg")?.into_iter().rev() {
        let next_run = found.last().map(|next| next.seal.run);
        found.push(Found::open(dir, first_number, next_run, durability)?);
    }
    found.reverse();
    check(dir, covered, &found)?;
    let mut segments = BTreeMap::new();
    let mut next_number = covered;
    for found in found {
        found.report();
        if let Some(stored) = found.settle(dir, durability, files)? {
            let numbers = stored.numbers();
            next_number = next_number.max(numbers.end);
            segments.insert(numbers.start, Arc::new(stored));
        }
    }
    Ok((segments, next_number))
}

/// Acknowledged objects that no snapshot covers must all be there.
fn check(dir: &Path, covered: u64, found: &[Found]) -> Result<(), StoreError> {
    for one in found {
        if let Some(Torn { position, why, was_synced: true }) = &one.torn {
            return Err(StoreError::human(format!(
                "{} is damaged at byte {position} ({why}): the disk lost acknowledged records. Restore the file from a \
                 copy; or, to give up these records and all that were appended later, cut the file off at this byte \
                 and move the files with higher numbers out of {}",
                one.path.display(),
                dir.display(),
            )));
        }
    }
    let with_objects = || found.iter().filter(|found| !found.seal.entries.is_empty());
    for (one, next) in with_objects().zip(with_objects().skip(1)) {
        let (end, begin) = (one.seal.next_number(), next.seal.first_number);
        if end > begin || end < begin && begin > covered {
            return Err(StoreError::human(format!(
                "{}: the journal's objects {end} to {begin} are missing between {} and {}; put the missing segment \
                 back, or, to give up all records from there on, move {} and all later files out of the directory",
                dir.display(),
                one.name(),
                next.name(),
                next.name(),
            )));
        }
    }
    let first = with_objects().next().map_or(covered, |first| first.seal.first_number);
    if first > covered {
        return Err(StoreError::human(format!(
            "{}: the journal's objects {covered} to {first} are missing; put the missing segment back",
            dir.display()
        )));
    }
    Ok(())
}

impl Found {
    fn open(dir: &Path, first_number: u64, next_run: Option<u64>, durability: Durability) -> Result<Found, StoreError> {
        let path = segment_path(dir, first_number);
        let file = File::open(&path).map_err(|error| io_error("open", &path, &error))?;
        let length = file.metadata().map_err(|error| io_error("read", &path, &error))?.len();
        if let Some(seal) =
            read_seal(&path, |bytes| Seal::parse(bytes, first_number))?.filter(|seal| seal.segment_bytes <= length)
        {
            return Ok(Found { path, seal, is_sealed: true, torn: None });
        }
        let is_synced = durability == Durability::Fsync;
        if is_synced {
            drop_cached(&file).map_err(|error| io_error("sync", &path, &error))?;
        }
        let walked = walk(&file, first_number, |run| is_synced && next_run.is_some() && run == next_run);
        let Walked { entries, end, run, torn } = walked.map_err(|error| io_error("read", &path, &error))?;
        assert!(end <= length, "{}: objects up to {end} of {length} bytes", path.display());
        let seal = Seal { first_number, run: run.unwrap_or_default(), segment_bytes: end, entries };
        Ok(Found { path, seal, is_sealed: false, torn })
    }

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Logs what isn't as a clean shutdown leaves it.
    fn report(&self) {
        let Some(Torn { position, why, .. }) = &self.torn else { return };
        tracing::warn!(
            segment = %self.path.display(), position, why, next_number = self.seal.next_number(),
            "the segment ends with a damaged or incomplete write that nothing after it shows to have been synced; it \
             is ignored and kept in the file"
        );
    }

    /// Fixes the segment's end on disk. `None`: it has no object, and its file has made room.
    fn settle(self, dir: &Path, durability: Durability, files: &Arc<OpenFiles>) -> Result<Option<Stored>, StoreError> {
        let Seal { first_number, segment_bytes, .. } = self.seal;
        if self.seal.entries.is_empty() {
            let moved = match &self.torn {
                None => std::fs::remove_file(&self.path),
                // Never deleted: only a person can tell whether somebody misses it.
                Some(_) => std::fs::rename(&self.path, self.path.with_extension("torn")),
            };
            moved.map_err(|error| io_error("move", &self.path, &error))?;
            if durability == Durability::Fsync {
                sync_dir(dir)?;
            }
            return Ok(None);
        }
        let segment = Segment::of_earlier_run(dir, first_number, segment_bytes, None, files);
        if !self.is_sealed {
            let file =
                File::options().write(true).open(&self.path).map_err(|error| io_error("open", &self.path, &error))?;
            // Bytes that are no object are kept for a person to look at; nobody reads past the seal's end.
            segment.seal(&file, &self.seal.encode(), segment_bytes, self.torn.is_none())?;
        }
        Ok(Some(Stored::new(segment, self.seal.entries, true)))
    }
}

/// Files of merged objects, by number.
pub(super) fn merged(dir: &Path, files: &Arc<OpenFiles>) -> Result<BTreeMap<u64, Arc<Stored>>, StoreError> {
    let mut merged = BTreeMap::new();
    for number in numbers_in(dir, "seg")? {
        let path = segment_path(dir, number);
        let length = std::fs::metadata(&path).map_err(|error| io_error("read", &path, &error))?.len();
        if length == 0 || length > u64::from(u32::MAX) {
            tracing::error!(file = %path.display(), length, "this is no merged object; restore it from a copy");
            continue;
        }
        merged.insert(number, Arc::new(whole_file(dir, number, length, files)));
    }
    Ok(merged)
}

/// A file that holds one object.
pub(super) fn whole_file(dir: &Path, number: u64, length: u64, files: &Arc<OpenFiles>) -> Stored {
    let segment = Segment::of_earlier_run(dir, number, length, None, files);
    Stored::new(segment, vec![Entry::new(0..length)], true)
}
