//! The contents of a file and of a directory on a disk, and the changes that it may lose.

use std::collections::BTreeMap;

/// The unit that a disk writes atomically.
const SECTOR_BYTES: usize = 512;

/// Which unsynced changes survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    All,
    None,
    /// The first ones, and a part of the next one.
    First,
    /// Any of them, and any of their sectors.
    Any,
}

impl Keep {
    pub fn random(random: &mut fastrand::Rng) -> Keep {
        [Keep::All, Keep::None, Keep::First, Keep::Any][random.usize(0..4)]
    }
}

/// A change of a file.
#[derive(Debug, Clone)]
pub enum Change {
    Length(usize),
    Write { at: usize, bytes: Box<[u8]> },
}

/// The bytes of a file.
#[derive(Default)]
pub struct Data {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

impl Data {
    pub fn change(&mut self, change: Change) {
        self.pending.push(change);
    }

    /// The state after a machine has lost its memory.
    pub fn durable(&self) -> &[u8] {
        &self.durable
    }

    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            self.apply(&change);
        }
    }

    /// Nothing is pending any more; what was is there or not. Returns how many changes are not there as they were.
    pub fn lose(&mut self, keep: Keep, random: &mut fastrand::Rng) -> usize {
        let pending = std::mem::take(&mut self.pending);
        let first = if pending.is_empty() { 0 } else { random.usize(0..=pending.len()) };
        let mut lost = 0;
        for (number, change) in pending.into_iter().enumerate() {
            let parts = match (keep, change) {
                (Keep::All, change) => vec![change],
                (Keep::First, change) if number < first => vec![change],
                (Keep::First, Change::Write { at, bytes }) if number == first && !bytes.is_empty() => {
                    let (kept, _) = bytes.split_at(random.usize(0..bytes.len()));
                    lost += 1;
                    vec![Change::Write { at, bytes: kept.into() }]
                }
                (Keep::Any, Change::Write { at, bytes }) => {
                    let sectors = sectors(at, &bytes);
                    let all = sectors.len();
                    let kept: Vec<_> = sectors.into_iter().filter(|_| random.u8(0..4) > 0).collect();
                    lost += usize::from(kept.len() < all);
                    kept
                }
                (Keep::Any, change) if random.bool() => vec![change],
                _ => {
                    lost += 1;
                    Vec::new()
                }
            };
            parts.iter().for_each(|change| self.apply(change));
        }
        lost
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Length(length) => self.durable.resize(*length, 0),
            Change::Write { at, bytes } => {
                let end = at + bytes.len();
                if self.durable.len() < end && !bytes.is_empty() {
                    self.durable.resize(end, 0);
                }
                if !bytes.is_empty() {
                    self.durable[*at..end].copy_from_slice(bytes);
                }
            }
        }
    }
}

/// The parts of a write, as a disk writes them.
fn sectors(mut at: usize, mut bytes: &[u8]) -> Vec<Change> {
    let mut sectors = Vec::new();
    while !bytes.is_empty() {
        let (sector, rest) = bytes.split_at((SECTOR_BYTES - at % SECTOR_BYTES).min(bytes.len()));
        sectors.push(Change::Write { at, bytes: sector.into() });
        (at, bytes) = (at + sector.len(), rest);
    }
    sectors
}

/// A change of a directory.
#[derive(Debug, Clone)]
enum NameChange {
    Set(String, usize),
    Remove(String),
    Rename(String, String, usize),
}

/// The names in a directory, and the numbers of their files.
#[derive(Default)]
pub struct Names {
    current: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: Vec<NameChange>,
}

impl Names {
    pub fn all(&self) -> &BTreeMap<String, usize> {
        &self.current
    }

    pub fn name_of(&self, id: usize) -> Option<&str> {
        self.current.iter().find(|(_, found)| **found == id).map(|(name, _)| name.as_str())
    }

    pub fn set(&mut self, name: String, id: usize) {
        self.change(NameChange::Set(name, id));
    }

    pub fn remove(&mut self, name: &str) {
        self.change(NameChange::Remove(name.to_owned()));
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        let id = self.current[from];
        self.change(NameChange::Rename(from.to_owned(), to.to_owned(), id));
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.current);
        self.pending.push(change);
    }

    pub fn sync(&mut self) {
        self.pending.clear();
        self.durable.clone_from(&self.current);
    }

    /// Nothing is pending any more; what was is there or not. Returns how many changes are not there.
    pub fn lose(&mut self, keep: Keep, random: &mut fastrand::Rng) -> usize {
        let pending = std::mem::take(&mut self.pending);
        let first = random.usize(0..=pending.len());
        let mut lost = 0;
        for (number, change) in pending.into_iter().enumerate() {
            let is_kept = match keep {
                Keep::All => true,
                Keep::None => false,
                Keep::First => number < first,
                Keep::Any => random.bool(),
            };
            if is_kept {
                change.apply(&mut self.durable);
            }
            lost += usize::from(!is_kept);
        }
        self.current.clone_from(&self.durable);
        lost
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Set(name, id) => drop(names.insert(name.clone(), *id)),
            NameChange::Remove(name) => drop(names.remove(name)),
            NameChange::Rename(from, to, id) => {
                names.remove(from);
                names.insert(to.clone(), *id);
            }
        }
    }
}
