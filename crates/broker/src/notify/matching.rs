//! Which subscriptions a topic's name matches: by the whole name, or by a prefix.
//!
//! A table has the hashes of names and prefixes. A search goes over the topic's name once, and looks for the hashes of
//! its beginnings that are as long as some prefix: many prefixes cost more than a few only because they fill the
//! processor's cache. Most of these hashes aren't in the table, which a Bloom filter tells: it is small enough for that
//! cache.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;
use std::hash::{BuildHasher, RandomState};

/// Numbers of subscriptions by the names and prefixes that they match.
pub struct Matching {
    seeds: Seeds,
    /// Lengths that prefixes have, ascending.
    lengths: Vec<Length>,
    table: HashTable<Matched>,
    filter: Filter,
}

/// The subscriptions to one name or prefix.
struct Matched {
    /// Of the name or prefix, which isn't kept: one in 2^64 others has the same.
    hash: u64,
    subscriptions: SmallVec<[u32; 2]>,
}

/// A length of prefixes.
struct Length {
    bytes: usize,
    /// How many subscriptions have one of this length.
    count: usize,
}

/// The subscriptions that match a topic's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Prefix,
}

impl Default for Matching {
    fn default() -> Matching {
        Matching { seeds: Seeds::new(), lengths: Vec::new(), table: HashTable::new(), filter: Filter::of([].iter()) }
    }
}

impl Matching {
    /// Adds a subscription to the topic of this name.
    pub fn add_name(&mut self, name: &str, subscription: usize) {
        self.add(self.seeds.hash(name, Kind::Name), subscription);
    }

    /// Adds a subscription to all topics whose names begin with this.
    pub fn add_prefix(&mut self, prefix: &str, subscription: usize) {
        match self.lengths.binary_search_by_key(&prefix.len(), |length| length.bytes) {
            Ok(place) => self.lengths.iter_mut().skip(place).take(1).for_each(|length| length.count += 1),
            Err(place) => self.lengths.insert(place, Length { bytes: prefix.len(), count: 1 }),
        }
        self.add(self.seeds.hash(prefix, Kind::Prefix), subscription);
    }

    /// Undoes [`Matching::add_name`].
    pub fn remove_name(&mut self, name: &str, subscription: usize) {
        self.remove(self.seeds.hash(name, Kind::Name), name, subscription);
    }

    /// Undoes [`Matching::add_prefix`].
    pub fn remove_prefix(&mut self, prefix: &str, subscription: usize) {
        self.remove(self.seeds.hash(prefix, Kind::Prefix), prefix, subscription);
        self.lengths.retain_mut(|length| {
            length.count -= usize::from(length.bytes == prefix.len());
            length.count > 0
        });
    }

    /// Calls `found` with the subscriptions that match a topic's name; with one that matches in several ways several
    /// times. Of 2^64 subscriptions that don't match it may find one: callers compare names.
    pub fn each(&self, name: &str, mut found: impl FnMut(usize)) {
        let mut hashes = Hashes::new(&self.seeds, name.as_bytes());
        for length in &self.lengths {
            if length.bytes > name.len() {
                break;
            }
            self.find(hashes.of_beginning(length.bytes, Kind::Prefix), &mut found);
        }
        self.find(hashes.of_beginning(name.len(), Kind::Name), &mut found);
    }

    fn find(&self, hash: u64, found: &mut impl FnMut(usize)) {
        if self.filter.may_contain(hash)
            && let Some(matched) = self.table.find(hash, |matched| matched.hash == hash)
        {
            matched.subscriptions.iter().for_each(|subscription| found(*subscription as usize));
        }
    }

    fn add(&mut self, hash: u64, subscription: usize) {
        let Ok(subscription) = u32::try_from(subscription) else { unreachable!("{subscription} subscriptions") };
        match self.table.entry(hash, |matched| matched.hash == hash, |matched| matched.hash) {
            Entry::Occupied(mut known) => known.get_mut().subscriptions.push(subscription),
            Entry::Vacant(free) => {
                free.insert(Matched { hash, subscriptions: [subscription].into_iter().collect() });
                if !self.filter.insert(hash) {
                    self.filter = Filter::of(self.table.iter());
                }
            }
        }
    }

    fn remove(&mut self, hash: u64, text: &str, subscription: usize) {
        let Ok(mut known) = self.table.find_entry(hash, |matched| matched.hash == hash) else {
            unreachable!("no subscription to {text:?}")
        };
        let subscriptions = &mut known.get_mut().subscriptions;
        let Some(place) = subscriptions.iter().position(|other| *other as usize == subscription) else {
            unreachable!("subscription {subscription} is none of the {} to {text:?}", subscriptions.len())
        };
        subscriptions.swap_remove(place);
        if subscriptions.is_empty() {
            // The filter keeps it until it is made anew.
            known.remove();
        }
    }
}

/// Random numbers on which hashes depend, so that no client can choose names whose hashes are the same.
struct Seeds {
    state: u64,
    factor: u64,
}

