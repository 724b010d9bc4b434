//! Continues after the disk has lost acknowledged objects that a person has given up: everything that is whole stays.
//!
//! The objects after the damage are copied to a new segment, with one in the place of each lost object
//! (`crates/journal/src/lost/`). The damaged segment ends before the damage; its bytes are not changed.

use super::frame::{ALIGNMENT, FRAME_BYTES, Frame, end_after};
use super::names::{draft_path, newest_snapshot};
use super::recover::Found;
use super::seal::{Entry, Seal};
use super::walk::{index_of, whole_after};
use crate::store::disk::device::Device;
use crate::store::disk::dirs::sync_dir;
use crate::store::disk::errors::io_error;
use crate::store::disk::segment::{remove, segment_path};
use crate::store_error::StoreError;
use bytes::Bytes;
use rawline_journal::{Index, Lost, Snapshot, SnapshotError, SnapshotName, State};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An object after the damage.
struct Later {
    index: Index,
    /// In the damaged segment; `None` if it is in a later one, where it stays.
    range: Option<Range<u64>>,
}

/// Copies intact objects after the damage of `found[at]`, at `position`, to a new segment. Segments that can't follow
/// it are set aside.
pub(super) fn salvage(
    device: &dyn Device,
    dir: &Path,
    found: &[Found],
    at: usize,
    position: u64,
) -> Result<(), StoreError> {
    let (before, rest) = found.split_at(at);
    let Some((damaged, after)) = rest.split_first() else { unreachable!("segment {at} of {}", found.len()) };
    let path = &damaged.path;
    let failed = |error: io::Error| io_error("read", path, &error);
    let file = File::open(path).map_err(failed)?;
    let Some(last) = damaged.seal.entries.last() else {
        return Err(StoreError::human(format!(
            "{}: the first object of the segment is damaged, so nothing can be kept of it; move the file away",
            path.display()
        )));
    };
    let lost_from = damaged.seal.next_number();
    let last = index_of(&file, last.range()).map_err(failed)?.map_err(|error| StoreError::human(error.to_string()))?;
    let mut later = BTreeMap::new();
    for (frame, index) in whole_after(&file, position, damaged.seal.run, damaged.synced).map_err(failed)? {
        let begin = frame.object_at();
        let range = Some(begin..begin + u64::from(frame.object_bytes));
        later.entry(index.header.link.number).or_insert(Later { index, range });
    }
    // Another start may have come as far as the new segment.
    let stays_from = after.first().map_or(u64::MAX, |next| next.seal.first_number);
    later.retain(|number, _| (lost_from..stays_from).contains(number));
    later.extend(each_index(after)?.map(|(number, index)| (number, Later { index, range: None })));
    let Some(end) = later.keys().next_back().map(|last| (last + 1).min(stays_from)) else { return Ok(()) };
    if end <= lost_from {
        return Ok(());
    }
    let mut state = state_before(dir, before, damaged)?;
    let lost: Vec<u64> = (lost_from..end).filter(|number| !later.contains_key(number)).collect();
    let indexes = later.iter().map(|(number, later)| (*number, &later.index)).collect();
    let replaced = Lost::between(last.header.link.id, last.header.appended_us, &state, &lost, &indexes);
    let mut copy = Copy::begin(device, dir, lost_from, damaged.seal.run)?;
    let mut follows = true;
    for number in lost_from..end {
        let (index, parts) = match (later.get(&number), replaced.object(number, &state)) {
            (Some(Later { index, range: Some(range) }), _) => {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                file.read_exact_at(&mut bytes, range.start).map_err(failed)?;
                (index.clone(), vec![Bytes::from(bytes)])
            }
            (_, Some((index, bytes))) => (index, vec![Bytes::from(bytes)]),
            (found, None) => unreachable!("{number} is neither lost nor here: {:?}", found.map(|later| &later.range)),
        };
        follows = is_next(&mut state, &index);
        if !follows {
            break;
        }
        copy.append(device, parts)?;
    }
    // Damage in a later segment is found when that is walked.
    let known = later.range(end..).zip(end..).take_while(|((number, _), expected)| *number == expected);
    let mut rest = known.map(|((_, later), _)| &later.index);
    let refused = if follows { rest.find(|index| !is_next(&mut state, index)).map(number_of) } else { Some(end) };
    // Before the new segment has its name: with it, a start that is interrupted here would not come back.
    let lost = after.iter().filter(|after| refused.is_some_and(|refused| after.seal.next_number() > refused));
    lost.rev().try_for_each(|lost| lost.set_aside(device))?;
    for (partition, offsets) in replaced.offsets() {
        tracing::error!(segment = %path.display(), ?partition, ?offsets, "these records were given up");
    }
    copy.finish(device, dir)
}

fn number_of(index: &Index) -> u64 {
    index.header.link.number
}

/// Takes the next object into account. Logs why it can't follow.
fn is_next(state: &mut State, index: &Index) -> bool {
    if number_of(index) < state.chain().next() {
        // The snapshot has it.
        return true;
    }
    let why = match state.observe(index.header.link, &index.changes()) {
        Ok(true) => return true,
        Ok(false) => "it names another object before it".to_owned(),
        Err(contradiction) => contradiction.to_string(),
    };
    tracing::error!(
        number = number_of(index),
        why,
        "an object after a lost one depends on it; it is lost too, and so is all that was appended later"
    );
    false
}

