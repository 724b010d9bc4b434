//! How a request fails, and what a caller can do about it.

use rawline_batch::BatchError;
use std::time::Duration;

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request is wrong; sending it again gives the same answer.
    FixRequest,
    /// It may work if sent again.
    TryAgain,
    /// It will work when something has been freed or has recovered: wait, then try again.
    Wait,
    /// Only a person can help.
    TellHuman,
}

/// Why a request failed. Every message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The client was set up wrongly.
    #[error("{reason}")]
    Config {
        /// What is wrong with which setting.
        reason: String,
    },
    /// No connection came about.
    #[error("can't connect to {broker} ({reason}); is the broker running there? start it with `rawline serve`")]
    Connect {
        /// The broker's address.
        broker: String,
        /// What the system said.
        reason: String,
    },
    /// The two ends found no encryption that both trust.
    #[error(
        "no TLS with {broker} ({reason}); check its certificate, and let the system, or SSL_CERT_FILE, trust who signed it"
    )]
    Tls {
        /// The broker's address.
        broker: String,
        /// What TLS said.
        reason: String,
    },
    /// The connection broke before the answer was there. The request may have been carried out.
    #[error("the connection to {broker} broke ({reason}); see whether the broker is still running, then try again")]
    Broken {
        /// The broker's address.
        broker: String,
        /// What the connection said.
        reason: String,
    },
    /// No answer in time. The request may have been carried out.
    #[error(
        "no answer from {broker} within {:.1} s; it may be overloaded: try again later or with a longer time-out",
        waited.as_secs_f64()
    )]
    Timeout {
        /// The broker's address.
        broker: String,
        /// The time-out that ran out.
        waited: Duration,
    },
    /// The broker answered with an error.
    #[error("{message} (HTTP {status}, {code})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The broker's code for the error, such as `topic_not_found`; the status' own text if there was none.
        code: String,
        /// The broker's sentence.
        message: String,
        /// How long to wait before trying again, if the broker said so.
        retry_after: Option<Duration>,
    },
    /// The answer is not one that a broker gives.
    #[error("{broker} gave an answer that is not a broker's ({reason}); is another program listening there?")]
    Answer {
        /// The broker's address.
        broker: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A batch is damaged, received or to be sent.
    #[error("bad batch: {0}")]
    Batch(#[from] BatchError),
    /// The producer stopped after an earlier failure; what was still in its buffer was not sent.
    #[error("the producer has stopped: {reason}; make a new one and send again what has no offset")]
    Stopped {
        /// The failure that stopped it.
        reason: String,
    },
}

impl ClientError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            ClientError::Config { .. } => Kind::FixRequest,
            ClientError::Connect { .. } => Kind::Wait,
            ClientError::Broken { .. } | ClientError::Timeout { .. } => Kind::TryAgain,
            ClientError::Refused { status: 429 | 503, .. } => Kind::Wait,
            ClientError::Refused { status: 408 | 502 | 504, .. } => Kind::TryAgain,
            ClientError::Refused { status: 500.., .. } => Kind::TellHuman,
            ClientError::Refused { .. } => Kind::FixRequest,
            // Damage on the way is rare and does not strike twice in the same place.
            ClientError::Batch(BatchError::Crc { .. }) => Kind::TryAgain,
            ClientError::Batch(_) => Kind::FixRequest,
            ClientError::Tls { .. } | ClientError::Answer { .. } | ClientError::Stopped { .. } => Kind::TellHuman,
        }
    }

    /// Whether the same request may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind(), Kind::TryAgain | Kind::Wait)
    }

    /// The HTTP status, if the broker answered with an error.
    pub fn status(&self) -> Option<u16> {
        match self {
            ClientError::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The broker's code for the error, such as `topic_not_found`, if it answered with one.
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// How long the broker asked to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ClientError::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
