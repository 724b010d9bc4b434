//! How a benchmark fails.

/// Why a benchmark gave no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A request, a file or the broker failed.
    #[error("{0}")]
    Failed(String),
    /// The arguments contradict each other in a way that the parser can't see.
    #[error("{0}")]
    Usage(String),
}
