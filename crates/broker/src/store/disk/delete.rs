//! Deletes a topic's oldest segments.

use super::Durability;
use super::active::Active;
use super::log::Log;
use super::sys::sync_dir;
use crate::limits::SEGMENT_DELETED_PART_MIN;
use crate::store::StoreError;
use std::sync::Arc;

impl Log {
    /// Deletes the segments all of whose records are below `offset`. The last one that holds an object stays: after a
    /// restart its end says which offset comes next.
    pub(super) fn delete_before(&self, offset: u64) -> Result<u64, StoreError> {
        let mut guard = self.state();
        let writer = self.recovered(&mut guard)?;
        if self.failed.get().is_none()
            && writer.active.as_ref().is_some_and(|active| self.is_worth_closing(active, offset))
        {
            self.close_active(writer)?;
        }
        loop {
            let front: Vec<_> =
                self.segments().iter().take(2).map(|(&first, segment)| (first, segment.clone())).collect();
            let (first_offset, segment, can_go) = match front.as_slice() {
                [] => return Ok(offset),
                [(first, segment)] => (*first, segment, false),
                [(first, segment), (next, after), ..] => (*first, segment, *next <= offset && after.bytes() > 0),
            };
            if !can_go {
                return Ok(first_offset);
            }
            let is_active = writer.active.as_ref().is_some_and(|active| Arc::ptr_eq(active.segment(), segment));
            assert!(!is_active, "deleting {}, which takes the commits", segment.path.display());
            segment.remove()?;
            let removed = self.segments_mut().remove(&first_offset);
            assert!(removed.is_some(), "{} was not listed", segment.path.display());
            if self.durability() == Durability::Fsync {
                // One at a time: if a later one vanished before an earlier one, a crash would leave a gap.
                sync_dir(&self.dir)?;
            }
        }
    }

    /// Whether so much of the active segment is deleted that later objects should go to another one.
    fn is_worth_closing(&self, active: &Active, offset: u64) -> bool {
        let deleted = active.entries().iter().rev().find(|entry| entry.next_offset() <= offset);
        let deleted_bytes = deleted.map_or(0, |entry| entry.range().end as u64);
        let bytes = active.entries().last().map_or(0, |entry| entry.range().end as u64);
        let bytes_min = self.shared.options.segment_bytes / SEGMENT_DELETED_PART_MIN;
        deleted_bytes >= bytes_min.max(1) && deleted_bytes >= bytes / 2
    }
}
