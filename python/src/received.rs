//! Received batches, checked, and the positions of their records in the memory that holds them.

use crate::buffer::{Held, Owner};
use crate::kafka::{KafkaBatch, Run};
use crate::source::{BufferPool, Received, Source};
use arrow_buffer::Buffer;
use rawline_batch::{Batch, BatchError, Builder, Codec, Header, Limits, decompress_into};
use rawline_client::{ClientError, Fetched, Selection};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// A checked batch: its header, and its records as received or decompressed.
pub struct Stored {
    source: Source,
    /// The first byte of the batch in its source.
    position: usize,
    header: Header,
    /// The decompressed data of a compressed batch.
    unpacked: Option<Arc<Vec<u8>>>,
    /// Start of each record in the data, and end of the last one; computed on first use.
    offsets: OnceLock<Buffer>,
    /// Its source, if that is a Kafka batch.
    kafka: Option<KafkaBatch>,
}

/// A batch and the offset of its first record.
pub type Placed = (u64, Arc<Stored>);

/// The decompressed batches of a response up to the first damaged one, and that one's first offset. Fails if the first
/// batch is damaged.
pub fn stored_batches(fetched: Fetched, pool: Arc<BufferPool>) -> Result<(Vec<Placed>, Option<u64>), ClientError> {
    let limit = Limits::default().raw_bytes_max;
    let received = Arc::new(Received { fetched, pool });
    if let Some((selection, time_us)) = received.fetched.selection() {
        return selected(&selection, time_us).map(|batches| (batches, None));
    }
    let source = || Source::Received(received.clone());
    let mut position = 0;
    let mut batches = Vec::with_capacity(received.fetched.metas().len());
    let ours = received.fetched.batches().map(|(first_offset, batch)| {
        let stored = Stored::new(source(), position, &batch).map_err(ClientError::from);
        position += batch.bytes().len();
        (first_offset, stored)
    });
    let mut kafka_position = 0;
    let kafkas = received.fetched.record_batches().map(|(first_offset, header, bytes)| {
        let runs = KafkaBatch::runs(&source(), kafka_position, *header, limit);
        kafka_position += bytes.len();
        (first_offset, runs)
    });
    let kafkas = kafkas.flat_map(|(first_offset, runs)| match runs {
        Ok(runs) => {
            let stored = |run: Run| (first_offset + u64::from(run.offset_delta), Stored::of_kafka(run));
            runs.into_iter().map(stored).collect()
        }
        Err(error) => vec![(first_offset, Err(error))],
    });
    for (first_offset, stored) in ours.chain(kafkas) {
        match stored {
            Ok(stored) => batches.push((first_offset, Arc::new(stored))),
            Err(error) if batches.is_empty() => return Err(error),
            Err(_) => return Ok((batches, Some(first_offset))),
        }
    }
    Ok((batches, None))
}

/// Selected records as batches, one for each run of offsets that follow each other.
fn selected(selection: &Selection<'_>, time_us: u64) -> Result<Vec<Placed>, ClientError> {
    let mut batches = Vec::new();
    let mut builder = Builder::new(Codec::None, Limits::FORMAT);
    let (mut run, mut data) = (0..0, selection.data());
    let mut end = |run: &Range<u64>, builder: &mut Builder| {
        let mut made = Vec::new();
        builder.finish_into(time_us, 0, 0, &mut made)?;
        let made = Arc::new(made);
        let (batch, _) = Batch::parse_prefix_trusted(&made, &Limits::FORMAT)?;
        batches.push((run.start, Arc::new(Stored::new(Source::Made(made.clone()), 0, &batch)?)));
        Ok::<(), ClientError>(())
    };
    for (offset, size) in (0..selection.count()).filter_map(|index| selection.entry(index)) {
        if !run.is_empty() && offset != run.end {
            end(&run, &mut builder)?;
            run = offset..offset;
        } else if run.is_empty() {
            run = offset..offset;
        }
        let (record, rest) = data.split_at(size as usize);
        builder.push(record).map_err(|full| ClientError::Config { reason: full.to_string() })?;
        (run.end, data) = (offset + 1, rest);
    }
    if !run.is_empty() {
        end(&run, &mut builder)?;
    }
    Ok(batches)
}

impl Stored {
    fn new(source: Source, position: usize, batch: &Batch<'_>) -> Result<Stored, BatchError> {
        let header = *batch.header();
        let unpacked = match header.codec {
            Codec::None => None,
            codec => {
                let mut data = Vec::new();
                decompress_into(codec, batch.data(), header.raw_bytes, &mut data)?;
                Some(Arc::new(data))
            }
        };
        Ok(Stored { source, position, header, unpacked, offsets: OnceLock::new(), kafka: None })
    }

