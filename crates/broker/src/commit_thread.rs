//! The thread that serves small appends and commits them.
//!
//! A small append costs less than waking a thread: with one, nothing has to be woken between a request, its commit, and
//! its response, nor for a reader that waits there for the next small record. What arrives while the thread writes and
//! syncs waits in the sockets, and is committed together next.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

thread_local! {
    static IS_COMMIT_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Readers that may wait on the thread. A commit that wakes all of them is followed by about a millisecond of their
/// responses before the next commit; the others wait on the runtime's threads.
const READERS_MAX: usize = 64;

/// A handle to the thread, which runs until the process ends. Only what is to wait for commits anyway may run there.
#[derive(Debug, Clone)]
pub struct CommitThread {
    runtime: Handle,
    readers: Arc<Semaphore>,
}

impl CommitThread {
    /// Starts the thread.
    #[expect(clippy::disallowed_methods, reason = "the runtime's own threads must not block")]
    pub fn start() -> io::Result<CommitThread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new().name("commit".into()).spawn(move || {
            IS_COMMIT_THREAD.set(true);
            runtime.block_on(std::future::pending::<()>());
        })?;
        Ok(CommitThread { runtime: handle, readers: Arc::new(Semaphore::new(READERS_MAX)) })
    }

    /// Starts a task on the thread.
    pub fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime.spawn(task)
    }

    /// The place of a reader that waits on the thread, until it is dropped; `None` if all are taken.
    pub fn reader(&self) -> Option<OwnedSemaphorePermit> {
        self.readers.clone().try_acquire_owned().ok()
    }

    /// Whether the current thread is one: it may block for a commit.
    pub(crate) fn is_current() -> bool {
        IS_COMMIT_THREAD.get()
    }
}
