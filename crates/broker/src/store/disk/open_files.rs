//! Which segment files are open: a bounded number of them, however many segments and topics there are.

use super::device::Device;
use super::errors::is_out_of_files;
use super::warm::{Missed, Warm};
use crate::files_limit::raise_files_limit;
use crate::limits::OPEN_SEGMENTS_MAX;
use crate::store::mapping::{Mapping, Mappings};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// An open segment file and the mapping of it.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) file: Arc<File>,
    pub(super) mapping: Mapping,
    pub(super) warm: Arc<Warm>,
}

/// A segment's place among the open files; empty while its file is closed.
#[derive(Default)]
pub(super) struct Slot {
    open: RwLock<Option<Open>>,
    /// Whether it was used since the last search for files to close.
    used: AtomicBool,
}

impl Slot {
    /// What `look` finds in the open file, if it is open.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Open) -> T) -> Option<T> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let found = look(open.as_ref()?);
        // Only a first use writes: readers on many threads share the line.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        Some(found)
    }

    fn take(&self) -> Option<Open> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The open segment files of a store.
pub(super) struct OpenFiles {
    device: Arc<dyn Device>,
    mappings: Arc<Mappings>,
    missed: Arc<Missed>,
    files_max: usize,
    /// Every slot that is not empty, in the order in which they are looked at when there are too many: a used one gets
    /// a second chance at the end.
    slots: Mutex<VecDeque<Weak<Slot>>>,
}

impl OpenFiles {
    /// Takes at most half of the files that the process may open, after raising that number as far as the system
    /// allows: connections need the other half. Segments are changed by way of `device`.
    pub(super) fn on(device: Arc<dyn Device>) -> OpenFiles {
        let files_max = (raise_files_limit() / 2).clamp(1, OPEN_SEGMENTS_MAX);
        let missed = Arc::new(Missed::new());
        OpenFiles { device, mappings: Arc::default(), missed, files_max, slots: Mutex::default() }
    }

    /// What changes the files.
    pub(super) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The open file of `slot`, which `open` opens if need be; the first `bytes` bytes of it are mapped.
    pub(super) fn get(&self, slot: &Arc<Slot>, bytes: u64, open: impl Fn() -> io::Result<File>) -> io::Result<Open> {
        if let Some(open) = slot.look(Open::clone) {
            return Ok(open);
        }
        let opened = match self.open(bytes, &open) {
            Err(error) if is_out_of_files(&error) => {
                self.close_unused(self.files_max / 2);
                self.open(bytes, &open)?
            }
            opened => opened?,
        };
        let mut held = slot.open.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*held {
            // Two threads opened it at the same time; one file stays.
            return Ok(open.clone());
        }
        *held = Some(opened.clone());
        drop(held);
        slot.used.store(true, Ordering::Relaxed);
        self.slots().push_back(Arc::downgrade(slot));
        self.close_unused(self.files_max);
        Ok(opened)
    }

    /// The mappings that are in use.
    pub(super) fn mappings(&self) -> Arc<Mappings> {
        self.mappings.clone()
    }

    /// All pages of `bytes`, a part of an open file, are mapped now.
    pub(super) fn touched(&self, bytes: &[u8]) {
        self.mappings.touched(bytes);
    }

    fn open(&self, bytes: u64, open: impl Fn() -> io::Result<File>) -> io::Result<Open> {
        let file = Arc::new(open()?);
        let mapping = self.mappings.share(super::sys::map(&file, bytes)?, file.clone());
        Ok(Open { file, mapping, warm: Arc::new(Warm::new(bytes, &self.missed)) })
    }

    /// Closes files until at most `keep` are open, those first that were not used for the longest time. A file that
    /// someone still holds is closed when they drop it.
    fn close_unused(&self, keep: usize) {
        let mut closed = Vec::new();
        let mut slots = self.slots();
        if slots.len() <= keep {
            return;
        }
        slots.retain(|slot| slot.strong_count() > 0);
        // A used one is kept in the first round only: readers may use all of them again and again.
        let first_round = slots.len();
        for look in 0..first_round * 2 {
            if slots.len() <= keep {
                break;
            }
            let Some(weak) = slots.pop_front() else { break };
            let Some(slot) = weak.upgrade() else { continue };
            if slot.used.swap(false, Ordering::Relaxed) && look < first_round {
                slots.push_back(weak);
            } else {
                closed.extend(slot.take());
            }
        }
        assert!(slots.len() <= keep, "{} files are open, {keep} may be", slots.len());
        // Unmapping takes time; no request has to wait for it.
        drop(slots);
        drop(closed);
    }

    fn slots(&self) -> MutexGuard<'_, VecDeque<Weak<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // Tests start tasks and threads where they like.
mod tests {
    use super::*;
    use crate::store::disk::System;

    #[test]
    fn files_are_closed_though_all_are_in_use() {
        let files = OpenFiles { files_max: 8, ..OpenFiles::on(Arc::new(System)) };
        let slots: Vec<Arc<Slot>> = (0..64).map(|_| Arc::default()).collect();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    slots.iter().for_each(|slot| assert_ne!(slot.look(|open| open.mapping.bytes()), Some(0)));
                }
            });
            for slot in slots.iter().cycle().take(2000) {
                assert_eq!(files.get(slot, 4096, tempfile::tempfile).unwrap().mapping.bytes(), 4096);
            }
            is_done.store(true, Ordering::Relaxed);
        });
        assert!(slots.iter().filter(|slot| slot.look(|_| ()).is_some()).count() <= 8);
    }

    #[test]
    fn files_that_were_not_used_are_closed_first() {
        let files = OpenFiles { files_max: 4, ..OpenFiles::on(Arc::new(System)) };
        let slots: Vec<Arc<Slot>> = (0..50).map(|_| Arc::default()).collect();
        let open = |slot| files.get(slot, 4096, tempfile::tempfile).unwrap();
        let held = open(&slots[0]);
        for slot in &slots {
            open(slot);
            open(&slots[7]);
            assert!(slots.iter().filter(|slot| slot.look(|_| ()).is_some()).count() <= 4);
            // The look counted as a use.
            slots
                .iter()
                .enumerate()
                .filter(|&(i, _)| i != 7)
                .for_each(|(_, slot)| slot.used.store(false, Ordering::Relaxed));
        }
        assert!(slots[7].look(|_| ()).is_some(), "it was used all the time");
        assert!(slots[0].look(|_| ()).is_none());
        assert_eq!(held.mapping.bytes(), 4096, "what is held stays mapped");
        drop(slots);
        files.close_unused(0);
        assert!(files.slots().is_empty());
    }
}
