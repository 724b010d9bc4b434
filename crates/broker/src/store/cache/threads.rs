//! The threads that receive a bucket's objects and write them to the cache.
//!
//! The thread that has received a piece of a response writes it, while the processor's cache has it. To hand each piece
//! over to a thread that may block takes as long as the write. Only fetches run here, which wait for the disk anyway.

use super::error::unusable;
use crate::limits::{FETCH_THREADS_MAX, PROCESSORS_PER_FETCH_THREAD};
use crate::store_error::StoreError;
use crate::tasks;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Handles to the threads of a cache.
pub(super) struct Threads {
    handles: Vec<Handle>,
    /// Counts the fetches: threads take turns.
    fetches: AtomicUsize,
}

/// Ends the threads, with the fetches that are in flight, when it is dropped.
pub(super) struct Running {
    _stops: Vec<oneshot::Sender<Infallible>>,
}

impl Threads {
    /// Starts the threads of the cache in `dir`.
    pub fn start(dir: &Path) -> Result<(Threads, Running), StoreError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let count = (processors / PROCESSORS_PER_FETCH_THREAD).clamp(1, FETCH_THREADS_MAX);
        let started: io::Result<(Vec<_>, Vec<_>)> = (0..count).map(|_| start()).collect();
        let (handles, stops) = started.map_err(|error| unusable(dir, &error))?;
        Ok((Threads { handles, fetches: AtomicUsize::new(0) }, Running { _stops: stops }))
    }

    pub fn count(&self) -> usize {
        self.handles.len()
    }

    /// Starts a task on one of the threads, whose number it is made with.
    pub fn spawn<F: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce(usize) -> F) {
        let number = self.fetches.fetch_add(1, Ordering::Relaxed) % self.handles.len();
        let Some(handle) = self.handles.get(number) else { unreachable!("a cache has no thread {number}") };
        tasks::spawn_in(handle, task(number));
    }
}

#[expect(clippy::disallowed_methods, reason = "the runtime's own threads must not block")]
fn start() -> io::Result<(Handle, oneshot::Sender<Infallible>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<Infallible>();
    std::thread::Builder::new().name("fetch".into()).spawn(move || {
        // Until the sender is dropped: it sends nothing.
        let _ = runtime.block_on(stopped);
    })?;
    Ok((handle, stop))
}