    /// A Kafka batch: its values are the records.
    fn of_kafka(Run { batch: kafka, values, .. }: Run) -> Result<Stored, ClientError> {
        let made = Arc::new(values);
        let (batch, _) = Batch::parse_prefix_trusted(&made, &Limits::FORMAT)?;
        Ok(Stored { kafka: Some(kafka), ..Stored::new(Source::Made(made.clone()), 0, &batch)? })
    }

    /// Checks the batch that begins at `position` of bytes from Python, of either kind, and decompresses it.
    pub fn parse(held: Arc<Held>, position: usize, limits: &Limits) -> Result<Stored, ClientError> {
        let bytes = (*held).as_ref().get(position..).unwrap_or_default();
        if bytes.is_empty() {
            return Err(BatchError::Empty.into());
        }
        let source = Source::Python(held.clone());
        if KafkaBatch::is_kafkas(bytes) {
            return KafkaBatch::parse(&source, position, limits).and_then(Stored::of_kafka);
        }
        let (batch, _) = Batch::parse_prefix(bytes, limits)?;
        Ok(Stored::new(source, position, &batch)?)
    }

    /// The header's fields; of a Kafka batch those of its values.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its source, if that is a Kafka batch.
    pub fn kafka(&self) -> Option<&KafkaBatch> {
        self.kafka.as_ref()
    }

    /// The whole batch as received, with its owner.
    pub fn wire(&self) -> (Owner, &[u8]) {
        self.kafka.as_ref().map_or_else(|| self.bytes(), KafkaBatch::wire)
    }

    /// The whole batch, in our format.
    fn bytes(&self) -> (Owner, &[u8]) {
        let end = self.position + self.header.batch_bytes() as usize;
        (self.source.owner(), self.source.bytes().get(self.position..end).unwrap_or_default())
    }

    /// Position after this batch in the bytes that were received.
    pub fn end(&self) -> usize {
        match &self.kafka {
            Some(kafka) => kafka.end(),
            None => self.position + self.header.batch_bytes() as usize,
        }
    }

    /// The records, concatenated and uncompressed, with their owner.
    pub fn data(&self) -> (Owner, &[u8]) {
        match &self.unpacked {
            Some(data) => (data.clone(), data.as_slice()),
            None => {
                let start = rawline_batch::HEADER_BYTES + self.header.records as usize * 4;
                let end = start + self.header.data_bytes as usize;
                let (owner, bytes) = self.bytes();
                (owner, bytes.get(start..end).unwrap_or_default())
            }
        }
    }

    /// The records' sizes as in the batch, u32 little-endian.
    pub fn sizes(&self) -> (Owner, &[u8]) {
        let start = rawline_batch::HEADER_BYTES;
        let (owner, bytes) = self.bytes();
        (owner, bytes.get(start..start + self.header.records as usize * 4).unwrap_or_default())
    }

    /// Boundaries of the records in the data: u32, one more than there are records.
    pub fn offsets(&self) -> &Buffer {
        self.offsets.get_or_init(|| {
            let mut end = 0u32;
            let mut offsets = Vec::with_capacity(self.header.records as usize + 1);
            offsets.push(end);
            let (sizes, _) = self.sizes().1.as_chunks();
            for size in sizes {
                // Their sum was checked, but Python may have changed its bytes since.
                end = end.saturating_add(u32::from_le_bytes(*size)).min(self.header.raw_bytes);
                offsets.push(end);
            }
            Buffer::from_vec(offsets)
        })
    }

    /// Byte range of a record in the data.
    pub fn range(&self, record: usize) -> Option<(usize, usize)> {
        let offsets: &[u32] = self.offsets().typed_data();
        Some((*offsets.get(record)? as usize, *offsets.get(record + 1)? as usize))
    }

    /// The data as an Arrow buffer over the same memory.
    pub fn data_buffer(&self) -> Buffer {
        let (owner, data) = self.data();
        let Some(start) = NonNull::new(data.as_ptr().cast_mut()).filter(|_| !data.is_empty()) else {
            return Buffer::from_vec(Vec::<u8>::new());
        };
        // SAFETY: the bytes live as long as their owner, and are never changed.
        unsafe { Buffer::from_custom_allocation(start, data.len(), Arc::new(Allocation { _owner: owner })) }
    }
}

/// Keeps an Arrow buffer's memory alive.
struct Allocation {
    _owner: Owner,
}

// A panic elsewhere can't leave these bytes half written: they are never written.
impl std::panic::RefUnwindSafe for Allocation {}
