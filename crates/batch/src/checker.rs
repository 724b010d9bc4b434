//! The same checks as [`crate::Batch::parse`], over bytes that arrive in pieces of any length.
//!
//! A broker receives a body in blocks that no batch's borders respect. Joining them to parse would copy every byte once
//! more; this walks over them as they come, while they are still in the processor's cache.

use crate::header::{CRC_POSITION, HEADER_BYTES, Header};
use crate::parse::{check_contents, first_nonzero, sum};
use crate::{BatchError, Codec, Crc32c, Limits};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// Properties of one checked batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchMeta {
    /// Position of the batch, in bytes from the first byte pushed.
    pub position: u64,
    /// Its size in bytes, header and padding included.
    pub bytes: u32,
    /// Its number of records.
    pub records: u32,
    /// Sum of its records' sizes.
    pub raw_bytes: u32,
    /// Its checksum as stored, verified.
    pub crc32c: u32,
    /// How its data is compressed.
    pub codec: Codec,
    /// The producer's id; 0 without one.
    pub producer_id: u64,
    /// The producer's number for the first record.
    pub sequence: u64,
}

/// Checks batches that follow each other in a stream of bytes.
///
/// It keeps one [`BatchMeta`] per batch and none of the bytes. After an error every further call returns that error.
#[derive(Debug, Clone)]
pub struct Checker {
    limits: Limits,
    section: Section,
    /// Of the current batch, so far. Not in [`Body`]: the digest carries its own constants, which would move with it.
    crc: Crc32c,
    /// Position of the current batch.
    batch_position: u64,
    /// Bytes taken so far.
    position: u64,
    batches: Vec<BatchMeta>,
}

#[derive(Debug, Clone)]
enum Section {
    /// Fewer than [`HEADER_BYTES`] so far; `held` is the front of a header that a piece's border cut.
    Header {
        held: [u8; HEADER_BYTES],
        have: usize,
    },
    Body(Body),
    Failed(BatchError),
}

impl Section {
    const START: Section = Section::Header { held: [0; HEADER_BYTES], have: 0 };
}

impl Checker {
    /// Ready for a stream's first byte.
    pub fn new(limits: Limits) -> Self {
        Checker {
            limits,
            section: Section::START,
            crc: Crc32c::new(),
            batch_position: 0,
            position: 0,
            batches: Vec::new(),
        }
    }

