//! Reserved disk space for changes that free space: a file that only has blocks, which are released temporarily when
//! the disk is full.
//!
//! Deleting records needs space: the change is appended to the journal, a snapshot covers it, and the remaining
//! records in a file that is mostly garbage is merged. Appends of records never use the reserve, and while it isn't
//! whole they take no more blocks: the first room that is free again is the reserve's.

use crate::limits::{ROOM_RESERVE_BYTES_MAX, ROOM_RESERVE_BYTES_MIN, ROOM_RESERVE_PART};
use crate::store::disk::errors::io_error;
use crate::store::disk::open_files::OpenFiles;
use crate::store_error::StoreError;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the file in the journal's folder.
pub(super) const RESERVE: &str = "reserve";

/// The smallest part of the reserve that is allocated: a block of most file systems.
const BLOCK_BYTES: u64 = 4096;

/// Reserved disk space for changes that free space.
pub(super) struct Reserve {
    files: Arc<OpenFiles>,
    /// Without the part for snapshots.
    base_bytes: u64,
    state: Mutex<State>,
}

struct State {
    /// `None` where blocks can't be allocated before they are written: then there is no reserve.
    file: Option<File>,
    /// Blocks are allocated for as many bytes.
    bytes: u64,
    wanted_bytes: u64,
}

impl Reserve {
    /// Opens the reserve of a journal with segments of this size, whose newest snapshot has `snapshot_bytes` bytes. On
    /// a full disk it is as large as there is room.
    pub fn open(
        dir: &Path,
        segment_bytes: u64,
        snapshot_bytes: u64,
        files: &Arc<OpenFiles>,
    ) -> Result<Reserve, StoreError> {
        let path = dir.join(RESERVE);
        let file = match files.device().create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::options().write(true).open(&path),
            created => created,
        };
        let file = match file {
            Ok(file) => Some(file),
            // It is created by a start when there is room.
            Err(error) if is_full(&error) => None,
            Err(error) => return Err(io_error("create", &path, &error)),
        };
        let base_bytes = (segment_bytes / ROOM_RESERVE_PART).clamp(ROOM_RESERVE_BYTES_MIN, ROOM_RESERVE_BYTES_MAX);
        let state = State { file, bytes: 0, wanted_bytes: base_bytes };
        let reserve = Reserve { files: files.clone(), base_bytes, state: Mutex::new(state) };
        reserve.have_room_for(snapshot_bytes);
        Ok(reserve)
    }

    /// None, of a directory that isn't changed.
    pub fn none(files: &Arc<OpenFiles>) -> Reserve {
        let state = State { file: None, bytes: 0, wanted_bytes: 0 };
        Reserve { files: files.clone(), base_bytes: 0, state: Mutex::new(state) }
    }

    /// From now on two snapshots of this size have room: the next one is stored before this one is deleted, and may be
    /// larger.
    pub fn have_room_for(&self, snapshot_bytes: u64) {
        let mut state = self.state();
        let wanted = self.base_bytes + 2 * snapshot_bytes;
        state.wanted_bytes = wanted;
        // Merges make snapshots smaller.
        let is_longer = |file: &&File| file.metadata().is_ok_and(|found| found.len() > wanted);
        if let Some(file) = state.file.as_ref().filter(is_longer)
            && self.files.device().set_len(file, wanted).is_ok()
        {
            state.bytes = state.bytes.min(wanted);
        }
        self.allocate(&mut state);
    }

    /// Does `work`, which frees space or leads to it; again with the reserve if the disk is full.
    pub fn lend<T, E>(&self, mut work: impl FnMut() -> Result<T, E>, is_full: impl Fn(&E) -> bool) -> Result<T, E> {
        match work() {
            Err(error) if is_full(&error) => {}
            done => return done,
        }
        // Held meanwhile: the room is for this work.
        let mut state = self.state();
        if let Some(file) = &state.file
            && let Err(error) = self.files.device().set_len(file, 0)
        {
            tracing::warn!(
                %error,
                "the room that is reserved for a full disk can't be used; free some space on it, \
                 so that deletions can be stored"
            );
        }
        state.bytes = 0;
        let done = work();
        self.allocate(&mut state);
        done
    }

    /// Takes room that is free again.
    pub fn fill(&self) {
        self.allocate(&mut self.state());
    }

    /// Whether nothing is missing of it, after it has taken room that is free again.
    pub fn is_whole(&self) -> bool {
        let mut state = self.state();
        self.allocate(&mut state);
        state.file.is_none() || state.bytes >= state.wanted_bytes
    }

    /// Allocates as many blocks as are missing and can be allocated.
    fn allocate(&self, state: &mut State) {
        let (wanted, device) = (state.wanted_bytes, self.files.device());
        let mut part = wanted.saturating_sub(state.bytes);
        while let Some(file) = state.file.as_ref().filter(|_| state.bytes < wanted) {
            part = part.min(wanted - state.bytes);
            match device.allocate(file, state.bytes..state.bytes + part) {
                Ok(()) => state.bytes += part,
                Err(error) if is_full(&error) && part > BLOCK_BYTES => part = (part / 2).max(BLOCK_BYTES),
                Err(error) if is_full(&error) => return,
                Err(error) => {
                    // A file system without it, or a disk that doesn't work.
                    if error.kind() != io::ErrorKind::Unsupported {
                        tracing::warn!(
                            %error,
                            "no room is reserved for a full disk, where deletions will fail; \
                             free some space on it before it is full"
                        );
                    }
                    state.file = None;
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the disk is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The error where nothing but the reserve is left.
pub(super) fn full() -> io::Error {
    Errno::NOSPC.into()
}
