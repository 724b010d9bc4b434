//! Why a test has no broker.

use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// The broker didn't start, or has ended.
#[derive(Debug, Error)]
pub enum BrokerError {
    /// No program was found.
    #[error("no program rawline {place}; install it, or set RAWLINE_BIN to its path")]
    NoProgram {
        /// Where it isn't.
        place: String,
    },
    /// The broker has ended by itself.
    #[error("the broker has ended ({status}):\n{log}")]
    Ended {
        /// Exit code or signal.
        status: ExitStatus,
        /// What it wrote to stderr.
        log: String,
    },
    /// The broker runs, and doesn't listen yet.
    #[error("the broker isn't ready after {after:?}:\n{log}")]
    NotReady {
        /// The time within which it must start.
        after: Duration,
        /// What it wrote to stderr.
        log: String,
    },
    /// The test has stopped it.
    #[error("the broker was stopped; start it with restart()")]
    Stopped,
    /// A broker in memory can't be restarted.
    #[error("memory is lost when a broker ends; restart one with Storage::Directory")]
    MemoryIsLost,
    /// The system refused to start it, or to give it a directory.
    #[error("can't start a broker: {0}")]
    Io(#[from] std::io::Error),
}