/// The indexes of the objects in segments after the damaged one.
fn each_index(after: &[Found]) -> Result<impl Iterator<Item = (u64, Index)>, StoreError> {
    let mut indexes = Vec::new();
    for found in after {
        let failed = |error: io::Error| io_error("read", &found.path, &error);
        let file = File::open(&found.path).map_err(failed)?;
        for (number, entry) in (found.seal.first_number..).zip(&found.seal.entries) {
            if let Ok(index) = index_of(&file, entry.range()).map_err(failed)? {
                indexes.push((number, index));
            }
        }
    }
    Ok(indexes.into_iter())
}

/// Why a snapshot could not be read.
enum Unread {
    Store(StoreError),
    Snapshot(SnapshotError),
}

impl From<SnapshotError> for Unread {
    fn from(error: SnapshotError) -> Unread {
        Unread::Snapshot(error)
    }
}

impl Unread {
    fn explain(self, root: SnapshotName) -> StoreError {
        match self {
            Unread::Store(error) => error,
            Unread::Snapshot(error) => StoreError::human(format!("the snapshot {root} is damaged: {error}")),
        }
    }
}

/// The state before the damage: of the newest snapshot, if that is later.
fn state_before(dir: &Path, before: &[Found], damaged: &Found) -> Result<State, StoreError> {
    let snapshots_dir = dir.join("snapshots");
    let mut state = State::default();
    if let Some(newest) = newest_snapshot(&snapshots_dir)? {
        let read = |name: SnapshotName| {
            let path = snapshots_dir.join(name.to_string());
            std::fs::read(&path).map_err(|error| io_error("read", &path, &error))
        };
        let root = SnapshotName::root(newest);
        let snapshot = Snapshot::read(&read(root)?, |entry| read(entry.name).map_err(Unread::Store));
        state = snapshot.map_err(|unread| unread.explain(root))?.state;
    }
    for (number, index) in each_index(before)?.chain(each_index(std::slice::from_ref(damaged))?) {
        if number > state.chain().next() {
            let missing = state.chain().next();
            return Err(StoreError::human(format!("object {missing} of the journal can't be read; restore it first")));
        }
        if number == state.chain().next() {
            let observed = state.observe(index.header.link, &index.changes());
            observed.map_err(|contradiction| StoreError::human(contradiction.to_string()))?;
        }
    }
    Ok(state)
}

/// The new segment. It gets its name when all of it is durable.
struct Copy {
    first_number: u64,
    run: u64,
    draft: std::path::PathBuf,
    file: File,
    end: u64,
    entries: Vec<Entry>,
}

impl Copy {
    fn begin(device: &dyn Device, dir: &Path, first_number: u64, run: u64) -> Result<Copy, StoreError> {
        let draft = draft_path(&segment_path(dir, first_number));
        let create = || {
            remove(device, &draft)?;
            device.create(&draft)
        };
        let file = create().map_err(|error| io_error("create", &draft, &error))?;
        Ok(Copy { first_number, run, draft, file, end: 0, entries: Vec::new() })
    }

    fn append(&mut self, device: &dyn Device, parts: Vec<Bytes>) -> Result<(), StoreError> {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let end = end_after(self.end, length);
        let full = || StoreError::human(format!("{}: more than a segment can hold", self.draft.display()));
        let position = u32::try_from(self.end).ok().filter(|_| end <= u64::from(u32::MAX)).ok_or_else(full)?;
        let frame = Frame { run: self.run, position, synced: 0, object_bytes: length as u32 };
        let begin = frame.object_at();
        assert!(length > 0 && begin == self.end + FRAME_BYTES, "{length} bytes at {begin}");
        let padding = vec![0; (end - begin - length) as usize];
        assert!((padding.len() as u64) < ALIGNMENT, "{} bytes after an object", padding.len());
        let framed: Vec<Bytes> = std::iter::once(frame.encode()).chain(parts).chain([padding.into()]).collect();
        device.write(&self.file, &framed, self.end).map_err(|error| io_error("write to", &self.draft, &error))?;
        self.entries.push(Entry::new(begin..begin + length));
        self.end = end;
        Ok(())
    }

    fn finish(self, device: &dyn Device, dir: &Path) -> Result<(), StoreError> {
        let Copy { first_number, run, draft, file, end, entries } = self;
        if entries.is_empty() {
            return device.remove(&draft).map_err(|error| io_error("delete", &draft, &error));
        }
        let path = segment_path(dir, first_number);
        let seal = Seal { first_number, run, segment_bytes: end, entries };
        let write = || {
            device.sync(&file)?;
            // A start would mistake the replacement of lost records for a torn write.
            let index = path.with_extension("idx");
            remove(device, &index)?;
            let index = device.create(&index)?;
            device.write(&index, &[seal.encode().into()], 0)?;
            device.sync(&index)?;
            device.sync_dir(dir)?;
            device.rename(&draft, &path)
        };
        write().map_err(|error| io_error("write", &path, &error))?;
        sync_dir(device, dir)
    }
}
