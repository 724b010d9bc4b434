//! Makes a batch of records that are sent in another form.
//!
//! The server is the producer here. Header and sizes are gathered in one run of buffers and the data in another, so
//! that neither has to be moved when the length of the other is known.

use crate::http::api::Api;
use crate::http::body::Length;
use crate::http::error::ApiError;
use crate::net::peer::Peer;
use rawline_batch::header::{ALIGNMENT, padding};
use rawline_batch::{Checker, Codec, HEADER_BYTES, Header, Limits};
use rawline_broker::Received;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::Gathered;
use rawline_contract::code;

/// Size of a record's size in a batch.
pub(crate) const SIZE_BYTES: usize = 4;

/// A batch that is being made.
pub(crate) struct BatchDraft<'a> {
    api: &'a Api,
    /// Header and sizes.
    front: Gathered,
    data: Gathered,
    records: u32,
}

impl<'a> BatchDraft<'a> {
    /// Reserves buffers for a body of at most this many records: all of them, or some as it arrives.
    pub async fn new(api: &'a Api, peer: &Peer, body: Length, records_max: u32) -> Result<BatchDraft<'a>, ApiError> {
        let limits = Limits { records_max, ..api.config.batch_limits };
        Ok(BatchDraft::with_text(api, peer, body, limits, 0).await?.0)
    }

    /// As [`BatchDraft::new`], with buffers for `text_bytes` bytes that the batch doesn't keep.
    pub async fn with_text(
        api: &'a Api,
        peer: &Peer,
        body: Length,
        limits: Limits,
        text_bytes: u64,
    ) -> Result<(BatchDraft<'a>, Gathered), ApiError> {
        let (Length::Whole(bytes) | Length::Max(bytes)) = body;
        let (front_bytes, data_bytes) = batch_bytes(&limits, bytes);
        let all = front_bytes + text_bytes + data_bytes + ROUNDING_BYTES;
        let mut reservation = match body {
            Length::Whole(_) => peer.holder.reserve(all, api.config.pool_wait).await?,
            Length::Max(_) => peer.holder.body(all)?,
        };
        let front = Gathered::new(reservation.split(front_bytes));
        let text = Gathered::new(reservation.split(text_bytes));
        let mut draft = BatchDraft { api, front, data: Gathered::new(reservation), records: 0 };
        draft.front.make_room(HEADER_BYTES, api.config.pool_wait).await?;
        draft.push_front(&[0; HEADER_BYTES])?;
        Ok((draft, text))
    }

    /// Header and sizes, to make room for more.
    pub fn front_mut(&mut self) -> &mut Gathered {
        &mut self.front
    }

    /// Data of the records, to make room for more.
    pub fn data_mut(&mut self) -> &mut Gathered {
        &mut self.data
    }

    /// Number of records whose sizes are known.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Length of the records' data so far, in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.data.bytes()
    }

    fn push_front(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        if self.front.push(bytes) { Ok(()) } else { Err(self.too_large()) }
    }

    /// Adds the size of the next record.
    pub fn push_size(&mut self, size: u32) -> Result<(), ApiError> {
        if self.records >= self.api.config.batch_limits.records_max {
            return Err(self.too_many_records());
        }
        self.records += 1;
        self.push_front(&size.to_le_bytes())
    }

    /// Adds data of the records.
    pub fn push_data(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        if self.data.push(bytes) { Ok(()) } else { Err(self.too_large()) }
    }

    fn too_large(&self) -> ApiError {
        let bytes = self.front.bytes() + self.data.bytes();
        ApiError::too_large(bytes, u64::from(self.api.config.batch_limits.batch_bytes_max))
    }

    /// The error of one record more than a batch may have.
    pub fn too_many_records(&self) -> ApiError {
        let limit = self.api.config.batch_limits.records_max;
        ApiError::new(code::RECORDS_TOO_MANY, format!("more than {limit} records in one request; send fewer at once"))
    }

    /// Adds the size of the next record, for which it makes room.
    pub async fn add_size(&mut self, size: u32) -> Result<(), ApiError> {
        self.front.make_room(SIZE_BYTES, self.api.config.pool_wait).await?;
        self.push_size(size)
    }

    /// Writes the header into its place and checks the whole batch.
    pub async fn finish(mut self) -> Result<Received, ApiError> {
        let limit = u64::from(self.api.config.batch_limits.batch_bytes_max);
        if self.front.bytes() + self.data.bytes() > limit {
            return Err(self.too_large());
        }
        let front_bytes = HEADER_BYTES as u64 + u64::from(self.records) * SIZE_BYTES as u64;
        assert_eq!(self.front.bytes(), front_bytes, "header and sizes of {} records", self.records);
        // Fits: the limit of a batch is a u32 itself.
        let raw_bytes = self.data.bytes() as u32;
        let header = Header {
            codec: Codec::None,
            slice: false,
            records: self.records,
            data_bytes: raw_bytes,
            raw_bytes,
            created_us: self.api.clock.now_us(),
            producer_id: 0,
            sequence: 0,
            crc32c: 0,
        };
        let sizes = self.front.pieces().enumerate().map(|(number, piece)| match number {
            0 => piece.split_at(HEADER_BYTES).1,
            _ => piece,
        });
        let sealed = header.seal(sizes.chain(self.data.pieces()));
        match self.front.front_mut().first_chunk_mut::<HEADER_BYTES>() {
            Some(place) => *place = sealed,
            None => unreachable!("the first block has no place for a header"),
        }
        let padding = padding(header.padding_bytes());
        self.data.make_room(padding.len(), self.api.config.pool_wait).await?;
        self.push_data(padding)?;
        let mut parts = self.front.freeze();
        parts.extend(self.data.freeze());
        let mut checker = Checker::new(self.api.config.batch_limits);
        for part in &parts {
            checker.push(part)?;
        }
        Ok(Received::new(parts, checker)?)
    }
}

// The place of the header lies in one block.
const _: () = assert!(HEADER_BYTES <= BLOCK_BYTES);

/// Header and sizes in one run of buffers, text in another, data in a third: each rounds up to whole blocks.
const ROUNDING_BYTES: u64 = 2 * BLOCK_BYTES as u64;

/// Bytes of header and sizes, and of data with its padding, that a body of `bytes` bytes may need. A body that makes
/// more than the largest batch is refused, and needs none.
fn batch_bytes(limits: &Limits, bytes: u64) -> (u64, u64) {
    let batch_bytes_max = u64::from(limits.batch_bytes_max);
    // An empty line is a record of four bytes.
    let front_bytes = HEADER_BYTES as u64 + 4 * (bytes + 1).min(u64::from(limits.records_max));
    (front_bytes.min(batch_bytes_max.max(HEADER_BYTES as u64)), bytes.min(batch_bytes_max) + ALIGNMENT)
}

/// Bytes of sizes as text in a body of `bytes` bytes: a size has at most ten digits and a comma.
pub(crate) fn sizes_text_bytes(limits: &Limits, bytes: u64) -> u64 {
    bytes.min(11 * u64::from(limits.records_max) + 2)
}

/// The largest reservation of any one request in bytes. A smaller pool would always refuse requests that the other
/// limits allow.
pub fn request_buffers_max(limits: &Limits, request_bytes_max: u64) -> u64 {
    let (front_bytes, data_bytes) = batch_bytes(limits, request_bytes_max);
    let draft_bytes = front_bytes + sizes_text_bytes(limits, request_bytes_max) + data_bytes + ROUNDING_BYTES;
    draft_bytes.max(request_bytes_max).next_multiple_of(BLOCK_BYTES as u64)
}
