//! Fetching blocks into their copy's file.

use super::Inner;
use super::copy::{Copy, Flying, Landed};
use super::error::{CacheError, disk};
use super::flight::Flight;
use super::name::CopyName;
use super::reserved::Reserved;
use crate::limits::{CACHE_BLOCK_BYTES, CACHE_WRITE_BYTES_MIN};
use crate::metrics::METRICS;
use crate::object_error::ObjectError;
use crate::store::Prefetched;
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Takes an object's bytes as they arrive.
pub(crate) trait Sink: Send {
    /// Takes the next piece; false when the disk has failed and no more is wanted. May block.
    #[must_use]
    fn push(&mut self, piece: Bytes) -> bool;
}

/// Fetches a range of an object, as often as it is called, on one of the cache's threads, which has this number.
type Fetch = dyn for<'a> Fn(usize, Range<u64>, &'a mut dyn Sink) -> BoxFuture<'a, Result<(), StoreError>> + Send + Sync;

/// An object of a bucket.
#[derive(Clone)]
pub(crate) struct Remote {
    /// The name of its copy.
    pub name: CopyName,
    /// Its size.
    pub bytes: u64,
    pub(super) fetch: Arc<Fetch>,
}

impl Remote {
    pub fn new(
        name: CopyName,
        bytes: u64,
        fetch: impl for<'a> Fn(usize, Range<u64>, &'a mut dyn Sink) -> BoxFuture<'a, Result<(), StoreError>>
        + Send
        + Sync
        + 'static,
    ) -> Remote {
        Remote { name, bytes, fetch: Arc::new(fetch) }
    }
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
        self.threads.spawn(async move |thread| {
            let landed = inner.load(thread, &flying.copy, &object, &flying.range).await;
            if let Err(CacheError::Disk(error)) = &landed
                && error.raw_os_error().is_some()
            {
                inner.failing.failed(&inner.dir, error.clone());
            }
            // Its last reader may close the cache, and open its directory again.
            drop(inner);
            let permit = flying.permit.take();
            flying.land(landed);
            drop(permit);
        });
    }

    /// Fetches blocks into their copy's file. Blocks while it writes.
    async fn load(self: &Arc<Self>, thread: usize, copy: &Copy, object: &Remote, range: &Range<u64>) -> Landed {
        let bytes = range.end - range.start;
        if bytes > self.state().room.bytes_max() {
            return Err(disk(no_room()));
        }
        let reserved = Reserved::new(self, bytes).ok_or_else(|| disk(no_room()))?;
        let mut writing = Writing::new(self, copy, range);
        let fetched = (object.fetch)(thread, range.clone(), &mut writing).await;
        if let Some(error) = writing.failed {
            return Err(disk(error));
        }
        fetched?;
        let end = writing.position;
        assert_eq!(end, range.end, "the end of the bytes {range:?} of {:?} that were fetched", object.name);
        count(range);
        reserved.grow(&object.name, copy.number);
        self.failing.worked();
        Ok(())
    }
}

/// A range that is written as it arrives.
struct Writing<'a> {
    inner: &'a Inner,
    copy: &'a Copy,
    range: &'a Range<u64>,
    /// Where the bytes end that are written.
    position: u64,
    /// The bytes that follow the written ones.
    arrived: Vec<Bytes>,
    arrived_bytes: u64,
    /// Whether the cache was made smaller by this range, because its disk was full.
    was_full: bool,
    /// Why nothing more is written.
    failed: Option<io::Error>,
}

impl<'a> Writing<'a> {
    fn new(inner: &'a Inner, copy: &'a Copy, range: &'a Range<u64>) -> Self {
        let (position, arrived) = (range.start, Vec::new());
        Writing { inner, copy, range, position, arrived, arrived_bytes: 0, was_full: false, failed: None }
    }

    /// Writes the whole blocks that have arrived. Where the disk is full, it makes the cache smaller by this range,
    /// once.
    fn write(&mut self) -> io::Result<()> {
        let rest = after_whole_blocks(&mut self.arrived, self.position, self.range.end);
        let mut written = self.copy.write(&self.arrived, self.position);
        if written.is_err() && !self.was_full {
            self.was_full = true;
            self.inner.shrink(self.range.end - self.range.start);
            written = self.copy.write(&self.arrived, self.position);
        }
        self.position = written?;
        self.arrived = rest;
        self.arrived_bytes = self.arrived.iter().map(|piece| piece.len() as u64).sum();
        Ok(())
    }
}

impl Sink for Writing<'_> {
    fn push(&mut self, piece: Bytes) -> bool {
        self.arrived_bytes += piece.len() as u64;
        self.arrived.push(piece);
        if self.arrived_bytes < CACHE_WRITE_BYTES_MIN && self.position + self.arrived_bytes < self.range.end {
            return true;
        }
        self.failed = self.write().err();
        self.failed.is_none()
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
    use crate::store::cache::Cache;
    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use std::sync::Mutex;

    /// Number and size of the writes that this thread has made so far.
    fn writes() -> [u64; 2] {
        let counts = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        ["syscw: ", "wchar: "].map(|name| {
            let count = counts.lines().find_map(|line| line.strip_prefix(name));
            count.unwrap().parse().unwrap()
        })
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_thread_that_receives_bytes_writes_them_in_few_calls() {
        const PIECE: usize = 16 << 10;
        const BYTES: u64 = 1_000_000;
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), 1 << 30).unwrap();
        let written = Arc::new(Mutex::new([0; 2]));
        let counted = written.clone();
        let name = CopyName { topic: "t".to_owned(), first_offset: 1, tag: 1 };
        let object = Remote::new(name, BYTES, move |_, range, sink| {
            let before = writes();
            for piece in (range.start..range.end).step_by(PIECE) {
                assert!(sink.push(vec![7; PIECE.min((range.end - piece) as usize)].into()));
            }
            let after = writes();
            *counted.lock().unwrap() = [after[0] - before[0], after[1] - before[1]];
            std::future::ready(Ok(())).boxed()
        });
        let copy = cache.inner.open(&object.name, BYTES).await.unwrap();
        for landed in join_all(cache.inner.begin(&copy, &object, &(0..BYTES))).await {
            landed.unwrap().unwrap();
        }
        assert_eq!(*written.lock().unwrap(), [BYTES.div_ceil(CACHE_WRITE_BYTES_MIN), BYTES]);
        assert!(copy.whole.iter().all(|byte| *byte == 7));
    }

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
