//! Fetching blocks into their copy's file.

use super::Inner;
use super::copy::{Copy, Flying, Landed};
use super::error::{CacheError, aborted, disk};
use super::flight::Flight;
use super::name::CopyName;
use super::reserved::Reserved;
use crate::limits::{CACHE_BLOCK_BYTES, CACHE_PIECES_QUEUED_MAX};
use crate::metrics::METRICS;
use crate::object_error::ObjectError;
use crate::store::Prefetched;
use crate::store_error::StoreError;
use crate::tasks::{self, spawn_blocking};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Takes an object's bytes as they arrive.
pub(crate) struct Sink(mpsc::Sender<Bytes>);

impl Sink {
    /// Returns the receiver of the pieces too.
    pub fn new() -> (Sink, mpsc::Receiver<Bytes>) {
        let (pieces, received) = mpsc::channel(CACHE_PIECES_QUEUED_MAX);
        (Sink(pieces), received)
    }

    /// Hands over the next piece and waits while the disk is slower; false when the disk has failed and no more is
    /// wanted.
    #[must_use]
    pub async fn push(&self, piece: Bytes) -> bool {
        self.0.send(piece).await.is_ok()
    }
}

/// Fetches a range of an object, as often as it is called.
pub(crate) type Fetch = Arc<dyn Fn(Range<u64>, Sink) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;

/// An object of a bucket.
#[derive(Clone)]
pub(crate) struct Remote {
    /// The name of its copy.
    pub name: CopyName,
    /// Its size.
    pub bytes: u64,
    pub fetch: Fetch,
}

impl Inner {
    /// Begins to fetch what a read of these bytes needs and isn't here. Returns what it has to wait for.
    pub(super) fn begin(
        self: &Arc<Self>,
        copy: &Arc<Copy>,
        object: &Remote,
        range: &Range<u64>,
    ) -> Vec<Flight<Landed>> {
        let mut flights = Vec::new();
        for needed in copy.needed(range) {
            let (waits, flying) = copy.want(&needed, || Some(None));
            flights.extend(waits);
            flying.into_iter().for_each(|flying| self.fly(flying, object));
        }
        flights
    }

    /// The same for a read that is expected, as far as so much may be fetched ahead.
    pub(super) fn begin_ahead(self: &Arc<Self>, copy: &Arc<Copy>, object: &Remote, range: &Range<u64>) -> Prefetched {
        if self.failing.now().is_some() {
            return Prefetched::Refused;
        }
        let (mut is_here, mut is_refused) = (true, false);
        for needed in copy.needed(range) {
            let (waits, flying) = copy.want(&needed, || {
                let permit = self.ahead.clone().try_acquire_owned().ok();
                is_refused |= permit.is_none();
                permit.map(Some)
            });
            is_here &= waits.is_empty();
            flying.into_iter().for_each(|flying| self.fly(flying, object));
        }
        match (is_refused, is_here) {
            (true, _) => Prefetched::Refused,
            (false, true) => Prefetched::Here,
            (false, false) => Prefetched::Begun,
        }
    }

    /// Fetches blocks in a separate task, so that it completes even if every reader that waits for it goes away.
    fn fly(self: &Arc<Self>, mut flying: Flying, object: &Remote) {
        let (inner, object) = (self.clone(), object.clone());
        tasks::spawn(async move {
            let landed = inner.load(&flying.copy, &object, &flying.range).await;
            if let Err(CacheError::Disk(error)) = &landed
                && error.raw_os_error().is_some()
            {
                inner.failing.failed(&inner.dir, error.clone());
            }
            let permit = flying.permit.take();
            flying.land(landed);
            drop(permit);
        });
    }

