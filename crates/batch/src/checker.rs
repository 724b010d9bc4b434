//! The same checks as [`crate::Batch::parse`], over bytes that arrive in pieces of any length.
//!
//! A broker receives a body in blocks that no batch's borders respect. Joining them to parse would copy every byte once
//! more; this walks over them as they come, while they are still in the processor's cache.

use crate::header::{CRC_POSITION, HEADER_BYTES, Header};
use crate::parse::check_sum;
use crate::{BatchError, Codec, Crc32c, Limits};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// What is known of one checked batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchMeta {
    /// Where the batch begins, in bytes from the first byte pushed.
    pub position: u64,
    /// Its length, header and padding included.
    pub bytes: u32,
    /// Its number of records.
    pub records: u32,
    /// Sum of its records' sizes.
    pub raw_bytes: u32,
    /// Its checksum as stored, found to be right.
    pub crc32c: u32,
    /// How its data is compressed.
    pub codec: Codec,
}

enum Section {
    /// Fewer than 64 bytes of a header so far.
    Header {
        held: [u8; HEADER_BYTES],
        have: usize,
    },
    /// Inside the sizes; `held` is the front of a size that a piece's border cut.
    Sizes {
        header: Header,
        left: u64,
        sum: u64,
        held: [u8; 4],
        have: usize,
    },
    Data {
        header: Header,
        left: u32,
    },
    Padding {
        header: Header,
        left: usize,
    },
}

impl Section {
    const START: Section = Section::Header { held: [0; HEADER_BYTES], have: 0 };
}

/// Checks batches that lie back to back in a stream of bytes. After an error it must not be used any more.
pub struct Checker {
    limits: Limits,
    section: Section,
    crc: Crc32c,
    batch_position: u64,
    position: u64,
    batches: Vec<BatchMeta>,
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

    /// Batches checked to their end so far.
    pub fn batches(&self) -> &[BatchMeta] {
        &self.batches
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), BatchError> {
        loop {
            // A section of no length passes without a byte: the padding of a batch that needs none, empty data.
            let taken = self.step(piece)?;
            let Some(rest) = piece.get(taken..) else { return Ok(()) };
            self.position += taken as u64;
            piece = rest;
            if piece.is_empty() && !self.at_empty_section() {
                return Ok(());
            }
        }
    }

    /// Ends the stream and gives its batches; one that is not whole is an error, and so is a stream without any.
    pub fn finish(self) -> Result<Vec<BatchMeta>, BatchError> {
        let have = self.position - self.batch_position;
        match self.section {
            Section::Header { have: 0, .. } if self.batches.is_empty() => Err(BatchError::Empty),
            Section::Header { have: 0, .. } => Ok(self.batches),
            Section::Header { .. } => Err(BatchError::Truncated { have, need: HEADER_BYTES as u64 }),
            Section::Sizes { header, .. } | Section::Data { header, .. } | Section::Padding { header, .. } => {
                Err(BatchError::Truncated { have, need: header.batch_bytes() })
            }
        }
    }

    fn at_empty_section(&self) -> bool {
        matches!(self.section, Section::Data { left: 0, .. } | Section::Padding { left: 0, .. })
    }

    /// Works on the section at hand; gives the number of bytes it took.
    fn step(&mut self, piece: &[u8]) -> Result<usize, BatchError> {
        match &mut self.section {
            Section::Header { held, have } => {
                let taken = fill(held, have, piece);
                if *have == HEADER_BYTES {
                    let header = Header::parse(held, &self.limits)?;
                    self.crc = Crc32c::new();
                    self.crc.update(held.split_at(CRC_POSITION).0);
                    self.section = Section::Sizes { header, left: header.sizes_bytes(), sum: 0, held: [0; 4], have: 0 };
                }
                Ok(taken)
            }
            Section::Sizes { header, left, sum, held, have } => {
                let here = front(piece, *left);
                self.crc.update(here);
                *left -= here.len() as u64;
                let mut rest = here;
                if *have > 0 {
                    let taken = fill(held, have, rest);
                    rest = rest.get(taken..).unwrap_or_default();
                    if *have == held.len() {
                        *sum += u64::from(u32::from_le_bytes(*held));
                        *have = 0;
                    }
                }
                let (sizes, cut) = rest.split_at(rest.len() - rest.len() % 4);
                if let Ok(sizes) = <[U32]>::ref_from_bytes(sizes) {
                    *sum += crate::parse::sum(sizes);
                }
                fill(held, have, cut);
                if *left == 0 {
                    check_sum(*sum, header)?;
                    self.section = Section::Data { header: *header, left: header.data_bytes };
                }
                Ok(here.len())
            }
            Section::Data { header, left } => {
                let here = front(piece, u64::from(*left));
                self.crc.update(here);
                *left -= here.len() as u32;
                if *left == 0 {
                    self.section = Section::Padding { header: *header, left: header.padding_bytes() };
                }
                Ok(here.len())
            }
            Section::Padding { header, left } => {
                let here = front(piece, *left as u64);
                if let Some(at) = here.iter().position(|&byte| byte != 0) {
                    let position = header.batch_bytes() - *left as u64 + at as u64;
                    return Err(BatchError::Reserved { position: position as u32 });
                }
                self.crc.update(here);
                *left -= here.len();
                if *left == 0 {
                    let header = *header;
                    self.end_batch(&header)?;
                }
                Ok(here.len())
            }
        }
    }

    fn end_batch(&mut self, header: &Header) -> Result<(), BatchError> {
        let computed = self.crc.value();
        if computed != header.crc32c {
            return Err(BatchError::Crc { stored: header.crc32c, computed });
        }
        self.batches.push(BatchMeta {
            position: self.batch_position,
            bytes: header.batch_bytes() as u32,
            records: header.records,
            raw_bytes: header.raw_bytes,
            crc32c: header.crc32c,
            codec: header.codec,
        });
        self.batch_position += header.batch_bytes();
        self.section = Section::START;
        Ok(())
    }
}

/// The part of `piece` that belongs to a section with `left` bytes to go.
fn front(piece: &[u8], left: u64) -> &[u8] {
    let count = (piece.len() as u64).min(left) as usize;
    piece.split_at(count).0
}

/// Copies from `piece` into what is free of `held`; gives the number of bytes copied.
fn fill(held: &mut [u8], have: &mut usize, piece: &[u8]) -> usize {
    let count = piece.len().min(held.len() - *have);
    if let (Some(to), Some(from)) = (held.get_mut(*have..*have + count), piece.get(..count)) {
        to.copy_from_slice(from);
    }
    *have += count;
    count
}
