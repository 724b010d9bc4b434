//! Errors of a benchmark.

/// Why a benchmark has no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A request, a file or the broker failed.
    #[error("{0}")]
    Failed(String),
    /// The arguments contradict each other in a way that the parser can't detect.
    #[error("{0}")]
    Usage(String),
}
