//! Merges in the model: which broker has begun one, the PUT of its object, and where an observer finds each record.

use crate::changes::Changes;
use crate::control::Control;
use crate::garbage::is_merge_needed;
use crate::model::world::{Bounds, Ticket, World};
use crate::partition_id::PartitionId;
use crate::place::{BatchCount, MergedPiece, Piece, Place, Source};
use crate::rules::Broken;
use crate::writer::{Event, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// Tickets of the three steps of a merge; with the writer's position added.
const BEGIN: Ticket = 160;
const END: Ticket = 176;
const ABANDON: Ticket = 192;

/// The object in which an observer finds each record.
pub type Places = BTreeMap<(PartitionId, u64), Source>;

/// Records, each with its ticket.
type Records = Vec<((PartitionId, u64), Ticket)>;

/// The PUT of a merged object that has not reached the store yet, or whose response has not reached the writer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MergePut {
    /// The writer that waits for the response; `None` if none does.
    from: Option<usize>,
    merge: u64,
    records: Records,
    has_arrived: bool,
}

/// The merged objects, and their PUTs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Merging {
    objects: BTreeMap<u64, Records>,
    puts: Vec<MergePut>,
    /// How often an open merge may still be abandoned.
    pub abandons: u8,
    /// The events so far: a merge has ended, one was abandoned, the object of one was deleted.
    pub ended: bool,
    pub abandoned: bool,
    pub deleted: bool,
}

impl Merging {
    pub fn new(abandons: u8) -> Merging {
        Merging { abandons, ..Merging::default() }
    }
}

/// Notes where an object's changes are found.
pub fn place(places: &mut Places, number: u64, changes: &Changes) {
    for control in &*changes.controls {
        let Control::EndMerge { pieces, .. } = control else { continue };
        for MergedPiece { partition, piece, next_offset } in &**pieces {
            let merged = places.range_mut((*partition, piece.first_offset)..(*partition, *next_offset));
            merged.for_each(|(_, source)| *source = piece.place.source);
        }
    }
    let placed = changes.entries.iter().map(|entry| ((entry.partition, entry.first_offset), Source::Journal(number)));
    places.extend(placed);
}

/// The end of a merge of these records, each a piece.
fn end_of(merge: u64, records: &Records) -> Control {
    let piece = |((partition, first_offset), _): &((PartitionId, u64), Ticket)| {
        let source = Source::Merged(merge);
        let place = Place {
            source,
            tag: 0,
            object_bytes: 128,
            entries_at: 80,
            batches: BatchCount::from_bits(1),
            batches_at: 120,
            bytes: 8,
        };
        let piece = Piece { first_offset: *first_offset, appended_us: 0, newest_us: 0, place };
        MergedPiece { partition: *partition, piece, next_offset: first_offset + 1 }
    };
    Control::EndMerge { merge, pieces: records.iter().map(piece).collect() }
}

impl World {
    /// The record in an object, if the object exists.
    pub fn stored(&self, key: (PartitionId, u64), source: Source) -> Option<Ticket> {
        match source {
            Source::Journal(number) => self.record(number, key),
            Source::Merged(merge) => {
                let records = self.merging.objects.get(&merge)?;
                records.iter().find(|(at, _)| *at == key).map(|(_, ticket)| *ticket)
            }
        }
    }

    /// Whether a writer knows records that only journal objects have.
    pub fn can_merge(&self, at: usize) -> bool {
        self.places_of(at).values().any(|source| !source.is_merged())
    }

    pub fn begin_merge(&mut self, at: usize) {
        let control = Control::BeginMerge { merge: 0 };
        self.ask(at, BEGIN + at as Ticket, control);
    }

    /// Abandons the open merge of any writer, if this writer knows one.
    pub fn abandon(&mut self, at: usize, merge: u64) {
        self.merging.abandons -= 1;
        self.ask(at, ABANDON + at as Ticket, Control::AbandonMerge { merge });
    }

    fn ask(&mut self, at: usize, ticket: Ticket, control: Control) {
        self.open(at, ticket);
        self.feed(at, Event::Change { ticket, control });
    }

