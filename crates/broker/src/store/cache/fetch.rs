//! Fetching blocks: into their copy's file, or into memory where the disk takes none.

use super::Inner;
use super::check::{check_front, front_of};
use super::copy::{Copy, Flying, Landed};
use super::error::{CacheError, aborted, disk, unusable};
use super::flight::Flight;
use super::name::CopyName;
use super::reserved::Reserved;
use crate::limits::{CACHE_MEMORY_BYTES_MAX, CACHE_PIECES_QUEUED_MAX};
use crate::metrics::METRICS;
use crate::object_error::ObjectError;
use crate::store::Prefetched;
use crate::store_error::{Setting, StoreError};
use crate::tasks::{self, spawn_blocking};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

/// Takes an object's bytes as they arrive.
pub(crate) struct Sink(mpsc::Sender<Bytes>);

impl Sink {
    /// Hands over the next piece and waits while the disk is slower; false when the disk has failed and no more is
    /// wanted.
    #[must_use]
    pub async fn push(&self, piece: Bytes) -> bool {
        self.0.send(piece).await.is_ok()
    }
}

/// Fetches a range of an object, as often as it is called.
pub(crate) type Fetch = Arc<dyn Fn(Range<u64>, Sink) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;

/// How long a read waits for memory when the disk is full.
const MEMORY_WAIT: Duration = Duration::from_secs(10);

/// Bytes in memory, and their share of the memory for such bytes.
struct InMemory {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for InMemory {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Inner {
    /// Begins to fetch what a read of these bytes needs and isn't here. Returns what it has to wait for.
    pub(super) fn begin(
        self: &Arc<Self>,
        copy: &Arc<Copy>,
        name: &CopyName,
        range: &Range<u64>,
        fetch: &Fetch,
    ) -> Vec<Flight<Landed>> {
        let mut flights = Vec::new();
        for needed in copy.needed(range) {
            let (waits, flying) = copy.want(&needed, || Some(None));
            flights.extend(waits);
            flying.into_iter().for_each(|flying| self.fly(flying, name, fetch));
        }
        flights
    }

    /// The same for a read that is expected, as far as so much may be fetched ahead.
    pub(super) fn begin_ahead(
        self: &Arc<Self>,
        copy: &Arc<Copy>,
        name: &CopyName,
        range: &Range<u64>,
        fetch: &Fetch,
    ) -> Prefetched {
        let (mut is_here, mut is_refused) = (true, false);
        for needed in copy.needed(range) {
            let (waits, flying) = copy.want(&needed, || {
                let permit = self.ahead.clone().try_acquire_owned().ok();
                is_refused |= permit.is_none();
                permit.map(Some)
            });
            is_here &= waits.is_empty();
            flying.into_iter().for_each(|flying| self.fly(flying, name, fetch));
        }
        match (is_refused, is_here) {
            (true, _) => Prefetched::Refused,
            (false, true) => Prefetched::Here,
            (false, false) => Prefetched::Begun,
        }
    }

    /// Fetches blocks in a separate task, so that it completes even if every reader that waits for it goes away.
    fn fly(self: &Arc<Self>, mut flying: Flying, name: &CopyName, fetch: &Fetch) {
        let (inner, name, fetch) = (self.clone(), name.clone(), fetch.clone());
        tasks::spawn(async move {
            let landed = inner.load(&flying.copy, &name, &flying.range, &fetch).await;
            let permit = flying.permit.take();
            flying.land(landed);
            drop(permit);
        });
    }

    async fn load(
        self: &Arc<Self>,
        copy: &Arc<Copy>,
        name: &CopyName,
        range: &Range<u64>,
        fetch: &Fetch,
    ) -> Result<(), CacheError> {
        if range.end - range.start > self.state().room.bytes_max() {
            return Err(disk(no_room()));
        }
        let mut was_full = false;
        loop {
            match self.download(copy, name, range, fetch).await {
                Err(CacheError::Disk(_)) if !was_full => {
                    was_full = true;
                    let (inner, bytes) = (self.clone(), range.end - range.start);
                    spawn_blocking(move || inner.shrink(bytes)).await.map_err(aborted)?;
                }
                Err(CacheError::Disk(error)) => {
                    self.log_failing(&error);
                    return Err(CacheError::Disk(error));
                }
                done => return done,
            }
        }
    }