    /// Fetches blocks into their copy's file.
    async fn load(self: &Arc<Self>, copy: &Arc<Copy>, object: &Remote, range: &Range<u64>) -> Landed {
        if range.end - range.start > self.state().room.bytes_max() {
            return Err(disk(no_room()));
        }
        let (sink, pieces) = Sink::new();
        let (inner, copy, wanted) = (self.clone(), copy.clone(), range.clone());
        let writing = spawn_blocking(move || {
            let reserved = Reserved::new(&inner, wanted.end - wanted.start).ok_or_else(no_room)?;
            let end = inner.write(&copy, &wanted, pieces)?;
            Ok::<_, io::Error>((reserved, copy.number, end))
        });
        let fetched = (object.fetch)(range.clone(), sink).await;
        let (reserved, number, end) = writing.await.map_err(aborted)?.map_err(disk)?;
        fetched?;
        assert_eq!(end, range.end, "the end of the bytes {range:?} of {:?} that were fetched", object.name);
        count(range);
        reserved.grow(&object.name, number);
        self.failing.worked();
        Ok(())
    }

    /// Writes the bytes of a range as they arrive. Where the disk is full, it makes the cache smaller by this range,
    /// once. Returns where they end. Blocks.
    fn write(&self, copy: &Copy, range: &Range<u64>, mut pieces: mpsc::Receiver<Bytes>) -> io::Result<u64> {
        let (mut position, mut was_full, mut arrived) = (range.start, false, Vec::new());
        while let Some(piece) = pieces.blocking_recv() {
            arrived.push(piece);
            arrived.extend(std::iter::from_fn(|| pieces.try_recv().ok()).take(CACHE_PIECES_QUEUED_MAX));
            let rest = after_whole_blocks(&mut arrived, position, range.end);
            let mut written = copy.write(&arrived, position);
            if written.is_err() && !was_full {
                was_full = true;
                self.shrink(range.end - range.start);
                written = copy.write(&arrived, position);
            }
            position = written?;
            arrived = rest;
        }
        Ok(position)
    }
}

/// Splits off what follows the last whole block of bytes that begin at a block and end at `end`: a process that is
/// killed leaves no block that is written in part.
fn after_whole_blocks(pieces: &mut Vec<Bytes>, position: u64, end: u64) -> Vec<Bytes> {
    let arrived = position + pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
    let mut left = if arrived < end { (arrived % CACHE_BLOCK_BYTES) as usize } else { 0 };
    let mut rest = Vec::new();
    while left > 0 {
        let Some(mut piece) = pieces.pop() else {
            unreachable!("{left} bytes before {position}, where a block begins")
        };
        let before = piece.len().saturating_sub(left);
        left -= piece.len() - before;
        rest.insert(0, piece.split_off(before));
        if before > 0 {
            pieces.push(piece);
        }
    }
    rest
}

fn no_room() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the cache is smaller than what is read")
}

/// Counts a GET.
pub(super) fn count(range: &Range<u64>) {
    METRICS.cache.fetches.add(1);
    METRICS.cache.fetched_bytes.add(range.end - range.start);
}

pub(super) fn slice(whole: &Bytes, range: &Range<u64>) -> Result<Bytes, CacheError> {
    if range.start > range.end || range.end > whole.len() as u64 {
        return Err(ObjectError::Truncated { have: whole.len() as u64, need: range.end }.into());
    }
    Ok(whole.slice(range.start as usize..range.end as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_written_and_the_rest_follows() {
        const BLOCK: usize = CACHE_BLOCK_BYTES as usize;
        let mut random = fastrand::Rng::with_seed(5);
        for bytes in [1, BLOCK - 1, BLOCK, 3 * BLOCK, 5 * BLOCK + 77] {
            let (begin, end) = (2 * CACHE_BLOCK_BYTES, 2 * CACHE_BLOCK_BYTES + bytes as u64);
            let mut object = Bytes::from((0..bytes).map(|_| random.u8(..)).collect::<Vec<u8>>());
            let (expected, mut written, mut arrived) = (object.clone(), Vec::new(), Vec::new());
            while !object.is_empty() {
                for _ in 0..random.usize(1..4) {
                    arrived.push(object.split_to(random.usize(0..=object.len().min(2 * BLOCK))));
                }
                let rest = after_whole_blocks(&mut arrived, begin + written.len() as u64, end);
                arrived.iter().for_each(|piece| written.extend_from_slice(piece));
                assert!(written.len().is_multiple_of(BLOCK) || written.len() == bytes, "{} of {bytes}", written.len());
                arrived = rest;
            }
            assert!(arrived.is_empty() && written == expected, "{bytes} bytes");
        }
    }
}