    /// A step of a merge has its answer; false if the ticket is another request's.
    pub fn merge_answered(&mut self, at: usize, ticket: Ticket, outcome: Outcome) -> bool {
        if ticket < BEGIN {
            return false;
        }
        match outcome {
            Outcome::Changed { id } if ticket < END => self.copy(at, id),
            Outcome::Changed { .. } if ticket < ABANDON => self.merging.ended = true,
            Outcome::Changed { .. } => self.merging.abandoned = true,
            _ => {}
        }
        outcome != Outcome::NotStored
    }

    /// Copies every record that the writer knows, and puts the object. That nothing happens in between loses no
    /// generality: the read records were alive when the merge began.
    fn copy(&mut self, at: usize, merge: u64) {
        let places = self.places_of(at).clone();
        let records = places.iter().map(|(key, source)| Some((*key, self.stored(*key, *source)?)));
        let Some(records) = records.collect::<Option<Records>>() else {
            return self.later.push((at, ABANDON + at as Ticket, Control::AbandonMerge { merge }));
        };
        if self.rules().broken == Some(Broken::StoredMerges) {
            self.later.push((at, END + at as Ticket, end_of(merge, &records)));
        }
        self.merging.puts.push(MergePut { from: Some(at), merge, records, has_arrived: false });
        self.merging.puts.sort();
    }

    /// Asks for what followed from answers.
    pub fn ask_later(&mut self) {
        while let Some((at, ticket, control)) = self.later.pop() {
            self.ask(at, ticket, control);
        }
    }

    /// The PUTs that can arrive, and those whose response can.
    pub fn merge_puts(&self) -> impl Iterator<Item = (usize, bool)> {
        self.merging.puts.iter().enumerate().map(|(n, put)| (n, put.has_arrived))
    }

    pub fn merge_arrives(&mut self, n: usize) {
        let Some(put) = self.merging.puts.get_mut(n) else { unreachable!("PUT {n}") };
        put.has_arrived = true;
        let MergePut { merge, records, from, .. } = put.clone();
        self.merging.objects.entry(merge).or_insert(records);
        if from.is_none() {
            self.merging.puts.remove(n);
        }
        self.merging.puts.sort();
    }

    pub fn merge_confirmed(&mut self, n: usize) {
        let put = self.merging.puts.remove(n);
        let Some(at) = put.from else { unreachable!("a response without a writer") };
        if self.rules().broken != Some(Broken::StoredMerges) {
            self.ask(at, END + at as Ticket, end_of(put.merge, &put.records));
        }
    }

    /// Drops the responses to a writer that has died.
    pub fn forget_merge_puts(&mut self, at: usize) {
        self.merging.puts.retain(|put| put.from != Some(at) || !put.has_arrived);
        for put in &mut self.merging.puts {
            put.from = put.from.filter(|from| *from != at);
        }
        self.merging.puts.sort();
    }

    /// The merged objects that can be deleted by the snapshot.
    pub fn deletable_merged(&self, bounds: &Bounds) -> Vec<u64> {
        let Some((state, places)) = self.old_snapshot(bounds) else { return Vec::new() };
        let sources: BTreeSet<Source> = places.values().copied().collect();
        let merged = self.merging.objects.keys().copied();
        merged.filter(|merge| !is_merge_needed(*merge, state.merges(), &sources, bounds.rules)).collect()
    }

    /// Whether a journal object holds what no merged one does, by the snapshot.
    pub fn is_needed(&self, number: u64, bounds: &Bounds) -> bool {
        let Some((_, places)) = self.old_snapshot(bounds) else { return true };
        let mut held = places.iter().filter(|(_, source)| **source == Source::Journal(number)).map(|(key, _)| key);
        if bounds.rules.broken == Some(Broken::EndedMerges) {
            let is_copied =
                |key: &(PartitionId, u64)| self.merging.objects.values().flatten().any(|(copied, _)| copied == key);
            return !held.all(is_copied);
        }
        held.next().is_some()
    }

    pub fn delete_merged(&mut self, merged: Vec<u64>) {
        self.merging.deleted |= !merged.is_empty();
        merged.iter().for_each(|merge| drop(self.merging.objects.remove(merge)));
    }
}
