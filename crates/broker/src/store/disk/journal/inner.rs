//! What the operations of a journal share: its files, the writer of the next object, and why nothing more is written.

use super::reserve::Reserve;
use super::segments::Stored;
use super::write::{Create, Writer};
use crate::store::disk::device::{Device, Work};
use crate::store::disk::open_files::OpenFiles;
use crate::store::disk::options::Options;
use crate::store::lock::DirLock;
use crate::store_error::StoreError;
use rawline_journal::Source;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

pub(super) struct Inner {
    /// All work but the sealing of segments holds it, and none is begun without it: no file may appear or go while
    /// another process, or another store of this one, opens the directory.
    pub lock: Weak<DirLock>,
    pub dir: PathBuf,
    /// The directory's own number: another one may get its name.
    pub inode: u64,
    /// The file `storage.json`; none in tests of the journal alone.
    pub storage: Option<PathBuf>,
    /// Number of the newest snapshot; 0 without one.
    pub snapshot: AtomicU64,
    pub merged_dir: PathBuf,
    pub snapshots_dir: PathBuf,
    pub options: Options,
    pub files: Arc<OpenFiles>,
    /// The reserve for changes that free space on a full disk.
    pub reserve: Reserve,
    /// Whether zeros are written ahead of the objects.
    pub fills: bool,
    /// Objects to create.
    pub queue: Mutex<Vec<Create>>,
    /// Held while objects are written.
    pub writer: Mutex<Writer>,
    /// Held during a sync. The writer's lock is never requested under it.
    pub syncing: Mutex<()>,
    pub seals: Arc<Seals>,
    /// Why nothing more may be created.
    pub failed: Arc<OnceLock<StoreError>>,
    /// Why the newest object was not stored.
    pub refusal: Mutex<Option<StoreError>>,
    /// By the number of the first object.
    pub segments: RwLock<BTreeMap<u64, Arc<Stored>>>,
    /// By number.
    pub merged: RwLock<BTreeMap<u64, Arc<Stored>>>,
}

/// What seals full segments.
#[derive(Default)]
pub(super) struct Seals {
    /// In order of the segments' numbers.
    pub waiting: Mutex<VecDeque<Work>>,
    /// Held while one is sealed. No commit waits for it.
    pub one_at_a_time: Mutex<()>,
}

impl Inner {
    /// What changes the journal's files.
    pub fn device(&self) -> &dyn Device {
        &**self.files.device()
    }

    /// The file that holds an object, and where in it.
    pub fn find(&self, source: Source) -> Option<(Arc<Stored>, Range<u64>)> {
        let number = source.number();
        let stored = match source {
            Source::Journal(_) => self.segments().range(..=number).next_back().map(|(_, stored)| stored.clone()),
            Source::Merged(_) => self.merged.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned(),
        }?;
        let range = stored.find(number)?;
        Some((stored, range))
    }

    pub fn segments(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Arc<Stored>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn segments_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Arc<Stored>>> {
        self.segments.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn merged_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Arc<Stored>>> {
        self.merged.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Acquires a lock. One that a panicking thread held ends the commits: the state of its work is unknown.
pub(super) fn lock<'a, T>(mutex: &'a Mutex<T>, failed: &OnceLock<StoreError>) -> MutexGuard<'a, T> {
    mutex.lock().unwrap_or_else(|poisoned| {
        failed.get_or_init(|| {
            StoreError::human(
                "an internal check failed, the log has the details; this is a bug in the broker, please report it. \
                 Nothing more is written until the broker is restarted",
            )
        });
        poisoned.into_inner()
    })
}
