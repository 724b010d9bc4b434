//! Copies batches of many objects into a merged one, and checks each on the way: a damaged copy must not take the place
//! of an intact object.

use crate::limits::{MERGE_READ_RETRY, MERGE_READS_MAX, MERGED_BATCHES_INLINE_BYTES_MAX, OBJECT_BATCHES_MAX};
use crate::object_error::ObjectError;
use crate::piece::verify_batches;
use crate::store::Store;
use crate::store_error::StoreError;
use crate::tasks::spawn_blocking;
use bytes::Bytes;
use rawline_batch::Kind;
use rawline_journal::{
    Batch, BatchKind, HEADER_BYTES, Header, Id, Index, Joined, MergedPiece, PartitionId, Piece, Place, Section, Source,
    build_merged_index,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use tokio::time::sleep;

/// A merged object, and where its pieces are.
pub(crate) struct Copied {
    /// Its index, then the batches: slices of the store's response.
    pub parts: Vec<Bytes>,
    pub pieces: Arc<[MergedPiece]>,
}

/// Why objects can't be copied.
pub(crate) enum CopyError {
    /// An object is damaged or gone.
    Unreadable { source: Source, error: StoreError },
    /// The store failed.
    Failed(StoreError),
}

impl CopyError {
    /// Why, for callers to whom it is the same.
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            CopyError::Unreadable { error, .. } | CopyError::Failed(error) => error,
        }
    }
}

/// A piece with the offset after its last record.
pub(crate) type Wanted = (PartitionId, Piece, u64);

/// The size of the batches of pieces.
pub(crate) fn bytes_of(pieces: &[Wanted]) -> u64 {
    pieces.iter().map(|(_, piece, _)| u64::from(piece.place.bytes)).sum()
}

/// The batches of a piece as the index describes them, and their bytes.
pub(crate) type Read = (Vec<Batch>, Bytes);

/// A piece of a merged object that is about to be laid out.
pub(crate) struct Made {
    pub partition: PartitionId,
    pub first_offset: u64,
    /// Offset after the last record.
    pub next_offset: u64,
    /// The time of the newest piece that it is made of.
    pub appended_us: u64,
    pub batches: Vec<Batch>,
    /// The batches' bytes.
    pub parts: Vec<Bytes>,
}

/// Copies pieces, of which each list makes one.
pub(crate) async fn copy(store: &dyn Store, merge: u64, id: Id, joined: &[Joined]) -> Result<Copied, CopyError> {
    let mut wanted = Vec::with_capacity(joined.iter().map(|joined| joined.pieces.len()).sum());
    for Joined { partition, pieces, next_offset } in joined {
        let ends = pieces.iter().skip(1).map(|next| next.first_offset).chain([*next_offset]);
        wanted.extend(
            (wanted.len()..).zip(pieces.iter().zip(ends)).map(|(at, (piece, end))| (at, *partition, piece, end)),
        );
    }
    let mut read: Vec<(usize, Read)> = Vec::with_capacity(wanted.len());
    // One object after the other: each is fetched once, if it isn't at hand.
    wanted.sort_unstable_by_key(|(at, _, piece, _)| (piece.place.source, *at));
    for of_source in wanted.chunk_by(|(.., one, _), (.., next, _)| one.place.source == next.place.source) {
        let pieces: Vec<Wanted> =
            of_source.iter().map(|(_, partition, piece, end)| (*partition, **piece, *end)).collect();
        let found = read_source(store, &pieces).await?;
        read.extend(of_source.iter().map(|(at, ..)| *at).zip(found));
    }
    assert_eq!(read.len(), wanted.len(), "pieces of merge {merge}, read and wanted");
    drop(wanted);
    read.sort_unstable_by_key(|(at, _)| *at);
    let mut read = read.into_iter().map(|(_, read)| read);
    let made = joined.iter().map(|joined| made(joined, read.by_ref().take(joined.pieces.len()))).collect();
    Ok(lay_out(merge, id, made))
}

/// The piece that these become, in order.
fn made(joined: &Joined, read: impl Iterator<Item = Read>) -> Made {
    let Joined { partition, pieces, next_offset } = joined;
    let Some(first) = pieces.first() else { unreachable!("a piece of {partition:?} that is made of nothing") };
    let (mut batches, mut parts) = (Vec::new(), Vec::with_capacity(pieces.len()));
    for (piece, (of_piece, bytes)) in pieces.iter().zip(read) {
        assert_eq!(of_piece.len(), piece.place.batches.count() as usize, "{piece:?} of {partition:?} was not read");
        batches.extend(of_piece.iter().map(|batch| dated(batch, piece.appended_us)));
        parts.push(bytes);
    }
    let appended_us = pieces.iter().map(|piece| piece.appended_us).max().unwrap_or_default();
    let (partition, next_offset) = (*partition, *next_offset);
    Made { partition, first_offset: first.first_offset, next_offset, appended_us, batches, parts }
}

/// Puts an index before these pieces, which are in order of partition and offset.
pub(crate) fn lay_out(merge: u64, id: Id, made: Vec<Made>) -> Copied {
    let batches: usize = made.iter().map(|made| made.batches.len()).sum();
    assert!(batches <= OBJECT_BATCHES_MAX, "merge {merge} has {batches} batches");
    let section = |made: &Made| Section { partition: made.partition, first_offset: made.first_offset };
    let described: Vec<_> = made.iter().map(|made| (section(made), &made.batches[..])).collect();
    let newest_us = made.iter().map(|made| made.appended_us).max().unwrap_or_default();
    let index = build_merged_index(merge, id, newest_us, &described);
    let parsed = Index::parse(&index);
    let Ok(parsed) = parsed else { unreachable!("merge {merge} is not what it was built of: {parsed:?}") };
    let pieces = parsed.pieces().zip(&made).map(|((partition, piece, next_offset), made)| {
        let expected = (made.partition, made.next_offset);
        assert_eq!((partition, next_offset), expected, "a piece of merge {merge}");
        MergedPiece { partition, piece: Piece { appended_us: made.appended_us, ..piece }, next_offset }
    });
    let pieces: Arc<[MergedPiece]> = pieces.collect();
    assert_eq!(pieces.len(), made.len(), "pieces of merge {merge}");
    let parts = std::iter::once(index.into()).chain(made.into_iter().flat_map(|made| made.parts)).collect();
    Copied { parts, pieces }
}

