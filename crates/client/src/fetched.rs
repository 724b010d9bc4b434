//! The result of a read: whole batches in one buffer, and their records as slices of it.

use crate::ClientError;
use rawline_batch::{Batch, BatchMeta, Codec, Limits, decompress_into};

/// Checked batches, concatenated in one buffer that is reused from read to read.
#[derive(Debug, Default)]
pub struct Fetched {
    buffer: Vec<u8>,
    batches: Vec<BatchMeta>,
    /// Decompressed data of the batch whose records are being returned.
    unpacked: Vec<u8>,
    partition: u32,
    requested_offset: u64,
    first_offset: u64,
    next_offset: u64,
    topic_next_offset: u64,
}

impl Fetched {
    /// Whether no record was available in time.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The partition that was read.
    pub fn partition(&self) -> u32 {
        self.partition
    }

    pub(crate) fn set_partition(&mut self, partition: u32) {
        self.partition = partition;
    }

    /// Length of the received batches in bytes.
    pub fn bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// The received bytes: concatenated batches.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Position and lengths of each batch.
    pub fn metas(&self) -> &[BatchMeta] {
        &self.batches
    }

    /// Offset of the first record in the buffer. It is lower than the requested offset if that lies in a compressed
    /// batch, which is returned whole.
    pub fn first_offset(&self) -> u64 {
        self.first_offset
    }

    /// Offset after the last received record: where the next read begins.
    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// The partition's next offset at the time of the response.
    pub fn topic_next_offset(&self) -> u64 {
        self.topic_next_offset
    }

    /// Number of records from the requested offset on.
    pub fn records_count(&self) -> u64 {
        self.next_offset - self.requested_offset
    }

    /// The offset that was requested.
    pub fn requested_offset(&self) -> u64 {
        self.requested_offset
    }

    /// The batches as received, each with the offset of its first record. The first may begin before the requested
    /// offset.
    pub fn batches(&self) -> impl Iterator<Item = (u64, Batch<'_>)> {
        let mut offset = self.first_offset;
        self.batches.iter().map(move |meta| {
            let first_offset = offset;
            offset += u64::from(meta.records);
            (first_offset, batch(&self.buffer, meta))
        })
    }

    /// The records from the requested offset on, as slices of the received bytes. Records of a compressed batch are
    /// slices of a scratch buffer, which is reused for the next compressed batch.
    pub fn records(&mut self) -> FetchedRecords<'_> {
        FetchedRecords {
            buffer: &self.buffer,
            batches: self.batches.iter(),
            unpacked: &mut self.unpacked,
            partition: self.partition,
            requested_offset: self.requested_offset,
            next_batch_offset: self.first_offset,
            next_offset: self.next_offset,
            current: None,
        }
    }

    pub(crate) fn begin(&mut self, requested_offset: u64) {
        self.buffer.clear();
        self.batches.clear();
        self.requested_offset = requested_offset;
        self.first_offset = requested_offset;
        self.next_offset = requested_offset;
        self.topic_next_offset = requested_offset;
    }

    /// The buffer for receiving.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Completes a read: the buffer holds `batches`, whose first record is at `first_offset`. The caller has checked
    /// that they reach the requested offset.
    pub(crate) fn end(&mut self, first_offset: u64, topic_next_offset: u64, batches: Vec<BatchMeta>) {
        let (mut bytes, mut next_offset) = (0, first_offset);
        for meta in &batches {
            assert_eq!(meta.position, bytes, "the batch at offset {next_offset} doesn't follow the one before it");
            bytes += u64::from(meta.bytes);
            next_offset += u64::from(meta.records);
        }
        assert_eq!(bytes, self.buffer.len() as u64, "bytes in {} checked batches and in the buffer", batches.len());
        let requested = self.requested_offset;
        assert!(
            first_offset <= requested && requested <= next_offset,
            "{first_offset}..{next_offset} for offset {requested}"
        );
        self.first_offset = first_offset;
        self.next_offset = next_offset;
        self.topic_next_offset = topic_next_offset;
        self.batches = batches;
    }

    pub(crate) fn end_empty(&mut self, topic_next_offset: u64) {
        assert!(self.buffer.is_empty(), "{} bytes were received of a read without records", self.buffer.len());
        self.topic_next_offset = topic_next_offset;
    }
}

/// The batch that `meta` describes. It was checked when it was received, so it always exists.
fn batch<'a>(buffer: &'a [u8], meta: &BatchMeta) -> Batch<'a> {
    let Some(bytes) = usize::try_from(meta.position).ok().and_then(|position| buffer.get(position..)) else {
        unreachable!("{meta:?} is not in {} received bytes", buffer.len())
    };
    match Batch::parse_prefix_trusted(bytes, &Limits::FORMAT) {
        Ok((batch, _)) => {
            assert_eq!(batch.header().records, meta.records, "records of the batch at {}", meta.position);
            batch
        }
        Err(error) => unreachable!("{meta:?} in {} checked bytes: {error}", buffer.len()),
    }
}

/// Returns the records of a read one by one. Not an `Iterator`, since a record of a compressed batch is valid only
/// until the next record is requested.
#[derive(Debug)]
pub struct FetchedRecords<'a> {
    buffer: &'a [u8],
    batches: std::slice::Iter<'a, BatchMeta>,
    unpacked: &'a mut Vec<u8>,
    partition: u32,
    requested_offset: u64,
    next_batch_offset: u64,
    /// Offset after the last record of all batches.
    next_offset: u64,
    current: Option<Current<'a>>,
}

