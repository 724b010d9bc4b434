//! The rules of the journal, in which one object commits appends to any number of partitions. No I/O, no tasks, no
//! clock, no randomness: a driver reports what happened and carries out what the rules ask for. The broker's task is
//! one driver, the model checker in `model/` another.
//!
//! The journal is a chain of objects numbered 1, 2, 3, …, each created once and never overwritten. An object has an id
//! and names the id of the object before it; [`Chain`] says which objects are valid. [`State`] is what the valid ones
//! add up to, and [`Writer`] extends the chain, whatever other writers do at the same time.

mod chain;
mod limits;
#[cfg(test)]
mod model;
mod producers;
mod rules;
mod state;
mod writer;

pub use chain::{Chain, Id, Link};
pub use limits::Limits;
pub use producers::{Producer, Rejected};
pub use state::{Contradiction, Entry, PartitionId, State};
pub use writer::{Action, Answer, Append, Event, Outcome, PutResult, ReadResult, Writer};
