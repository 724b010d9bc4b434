//! The memory that holds batches: responses, whose buffers are used again, or bytes from Python.

use crate::buffer::{Held, Owner};
use rawline_client::Fetched;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum total size of idle buffers in bytes. They are reused, since new memory costs a page fault for each 4 KiB.
const IDLE_BYTES_MAX: usize = 64 << 20;

/// Idle buffers of responses, without remaining references.
#[derive(Debug, Default)]
pub struct BufferPool {
    idle: Mutex<(Vec<Fetched>, usize)>,
}

impl BufferPool {
    /// A buffer for receiving a response.
    pub fn take(&self) -> Fetched {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(fetched) = idle.0.pop() else { return Fetched::default() };
        idle.1 = idle.1.saturating_sub(fetched.as_bytes().len());
        fetched
    }

    fn put(&self, fetched: Fetched) {
        let bytes = fetched.as_bytes().len();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > 0 && idle.1 + bytes <= IDLE_BYTES_MAX {
            idle.1 += bytes;
            idle.0.push(fetched);
        }
    }
}

/// A response's bytes. They return to the pool when their last view is dropped.
#[derive(Debug)]
pub struct Received {
    pub fetched: Fetched,
    pub pool: Arc<BufferPool>,
}

impl Drop for Received {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.fetched));
    }
}

/// The memory of a batch.
#[derive(Clone)]
pub enum Source {
    Received(Arc<Received>),
    /// Bytes from Python.
    Python(Arc<Held>),
    /// The batch of the values of one of Kafka's.
    Made(Arc<Vec<u8>>),
}

impl Source {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Source::Received(received) => received.fetched.as_bytes(),
            Source::Python(held) => (**held).as_ref(),
            Source::Made(bytes) => bytes,
        }
    }

    pub fn owner(&self) -> Owner {
        match self {
            Source::Received(received) => received.clone(),
            Source::Python(held) => held.clone(),
            Source::Made(bytes) => bytes.clone(),
        }
    }
}
