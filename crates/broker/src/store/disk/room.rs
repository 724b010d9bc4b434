//! The blocks that are allocated for a segment's file, in steps.

use super::device::Device;
use crate::limits::{SEGMENT_STEP_BYTES_MAX, SEGMENT_STEP_BYTES_MIN};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// The room in a segment's file.
pub(super) struct Room {
    /// Length of the file.
    capacity: u64,
    allocated: u64,
    step: u64,
}

impl Room {
    /// Of a new file, `capacity` bytes long.
    pub(super) fn new(capacity: u64) -> Room {
        Room { capacity, allocated: 0, step: SEGMENT_STEP_BYTES_MIN }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Blocks are allocated for as many of the file's first bytes.
    pub(super) fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Allocates blocks for the file's first `bytes` bytes, in doubling steps.
    pub(super) fn allocate(&mut self, device: &dyn Device, file: &File, bytes: u64) -> io::Result<()> {
        if bytes <= self.allocated {
            return Ok(());
        }
        let wanted = bytes.max(self.allocated + self.step).min(self.capacity);
        self.allocate_up_to(device, file, bytes, wanted)?;
        self.step = (self.step * 2).min(SEGMENT_STEP_BYTES_MAX);
        Ok(())
    }

    /// The same, and no more.
    pub(super) fn allocate_exactly(&mut self, device: &dyn Device, file: &File, bytes: u64) -> io::Result<()> {
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
