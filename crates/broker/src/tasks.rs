//! The tasks and the blocking work that the broker starts. A simulation's runtime runs them like its own.

use tokio::task::JoinHandle;

/// Starts a task in the current runtime.
#[expect(clippy::disallowed_methods, reason = "the door itself")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}

/// Runs `work` on a thread that may block. It is carried out even if nobody waits for it.
#[expect(clippy::disallowed_methods, reason = "the door itself")]
pub(crate) fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}
