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

impl Sink for Vec<u8> {
    fn push(&mut self, piece: Bytes) -> bool {
        self.extend_from_slice(&piece);
        true
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
                self.threads.spawn(async move |thread| {
                    let loaded = inner.load_to_memory(thread, &object, &range, &full).await;
                    // Its last reader may close the cache, and open its directory again.
                    drop(inner);
                    landing.land(loaded);
                });
                flight
            }
        };
        flight.await.ok_or_else(|| aborted("the task that fetched it has died"))?
    }

    async fn load_to_memory(
        &self,
        thread: usize,
        object: &Remote,
        range: &Range<u64>,
        full: &io::Error,
    ) -> Result<Bytes, CacheError> {
        let fetch = |range| self.fetch_to_memory(thread, object, range, full);
        let front = front_of(object.bytes);
        if range.start < front.end {
            let bytes = fetch(0..range.end.max(front.end)).await?;
            check_front(&bytes, &object.name, object.bytes)?;
            return slice(&bytes, range);
        }
        let (front, bytes) = tokio::try_join!(fetch(front), fetch(range.clone()))?;
        check_front(&front, &object.name, object.bytes)?;
        Ok(bytes)
    }

    async fn fetch_to_memory(
        &self,
        thread: usize,
        object: &Remote,
        range: Range<u64>,
        full: &io::Error,
    ) -> Result<Bytes, CacheError> {
        let bytes = range.end - range.start;
        if bytes > CACHE_MEMORY_BYTES_MAX {
            return Err(unusable(&self.dir, full).into());
        }
        let permit = self.reserve_memory(bytes as u32).await?;
        let mut fetched = Vec::with_capacity(bytes as usize);
        (object.fetch)(thread, range.clone(), &mut fetched).await?;
        assert_eq!(fetched.len() as u64, bytes, "the bytes {range:?} of an object that were fetched");
        count(&range);
        Ok(Bytes::from_owner(InMemory { bytes: fetched, _permit: permit }))
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
