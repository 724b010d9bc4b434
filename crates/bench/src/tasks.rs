//! Blocking work of an asynchronous benchmark.

use super::error::BenchError;

/// Runs blocking work on a thread for blocking work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BenchError> + Send + 'static,
) -> Result<T, BenchError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| BenchError::Failed(format!("the benchmark stopped: {error}; please report this")))?
}
