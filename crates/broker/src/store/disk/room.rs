//! The blocks that are allocated for a segment's file, in steps.

use super::device::Device;
use crate::limits::{SEGMENT_STEP_BYTES_MAX, SEGMENT_STEP_BYTES_MIN, SEGMENT_STEP_OBJECTS};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// The room in a segment's file.
pub(super) struct Room {
    /// Length of the file.
    capacity: u64,
    allocated: u64,
}

impl Room {
    /// Of a new file, `capacity` bytes long.
    pub(super) fn new(capacity: u64) -> Room {
        Room { capacity, allocated: 0 }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Blocks are allocated for as many of the file's first bytes.
    pub(super) fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Allocates blocks for the file's first `bytes` bytes, in steps. They are those of its `objects` first objects.
    pub(super) fn allocate(&mut self, device: &dyn Device, file: &File, bytes: u64, objects: u64) -> io::Result<()> {
        if bytes <= self.allocated {
            return Ok(());
        }
        let step = (bytes / objects * SEGMENT_STEP_OBJECTS).min(self.allocated).min(SEGMENT_STEP_BYTES_MAX);
        let wanted = bytes.max(self.allocated + step.max(SEGMENT_STEP_BYTES_MIN)).min(self.capacity);
        self.allocate_up_to(device, file, bytes, wanted)
    }

    /// The same, and no more.
    pub(super) fn allocate_exactly(&mut self, device: &dyn Device, file: &File, bytes: u64, _: u64) -> io::Result<()> {
        if bytes > self.allocated { self.allocate_up_to(device, file, bytes, bytes) } else { Ok(()) }
    }

    fn allocate_up_to(&mut self, device: &dyn Device, file: &File, bytes: u64, wanted: u64) -> io::Result<()> {
        let allocate = |end: u64| device.allocate(file, self.allocated..end);
        let is = |error: &io::Error, errno: &[Errno]| {
            errno.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
        };
        let allocated = match allocate(wanted) {
            // The disk has no room for a whole step; the object alone may still fit.
            Err(error) if is(&error, &[Errno::NOSPC, Errno::DQUOT]) => allocate(bytes).map(|()| bytes),
            allocated => allocated.map(|()| wanted),
        };
        self.allocated = match allocated {
            // A file system without it: blocks are allocated by each write.
            Err(error) if is(&error, &[Errno::OPNOTSUPP, Errno::NOSYS]) => self.capacity,
            allocated => allocated?,
        };
        let (allocated, capacity) = (self.allocated, self.capacity);
        assert!(bytes <= allocated && allocated <= capacity, "allocated {allocated} of {capacity} bytes for {bytes}");
        Ok(())
    }

    /// Removes the remains of a failed write from `position` on, so that it doesn't follow a shorter object.
    pub(super) fn discard(&mut self, device: &dyn Device, file: &File, position: u64) -> io::Result<()> {
        self.allocated = self.allocated.min(position);
        device.set_len(file, position)?;
        device.set_len(file, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts the calls.
    #[derive(Default)]
    struct Counted(AtomicU64);

    impl Device for Counted {
        fn allocate(&self, _: &File, _: Range<u64>) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    /// How many bytes were allocated at most that no object needed, and in how many steps.
    fn steps(object_bytes: u64, objects: u64) -> (u64, u64) {
        let (device, file) = (Counted::default(), tempfile::tempfile().unwrap());
        let (mut room, mut unused) = (Room::new(256 << 20), 0);
        for number in 1..=objects {
            room.allocate(&device, &file, number * object_bytes, number).unwrap();
            unused = unused.max(room.allocated() - number * object_bytes);
        }
        (unused, device.0.into_inner())
    }

    #[test]
    fn small_objects_reserve_room_for_few_seconds_and_large_ones_in_few_steps() {
        let (unused, small) = steps(3 << 10, 60_000);
        assert!(unused < (3 << 20) && small <= 62, "{unused} bytes, {small} steps");
        let (unused, large) = steps(1 << 20, 256);
        assert!(unused < (64 << 20) && large <= 10, "{unused} bytes, {large} steps");
    }
}
