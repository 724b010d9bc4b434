//! The segment that a topic's commits go to: objects are appended to it back to back.

use super::io_error;
use super::open_files::OpenFiles;
use super::room::Room;
use super::seal::{Entry, Seal};
use super::segment::Segment;
use crate::object::{OBJECT_ALIGNMENT, Object};
use crate::store::StoreError;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The segment that a topic's commits go to.
pub(super) struct Active {
    segment: Arc<Segment>,
    /// Length of the objects whose bytes are in the file.
    written: Arc<AtomicU64>,
    room: Room,
    writer_id: u64,
    entries: Vec<Entry>,
}

impl Active {
    /// Creates a segment for objects from `first_offset` on, with room for `capacity` bytes. Its directory is not
    /// synced.
    pub(super) fn create(
        dir: &Path,
        first_offset: u64,
        capacity: u64,
        writer_id: u64,
        files: &Arc<OpenFiles>,
    ) -> Result<Active, StoreError> {
        Ok(Active {
            segment: Arc::new(Segment::create(dir, first_offset, capacity, files)?),
            written: Arc::default(),
            room: Room::new(capacity),
            writer_id,
            entries: Vec::new(),
        })
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether `object` may be appended here: it fits, and was written by the run that wrote the others.
    pub(super) fn takes(&self, object: &Object) -> bool {
        let end = self.written().checked_add(object.header.object_bytes);
        self.writer_id == object.header.writer_id && end.is_some_and(|end| end <= self.room.capacity())
    }

    /// Appends an object that it takes, without making it durable or visible. After an error the next object is written
    /// in its place.
    pub(super) fn write(&mut self, object: &Object) -> Result<Written, StoreError> {
        let position = self.written();
        let end = position + object.header.object_bytes;
        self.check(object, position, end);
        let file = self.segment.file()?;
        let allocated = self.room.allocate(self.segment.device(), &file, end);
        if let Err(error) = allocated.and_then(|()| self.segment.device().write(&file, &object.parts, position)) {
            self.discard(&file, position);
            return Err(io_error("write to", &self.segment.path, &error));
        }
        self.entries.push(Entry::new(&object.header, position as u32));
        self.written.store(end, Ordering::Release);
        Ok(Written {
            segment: self.segment.clone(),
            file,
            written: self.written.clone(),
            position: position as u32,
            end,
        })
    }

    /// Objects lie back to back and in order, and no byte that a reader may see is written again.
    fn check(&self, object: &Object, position: u64, end: u64) {
        let next_offset = self.entries.last().map_or(self.segment.first_offset, Entry::next_offset);
        assert_eq!(
            object.header.first_offset,
            next_offset,
            "an object out of order in {}",
            self.segment.path.display()
        );
        assert_eq!(object.header.writer_id, self.writer_id, "an object of another run");
        assert!(position >= self.segment.bytes(), "writing at {position} below {}", self.segment.bytes());
        let capacity = self.room.capacity();
        assert!(position < end && end <= capacity, "{position}..{end} in a segment of {capacity} bytes");
        assert!(end.is_multiple_of(OBJECT_ALIGNMENT as u64), "an object that ends at {end} is not aligned");
    }

    /// All that was written to the segment.
    pub(super) fn all_written(&self) -> Result<Written, StoreError> {
        let (segment, file) = (self.segment.clone(), self.segment.file()?);
        Ok(Written { segment, file, written: self.written.clone(), position: 0, end: self.written() })
    }

    /// Cuts the segment off after its last object, which readers see. The result seals it; it may be called later, on
    /// any thread, and after the directory's lock is released.
    pub(super) fn finish(self, next_offset: u64) -> impl FnOnce() + Send + 'static {
        assert_eq!(self.segment.bytes(), self.written(), "a segment ends with objects that are not confirmed");
        let end_offset = self.entries.last().map_or(self.segment.first_offset, Entry::next_offset);
        assert_eq!(next_offset, end_offset, "the next segment would not follow {}", self.segment.path.display());
        let Active { segment, writer_id, entries, .. } = self;
        segment.set_entries(Some(entries.clone()));
        let seal = Seal {
            first_offset: segment.first_offset,
            next_offset,
            segment_bytes: segment.bytes(),
            writer_id,
            entries,
        };
        let cut = segment.unless_removed(|| segment.cut(&*segment.file()?, seal.segment_bytes));
        move || {
            let seal = |()| segment.seal(&*segment.file()?, &seal.encode(), seal.segment_bytes);
            let sealed = cut.and_then(|cut| segment.unless_removed(|| cut.and_then(seal)));
            if let Some(Err(error)) = sealed {
                tracing::error!(%error, "a full segment could not be sealed; the next start walks it and seals it");
            }
        }
    }

    fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Best effort: removes what a failed write left from `position` on, so that it doesn't follow a shorter object.
    fn discard(&mut self, file: &File, position: u64) {
        assert!(position >= self.segment.bytes(), "discarding from {position} below {}", self.segment.bytes());
        if let Err(error) = self.room.discard(self.segment.device(), file, position) {
            let segment = self.segment.path.display();
            tracing::warn!(%segment, %error, "the rest of a failed write stays in the file");
        }
    }
}

/// An object whose bytes are in a segment's file.
pub(super) struct Written {
    segment: Arc<Segment>,
    file: Arc<File>,
    /// Length of the objects whose bytes are in the file, this one and later ones.
    written: Arc<AtomicU64>,
    /// Where it begins in the file.
    pub(super) position: u32,
    end: u64,
}

impl Written {
    pub(super) fn segment_first_offset(&self) -> u64 {
        self.segment.first_offset
    }

    pub(super) fn bytes(&self) -> u64 {
        self.end - u64::from(self.position)
    }

    /// Whether readers see it.
    pub(super) fn is_published(&self) -> bool {
        self.segment.bytes() >= self.end
    }

    /// Makes it durable, and all that was written before this call, and lets readers see that. One at a time for a
    /// topic.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let written = self.written.load(Ordering::Acquire);
        assert!(written >= self.end, "{written} bytes are written, an object ends at {}", self.end);
        self.segment.device().sync(&self.file).map_err(|error| io_error("sync", &self.segment.path, &error))?;
        self.segment.publish(written);
        Ok(())
    }

    /// Lets readers see it, and all before it.
    pub(super) fn publish(&self) {
        self.segment.publish(self.end);
    }
}
