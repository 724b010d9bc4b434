//! What a caller can do about an error; every error of this crate answers it.

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request is wrong; sending it again gives the same answer.
    FixRequest,
    /// It may work if sent again at once.
    TryAgain,
    /// It will work when something has been freed or has recovered; wait, then try again.
    Wait,
    /// Only a person can help; the log has the details.
    TellHuman,
}
