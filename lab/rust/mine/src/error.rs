//! Why nothing was measured.

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The sample can't be measured.
    #[error("{0}")]
    Sample(String),
    /// The schema is invalid, or the messages don't match it.
    #[error("{0}")]
    Schema(String),
}
