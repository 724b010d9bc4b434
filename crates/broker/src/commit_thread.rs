//! The thread that serves small appends and commits them.
//!
//! A small append costs less than waking a thread: with one, nothing has to be woken between a request, its commit, and
//! its response. What arrives while the thread writes and syncs waits in the sockets, and is committed together next.

use std::cell::Cell;
use std::io;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

thread_local! {
    static IS_COMMIT_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// A handle to the thread, which runs until the process ends. Only what is to wait for commits anyway may run there.
#[derive(Debug, Clone)]
pub struct CommitThread(Handle);

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
        Ok(CommitThread(handle))
    }

    /// Starts a task on the thread.
    pub fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.0.spawn(task)
    }

    /// Whether the current thread is one: it may block for a commit.
    pub(crate) fn is_current() -> bool {
        IS_COMMIT_THREAD.get()
    }
}
