//! Ranges of objects in memory, while the cache's disk takes nothing: bounded, and one task fetches a range, however
//! many readers want it.

use super::Inner;
use super::check::{check_front, front_of};
use super::error::{CacheError, aborted, unusable};
use super::fetch::{Remote, Sink, count, slice};
use super::flight::{Flights, Joined};
use super::name::CopyName;
use crate::limits::CACHE_MEMORY_BYTES_MAX;
use crate::store_error::{Setting, StoreError};
use crate::tasks;
use bytes::Bytes;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a read waits for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(10);

/// A range of an object.
type Part = (CopyName, Range<u64>);

/// The memory for such ranges, and those that are being fetched.
pub(super) struct Memory {
    bytes: Arc<Semaphore>,
    flights: Arc<Flights<Part, Result<Bytes, CacheError>>>,
}

/// Bytes in memory, and their share of it.
struct InMemory {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for InMemory {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Memory {
    pub fn new() -> Memory {
        Memory { bytes: Arc::new(Semaphore::new(CACHE_MEMORY_BYTES_MAX as usize)), flights: Flights::new() }
    }
}

impl Inner {
    /// Bytes of an object in memory, because the disk takes none.
    pub(super) async fn get_in_memory(
        self: &Arc<Self>,
        object: &Remote,
        range: &Range<u64>,
        full: Arc<io::Error>,
    ) -> Result<Bytes, CacheError> {
        let flight = match self.memory.flights.join(&(object.name.clone(), range.clone())) {
            Joined::Wait(flight) => flight,
            Joined::Fly(landing, flight) => {
                let (inner, object, range) = (self.clone(), object.clone(), range.clone());
                tasks::spawn(async move { landing.land(inner.load_to_memory(&object, &range, &full).await) });
                flight
            }
        };
        flight.await.ok_or_else(|| aborted("the task that fetched it has died"))?
    }

    async fn load_to_memory(&self, object: &Remote, range: &Range<u64>, full: &io::Error) -> Result<Bytes, CacheError> {
        let front = front_of(object.bytes);
        if range.start < front.end {
            let bytes = self.fetch_to_memory(object, 0..range.end.max(front.end), full).await?;
            check_front(&bytes, &object.name, object.bytes)?;
            return slice(&bytes, range);
        }
        let (front, bytes) =
            (self.fetch_to_memory(object, front, full), self.fetch_to_memory(object, range.clone(), full));
        let (front, bytes) = tokio::try_join!(front, bytes)?;
        check_front(&front, &object.name, object.bytes)?;
        Ok(bytes)
    }

    async fn fetch_to_memory(&self, object: &Remote, range: Range<u64>, full: &io::Error) -> Result<Bytes, CacheError> {
        let bytes = range.end - range.start;
        if bytes > CACHE_MEMORY_BYTES_MAX {
            return Err(unusable(&self.dir, full).into());
        }
        let permit = self.reserve_memory(bytes as u32).await?;
        let (sink, mut pieces) = Sink::new();
        let mut fetched_bytes = Vec::with_capacity(bytes as usize);
        let collect = async {
            while let Some(piece) = pieces.recv().await {
                fetched_bytes.extend_from_slice(&piece);
            }
        };
        let (fetched, ()) = tokio::join!((object.fetch)(range.clone(), sink), collect);
        fetched?;
        assert_eq!(fetched_bytes.len() as u64, bytes, "the bytes {range:?} of an object that were fetched");
        count(&range);
        Ok(Bytes::from_owner(InMemory { bytes: fetched_bytes, _permit: permit }))
    }

    async fn reserve_memory(&self, bytes: u32) -> Result<OwnedSemaphorePermit, StoreError> {
        match timeout(MEMORY_WAIT, self.memory.bytes.clone().acquire_many_owned(bytes)).await {
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
