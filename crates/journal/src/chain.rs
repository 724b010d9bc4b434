//! Which journal objects are valid. Every observer reaches the same result, because objects never change and an
//! object's validity depends only on those with lower numbers.

use crate::rules::Rules;
use rawline_batch::Crc32c;

/// Names a journal object: the writer's random number of this run, and its count of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Random, drawn by a writer when it starts.
    pub run: u64,
    /// Counts the objects that the writer made in this run, from 1.
    pub commit: u64,
}

impl Id {
    /// The predecessor of the first object.
    pub const ROOT: Id = Id { run: 0, commit: 0 };

    /// A checksum of this id: it distinguishes a local copy of an object from the copy of another object that once had
    /// its number.
    pub fn tag(self) -> u32 {
        let mut crc = Crc32c::new();
        crc.update(&self.run.to_le_bytes());
        crc.update(&self.commit.to_le_bytes());
        crc.value()
    }
}

/// An object's place in the chain, from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The object's number, which is in its key too.
    pub number: u64,
    /// The object's id.
    pub id: Id,
    /// The id of the valid object before it.
    pub prev: Id,
    /// Number of the writer's objects directly before it that weren't confirmed when its first PUT began. All others
    /// before it existed by then: a crash can't be the reason if one of them is missing.
    pub in_flight: u8,
}

impl Link {
    /// All objects before this number existed when this one was put.
    pub fn certain_before(&self) -> u64 {
        self.number.saturating_sub(u64::from(self.in_flight))
    }
}

/// The chain as far as an observer has followed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain {
    next: u64,
    last: Id,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { next: 1, last: Id::ROOT }
    }
}

impl Chain {
    /// The chain as a snapshot has it, if it can be.
    pub(crate) fn after(next: u64, last: Id) -> Option<Chain> {
        let is_sound = next > 1 || next == 1 && last == Id::ROOT;
        is_sound.then_some(Chain { next, last })
    }

    /// The lowest number that hasn't been observed.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The id of the last valid object.
    pub fn last(&self) -> Id {
        self.last
    }

    /// Takes the next object into account. Returns whether it is valid; a void one is skipped.
    pub(crate) fn observe(&mut self, link: Link, rules: Rules) -> bool {
        assert_eq!(link.number, self.next, "objects are observed in order: {link:?}");
        self.next += 1;
        let is_valid = link.prev == self.last || !rules.void_objects();
        if is_valid {
            self.last = link.id;
        }
        is_valid
    }
}
