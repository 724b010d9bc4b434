//! The checks of RecordBatches that arrive in pieces of any length.

use super::header::CRC_FROM;
use super::structure::RecordsCheck;
use super::{RECORD_BATCH_HEADER_BYTES, RecordBatchError, RecordBatchHeader, RecordCodec, RecordError};
use crate::{Crc32c, Limits};

/// A batch that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedRecordBatch {
    /// Position of the batch, in bytes from the first byte pushed.
    pub position: u64,
    /// Its header.
    pub header: RecordBatchHeader,
}

/// Checks RecordBatches that follow each other in a stream of bytes: their headers and checksums and, of a producer's
/// batch that isn't compressed, that its records can be read. Those in compressed ones are the consumers' affair.
///
/// It keeps the headers and none of the other bytes. After an error every further call returns that error.
#[derive(Debug, Clone)]
pub struct RecordBatchChecker {
    limits: Limits,
    /// Whether the batches come from a log, not from a producer.
    is_stored: bool,
    /// The header of the current batch, as far as it has arrived.
    held: [u8; RECORD_BATCH_HEADER_BYTES],
    have: usize,
    /// The current batch once its header is whole, and how many of its bytes are missing.
    body: Option<(RecordBatchHeader, u64)>,
    crc: Crc32c,
    /// The check of the current batch's records, or their error, which matters only if the checksum is right.
    records: Option<Result<RecordsCheck, RecordError>>,
    /// Bytes of the batches that are whole.
    position: u64,
    batches: Vec<CheckedRecordBatch>,
    failed: Option<RecordBatchError>,
}

impl RecordBatchChecker {
    /// Ready for a stream's first byte.
    pub fn new(limits: Limits) -> Self {
        RecordBatchChecker {
            limits,
            is_stored: false,
            held: [0; RECORD_BATCH_HEADER_BYTES],
            have: 0,
            body: None,
            crc: Crc32c::new(),
            records: None,
            position: 0,
            batches: Vec::new(),
            failed: None,
        }
    }

    /// The same for batches that a broker has stored, which may be compacted.
    pub fn stored(limits: Limits) -> Self {
        RecordBatchChecker { is_stored: true, ..RecordBatchChecker::new(limits) }
    }

    /// Batches that have been checked completely so far.
    pub fn batches(&self) -> &[CheckedRecordBatch] {
        &self.batches
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), RecordBatchError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        while !piece.is_empty() {
            let taken = match self.body {
                None => self.take_header(piece),
                Some((header, left)) => self.take_body(header, left, piece),
            };
            match taken {
                Ok(taken) => piece = piece.split_at(taken).1,
                Err(error) => {
                    self.failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Ends the stream and returns its batches. An incomplete batch is an error, and so is a stream without any.
    pub fn finish(self) -> Result<Vec<CheckedRecordBatch>, RecordBatchError> {
        match (self.failed, self.body) {
            (Some(error), _) => Err(error),
            (None, Some((header, left))) => {
                let need = u64::from(header.batch_bytes);
                Err(RecordBatchError::Truncated { have: need - left, need })
            }
            (None, None) if self.have > 0 => {
                let (have, need) = (self.have as u64, RECORD_BATCH_HEADER_BYTES as u64);
                Err(RecordBatchError::Truncated { have, need })
            }
            (None, None) if self.batches.is_empty() => Err(RecordBatchError::Empty),
            (None, None) => Ok(self.batches),
        }
    }

    fn take_header(&mut self, piece: &[u8]) -> Result<usize, RecordBatchError> {
        let free = self.held.split_at_mut(self.have).1;
        let taken = piece.len().min(free.len());
        free.split_at_mut(taken).0.copy_from_slice(piece.split_at(taken).0);
        self.have += taken;
        if self.have == RECORD_BATCH_HEADER_BYTES {
            let parse = if self.is_stored { RecordBatchHeader::parse_stored } else { RecordBatchHeader::parse };
            let header = parse(&self.held, &self.limits)?;
            self.crc.reset();
            self.crc.update(self.held.split_at(CRC_FROM).1);
            self.have = 0;
            let is_checked = !self.is_stored && header.codec == RecordCodec::None;
            self.records = is_checked.then(|| Ok(RecordsCheck::new(&header)));
            self.goes_on(header, u64::from(header.batch_bytes) - RECORD_BATCH_HEADER_BYTES as u64)?;
        }
        Ok(taken)
    }

    fn take_body(&mut self, header: RecordBatchHeader, left: u64, piece: &[u8]) -> Result<usize, RecordBatchError> {
        let taken = (piece.len() as u64).min(left) as usize;
        let piece = piece.split_at(taken).0;
        self.crc.update(piece);
        if let Some(Ok(records)) = &mut self.records
            && let Err(error) = records.push(piece)
        {
            self.records = Some(Err(error));
        }
        self.goes_on(header, left - taken as u64)?;
        Ok(taken)
    }

    /// The current batch lacks `left` bytes.
    fn goes_on(&mut self, header: RecordBatchHeader, left: u64) -> Result<(), RecordBatchError> {
        if left > 0 {
            self.body = Some((header, left));
            return Ok(());
        }
        let (found, expected) = (header.crc32c, self.crc.value());
        if found != expected {
            return Err(RecordBatchError::Checksum { found, expected });
        }
        if let Some(checked) = self.records.take() {
            checked.and_then(|records| records.finish()).map_err(RecordBatchError::Content)?;
        }
        self.body = None;
        self.batches.push(CheckedRecordBatch { position: self.position, header });
        self.position += u64::from(header.batch_bytes);
        Ok(())
    }
}
