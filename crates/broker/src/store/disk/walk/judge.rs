//! Tells damage from writes that a crash interrupted.

use super::super::seal::{Entry, Seal};
use super::{Damage, Step, Torn, Walk, Walked};
use crate::object::{self, HEADER_BYTES, OBJECT_ALIGNMENT, ObjectIndex};
use std::ops::Range;

/// A disk writes at least this much or nothing.
const SECTOR_BYTES: usize = 512;

impl Walk<'_> {
    /// Tells damage from writes that a crash interrupted. `stopped`: why the data after the last step are no object.
    pub(super) fn judge(mut self, stopped: Option<String>) -> Walked {
        let said = self.steps.iter().map(|step| step.confirmed_next_offset).max().unwrap_or(0);
        let confirmed = said.max(self.strangers_confirmed).max(self.known.next_segment.unwrap_or(0));
        let is_torn = |step: &Step| {
            let was_written = step.entry.first_offset() < confirmed || !self.misses_sector(step.entry.range());
            step.damage.is_some() && !(self.known.is_synced && was_written)
        };
        let (mut torn, mut damaged_end) = (None, None);
        if let Some(cut) = self.steps.iter().position(is_torn) {
            let mut steps = self.steps.split_off(cut).into_iter();
            torn = steps.next().map(|step| Torn {
                position: step.entry.range().start as u64,
                why: step.damage.unwrap_or_else(|| unreachable!("{:?} is torn, but not damaged", step.entry)),
                whole_objects_after: steps.filter(|step| step.damage.is_none()).count(),
            });
        } else if let Some(why) = stopped {
            let is_lost = match self.known.next_segment {
                Some(next_segment) => self.offset < next_segment,
                None => self.offset < confirmed || self.was_written(),
            };
            if self.known.is_synced && is_lost {
                damaged_end = self.damaged_end(why);
            } else {
                torn = Some(Torn { position: self.position as u64, why, whole_objects_after: 0 });
            }
        }
        let damage: Vec<_> = self.steps.iter().filter_map(Step::damage).chain(damaged_end).collect();
        let seal = self.seal();
        if let Some(torn) = &torn {
            assert_eq!(torn.position, seal.segment_bytes, "the log ends elsewhere than where it is torn");
        }
        Walked { seal, damage, torn }
    }

    /// The damage at the end of the data: a step if the next segment says how many records are lost.
    fn damaged_end(&mut self, why: String) -> Option<Damage> {
        let end = self.data_end.next_multiple_of(OBJECT_ALIGNMENT).min(self.mapping.len());
        let appended_us = self.steps.last().map_or(0, |step| step.entry.appended_us());
        let next_offset = self.known.next_segment.filter(|&next| next > self.offset);
        let entry = next_offset.and_then(|next| Entry::damaged(self.offset, next, appended_us, self.position..end));
        let Some(entry) = entry else {
            let position = self.position as u64;
            return Some(Damage { position, why, first_offset: self.offset, next_offset: None });
        };
        self.steps.push(Step { entry, confirmed_next_offset: 0, damage: Some(why) });
        None
    }

    /// Whether the damaged object at `position`, after which nothing is whole, was written to its end: a crash leaves a
    /// part of a write as whole sectors of zeros.
    fn was_written(&self) -> bool {
        let rest = self.rest();
        let Some(front) = rest.get(..HEADER_BYTES) else { return false };
        if front.iter().all(|&byte| byte == 0) {
            let end = (self.position + HEADER_BYTES).next_multiple_of(SECTOR_BYTES);
            return !self.misses_sector(self.position..end);
        }
        if ObjectIndex::parse(rest).is_ok() {
            // It belongs elsewhere.
            return false;
        }
        let remains = object::remains(rest, self.offset, self.writer_id);
        let object_bytes = remains.into_iter().flat_map(|remains| remains.object_bytes).flatten();
        object_bytes.map(|bytes| self.position..self.position + bytes as usize).any(|range| !self.misses_sector(range))
    }

    /// Whether the part of a sector that lies in `range` is missing or all zeros.
    fn misses_sector(&self, range: Range<usize>) -> bool {
        let Some(bytes) = self.mapping.get(range.clone()) else { return true };
        let first = bytes.len().min(range.start.next_multiple_of(SECTOR_BYTES) - range.start);
        let (first, others) = bytes.split_at(first);
        let is_zero = |sector: &[u8]| sector.iter().all(|&byte| byte == 0);
        (!first.is_empty() && is_zero(first)) || others.chunks(SECTOR_BYTES).any(is_zero)
    }

    fn seal(&self) -> Seal {
        for (one, next) in self.steps.iter().zip(self.steps.iter().skip(1)) {
            let (one, next) = (one.entry, next.entry);
            assert_eq!(one.next_offset(), next.first_offset(), "records between {one:?} and {next:?}");
            assert_eq!(one.range().end, next.range().start, "bytes between {one:?} and {next:?}");
        }
        let last = self.steps.last().map(|step| step.entry);
        Seal {
            first_offset: self.known.first_offset,
            next_offset: last.map_or(self.known.first_offset, |last| last.next_offset()),
            segment_bytes: last.map_or(0, |last| last.range().end as u64),
            writer_id: self.writer_id.unwrap_or(0),
            entries: self.steps.iter().map(|step| step.entry).collect(),
        }
    }
}

impl Step {
    fn damage(&self) -> Option<Damage> {
        Some(Damage {
            position: self.entry.range().start as u64,
            why: self.damage.clone()?,
            first_offset: self.entry.first_offset(),
            next_offset: Some(self.entry.next_offset()),
        })
    }
}