impl Seeds {
    fn new() -> Seeds {
        let random = RandomState::new();
        Seeds { state: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }

    fn hash(&self, text: &str, kind: Kind) -> u64 {
        Hashes::new(self, text.as_bytes()).of_beginning(text.len(), kind)
    }
}

/// The hashes of a text's beginnings, from the shortest to the longest.
struct Hashes<'a> {
    seeds: &'a Seeds,
    text: &'a [u8],
    /// Number of bytes in `state`.
    hashed: usize,
    state: u64,
    /// The eight bytes that follow.
    word: u64,
}

const WORD: usize = size_of::<u64>();

impl<'a> Hashes<'a> {
    fn new(seeds: &'a Seeds, text: &'a [u8]) -> Hashes<'a> {
        Hashes { seeds, text, hashed: 0, state: seeds.state, word: word_at(text, 0) }
    }

    /// Of the first `bytes` bytes: no fewer than the time before, and no more than there are.
    fn of_beginning(&mut self, bytes: usize, kind: Kind) -> u64 {
        while self.hashed + WORD <= bytes {
            self.state = fold(self.state ^ self.word, self.seeds.factor);
            self.hashed += WORD;
            self.word = word_at(self.text, self.hashed);
        }
        let rest = self.word & ((1 << (8 * (bytes - self.hashed))) - 1);
        let what = 2 * bytes as u64 + u64::from(kind == Kind::Name);
        // 2^64 divided by the golden ratio: of two numbers, the products differ in about half of the bits.
        fold(self.state ^ rest, self.seeds.factor ^ what.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// The bytes from a position on, with zeros after the end.
fn word_at(text: &[u8], position: usize) -> u64 {
    let Some(rest) = text.get(position..) else { unreachable!("byte {position} of {}", text.len()) };
    match (rest.first_chunk(), text.last_chunk()) {
        (Some(word), _) => u64::from_le_bytes(*word),
        (None, Some(word)) if !rest.is_empty() => u64::from_le_bytes(*word) >> (8 * (WORD - rest.len())),
        _ => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Both halves of the product.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// A Bloom filter of hashes, both of whose bits lie in one word.
struct Filter {
    /// As many as a power of two.
    words: Vec<u64>,
    /// How many more hashes it takes.
    free: usize,
}

/// One in about 60 hashes that aren't in the filter may be. Of 100,000, it has 400 KiB at most.
const FILTER_BITS_PER_HASH: usize = 16;

impl Filter {
    /// A filter that takes as many more.
    fn of<'a>(all: impl ExactSizeIterator<Item = &'a Matched>) -> Filter {
        let capacity = 2 * all.len().max(8);
        let words = (capacity * FILTER_BITS_PER_HASH / u64::BITS as usize).next_power_of_two();
        let mut filter = Filter { words: vec![0; words], free: capacity };
        all.for_each(|matched| _ = filter.insert(matched.hash));
        filter
    }

    /// False if it is full.
    fn insert(&mut self, hash: u64) -> bool {
        let place = self.place(hash);
        let Some(free) = self.free.checked_sub(1) else { return false };
        self.free = free;
        self.words.iter_mut().skip(place).take(1).for_each(|word| *word |= bits(hash));
        true
    }

    fn may_contain(&self, hash: u64) -> bool {
        let bits = bits(hash);
        self.words.get(self.place(hash)).is_some_and(|word| word & bits == bits)
    }

    fn place(&self, hash: u64) -> usize {
        (hash >> 8) as usize & (self.words.len() - 1)
    }
}

/// The table uses the highest bits and the lowest, too.
fn bits(hash: u64) -> u64 {
    1 << (hash >> 58) | 1 << (hash >> 52 & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subscription_is_found_by_names_and_prefixes_as_by_comparing_each() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut any = |most: usize| {
            let letters = ["a", "b", "ab", ".", "zeek.", "dns", "longer-than-the-others-", "-"];
            (0..random.usize(..most)).map(|_| letters[random.usize(..letters.len())]).collect::<String>()
        };
        let mut there: Vec<(bool, String)> = Vec::new();
        let mut matching = Matching::default();
        for round in 0..2_000 {
            let (is_prefix, text) = (round % 3 > 0, any(5));
            match is_prefix {
                true => matching.add_prefix(&text, round),
                false => matching.add_name(&text, round),
            }
            there.push((is_prefix, text));
            if round >= 1_000 {
                let (is_prefix, text) = &there[round - 1_000];
                match is_prefix {
                    true => matching.remove_prefix(text, round - 1_000),
                    false => matching.remove_name(text, round - 1_000),
                }
            }
            let name = any(7);
            let mut found = Vec::new();
            matching.each(&name, |subscription| found.push(subscription));
            found.sort_unstable();
            let first = (round + 1).saturating_sub(1_000);
            let is_match = |(_, (is_prefix, text)): &(usize, &(bool, String))| match is_prefix {
                true => name.starts_with(text.as_str()),
                false => name == *text,
            };
            let expected = there.iter().enumerate().skip(first).filter(is_match).map(|(number, _)| number);
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name:?} in round {round}");
        }
    }
}
