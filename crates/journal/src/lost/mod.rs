//! Replacements of lost objects that an operator has given up, so that all intact objects keep their numbers and
//! offsets.
//!
//! In the place of each lost object is one with the offsets of its records, as far as later objects show them, and
//! bytes that no reader takes for records. It also opens the instances of named producers that later objects follow
//! (`openings.rs`).

mod openings;
#[cfg(test)]
mod tests;

use crate::chain::{Id, Link};
use crate::control::Control;
use crate::object::{Batch, BatchKind, Index, Section, build_index};
use crate::partition_id::PartitionId;
use crate::state::State;
use openings::openings;
use std::collections::BTreeMap;
use std::ops::Range;

/// Length of the replacement of a partition's lost records.
const LOST_BYTES: u32 = 64;

/// Lost objects, as far as later objects show them.
#[derive(Debug)]
pub struct Lost {
    appended_us: u64,
    links: BTreeMap<u64, Link>,
    gaps: BTreeMap<u64, Vec<(PartitionId, Range<u64>)>>,
    openings: BTreeMap<u64, Vec<Control>>,
}

impl Lost {
    /// The objects with these numbers, which are in ascending order. `before` is the id of the valid object before
    /// them, `appended_us` its time. `state` is that before them, or of a later object. `later` are the objects after
    /// the first of them, by number.
    pub fn between(
        before: Id,
        appended_us: u64,
        state: &State,
        numbers: &[u64],
        later: &BTreeMap<u64, &Index>,
    ) -> Lost {
        let links = links(numbers, before, later, state);
        let later = without_void(before, &links, later);
        let gaps = gaps(state, numbers, &later);
        let openings = openings(state, numbers, later.iter().map(|(number, index)| (*number, *index)));
        Lost { appended_us, links, gaps, openings }
    }

    /// The object that replaces a lost one after this state: its index, and the bytes after it. `None`
    /// if the object isn't lost.
    pub fn object(&self, number: u64, state: &State) -> Option<(Index, Vec<u8>)> {
        let link = *self.links.get(&number)?;
        let gaps = self.gaps.get(&number).map_or(&[][..], Vec::as_slice);
        let openings = self.openings.get(&number).map_or(&[][..], Vec::as_slice);
        let opening = lost_object(link, self.appended_us, openings, gaps);
        // Instances with open transactions can't be replaced without their end, which is lost.
        let is_possible = |index: &Index| state.clone().observe(link, &index.changes()).is_ok();
        let is_opening = openings.is_empty() || number < state.chain().next() || is_possible(&opening.0);
        Some(if is_opening { opening } else { lost_object(link, self.appended_us, &[], gaps) })
    }

    /// The offsets that later objects show to be lost.
    pub fn offsets(&self) -> impl Iterator<Item = &(PartitionId, Range<u64>)> {
        self.gaps.values().flatten()
    }
}

/// The later objects that are valid, as far as they follow each other.
fn without_void<'a>(
    before: Id,
    lost: &BTreeMap<u64, Link>,
    later: &BTreeMap<u64, &'a Index>,
) -> BTreeMap<u64, &'a Index> {
    let (mut newest, mut valid) = (before, later.clone());
    for number in lost.first_key_value().map_or(u64::MAX, |(first, _)| *first).. {
        match (lost.get(&number), later.get(&number)) {
            (Some(link), _) => newest = link.id,
            (None, Some(index)) if index.header.link.prev == newest => newest = index.header.link.id,
            (None, Some(_)) => drop(valid.remove(&number)),
            (None, None) => break,
        }
    }
    valid
}

/// The lost offsets of each partition, by the newest lost object that can have had them.
fn gaps(state: &State, lost: &[u64], later: &BTreeMap<u64, &Index>) -> BTreeMap<u64, Vec<(PartitionId, Range<u64>)>> {
    let mut ends = BTreeMap::new();
    let mut gaps: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (number, index) in later.iter().filter(|(number, _)| **number >= state.chain().next()) {
        let newest_lost = lost.iter().rev().find(|lost| *lost < number);
        for (section, batches) in index.sections() {
            let end = ends.entry(section.partition).or_insert_with(|| state.next_offset(section.partition));
            let PartitionId { topic, number } = section.partition;
            // Otherwise the lost object had the change that made the partition, and nothing can take its place.
            let exists = state.topic(topic).is_some_and(|topic| number < topic.partitions);
            if let Some(newest_lost) = newest_lost.filter(|_| exists && section.first_offset > *end) {
                let gaps = gaps.entry(*newest_lost).or_default();
                // An object that skips offsets although none is lost before it contradicts the others.
                if gaps.iter().all(|(partition, _)| *partition != section.partition) {
                    gaps.push((section.partition, *end..section.first_offset));
                }
            }
            *end = section.first_offset + batches.iter().map(|(batch, _)| u64::from(batch.records)).sum::<u64>();
        }
    }
    gaps.values_mut().for_each(|gaps| gaps.sort_by_key(|(partition, _)| *partition));
    gaps
}

