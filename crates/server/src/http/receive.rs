//! Receives the body of an append, checking it as it arrives: batches, one record, or one record per line.

use crate::http::api::Api;
use crate::http::body::{BodyReader, Length};
use crate::http::draft::{BatchDraft, SIZE_BYTES};
use crate::http::error::ApiError;
use crate::net::peer::Peer;
use bytes::Bytes;
use rawline_batch::Checker;
use rawline_batch::record_batch::RecordBatchChecker;
use rawline_broker::limits::OBJECT_BATCHES_MAX;
use rawline_broker::pool::Gathered;
use rawline_broker::{AppendError, Received};
use rawline_contract::code;

/// Checks batches that arrive in pieces.
trait Check {
    fn push(&mut self, piece: &[u8]) -> Result<(), ApiError>;
    /// Number of batches that are whole.
    fn count(&self) -> usize;
}

impl Check for Checker {
    fn push(&mut self, piece: &[u8]) -> Result<(), ApiError> {
        Ok(Checker::push(self, piece)?)
    }

    fn count(&self) -> usize {
        self.batches().len()
    }
}

impl Check for RecordBatchChecker {
    fn push(&mut self, piece: &[u8]) -> Result<(), ApiError> {
        Ok(RecordBatchChecker::push(self, piece)?)
    }

    fn count(&self) -> usize {
        self.batches().len()
    }
}

/// Receives batches.
pub(crate) async fn batches(api: &Api, peer: &Peer, body: BodyReader) -> Result<Received, ApiError> {
    let mut checker = Checker::new(api.config.batch_limits);
    let parts = checked(api, peer, body, &mut checker).await?;
    Ok(Received::new(parts, checker)?)
}

/// Receives Kafka's batches.
pub(crate) async fn record_batches(api: &Api, peer: &Peer, body: BodyReader) -> Result<Received, ApiError> {
    let mut checker = RecordBatchChecker::new(api.config.batch_limits);
    let parts = checked(api, peer, body, &mut checker).await?;
    let batches = checker.finish()?;
    if batches.iter().any(|batch| batch.header.is_transactional) {
        let message =
            "a batch belongs to a transaction, which HTTP doesn't have; send it without, or over Kafka's protocol";
        return Err(ApiError::new(code::RECORD_BATCH_INVALID, message));
    }
    Ok(Received::of_record_batches(parts, batches)?)
}

/// Receives batches into buffers of the pool. Each piece is checked while it is in the processor's cache.
async fn checked(
    api: &Api,
    peer: &Peer,
    mut body: BodyReader,
    checker: &mut impl Check,
) -> Result<Vec<Bytes>, ApiError> {
    let length = body.prove().await?;
    let reservation = match length {
        Length::Whole(bytes) => peer.holder.reserve(bytes, api.config.pool_wait).await?,
        Length::Max(bytes) => peer.holder.body(bytes)?,
    };
    let mut gathered = Gathered::new(reservation);
    while let Some(piece) = body.next().await? {
        checker.push(&piece)?;
        let batches = checker.count();
        if batches > OBJECT_BATCHES_MAX {
            // Now: later, the list of batches would take more memory than the batches themselves.
            return Err(AppendError::TooLarge { bytes: gathered.bytes(), batches }.into());
        }
        // The HTTP library never hands on more than was announced, and the reader never more than the limit.
        body.make_room(&mut gathered, piece.len()).await?;
        assert!(gathered.push(&piece), "{} and {} bytes of {length:?}", gathered.bytes(), piece.len());
    }
    Ok(gathered.freeze())
}

/// The body is one record.
pub(crate) async fn record(api: &Api, peer: &Peer, mut body: BodyReader) -> Result<Received, ApiError> {
    let mut draft = BatchDraft::new(api, peer, body.prove().await?, 1).await?;
    while let Some(piece) = body.next().await? {
        body.make_room(draft.data_mut(), piece.len()).await?;
        draft.push_data(&piece)?;
    }
    draft.add_size(draft.data_bytes() as u32).await?;
    draft.finish().await
}

/// Every line of the body is a record; the last line needs no end.
pub(crate) async fn lines(api: &Api, peer: &Peer, mut body: BodyReader) -> Result<Received, ApiError> {
    let records_max = api.config.batch_limits.records_max;
    let mut draft = BatchDraft::new(api, peer, body.prove().await?, records_max).await?;
    let mut line_bytes = 0u32;
    let mut is_open = false;
    while let Some(piece) = body.next().await? {
        // Each byte may be the end of a line, so of a record.
        body.make_room(draft.front_mut(), (piece.len() + 1) * SIZE_BYTES).await?;
        body.make_room(draft.data_mut(), piece.len()).await?;
        let mut rest = piece.as_ref();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, line_end) = rest.split_at(end);
            draft.push_data(line)?;
            draft.push_size(line_bytes + line.len() as u32)?;
            rest = line_end.split_at(1).1;
            (line_bytes, is_open) = (0, false);
        }
        draft.push_data(rest)?;
        line_bytes += rest.len() as u32;
        is_open |= !rest.is_empty();
    }
    if is_open {
        draft.add_size(line_bytes).await?;
    }
    if draft.records() == 0 {
        return Err(ApiError::new(code::RECORDS_MISSING, "the body is empty; send at least one line"));
    }
    draft.finish().await
}
