//! The records of Kafka's batches in a read, one by one.

use crate::error::ClientError;
use rawline_batch::record_batch::{
    CheckedRecordBatch, RECORD_BATCH_HEADER_BYTES, Record, RecordCodec, RecordCursor, RecordError, unpack,
};
use std::ops::Range;

/// Reads the records of batches that lie in one buffer. Compressed ones are unpacked into another, a batch at a time.
#[derive(Debug)]
pub(crate) struct KafkaRecords<'a> {
    batches: std::slice::Iter<'a, CheckedRecordBatch>,
    /// A batch may unpack to this many bytes.
    raw_bytes_max: u32,
    next_batch_offset: u64,
    current: Option<Current>,
}

/// The position in a batch.
#[derive(Debug)]
struct Current {
    /// The range of its records in the received bytes; `None` if they were decompressed.
    received: Option<Range<usize>>,
    cursor: RecordCursor,
    /// The offset of the batch.
    first_offset: u64,
    /// The lowest offset that its next record can have.
    next_offset: u64,
}

impl Current {
    /// The owner of the records' bytes.
    fn section<'r>(&self, received: &'r [u8], unpacked: &'r [u8]) -> &'r [u8] {
        let Some(range) = self.received.clone() else { return unpacked };
        let Some(section) = received.get(range) else {
            unreachable!("{:?} is not in {} received bytes", self.received, received.len())
        };
        section
    }
}

impl<'a> KafkaRecords<'a> {
    /// The records of these batches, the first of which begins at `first_offset`.
    pub(crate) fn new(batches: &'a [CheckedRecordBatch], first_offset: u64, raw_bytes_max: u32) -> KafkaRecords<'a> {
        KafkaRecords { batches: batches.iter(), raw_bytes_max, next_batch_offset: first_offset, current: None }
    }

    /// The next record from the offset `from` on, with its offset; `None` at the end. After an error it continues with
    /// the next batch. The arguments must be the same each time.
    pub(crate) fn next<'r>(
        &mut self,
        received: &'r [u8],
        unpacked: &'r mut Vec<u8>,
        from: u64,
    ) -> Result<Option<(u64, Record<'r>)>, ClientError> {
        loop {
            match &mut self.current {
                Some(current) if current.cursor.has_next() => break,
                Some(_) => self.end_batch(received, unpacked)?,
                None => {
                    if !self.begin_batch(received, unpacked, from)? {
                        return Ok(None);
                    }
                }
            }
        }
        self.read(received, unpacked).map(Some)
    }

    /// The next record of the current batch, which has one.
    fn read<'r>(&mut self, received: &'r [u8], unpacked: &'r [u8]) -> Result<(u64, Record<'r>), ClientError> {
        let Some(current) = &mut self.current else { unreachable!("a record of no batch") };
        let section = current.section(received, unpacked);
        match current.cursor.read(section) {
            Some(Ok(record)) => {
                let offset = current.first_offset + u64::from(record.offset_delta);
                current.next_offset = offset + 1;
                Ok((offset, record))
            }
            Some(Err(error)) => {
                let next_offset = current.next_offset;
                Err(self.unreadable(next_offset, error))
            }
            None => unreachable!("a batch has no record, and has a next one"),
        }
    }

    /// Goes to the next batch with records from `from` on, and unpacks it; false at the end. Batches before it need not
    /// be unpacked.
    fn begin_batch(&mut self, received: &[u8], unpacked: &mut Vec<u8>, from: u64) -> Result<bool, ClientError> {
        let (batch, offset) = loop {
            let Some(batch) = self.batches.next() else { return Ok(false) };
            let offset = self.next_batch_offset;
            self.next_batch_offset += u64::from(batch.header.offsets);
            if self.next_batch_offset > from {
                break (batch, offset);
            }
        };
        let begin = batch.position as usize + RECORD_BATCH_HEADER_BYTES;
        let end = batch.position as usize + batch.header.batch_bytes as usize;
        let mut current = Current {
            received: Some(begin..end),
            cursor: RecordCursor::new(&batch.header),
            first_offset: offset,
            next_offset: offset.max(from),
        };
        if batch.header.codec != RecordCodec::None {
            let section = current.section(received, &[]);
            if let Err(error) = unpack(batch.header.codec, section, self.raw_bytes_max, unpacked) {
                return Err(self.unreadable(current.next_offset, error));
            }
            current.received = None;
        }
        let section = current.section(received, unpacked);
        let skipped = from.checked_sub(offset).map(|before| current.cursor.skip_before(before, section));
        if let Some(Err(error)) = skipped {
            return Err(self.unreadable(current.next_offset, error));
        }
        self.current = Some(current);
        Ok(true)
    }

    /// Checks that nothing follows the last record of the current batch.
    fn end_batch(&mut self, received: &[u8], unpacked: &[u8]) -> Result<(), ClientError> {
        let Some(mut current) = self.current.take() else { unreachable!("the end of no batch") };
        match current.cursor.read(current.section(received, unpacked)) {
            None => Ok(()),
            Some(Err(error)) => Err(self.unreadable(self.next_batch_offset, error)),
            Some(Ok(record)) => unreachable!("{record:?} after the last record"),
        }
    }

    /// Ends the current batch, whose records from this offset on can't be read.
    fn unreadable(&mut self, first_offset: u64, error: RecordError) -> ClientError {
        self.current = None;
        let next_offset = self.next_batch_offset;
        ClientError::Unreadable { first_offset, next_offset, reason: error.to_string() }
    }
}