/// A record, in the buffer into which it was received or decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The partition that it is from.
    pub partition: u32,
    /// Its offset in the partition.
    pub offset: u64,
    /// Time at which the producer made the record's batch, by its clock, in microseconds since the Unix epoch.
    pub created_us: u64,
    /// The record.
    pub bytes: &'a [u8],
}

/// The position in a batch.
#[derive(Debug)]
struct Current<'a> {
    batch: Batch<'a>,
    /// Index of the next record in the batch.
    record: usize,
    /// Start of the next record in the batch's uncompressed data.
    position: usize,
    offset: u64,
}

impl FetchedRecords<'_> {
    /// The next record; `None` at the end. Fails if a compressed batch can't be decompressed.
    ///
    /// Not called `next`, since this is not an iterator.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ClientError> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(size) = current.batch.sizes().get(current.record)
            {
                let start = current.position;
                let offset = current.offset;
                current.position += size.get() as usize;
                current.record += 1;
                current.offset += 1;
                debug_assert!(current.offset <= self.next_batch_offset, "{offset} is in the next batch");
                if offset < self.requested_offset {
                    continue;
                }
                let range = start..current.position;
                let data = match current.batch.header().codec {
                    Codec::None => current.batch.data(),
                    _ => self.unpacked.as_slice(),
                };
                let Some(bytes) = data.get(range) else {
                    unreachable!("the record at offset {offset} ends at {} of {} bytes", current.position, data.len())
                };
                let partition = self.partition;
                return Ok(Some(Record { partition, offset, created_us: current.batch.header().created_us, bytes }));
            }
            if !self.next_batch()? {
                return Ok(None);
            }
        }
    }

    fn next_batch(&mut self) -> Result<bool, ClientError> {
        if let Some(Current { offset, .. }) = self.current {
            assert_eq!(offset, self.next_batch_offset, "a batch ends and the next one begins");
        }
        let Some(meta) = self.batches.next() else {
            assert_eq!(self.next_batch_offset, self.next_offset, "the last batch ends at another offset than the read");
            self.current = None;
            return Ok(false);
        };
        let batch = batch(self.buffer, meta);
        let offset = self.next_batch_offset;
        let header = *batch.header();
        self.next_batch_offset += u64::from(header.records);
        // A batch that ends before the requested offset need not be decompressed.
        let wanted = self.next_batch_offset > self.requested_offset;
        if wanted && header.codec != Codec::None {
            decompress_into(header.codec, batch.data(), header.raw_bytes, self.unpacked)?;
            let bytes = self.unpacked.len();
            assert_eq!(bytes, header.raw_bytes as usize, "the batch at offset {offset} unpacks to {bytes} bytes");
        }
        let (record, offset) = if wanted { (0, offset) } else { (header.records as usize, self.next_batch_offset) };
        self.current = Some(Current { batch, record, position: 0, offset });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_batch::{Builder, Checker};

    fn fetched(codecs: &[Codec], records_each: u32, first_offset: u64, requested_offset: u64) -> Fetched {
        let mut fetched = Fetched::default();
        let mut bytes = Vec::new();
        let mut offset = first_offset;
        for &codec in codecs {
            let mut builder = Builder::new(codec, Limits::default());
            for _ in 0..records_each {
                builder.push(format!("record {offset} {}", "x".repeat(100)).as_bytes()).unwrap();
                offset += 1;
            }
            builder.finish_into(u64::from(codec.number()) + 7, 0, 0, &mut bytes).unwrap();
        }
        let mut checker = Checker::new(Limits::default());
        checker.push(&bytes).unwrap();
        fetched.begin(requested_offset);
        fetched.buffer().extend_from_slice(&bytes);
        fetched.end(first_offset, offset, checker.finish().unwrap());
        fetched
    }

    #[test]
    fn records_come_with_their_offsets_from_the_one_asked_for_on() {
        let codecs = [Codec::Zstd, Codec::None, Codec::Lz4, Codec::None];
        for requested in 100..=140 {
            let mut fetched = fetched(&codecs, 10, 100, requested);
            let mut want = requested;
            let mut records = fetched.records();
            while let Some(Record { offset, created_us, bytes, .. }) = records.next_record().unwrap() {
                assert_eq!(offset, want);
                assert_eq!(bytes, format!("record {offset} {}", "x".repeat(100)).as_bytes());
                let codec = codecs[(offset as usize - 100) / 10];
                assert_eq!(created_us, u64::from(codec.number()) + 7);
                want += 1;
            }
            assert_eq!(want, 140);
            assert_eq!(fetched.next_offset(), 140);
            assert_eq!(fetched.records_count(), 140 - requested);
        }
    }

    #[test]
    fn batches_come_with_their_first_offsets() {
        let fetched = fetched(&[Codec::None, Codec::Lz4], 3, 5, 6);
        let got: Vec<_> = fetched.batches().map(|(offset, batch)| (offset, batch.header().records)).collect();
        assert_eq!(got, [(5, 3), (8, 3)]);
    }

    #[test]
    fn nothing_fetched_leaves_the_offset_where_it_was() {
        let mut fetched = fetched(&[Codec::None], 3, 0, 0);
        fetched.begin(42);
        fetched.end_empty(42);
        assert!(fetched.is_empty());
        assert_eq!((fetched.next_offset(), fetched.records_count()), (42, 0));
        assert!(fetched.records().next_record().unwrap().is_none());
    }
}
