//! Whether the batches of pieces are intact: each is read and compared with its checksum.

use crate::journal::copy::{CopyError, Wanted, bytes_of, read_source};
use crate::limits::VIEW_READS_MAX;
use crate::meter::Meter;
use crate::store::Store;
use crate::store_error::StoreError;
use futures_util::stream::{self, StreamExt};

/// Pieces of one object that can't be read.
pub(crate) struct Unreadable {
    pub pieces: Vec<Wanted>,
    pub error: StoreError,
}

/// Which of these pieces can't be read.
pub(crate) async fn unreadable(store: &dyn Store, mut pieces: Vec<Wanted>, meter: &Meter) -> Vec<Unreadable> {
    meter.expect(bytes_of(&pieces));
    // Each object is fetched once, if it isn't at hand.
    pieces.sort_unstable_by_key(|(partition, piece, _)| (piece.place.source, *partition, piece.first_offset));
    let by_source = pieces.chunk_by(|(_, one, _), (_, next, _)| one.place.source == next.place.source);
    let read = async |pieces: &[Wanted]| {
        let found = of_source(store, pieces).await;
        meter.done(bytes_of(pieces));
        found
    };
    stream::iter(by_source).map(read).buffered(VIEW_READS_MAX).filter_map(async |found| found).collect().await
}

async fn of_source(store: &dyn Store, pieces: &[Wanted]) -> Option<Unreadable> {
    let error = read_source(store, pieces).await.err().map(CopyError::into_error)?;
    // One damaged batch leaves the other pieces readable.
    let mut unreadable = Vec::new();
    for wanted in pieces {
        if read_source(store, std::slice::from_ref(wanted)).await.is_err() {
            unreadable.push(*wanted);
        }
    }
    (!unreadable.is_empty()).then_some(Unreadable { pieces: unreadable, error })
}
