//! How a caller can handle an error.
//!
//! The whole workspace shares this one enum: it decides HTTP statuses, retries and exit codes. It lives here because
//! this is the only crate that both the broker and its clients see.

/// How a caller can handle an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is wrong. Sending it again fails in the same way.
    FixRequest,
    /// Retry at once: the cause was a race that is over.
    TryAgain,
    /// Retry later: something has to be freed or to recover first.
    Wait,
    /// Don't retry: an operator has to act. The broker's log has the details.
    TellHuman,
}

impl Kind {
    /// Whether sending the same request again can succeed without help.
    pub fn is_retryable(self) -> bool {
        match self {
            Kind::TryAgain | Kind::Wait => true,
            Kind::FixRequest | Kind::TellHuman => false,
        }
    }
}