    /// Batches that have been checked completely so far.
    pub fn batches(&self) -> &[BatchMeta] {
        &self.batches
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), BatchError> {
        while !piece.is_empty() {
            match self.step(piece) {
                Ok(taken) => {
                    assert!(taken > 0, "a piece of {} bytes belongs to no section", piece.len());
                    self.position += taken as u64;
                    piece = piece.split_at(taken).1;
                }
                Err(error) => {
                    self.section = Section::Failed(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Ends the stream and returns its batches. An incomplete batch is an error, and so is a stream without any.
    pub fn finish(self) -> Result<Vec<BatchMeta>, BatchError> {
        assert!(self.position >= self.batch_position, "{} before {}", self.position, self.batch_position);
        let have = self.position - self.batch_position;
        match self.section {
            Section::Header { have: 0, .. } if self.batches.is_empty() => Err(BatchError::Empty),
            Section::Header { have: 0, .. } => Ok(self.batches),
            Section::Header { .. } => Err(BatchError::Truncated { have, need: HEADER_BYTES as u64 }),
            Section::Body(body) => Err(BatchError::Truncated { have, need: body.header.batch_bytes() }),
            Section::Failed(error) => Err(error),
        }
    }

    /// Takes from the front of `piece`, which is not empty, what belongs to the current section. Returns the number of
    /// bytes taken.
    fn step(&mut self, piece: &[u8]) -> Result<usize, BatchError> {
        match (&mut self.section, piece.first_chunk()) {
            // The usual case: the whole header is in this piece.
            (Section::Header { have: 0, .. }, Some(front)) => {
                self.section = Section::Body(Body::new(front, &self.limits, &mut self.crc)?);
                Ok(HEADER_BYTES)
            }
            (Section::Header { held, have }, _) => {
                let taken = fill(held, have, piece);
                if *have == HEADER_BYTES {
                    self.section = Section::Body(Body::new(held, &self.limits, &mut self.crc)?);
                }
                Ok(taken)
            }
            (Section::Body(body), _) => {
                let taken = body.take(piece, &mut self.crc);
                if body.left == 0 {
                    body.finish(self.crc.value())?;
                    self.batches.push(body.meta(self.batch_position));
                    self.batch_position += body.header.batch_bytes();
                    assert_eq!(
                        self.batch_position,
                        self.position + taken as u64,
                        "a batch ends elsewhere than its bytes"
                    );
                    self.section = Section::START;
                }
                Ok(taken)
            }
            (Section::Failed(error), _) => Err(error.clone()),
        }
    }
}

/// The part after the header: sizes, data, padding.
#[derive(Debug, Clone)]
struct Body {
    header: Header,
    /// Bytes of it taken so far, and those to come.
    done: u64,
    left: u64,
    /// Sum of the sizes so far, and the front of a size that a piece's border cut.
    sum: u64,
    held: [u8; 4],
    have: usize,
    /// Position in the batch of the first byte of padding that is not zero.
    nonzero: Option<u32>,
}

impl Body {
    fn new(front: &[u8; HEADER_BYTES], limits: &Limits, crc: &mut Crc32c) -> Result<Body, BatchError> {
        let header = Header::parse(front, limits)?;
        crc.reset();
        crc.update(front.split_at(CRC_POSITION).0);
        let left = header.batch_bytes() - HEADER_BYTES as u64;
        Ok(Body { header, done: 0, left, sum: 0, held: [0; 4], have: 0, nonzero: None })
    }

    /// Takes from the front of `piece` what belongs to this batch. Returns the number of bytes taken.
    fn take(&mut self, piece: &[u8], crc: &mut Crc32c) -> usize {
        let here = front(piece, self.left);
        crc.update(here);
        let sizes_left = self.header.sizes_bytes().saturating_sub(self.done);
        if sizes_left > 0 {
            self.take_sizes(front(here, sizes_left));
        }
        let padding = self.header.sizes_bytes() + u64::from(self.header.data_bytes);
        let before = padding.saturating_sub(self.done);
        if before < here.len() as u64 && self.nonzero.is_none() {
            let zeros = here.split_at(before as usize).1;
            let position = HEADER_BYTES as u64 + self.done + before;
            self.nonzero = first_nonzero(zeros).map(|at| (position + at as u64) as u32);
        }
        self.done += here.len() as u64;
        self.left -= here.len() as u64;
        let body_bytes = self.header.batch_bytes() - HEADER_BYTES as u64;
        assert_eq!(self.done + self.left, body_bytes, "bytes of a batch were lost or counted twice");
        here.len()
    }

    fn take_sizes(&mut self, mut bytes: &[u8]) {
        if self.have > 0 {
            let taken = fill(&mut self.held, &mut self.have, bytes);
            bytes = bytes.split_at(taken).1;
            if self.have < self.held.len() {
                return;
            }
            self.sum += u64::from(u32::from_le_bytes(self.held));
            self.have = 0;
        }
        let (sizes, cut) = bytes.split_at(bytes.len() - bytes.len() % size_of::<U32>());
        let Ok(sizes) = <[U32]>::ref_from_bytes(sizes) else {
            unreachable!("{} bytes are no whole number of sizes", sizes.len())
        };
        self.sum += sum(sizes);
        assert_eq!(self.have, 0, "a size was cut although the one before it is not whole");
        fill(&mut self.held, &mut self.have, cut);
    }

    /// Checks what needs the whole batch.
    fn finish(&self, crc32c: u32) -> Result<(), BatchError> {
        assert_eq!((self.left, self.have), (0, 0), "a batch is finished before its end");
        check_contents(&self.header, crc32c, self.sum, self.nonzero)
    }

    fn meta(&self, position: u64) -> BatchMeta {
        BatchMeta {
            position,
            bytes: self.header.batch_bytes() as u32,
            records: self.header.records,
            raw_bytes: self.header.raw_bytes,
            crc32c: self.header.crc32c,
            codec: self.header.codec,
            producer_id: self.header.producer_id,
            sequence: self.header.sequence,
        }
    }
}

/// The part of `piece` that belongs to a section that lacks `left` bytes.
fn front(piece: &[u8], left: u64) -> &[u8] {
    let count = (piece.len() as u64).min(left) as usize;
    piece.split_at(count).0
}

/// Copies from `piece` into the free end of `held`. Returns the number of bytes copied.
fn fill(held: &mut [u8], have: &mut usize, piece: &[u8]) -> usize {
    let count = piece.len().min(held.len() - *have);
    let to = held.split_at_mut(*have).1.split_at_mut(count).0;
    to.copy_from_slice(piece.split_at(count).0);
    *have += count;
    assert!(*have <= held.len(), "{have} of {} bytes are held", held.len());
    count
}
