//! Makes batches: from records one by one, or from sizes and data that already exist.

use crate::header::{HEADER_BYTES, Header, batch_bytes, padding};
use crate::{BatchError, Codec, Limits};

/// A batch in the pieces it is sent in, so that data that already exists is not copied to be sent.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// Header and sizes.
    pub front: Vec<u8>,
    /// The zeros behind the data.
    pub padding: &'static [u8],
}

/// Makes the header and the sizes of a batch whose records lie back to back in `data`, uncompressed.
///
/// `created_us` is the time of creation, in microseconds since the Unix epoch.
pub fn seal(sizes: &[u32], data: &[u8], created_us: u64, limits: &Limits) -> Result<Sealed, BatchError> {
    let sum: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    if sum > u64::from(u32::MAX) {
        return Err(BatchError::SizesOverflow { sum });
    }
    if sum != data.len() as u64 {
        let raw_bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        return Err(BatchError::SizesSum { sum, raw_bytes });
    }
    let header = Header {
        codec: Codec::None,
        slice: false,
        records: u32::try_from(sizes.len()).unwrap_or(u32::MAX),
        data_bytes: sum as u32,
        raw_bytes: sum as u32,
        created_us,
        producer_id: 0,
        sequence: 0,
        crc32c: 0,
    };
    check_limits(&header, limits)?;
    let mut front = Vec::with_capacity(HEADER_BYTES + sizes.len() * 4);
    front.resize(HEADER_BYTES, 0);
    for size in sizes {
        front.extend_from_slice(&size.to_le_bytes());
    }
    write_header(&mut front, header, data);
    Ok(Sealed { front, padding: padding(header.padding_bytes()) })
}

/// No room for this record in the batch at hand: finish it and begin the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the batch is full")]
pub struct BuilderFull;

/// Gathers records into a batch. Its buffers are used again for the next batch.
#[derive(Debug)]
pub struct Builder {
    limits: Limits,
    codec: Codec,
    sizes: Vec<u8>,
    data: Vec<u8>,
    packed: Vec<u8>,
}

impl Builder {
    /// An empty batch whose data will be compressed with `codec` when it is finished.
    pub fn new(codec: Codec, limits: Limits) -> Self {
        Builder { limits, codec, sizes: Vec::new(), data: Vec::new(), packed: Vec::new() }
    }

    /// Number of records so far.
    pub fn records(&self) -> u32 {
        (self.sizes.len() / 4) as u32
    }

    /// Length of the batch if it were finished now and not compressed, in bytes.
    pub fn bytes(&self) -> u64 {
        batch_bytes(self.records(), self.data.len() as u32)
    }

    /// Whether no record was pushed since the last batch.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Adds a record, unless the batch would then be over its limits.
    pub fn push(&mut self, record: &[u8]) -> Result<(), BuilderFull> {
        let raw_bytes = self.data.len() as u64 + record.len() as u64;
        let bytes = HEADER_BYTES as u64 + self.sizes.len() as u64 + 4 + raw_bytes + 7;
        if bytes > u64::from(self.limits.batch_bytes_max)
            || raw_bytes > u64::from(self.limits.raw_bytes_max)
            || self.records() >= self.limits.records_max
        {
            return Err(BuilderFull);
        }
        self.sizes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.data.extend_from_slice(record);
        Ok(())
    }

    /// Appends the finished batch to `out` and begins a new one. Data that its codec would make longer is stored as it
    /// is.
    pub fn finish_into(
        &mut self,
        created_us: u64,
        producer_id: u64,
        sequence: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), BatchError> {
        if self.is_empty() {
            return Err(BatchError::Empty);
        }
        let raw_bytes = self.data.len() as u32;
        let mut codec = self.codec;
        if codec != Codec::None {
            codec.compress_into(&self.data, &mut self.packed)?;
            if self.packed.len() >= self.data.len() {
                codec = Codec::None;
            }
        }
        let data = if codec == Codec::None { &self.data } else { &self.packed };
        let header = Header {
            codec,
            slice: false,
            records: (self.sizes.len() / 4) as u32,
            data_bytes: data.len() as u32,
            raw_bytes,
            created_us,
            producer_id,
            sequence,
            crc32c: 0,
        };
        out.reserve(header.batch_bytes() as usize);
        out.extend_from_slice(&header.seal([self.sizes.as_slice(), data.as_slice()]));
        out.extend_from_slice(&self.sizes);
        out.extend_from_slice(data);
        out.extend_from_slice(padding(header.padding_bytes()));
        self.sizes.clear();
        self.data.clear();
        Ok(())
    }
}

fn check_limits(header: &Header, limits: &Limits) -> Result<(), BatchError> {
    if header.records == 0 {
        return Err(BatchError::Empty);
    }
    let bytes = u32::try_from(header.batch_bytes()).unwrap_or(u32::MAX);
    for (what, found, limit) in [
        ("batch_bytes", bytes, limits.batch_bytes_max),
        ("records", header.records, limits.records_max),
        ("raw_bytes", header.raw_bytes, limits.raw_bytes_max),
    ] {
        if found > limit {
            return Err(BatchError::Limit { what, found, limit });
        }
    }
    Ok(())
}

fn write_header(front: &mut [u8], header: Header, data: &[u8]) {
    if let Some((head, sizes)) = front.split_at_mut_checked(HEADER_BYTES) {
        head.copy_from_slice(&header.seal([&*sizes, data]));
    }
}
