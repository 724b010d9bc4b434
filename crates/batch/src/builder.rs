//! Makes batches: from records one by one, or from sizes and data that already exist.

use crate::codec::Packer;
use crate::header::{HEADER_BYTES, Header, batch_bytes, padding};
use crate::{BatchError, Codec, Limits};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// A batch in the pieces it is sent in, so that existing data is not copied to be sent.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// Header and sizes.
    pub front: Vec<u8>,
    /// The zeros after the data.
    pub padding: &'static [u8],
}

/// Makes the header and the sizes of a batch whose records follow each other in `data`, uncompressed.
///
/// `created_us` is the time of creation, in microseconds since the Unix epoch. The batch is `front`, `data`, `padding`.
/// Errors: no sizes, sizes that do not add up to the data's length, more than `limits` allow.
pub fn seal(sizes: &[u32], data: &[u8], created_us: u64, limits: &Limits) -> Result<Sealed, BatchError> {
    seal_numbered(sizes, data, created_us, 0, 0, limits)
}

/// As [`seal`], for exactly-once appends: with the producer's id, and its number for the first record.
pub fn seal_numbered(
    sizes: &[u32],
    data: &[u8],
    created_us: u64,
    producer_id: u64,
    sequence: u64,
    limits: &Limits,
) -> Result<Sealed, BatchError> {
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
        producer_id,
        sequence,
        crc32c: 0,
    };
    if header.records == 0 {
        return Err(BatchError::Empty);
    }
    header.check_limits(limits)?;
    let mut front = vec![0; HEADER_BYTES + size_of_val(sizes)];
    let (head, body) = front.split_at_mut(HEADER_BYTES);
    let Ok(places) = <[U32]>::mut_from_bytes(body) else { unreachable!("{} bytes of sizes", body.len()) };
    assert_eq!(places.len(), sizes.len(), "room for other sizes than there are");
    for (place, &size) in places.iter_mut().zip(sizes) {
        place.set(size);
    }
    head.copy_from_slice(&header.seal([&*body, data]));
    Ok(Sealed { front, padding: padding(header.padding_bytes()) })
}

/// No room for this record in the current batch: finish it and begin the next. An empty batch that has no room for a
/// record never will.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for this record within the batch's limits; finish the batch, or make the record smaller")]
pub struct BuilderFull;

/// Gathers records into a batch. Its buffers are reused for the next batch.
#[derive(Debug)]
pub struct Builder {
    limits: Limits,
    sizes: Vec<U32>,
    data: Vec<u8>,
    packer: Packer,
}

impl Builder {
    /// An empty batch whose data will be compressed with `codec` when it is finished.
    pub fn new(codec: Codec, limits: Limits) -> Self {
        Builder { limits, sizes: Vec::new(), data: Vec::new(), packer: Packer::new(codec) }
    }

    /// Number of records so far.
    pub fn records(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// Size of the batch if it were finished now and not compressed, in bytes.
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
        if raw_bytes > u64::from(self.limits.raw_bytes_max)
            || self.records() >= self.limits.records_max
            || batch_bytes(self.records() + 1, raw_bytes as u32) > u64::from(self.limits.batch_bytes_max)
        {
            return Err(BuilderFull);
        }
        self.sizes.push(U32::new(record.len() as u32));
        self.data.extend_from_slice(record);
        Ok(())
    }

    /// Appends the finished batch to `out` and begins a new one. Data that its codec doesn't make shorter is stored
    /// uncompressed.
    ///
    /// `created_us` is the time of creation, in microseconds since the Unix epoch. Errors: no records; a codec that
    /// fails (the records then stay).
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
        let (codec, data) = self.packer.pack(&self.data)?;
        let header = Header {
            codec,
            slice: false,
            records: self.sizes.len() as u32,
            data_bytes: data.len() as u32,
            raw_bytes: self.data.len() as u32,
            created_us,
            producer_id,
            sequence,
            crc32c: 0,
        };
        let sizes = self.sizes.as_bytes();
        assert!(data.len() <= self.data.len(), "packing {} bytes made {} of them", self.data.len(), data.len());
        let start = out.len();
        out.reserve(header.batch_bytes() as usize);
        out.extend_from_slice(&header.seal([sizes, data]));
        out.extend_from_slice(sizes);
        out.extend_from_slice(data);
        out.extend_from_slice(padding(header.padding_bytes()));
        assert_eq!((out.len() - start) as u64, header.batch_bytes(), "a batch of another size than {header:?}");
        self.sizes.clear();
        self.data.clear();
        Ok(())
    }
}
