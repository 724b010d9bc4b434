//! Why nothing was measured, each with the exit code of its kind.

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

impl LabError {
    /// The process' exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::File { .. } => 1,
            LabError::Sample(_) => 3,
            LabError::Schema(_) => 4,
        }
    }
}
