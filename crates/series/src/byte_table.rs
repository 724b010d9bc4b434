//! A shared, append-only table from byte strings to numbers in a fixed allocation.
//!
//! The interner and the series table rely on this contract:
//!
//! - **Hits take no lock and change no memory.** A look-up reads slots with `Acquire` and the bytes to which they
//!   point; no thread can delay it, whatever that thread does.
//! - **The same bytes have one number in every thread**, and it never changes. An insertion looks again under the lock,
//!   so if two threads miss the same bytes, one inserts them and the other finds them.
//! - **Insertions are atomic.** First the whole entry is written, then its place is stored in the list of entries, the
//!   count is increased, and only then its slot is stored with `Release`. A reader sees either an empty slot or a whole
//!   entry, and any number that a thread has obtained is below the `len()` that it sees. (Conversely, an entry is
//!   briefly listed before it can be found.)
//! - **Insertions take one lock**, held for one look-up and one copy. A thread that panics inside has published either
//!   nothing or everything, so the lock's poison is ignored. A thread that is descheduled inside delays other
//!   insertions until it runs again, but never a hit.
//! - **A full table reports it.** Entries, bytes and probes are bounded; if one is exhausted, `insert` returns `Full`
//!   immediately, without the lock if possible, and all known bytes still resolve.
//! - **Collisions are harmless**: equal hashes only suggest an entry; the byte strings are compared in full. Hashes are
//!   seeded, so without the seed a client can't choose strings that collide.
//!
//! A slot is 0 while empty; otherwise it has the upper half of the hash and the entry's place in the arena:
//!
//! ```text
//! bits 63..32  upper half of the hash
//! bits 31..0   place in the arena, in units of 8 bytes
//! ```
//!
//! If the table is large, a hit therefore misses the cache twice: for the slot's line, and for the entry's.

use std::sync::PoisonError;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_micro_inline};
use thiserror::Error;

use crate::arena::{Arena, Place, Writer};
use crate::prefetch::prefetch;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering};

/// Slots per entry at full load. With half of the slots empty, a hit takes 1.5 probes on average.
const SLOTS_PER_ENTRY: usize = 2;

/// Maximum distance of an entry from its hash's slot. At half load the longest run among 100 million entries stays well
/// below it; only a deliberate collision reaches it, and gets `Full`.
const PROBES_MAX: usize = 256;

/// No room for another entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// The requested limits can't be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a table of {entries_max} entries in {bytes_max} bytes cannot be allocated: request 1 to 1073741824 entries, at \
     most 32 GiB, and no more than the machine's free memory"
)]
pub struct LimitsError {
    /// Requested number of entries.
    pub entries_max: u32,
    /// Requested number of bytes.
    pub bytes_max: usize,
}

/// The number of a new entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    /// The number of entries before it.
    Next,
    /// This one.
    Given(u32),
}

#[derive(Debug)]
pub(crate) struct ByteTable {
    slots: Box<[AtomicU64]>,
    /// Entries in order of insertion; 0 for entries not inserted yet.
    places: Box<[AtomicU32]>,
    count: AtomicU32,
    arena: Arena,
    writer: Mutex<Writer>,
    secrets: RapidSecrets,
}

/// The result of a look-up.
enum Probe {
    Found(u32),
    Vacant(usize),
    TooFar,
}

impl ByteTable {
    /// Creates a table for `entries_max` byte strings in an arena of `bytes_max`, all allocated now. The seed goes into
    /// the hash: a server needs a secret one, a test may use a fixed one.
    pub(crate) fn new(entries_max: u32, bytes_max: usize, seed: u64) -> Result<Self, LimitsError> {
        let error = LimitsError { entries_max, bytes_max };
        if entries_max == 0 || entries_max > 1 << 30 {
            return Err(error);
        }
        let slots = (entries_max as usize * SLOTS_PER_ENTRY).next_power_of_two();
        let (arena, writer) = Arena::new(bytes_max).ok_or(error)?;
        Ok(Self {
            slots: filled(slots, || AtomicU64::new(0)).ok_or(error)?,
            places: filled(entries_max as usize, || AtomicU32::new(0)).ok_or(error)?,
            count: AtomicU32::new(0),
            arena,
            writer: Mutex::new(writer),
            secrets: RapidSecrets::seed(seed),
        })
    }