/// The links of the lost objects: those around them name most of their ids.
fn links(lost: &[u64], before: Id, later: &BTreeMap<u64, &Index>, state: &State) -> BTreeMap<u64, Link> {
    let mut ids: BTreeMap<u64, Id> = BTreeMap::new();
    for &number in lost.iter().rev() {
        let named = later.get(&(number + 1)).map(|_| last_before(number + 1, later));
        let in_snapshot = (number + 1 == state.chain().next()).then(|| state.chain().last());
        let guessed = ids.get(&(number + 1)).map(|next| Id { run: before.run, commit: next.commit.wrapping_sub(1) });
        let Some(id) = named.or(in_snapshot).or(guessed) else { unreachable!("{number} is lost, and nothing follows") };
        ids.insert(number, id);
    }
    let id_of = |number: u64| {
        let whole = later.get(&number).map(|later| later.header.link.id);
        ids.get(&number).copied().or(whole).unwrap_or(before)
    };
    let link = |number: u64| Link { number, id: id_of(number), prev: id_of(number - 1), in_flight: 0 };
    lost.iter().map(|&number| (number, link(number))).collect()
}

/// The id of the last valid object before `number`, which is missing, as the objects from `number` on name it. Some of
/// those may be void.
fn last_before(number: u64, later: &BTreeMap<u64, &Index>) -> Id {
    let run = || later.range(number..).zip(number..).take_while(|((found, _), expected)| *found == expected);
    let links: Vec<Link> = run().map(|((_, index), _)| index.header.link).collect();
    // The writer of an object with nothing in flight knew all objects before it. Otherwise the newest object is the
    // best guess.
    let knows = links.iter().find(|link| link.certain_before() == link.number).or(links.last());
    let Some(mut link) = knows.copied() else { unreachable!("object {number} is not there") };
    while let Some(before) = links.iter().find(|before| before.id == link.prev && before.number < link.number) {
        link = *before;
    }
    link.prev
}

/// An object with these offsets of lost records, which opens these instances of producers.
fn lost_object(
    link: Link,
    appended_us: u64,
    openings: &[Control],
    gaps: &[(PartitionId, Range<u64>)],
) -> (Index, Vec<u8>) {
    let batches: Vec<Vec<Batch>> = gaps.iter().map(|(_, offsets)| lost_batches(offsets)).collect();
    let sections: Vec<(Section, &[Batch])> = gaps
        .iter()
        .zip(&batches)
        .map(|((partition, offsets), batches)| {
            (Section { partition: *partition, first_offset: offsets.start }, batches.as_slice())
        })
        .collect();
    let mut bytes = build_index(link, appended_us, openings, &sections);
    let parsed = Index::parse(&bytes);
    let Ok(parsed) = parsed else { unreachable!("{link:?} is not what it was built of: {parsed:?}") };
    let count: usize = batches.iter().map(Vec::len).sum();
    bytes.resize(bytes.len() + count * LOST_BYTES as usize, 0);
    (parsed, bytes)
}

/// Batches with one record per offset, and a checksum that doesn't match zeros.
fn lost_batches(offsets: &Range<u64>) -> Vec<Batch> {
    let mut left = offsets.end - offsets.start;
    let mut batches = Vec::new();
    while left > 0 {
        let records = u32::try_from(left).unwrap_or(u32::MAX);
        left -= u64::from(records);
        batches.push(Batch {
            kind: BatchKind::Rawline,
            records,
            bytes: LOST_BYTES,
            crc32c: 0,
            continues: false,
            producer: None,
            max_timestamp_us: 0,
            transaction: None,
        });
    }
    batches
}
