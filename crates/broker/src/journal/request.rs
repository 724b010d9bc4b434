//! What callers ask the task of a journal for, and what they get.

use crate::journal::error::JournalError;
use crate::received::Received;
use rawline_journal::{Control, PartitionId, Producer, State};
use tokio::sync::oneshot;

/// The offsets that an append's records got: `first_offset..next_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Offset after the last record.
    pub next_offset: u64,
}

/// An instance of a named producer. Batches carry the id, and requests the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerInstance {
    /// The name's id.
    pub id: u64,
    /// Grows with every instance.
    pub epoch: u16,
}

/// A caller's request.
pub(super) enum Request {
    Append {
        partition: PartitionId,
        producer: Option<Producer>,
        received: Received,
        answer: oneshot::Sender<Result<Appended, JournalError>>,
    },
    Change {
        control: Control,
        answer: oneshot::Sender<Result<u64, JournalError>>,
    },
    /// Of a named producer.
    Producer {
        control: Control,
        answer: oneshot::Sender<Result<ProducerInstance, JournalError>>,
    },
    /// The answer comes when everything is known that is stored now.
    CatchUp {
        /// Whether to make sure first that nothing is lost where the journal seems to end.
        looks: bool,
        answer: oneshot::Sender<Result<(), JournalError>>,
    },
    /// Another broker has read all objects before this one.
    Told {
        next: u64,
    },
    /// Merges have copied everything in a file, which a snapshot frees.
    Copied,
    /// A look at the state, which includes objects in flight.
    Look {
        look: Box<dyn FnOnce(&State) + Send>,
    },
}

/// How far the task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    /// The objects stored at the start aren't known yet.
    Reading,
    /// It is.
    Ready,
    /// A valid object contradicts those before it: nothing can be appended until a human has looked.
    Contradicted(String),
}
