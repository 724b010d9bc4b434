//! Scans a journal's directory, and seals the segment that an earlier run left open.
//!
//! A segment of an earlier run is never appended to: its end is fixed here, and the next object begins a new one. So
//! bytes that a crash left after an end can never become visible.

use super::names::{ACCEPT, numbers_in};
use super::salvage::salvage;
use super::seal::{Entry, Seal};
use super::segments::Stored;
use super::walk::{Torn, Walked, is_of_another_run, walk};
use crate::store::disk::device::Device;
use crate::store::disk::dirs::sync_dir;
use crate::store::disk::errors::io_error;
use crate::store::disk::open_files::OpenFiles;
use crate::store::disk::options::Durability;
use crate::store::disk::segment::{Segment, read_seal, remove, segment_path};
use crate::store_error::StoreError;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment file as it was found.
pub(super) struct Found {
    pub path: PathBuf,
    pub seal: Seal,
    /// Whether its seal is on disk.
    is_sealed: bool,
    torn: Option<Torn>,
    /// The length of it that its frames show to have been synced; 0 where a seal is on disk.
    pub synced: u64,
}

/// The segments in `dir`, and the number that the next object has. `covered`: the newest snapshot covers the objects
/// below this number.
pub(super) fn recover(
    dir: &Path,
    covered: u64,
    durability: Durability,
    files: &Arc<OpenFiles>,
) -> Result<(BTreeMap<u64, Arc<Stored>>, u64), StoreError> {
    let mut found = find(dir, durability, files)?;
    let given_up = |found: &[Found]| found.iter().enumerate().find_map(|(at, one)| Some((at, one.given_up_at()?)));
    let mut ended: Option<PathBuf> = None;
    while let Some((at, position)) = given_up(&found) {
        let Some(damaged) = found.get(at) else { unreachable!("segment {at} of {}", found.len()) };
        if ended.as_ref() == Some(&damaged.path) {
            let path = damaged.path.display();
            return Err(StoreError::human(format!("the index of {path} can't be written; the log says why")));
        }
        salvage(&**files.device(), dir, &found, at, position)?;
        // It ends before the damage now.
        damaged.write_seal(dir, files)?;
        sync_dir(&**files.device(), dir)?;
        ended = Some(damaged.path.clone());
        found = find(dir, durability, files)?;
    }
    let kept = check(dir, covered, durability, &found)?;
    let lost = found.split_off(kept);
    if !lost.is_empty() {
        // The newest first: the remaining ones are unchanged.
        lost.iter().rev().try_for_each(|lost| lost.set_aside(&**files.device()))?;
        sync_dir(&**files.device(), dir)?;
    }
    if found.iter().any(|found| !found.is_sealed) {
        // An earlier run may not have: seals are for names that are durable.
        sync_dir(&**files.device(), dir)?;
    }
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

/// The segments in `dir`, and the number after their last object, without changing anything: a broker may run on the
/// directory.
pub(super) fn view(
    dir: &Path,
    covered: u64,
    files: &Arc<OpenFiles>,
) -> Result<(BTreeMap<u64, Arc<Stored>>, u64), StoreError> {
    // How commits are confirmed isn't known: what the frames say of it counts.
    let durability = Durability::PageCache;
    let mut found = find(dir, durability, files)?;
    found.truncate(check(dir, covered, durability, &found)?);
    let mut next_number = covered;
    let stored = |found: Found| {
        let Seal { first_number, segment_bytes, entries, .. } = found.seal;
        let segment = Segment::of_earlier_run(dir, first_number, segment_bytes, files);
        next_number = next_number.max(first_number + entries.len() as u64);
        (first_number, Arc::new(Stored::new(segment, entries, true)))
    };
    let segments = found.into_iter().filter(|found| !found.seal.entries.is_empty()).map(stored).collect();
    Ok((segments, next_number))
}

/// Looks at all segments.
fn find(dir: &Path, durability: Durability, files: &Arc<OpenFiles>) -> Result<Vec<Found>, StoreError> {
    let mut found: Vec<Found> = Vec::new();
    // The newest first: a segment has information about the previous one.
    for first_number in numbers_in(dir, "seg")?.into_iter().rev() {
        let next_run = found.last().map(|next| next.seal.run);
        found.push(Found::open(&**files.device(), dir, first_number, next_run, durability)?);
    }
    found.reverse();
    Ok(found)
}

/// Acknowledged objects that no snapshot covers must all be there. Returns how many segments to keep: where commits are
/// not synced, a machine that goes down writes segments in any order, and the journal ends before the first hole.
fn check(dir: &Path, covered: u64, durability: Durability, found: &[Found]) -> Result<usize, StoreError> {
    for one in found {
        if let Some(Torn { position, why, was_synced: true }) = &one.torn {
            return Err(StoreError::human(format!(
                "{} is damaged at byte {position} ({why}): the disk lost acknowledged records, and the broker doesn't \
                 start. Restore the file from a copy; or give up what is damaged: create an empty file {} next to it, \
                 and start the broker again, which keeps everything that is whole",
                one.path.display(),
                one.path.with_extension(ACCEPT).file_name().unwrap_or_default().display(),
            )));
        }
    }
    // No object below this number is missing.
    let mut end = covered;
    let mut before: Option<&Found> = None;
    for (at, one) in found.iter().enumerate().filter(|(_, one)| !one.seal.entries.is_empty()) {
        let begin = one.seal.first_number;
        let overlaps = before.is_some_and(|before| before.seal.next_number() > begin);
        if begin > end && !overlaps {
            let (_, later) = found.split_at(at);
            // A seal is written when everything before it is durable.
            let shows_syncs = |later: &Found| later.is_sealed || later.synced > 0;
            if durability == Durability::PageCache && !later.iter().any(shows_syncs) {
                return Ok(at);
            }
        }
        if begin > end || overlaps {
            return Err(missing(dir, end, before, one));
        }
        end = end.max(one.seal.next_number());
        before = Some(one);
    }
    Ok(found.len())
}

fn missing(dir: &Path, end: u64, before: Option<&Found>, next: &Found) -> StoreError {
    let dir = dir.display();
    let Some(before) = before else {
        let begin = next.seal.first_number;
        return StoreError::human(format!(
            "{dir}: the journal's objects {end} to {begin} are missing; put the missing segment back"
        ));
    };
    StoreError::human(format!(
        "{dir}: the journal's objects {} to {} are missing between {} and {}; put the missing segment back, or, to \
         give up all records from there on, move {} and all later files out of the directory",
        before.seal.next_number(),
        next.seal.first_number,
        before.name(),
        next.name(),
        next.name(),
    ))
}

impl Found {
    fn open(
        device: &dyn Device,
        dir: &Path,
        first_number: u64,
        next_run: Option<u64>,
        durability: Durability,
    ) -> Result<Found, StoreError> {
        let path = segment_path(dir, first_number);
        let file = File::open(&path).map_err(|error| io_error("open", &path, &error))?;
        let length = file.metadata().map_err(|error| io_error("read", &path, &error))?.len();
        if let Some(seal) =
            read_seal(&path, |bytes| Seal::parse(bytes, first_number))?.filter(|seal| seal.segment_bytes <= length)
            // A segment whose name was lost in a crash may have left its seal to the next one of the same name.
            && !is_of_another_run(&file, seal.run).map_err(|error| io_error("read", &path, &error))?
        {
            return Ok(Found { path, seal, is_sealed: true, torn: None, synced: 0 });
        }
        // After a sync that failed in an earlier run, the cache may hold what never reached the disk.
        device.drop_cached(&file).map_err(|error| io_error("sync", &path, &error))?;
        let is_synced = durability == Durability::Fsync;
        let walked = walk(&file, first_number, |run| is_synced && next_run.is_some() && run == next_run);
        let Walked { entries, end, run, torn, synced } = walked.map_err(|error| io_error("read", &path, &error))?;
        assert!(end <= length, "{}: objects up to {end} of {length} bytes", path.display());
        let seal = Seal { first_number, run: run.unwrap_or_default(), segment_bytes: end, entries };
        Ok(Found { path, seal, is_sealed: false, torn, synced })
    }

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Logs every difference from a graceful shutdown.
    fn report(&self) {
        let Some(Torn { position, why, .. }) = &self.torn else { return };
        tracing::warn!(
            segment = %self.path.display(), position, why, next_number = self.seal.next_number(),
            "the segment ends with a damaged or incomplete write that nothing after it shows to have been synced; it \
             is ignored and kept in the file"
        );
    }

    /// Keeps the segment for a person to look at, under a name that no start reads.
    pub(super) fn set_aside(&self, device: &dyn Device) -> Result<(), StoreError> {
        let (path, aside) = (&self.path, self.path.with_extension("torn"));
        if !self.seal.entries.is_empty() {
            tracing::warn!(
                segment = %path.display(), first_number = self.seal.first_number, objects = self.seal.entries.len(),
                "this segment follows one that is lost; it is kept with the ending .torn, for you to look at and to \
                 delete"
            );
        }
        let moved = remove(device, &path.with_extension("idx"))
            .and_then(|()| remove(device, &aside))
            .and_then(|()| device.rename(path, &aside));
        moved.map_err(|error| io_error("move", path, &error))
    }

    /// Fixes the segment's end on disk. `None`: it has no object, and its file has made room.
    fn settle(self, dir: &Path, durability: Durability, files: &Arc<OpenFiles>) -> Result<Option<Stored>, StoreError> {
        let Seal { first_number, segment_bytes, .. } = self.seal;
        let device = &**files.device();
        if self.seal.entries.is_empty() {
            match &self.torn {
                None => device.remove(&self.path).map_err(|error| io_error("delete", &self.path, &error))?,
                // Never deleted: only a person can tell whether it is missed.
                Some(_) => self.set_aside(device)?,
            }
            if durability == Durability::Fsync {
                sync_dir(device, dir)?;
            }
            return Ok(None);
        }
        if !self.is_sealed {
            self.write_seal(dir, files)?;
        }
        let segment = Segment::of_earlier_run(dir, first_number, segment_bytes, files);
        Ok(Some(Stored::new(segment, self.seal.entries, true)))
    }

    fn write_seal(&self, dir: &Path, files: &Arc<OpenFiles>) -> Result<(), StoreError> {
        let Seal { first_number, segment_bytes, .. } = self.seal;
        let segment = Segment::of_earlier_run(dir, first_number, segment_bytes, files);
        let file =
            File::options().write(true).open(&self.path).map_err(|error| io_error("open", &self.path, &error))?;
        // Bytes that aren't an object are kept for inspection; no reader goes past the seal's end.
        if self.torn.is_none() {
            segment.cut(&file, segment_bytes)?;
        }
        segment.seal(&file, &self.seal.encode(), segment_bytes)
    }

    /// Where objects are damaged that a person has given up.
    fn given_up_at(&self) -> Option<u64> {
        let torn = self.torn.as_ref().filter(|torn| torn.was_synced)?;
        self.path.with_extension(ACCEPT).exists().then_some(torn.position)
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
    let segment = Segment::of_earlier_run(dir, number, length, files);
    Stored::new(segment, vec![Entry::new(0..length)], true)
}