    #[inline(always)]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        rapidhash_v3_micro_inline::<true, false>(bytes, &self.secrets)
    }

    /// The number of `bytes`, whose hash is given.
    #[inline]
    pub(crate) fn find(&self, hash: u64, bytes: &[u8]) -> Option<u32> {
        match self.probe(hash, bytes) {
            Probe::Found(number) => Some(number),
            Probe::Vacant(_) | Probe::TooFar => None,
        }
    }

    #[inline]
    fn probe(&self, hash: u64, bytes: &[u8]) -> Probe {
        let mask = self.slots.len() - 1;
        let first = hash as usize;
        for step in 0..PROBES_MAX {
            let index = first.wrapping_add(step) & mask;
            let word = self.slots.get(index).map_or(0, |slot| slot.load(Ordering::Acquire));
            if word == 0 {
                return Probe::Vacant(index);
            }
            if word >> 32 == hash >> 32 {
                // SAFETY: the slot was read with `Acquire` and holds a place of this table's arena.
                let (number, known) = unsafe { self.arena.read(word as Place) };
                if known == bytes {
                    return Probe::Found(number);
                }
            }
        }
        Probe::TooFar
    }

    /// The number of `bytes`, inserted if they are new.
    #[cold]
    #[inline(never)]
    pub(crate) fn insert(&self, hash: u64, bytes: &[u8], number: Number) -> Result<u32, Full> {
        if self.is_full_for(bytes.len()) {
            return self.find(hash, bytes).ok_or(Full);
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match self.probe(hash, bytes) {
            Probe::Found(number) => return Ok(number),
            Probe::Vacant(index) => index,
            Probe::TooFar => return Err(Full),
        };
        let count = self.count.load(Ordering::Relaxed);
        let (Some(listed), Some(slot)) = (self.places.get(count as usize), self.slots.get(index)) else {
            return Err(Full);
        };
        let number = match number {
            Number::Next => count,
            Number::Given(number) => number,
        };
        let place = self.arena.append(&mut writer, number, bytes).ok_or(Full)?;
        listed.store(place, Ordering::Release);
        self.count.store(count + 1, Ordering::Release);
        slot.store(hash >> 32 << 32 | u64::from(place), Ordering::Release);
        Ok(number)
    }

    /// Whether new bytes of this length don't fit.
    pub(crate) fn is_full_for(&self, length: usize) -> bool {
        self.len() >= self.entries_max() || !self.arena.fits(length)
    }

    /// The bytes of the entry with this index, in order of insertion from 0.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&[u8]> {
        let place = self.places.get(index as usize)?.load(Ordering::Acquire);
        if place == 0 {
            return None;
        }
        // SAFETY: read with `Acquire` from where `insert` stored it with `Release`.
        Some(unsafe { self.arena.read(place) }.1)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Maximum number of entries.
    pub(crate) fn entries_max(&self) -> u32 {
        self.places.len() as u32
    }

    /// Bytes of the arena in use.
    pub(crate) fn bytes_used(&self) -> usize {
        self.arena.bytes_used()
    }

    /// Total number of allocated bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.arena.bytes_max() + size_of_val::<[_]>(&self.slots) + size_of_val::<[_]>(&self.places)
    }

    // A look-up in three steps, so that a batch can wait for many cache misses at once instead of for one after the
    // other.

    /// First step: prefetches the slot's line.
    #[inline(always)]
    pub(crate) fn prefetch_slot(&self, hash: u64) {
        let index = hash as usize & (self.slots.len() - 1);
        prefetch(self.slots.as_ptr().wrapping_add(index).cast());
    }

    /// Second step: prefetches the first entry whose hash matches, and returns its place; 0 if no hash matches.
    #[inline(always)]
    pub(crate) fn propose(&self, hash: u64, length: usize) -> Place {
        let mask = self.slots.len() - 1;
        let first = hash as usize;
        for step in 0..PROBES_MAX {
            let index = first.wrapping_add(step) & mask;
            let word = self.slots.get(index).map_or(0, |slot| slot.load(Ordering::Acquire));
            if word == 0 {
                return 0;
            }
            if word >> 32 == hash >> 32 {
                let address = self.arena.address(word as Place);
                prefetch(address);
                prefetch(address.wrapping_add(64));
                if length > 120 {
                    prefetch(address.wrapping_add(128));
                }
                return word as Place;
            }
        }
        0
    }

    /// Third step: the proposed entry's number if its bytes are equal. `None` is inconclusive: look again with `find`.
    ///
    /// # Safety
    /// `place` came from this table's `propose`, in this thread.
    #[inline(always)]
    pub(crate) unsafe fn confirm(&self, place: Place, bytes: &[u8]) -> Option<u32> {
        if place == 0 {
            return None;
        }
        // SAFETY: `propose` read it with `Acquire` from a slot.
        let (number, known) = unsafe { self.arena.read(place) };
        (known == bytes).then_some(number)
    }
}

fn filled<T>(count: usize, mut new: impl FnMut() -> T) -> Option<Box<[T]>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).ok()?;
    all.extend((0..count).map(|_| new()));
    Some(all.into_boxed_slice())
}
