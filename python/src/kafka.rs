//! Kafka's batches: their records, unpacked and checked, and the values as a batch in our format.

use crate::buffer::Owner;
use crate::source::Source;
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, Record, RecordBatchChecker, RecordBatchError, RecordBatchHeader, RecordCodec,
    RecordCursor, unpack,
};
use rawline_batch::{Builder, Codec, Limits, header::MAGIC};
use rawline_client::ClientError;
use std::sync::Arc;

/// Position of the number of Kafka's message format, which is 2.
const FORMAT_POSITION: usize = 16;

/// Records of a Kafka batch, unpacked and checked: all of them, or in a compacted topic those up to the next
/// gap.
pub struct KafkaBatch {
    source: Source,
    /// The first byte of the batch in its source.
    position: usize,
    header: RecordBatchHeader,
    /// The records, if they were compressed.
    unpacked: Option<Arc<Vec<u8>>>,
    /// The number of the first record in the batch.
    number_first: u32,
    /// Start of each record in what holds them: a section has fewer than 2^31 bytes.
    starts: Vec<u32>,
    /// Whether some record's value is null.
    has_nulls: bool,
}

/// Records of a batch whose offsets follow each other.
pub struct Run {
    /// The offset of the first, counted from the batch's.
    pub offset_delta: u32,
    pub batch: KafkaBatch,
    /// The values as a batch in our format.
    pub values: Vec<u8>,
}

impl KafkaBatch {
    /// Whether bytes begin with a Kafka batch rather than with one of ours.
    pub fn is_kafkas(bytes: &[u8]) -> bool {
        !bytes.starts_with(&MAGIC) && bytes.get(FORMAT_POSITION) == Some(&2)
    }

    /// The records of a batch that was checked. They may unpack to `raw_bytes_max` bytes.
    pub fn runs(
        source: &Source,
        position: usize,
        header: RecordBatchHeader,
        raw_bytes_max: u32,
    ) -> Result<Vec<Run>, ClientError> {
        let mut batch = KafkaBatch {
            source: source.clone(),
            position,
            header,
            unpacked: None,
            number_first: 0,
            starts: Vec::new(),
            has_nulls: false,
        };
        if header.codec != RecordCodec::None {
            let mut unpacked = Vec::new();
            unpack(header.codec, batch.section(), raw_bytes_max, &mut unpacked)?;
            batch.unpacked = Some(Arc::new(unpacked));
        }
        let mut runs = Vec::new();
        let (mut begins_at, mut starts) = ((0, 0), Vec::with_capacity(header.records as usize));
        let mut values = Builder::new(Codec::None, Limits::FORMAT);
        let (mut cursor, mut has_nulls) = (RecordCursor::new(&header), false);
        for number in 0.. {
            let start = cursor.position() as u32;
            let record = cursor.read(batch.section()).transpose()?;
            let follows = |delta: u32| delta - begins_at.1 == starts.len() as u32;
            if !starts.is_empty() && record.is_none_or(|record| !follows(record.offset_delta)) {
                let starts = std::mem::take(&mut starts);
                runs.push(batch.run(begins_at, starts, std::mem::take(&mut has_nulls), &mut values)?);
            }
            let Some(record) = record else { break };
            if starts.is_empty() {
                begins_at = (number, record.offset_delta);
            }
            has_nulls |= record.value.is_none();
            let pushed = values.push(record.value.unwrap_or_default());
            pushed.map_err(|full| ClientError::Config { reason: full.to_string() })?;
            starts.push(start);
        }
        Ok(runs)
    }

    /// The records that begin with this number and this offset.
    fn run(
        &self,
        (number_first, offset_delta): (u32, u32),
        starts: Vec<u32>,
        has_nulls: bool,
        values: &mut Builder,
    ) -> Result<Run, ClientError> {
        let KafkaBatch { source, position, header, unpacked, .. } = self;
        let (producer_id, sequence) =
            header.producer.map_or((0, 0), |producer| (producer.id, u64::from(producer.base_sequence)));
        let mut made = Vec::new();
        values.finish_into(time_us(header.max_timestamp_ms), producer_id, sequence, &mut made)?;
        let (source, unpacked) = (source.clone(), unpacked.clone());
        let (position, header) = (*position, *header);
        let batch = KafkaBatch { source, position, header, unpacked, number_first, starts, has_nulls };
        Ok(Run { offset_delta, batch, values: made })
    }

    /// Checks the batch at `position`, which has all its records.
    pub fn parse(source: &Source, position: usize, limits: &Limits) -> Result<Run, ClientError> {
        let bytes = source.bytes().get(position..).unwrap_or_default();
        let have = bytes.len() as u64;
        let truncated = |need: u64| RecordBatchError::Truncated { have, need };
        let front = bytes.first_chunk().ok_or(truncated(RECORD_BATCH_HEADER_BYTES as u64))?;
        let header = RecordBatchHeader::parse(front, limits)?;
        let batch = bytes.get(..header.batch_bytes as usize).ok_or(truncated(header.batch_bytes.into()))?;
        let mut checker = RecordBatchChecker::new(*limits);
        checker.push(batch)?;
        checker.finish()?;
        let mut runs = KafkaBatch::runs(source, position, header, limits.raw_bytes_max)?;
        match runs.pop() {
            Some(run) if runs.is_empty() => Ok(run),
            _ => unreachable!("{header:?} has as many offsets as records, which are not one run"),
        }
    }

    pub fn header(&self) -> &RecordBatchHeader {
        &self.header
    }

    /// Whether the value of some record can be null.
    pub fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// The whole batch as received, with its owner.
    pub fn wire(&self) -> (Owner, &[u8]) {
        (self.source.owner(), self.source.bytes().get(self.position..self.end()).unwrap_or_default())
    }

    /// Position after this batch in its source.
    pub fn end(&self) -> usize {
        self.position + self.header.batch_bytes as usize
    }

    /// Length of the records as received, in bytes.
    pub fn section_bytes(&self) -> u32 {
        self.header.batch_bytes - RECORD_BATCH_HEADER_BYTES as u32
    }

    /// The owner of the records' bytes.
    fn section(&self) -> &[u8] {
        let received = || self.wire().1.get(RECORD_BATCH_HEADER_BYTES..).unwrap_or_default();
        self.unpacked.as_ref().map_or_else(received, |unpacked| unpacked.as_slice())
    }

    /// A record by its number. `None` if there is no such record, or if Python has changed its bytes.
    pub fn record(&self, number: usize) -> Option<Record<'_>> {
        let start = *self.starts.get(number)?;
        let mut cursor = RecordCursor::new(&self.header);
        cursor.seek(self.number_first + number as u32, start as usize);
        cursor.read(self.section())?.ok()
    }

    /// The records from a number on, in order, without an end; `None` as in [`KafkaBatch::record`], and after such a
    /// record.
    pub fn records_from(&self, number: usize) -> impl Iterator<Item = Option<Record<'_>>> {
        let mut cursor = RecordCursor::new(&self.header);
        if let Some(start) = self.starts.get(number) {
            cursor.seek(self.number_first + number as u32, *start as usize);
        }
        std::iter::repeat_with(move || cursor.read(self.section())?.ok())
    }
}

/// Microseconds since the Unix epoch; 0 for -1, which stands for no time.
pub fn time_us(timestamp_ms: i64) -> u64 {
    u64::try_from(timestamp_ms).unwrap_or_default().saturating_mul(1000)
}