    /// Fetches blocks into their copy's file.
    async fn download(
        self: &Arc<Self>,
        copy: &Arc<Copy>,
        name: &CopyName,
        range: &Range<u64>,
        fetch: &Fetch,
    ) -> Result<(), CacheError> {
        let (send, mut pieces) = mpsc::channel::<Bytes>(CACHE_PIECES_QUEUED_MAX);
        let (inner, copy, name, wanted) = (self.clone(), copy.clone(), name.clone(), range.clone());
        let writing = spawn_blocking(move || {
            let bytes = wanted.end - wanted.start;
            let reserved = Reserved::new(&inner, bytes).ok_or_else(no_room)?;
            let mut position = wanted.start;
            while let Some(piece) = pieces.blocking_recv() {
                copy.file.write_all_at(&piece, position)?;
                position += piece.len() as u64;
            }
            Ok::<_, io::Error>((reserved, copy, name, position))
        });
        let fetched = fetch(range.clone(), Sink(send)).await;
        let (reserved, copy, name, position) = writing.await.map_err(aborted)?.map_err(disk)?;
        fetched?;
        assert_eq!(position, range.end, "the end of the bytes {range:?} of {name:?} that were fetched");
        count(range);
        reserved.grow(&name, copy.number);
        self.logged_failing.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes of an object in memory, because the disk takes none.
    pub(super) async fn get_in_memory(
        &self,
        name: &CopyName,
        object_bytes: u64,
        range: &Range<u64>,
        fetch: &Fetch,
        full: &io::Error,
    ) -> Result<Bytes, CacheError> {
        let front = front_of(object_bytes);
        if range.start < front.end {
            let front = self.fetch_to_memory(&(0..range.end.max(front.end)), fetch, full).await?;
            check_front(&front, name, object_bytes)?;
            return slice(&front, range);
        }
        check_front(&self.fetch_to_memory(&front, fetch, full).await?, name, object_bytes)?;
        self.fetch_to_memory(range, fetch, full).await
    }

    async fn fetch_to_memory(&self, range: &Range<u64>, fetch: &Fetch, full: &io::Error) -> Result<Bytes, CacheError> {
        let bytes = range.end - range.start;
        if bytes > CACHE_MEMORY_BYTES_MAX {
            return Err(unusable(&self.dir, full).into());
        }
        let permit = self.reserve_memory(bytes as u32).await?;
        let (send, mut pieces) = mpsc::channel::<Bytes>(CACHE_PIECES_QUEUED_MAX);
        let mut fetched_bytes = Vec::with_capacity(bytes as usize);
        let collect = async {
            while let Some(piece) = pieces.recv().await {
                fetched_bytes.extend_from_slice(&piece);
            }
        };
        let (fetched, ()) = tokio::join!(fetch(range.clone(), Sink(send)), collect);
        fetched?;
        assert_eq!(fetched_bytes.len() as u64, bytes, "the bytes {range:?} of an object that were fetched");
        count(range);
        Ok(Bytes::from_owner(InMemory { bytes: fetched_bytes, _permit: permit }))
    }

    async fn reserve_memory(&self, bytes: u32) -> Result<OwnedSemaphorePermit, StoreError> {
        match timeout(MEMORY_WAIT, self.memory.clone().acquire_many_owned(bytes)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(StoreError::wait(format!(
                "the disk of the cache {} is full, and so is the memory for reading without it; free some space, then \
                 retry",
                self.dir.display()
            ))
            .about(Setting::CacheBytes)),
        }
    }
}

fn no_room() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the cache is smaller than what is read")
}

/// Counts a GET.
fn count(range: &Range<u64>) {
    METRICS.cache.fetches.add(1);
    METRICS.cache.fetched_bytes.add(range.end - range.start);
}

pub(super) fn slice(whole: &Bytes, range: &Range<u64>) -> Result<Bytes, CacheError> {
    if range.start > range.end || range.end > whole.len() as u64 {
        return Err(ObjectError::Truncated { have: whole.len() as u64, need: range.end }.into());
    }
    Ok(whole.slice(range.start as usize..range.end as usize))
}