/// A batch that keeps the time of the object that it was appended with.
pub(crate) fn dated(batch: &Batch, appended_us: u64) -> Batch {
    let is_dated = batch.kind != BatchKind::Rawline || batch.max_timestamp_us > 0;
    if is_dated { *batch } else { Batch { max_timestamp_us: appended_us, ..*batch } }
}

/// Reads pieces of one object. A local copy that turns out to be damaged is fetched again.
pub(crate) async fn read_source(store: &dyn Store, wanted: &[Wanted]) -> Result<Vec<Read>, CopyError> {
    let Some((_, Piece { place, .. }, _)) = wanted.first() else { return Ok(Vec::new()) };
    let source = place.source;
    let mut is_retry = false;
    loop {
        let error = match read_copy(store, wanted).await {
            Ok(Ok(read)) => return Ok(read),
            Ok(Err(error)) => error,
            // Damage that needs an operator must not stop the merges of all other objects.
            Err(error) if error.is_gone || error.kind == Kind::TellHuman => {
                return Err(CopyError::Unreadable { source, error });
            }
            Err(error) => return Err(CopyError::Failed(error)),
        };
        if is_retry || !store.discard(*place).await {
            let name = store.name_of(source);
            let error = StoreError::damaged(format!("{name} is damaged: {error}; restore it from a copy"));
            return Err(CopyError::Unreadable { source, error });
        }
        tracing::warn!(?source, %error, "a copy is damaged; fetching its object again");
        is_retry = true;
    }
}

async fn read_copy(store: &dyn Store, wanted: &[Wanted]) -> Result<Result<Vec<Read>, ObjectError>, StoreError> {
    let Some((_, Piece { place, .. }, _)) = wanted.first() else { return Ok(Ok(Vec::new())) };
    // Few requests for all of them, instead of some for each.
    let begin = wanted.iter().map(|(_, piece, _)| piece.place.batches().start).min().unwrap_or_default();
    let end = wanted.iter().map(|(_, piece, _)| piece.place.batches().end).max().unwrap_or_default();
    store.prefetch(*place, begin..end);
    let front = bytes(store, place, 0..HEADER_BYTES as u64).await?;
    let header = match Header::parse(&front) {
        Ok(header) => header,
        Err(error) => return Ok(Err(error.into())),
    };
    let is_same = header.source() == place.source && header.link.id.tag() == place.tag;
    if !is_same || header.object_bytes != u64::from(place.object_bytes) {
        return Ok(Err(ObjectError::Header));
    }
    let front = bytes(store, place, 0..header.index_bytes()).await?;
    let index = match Index::parse(&front) {
        Ok(index) => index,
        Err(error) => return Ok(Err(error.into())),
    };
    store.touched(&front);
    let sections: BTreeMap<(PartitionId, u64), _> =
        index.sections().map(|(section, batches)| ((section.partition, section.first_offset), batches)).collect();
    let mut read = Vec::with_capacity(wanted.len());
    for (partition, piece, next_offset) in wanted {
        let found = sections.get(&(*partition, piece.first_offset)).copied().unwrap_or_default();
        let batches: Vec<Batch> = found.iter().map(|(batch, _)| *batch).collect();
        let begins_at = found.first().map(|(_, position)| *position);
        let records: u64 = batches.iter().map(|batch| u64::from(batch.records)).sum();
        let length: u64 = batches.iter().map(|batch| u64::from(batch.bytes)).sum();
        let is_described = begins_at == Some(piece.place.batches().start)
            && length == u64::from(piece.place.bytes)
            && piece.first_offset + records == *next_offset;
        if !is_described {
            return Ok(Err(ObjectError::Header));
        }
        let read_bytes = bytes(store, &piece.place, piece.place.batches()).await?;
        let (batches, intact) = match verified(piece.first_offset, batches, read_bytes).await? {
            Ok(intact) => intact,
            Err(error) => return Ok(Err(error)),
        };
        store.touched(&intact);
        read.push((batches, intact));
    }
    Ok(Ok(read))
}

/// Bytes of an object. Few reads are enough to fail a merge of many, so each is retried.
async fn bytes(store: &dyn Store, place: &Place, range: Range<u64>) -> Result<Bytes, StoreError> {
    let mut tries = 1;
    loop {
        match store.bytes(*place, range.clone()).await {
            Err(error) if !error.is_gone && error.kind == Kind::Wait && tries < MERGE_READS_MAX => {
                sleep(MERGE_READ_RETRY).await;
                tries += 1;
            }
            read => return read,
        }
    }
}

/// Checks batches against their descriptions; many of them on a thread that may block.
async fn verified(
    first_offset: u64,
    batches: Vec<Batch>,
    bytes: Bytes,
) -> Result<Result<Read, ObjectError>, StoreError> {
    let is_short = bytes.len() <= MERGED_BATCHES_INLINE_BYTES_MAX;
    let check = move || verify_batches(0, first_offset, batches.iter(), &bytes).map(|()| (batches, bytes));
    if is_short {
        return Ok(check());
    }
    spawn_blocking(check).await.map_err(|error| StoreError::wait(format!("a check was aborted ({error}); retry")))
}
