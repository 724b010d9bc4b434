//! Getting an object: from its copy, else from the bucket into a new copy, else into memory.

use super::check::check;
use super::files::Draft;
use super::flight::Landing;
use super::{CacheError, CopyName, Inner, Landed, Mapped, Reserved, Sink, aborted, unusable};
use crate::limits::{CACHE_MEMORY_BYTES_MAX, CACHE_PIECES_QUEUED_MAX};
use crate::object_error::ObjectError;
use crate::store_error::{Setting, StoreError};
use crate::tasks::{self, spawn_blocking};
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

/// How long a read waits for memory when the disk is full.
const MEMORY_WAIT: Duration = Duration::from_secs(10);

/// An object in memory, and its share of the memory for such objects.
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
    /// Gets an object in a separate task, so that it completes even if every caller that waits for it goes away.
    pub(super) fn fly<F>(
        self: Arc<Self>,
        landing: Landing<CopyName, Landed>,
        name: CopyName,
        bytes: u64,
        fetch: impl Fn(Sink) -> F + Send + Sync + 'static,
        guard: impl Send + 'static,
    ) where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        tasks::spawn(async move {
            let landed = self.load(&name, bytes, fetch).await;
            landing.land(landed.map(Some));
            drop(guard);
        });
    }

    /// Gets an object from its copy or, without an intact one, from the bucket.
    async fn load<F>(
        self: &Arc<Self>,
        name: &CopyName,
        bytes: u64,
        fetch: impl Fn(Sink) -> F,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        let (inner, wanted) = (self.clone(), name.clone());
        let opened = spawn_blocking(move || inner.open_copy(&wanted, bytes)).await.map_err(aborted)?;
        if let Some(whole) = opened {
            return Ok(whole);
        }
        let (mut was_damaged, mut was_full) = (false, false);
        loop {
            match self.download(name, bytes, &fetch).await {
                Err(CacheError::Damaged(error)) if !was_damaged => {
                    was_damaged = true;
                    let offset = name.first_offset;
                    tracing::warn!(topic = name.topic, offset, %error, "an object arrived damaged; fetching it again");
                }
                Err(CacheError::Disk(_)) if !was_full => {
                    was_full = true;
                    let inner = self.clone();
                    spawn_blocking(move || inner.shrink(bytes)).await.map_err(aborted)?;
                }
                Err(CacheError::Disk(error)) => {
                    self.log_failing(&error);
                    return self.download_to_memory(name, bytes, &fetch, &error).await;
                }
                done => return done,
            }
        }
    }

    /// Maps a copy, and checks it unless this process has done so.
    fn open_copy(&self, name: &CopyName, bytes: u64) -> Option<Bytes> {
        let is_verified = self.state().room.get(name)?.verified;
        let open = || {
            let whole = self.files.open(name).map_err(|error| error.to_string())?;
            self.files.touch(&whole).map_err(|error| error.to_string())?;
            if !is_verified || whole.len() as u64 != bytes {
                self.check(&whole, name, bytes).map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(whole)
        };
        match open() {
            Ok(whole) => {
                self.list_mapped(name, &whole);
                Some(whole)
            }
            Err(error) => {
                let path = self.files.path(name);
                tracing::warn!(path = %path.display(), error, "a copy is damaged; fetching its object again");
                self.forget(name);
                None
            }
        }
    }

    /// Fetches an object into a file, checks it and makes it a copy.
    async fn download<F>(
        self: &Arc<Self>,
        name: &CopyName,
        bytes: u64,
        fetch: &impl Fn(Sink) -> F,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        let (send, pieces) = mpsc::channel(CACHE_PIECES_QUEUED_MAX);
        let (inner, wanted) = (self.clone(), name.clone());
        let writing = spawn_blocking(move || {
            let reserved = Reserved::new(&inner, bytes);
            (reserved, inner.write_pieces(&wanted, pieces))
        });
        let fetched = fetch(Sink(send)).await;
        let (reserved, written) = writing.await.map_err(aborted)?;
        let draft = written.map_err(disk)?;
        fetched?;
        let (inner, name) = (self.clone(), name.clone());
        spawn_blocking(move || {
            let whole = draft.file().and_then(|file| inner.files.map(file)).map_err(disk)?;
            inner.check(&whole, &name, bytes)?;
            let Some(reserved) = reserved else {
                // The draft's file is unlinked here; its space is freed when its mapping is dropped.
                inner.state().oversized = Some((name, Mapped::new(&whole)));
                return Ok(whole);
            };
            inner.files.keep(draft, &name, bytes).map_err(disk)?;
            reserved.admit(&name, true);
            inner.list_mapped(&name, &whole);
            inner.logged_failing.store(false, Ordering::Relaxed);
            Ok(whole)
        })
        .await
        .map_err(aborted)?
    }

    /// Checks a mapped object.
    fn check(&self, whole: &Bytes, name: &CopyName, bytes: u64) -> Result<(), ObjectError> {
        let checked = check(whole, name, bytes);
        self.files.mappings().touched(whole);
        checked
    }

    fn write_pieces(&self, name: &CopyName, mut pieces: mpsc::Receiver<Bytes>) -> io::Result<Draft> {
        let mut draft = self.files.draft(name)?;
        while let Some(piece) = pieces.blocking_recv() {
            draft.write(&piece)?;
        }
        Ok(draft)
    }

    /// Fetches an object into memory, because the disk takes none.
    async fn download_to_memory<F>(
        &self,
        name: &CopyName,
        bytes: u64,
        fetch: &impl Fn(Sink) -> F,
        full: &io::Error,
    ) -> Result<Bytes, CacheError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        if bytes > CACHE_MEMORY_BYTES_MAX {
            return Err(unusable(&self.dir, full).into());
        }
        let permit = self.reserve_memory(bytes as u32).await?;
        let (send, mut pieces) = mpsc::channel::<Bytes>(CACHE_PIECES_QUEUED_MAX);
        let mut whole = Vec::with_capacity(bytes as usize);
        let collect = async {
            while let Some(piece) = pieces.recv().await {
                if (whole.len() + piece.len()) as u64 > bytes {
                    break;
                }
                whole.extend_from_slice(&piece);
            }
            drop(pieces);
        };
        let (fetched, ()) = tokio::join!(fetch(Sink(send)), collect);
        fetched?;
        check(&whole, name, bytes)?;
        let whole = Bytes::from_owner(InMemory { bytes: whole, _permit: permit });
        self.state().in_memory.put(name.clone(), Mapped::new(&whole));
        Ok(whole)
    }

    async fn reserve_memory(&self, bytes: u32) -> Result<OwnedSemaphorePermit, StoreError> {
        assert!(u64::from(bytes) <= CACHE_MEMORY_BYTES_MAX, "{bytes} bytes would wait forever");
        // Objects in memory that no request uses make room for this one.
        while self.memory.available_permits() < bytes as usize && self.state().in_memory.pop_lru().is_some() {}
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

fn disk(error: io::Error) -> CacheError {
    CacheError::Disk(Arc::new(error))
}
