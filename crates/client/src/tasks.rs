//! Starts the client's tasks. A simulation's runtime runs them like its own.

use tokio::task::JoinHandle;

/// Starts a task in the current runtime.
#[expect(clippy::disallowed_methods, reason = "the door itself")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}
