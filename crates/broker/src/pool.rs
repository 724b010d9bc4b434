//! The broker's buffers: one region, allocated at start, handed out in blocks.
//!
//! Whoever needs buffers first reserves as many as it may come to use, waiting in line if there are too few, and only
//! then takes them one by one. Nobody so ever holds some blocks while waiting for others, and nobody can get stuck.

use crate::limits::BLOCK_BYTES;
use bytes::{Bytes, BytesMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All the buffers there are.
pub struct Pool {
    free: Mutex<Vec<BytesMut>>,
    permits: Arc<Semaphore>,
    blocks: usize,
}

/// No buffers became free in time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PoolError {
    /// All are in use; it will pass.
    #[error(
        "all of the broker's buffers are in use; wait and send the request again, or start the broker with more --memory"
    )]
    Exhausted,
    /// More than the pool has altogether.
    #[error(
        "a request of {bytes} bytes does not fit the broker's memory of {pool_bytes} bytes; send less at once, or start the broker with more --memory"
    )]
    TooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes of the pool.
        pool_bytes: u64,
    },
}

impl Pool {
    /// Allocates the region, at least one block. The operating system gives its pages when they are first touched;
    /// blocks used last are used first, so only as much is ever touched as was needed at once.
    pub fn new(bytes: usize) -> Arc<Pool> {
        let blocks = (bytes / BLOCK_BYTES).max(1);
        let mut region = BytesMut::zeroed(blocks * BLOCK_BYTES);
        let mut free: Vec<BytesMut> = (0..blocks).map(|_| region.split_to(BLOCK_BYTES)).collect();
        free.reverse();
        Arc::new(Pool { free: Mutex::new(free), permits: Arc::new(Semaphore::new(blocks)), blocks })
    }

    /// Size of the pool in bytes.
    pub fn bytes(&self) -> u64 {
        (self.blocks * BLOCK_BYTES) as u64
    }

    /// Bytes that nobody has reserved.
    pub fn bytes_free(&self) -> u64 {
        (self.permits.available_permits() * BLOCK_BYTES) as u64
    }

    /// Reserves blocks for `bytes` bytes, waiting in line for at most `wait`.
    pub async fn reserve(self: &Arc<Self>, bytes: u64, wait: Duration) -> Result<Reservation, PoolError> {
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64).max(1);
        if blocks > self.blocks as u64 {
            return Err(PoolError::TooLarge { bytes, pool_bytes: self.bytes() });
        }
        let acquired = match self.permits.clone().try_acquire_many_owned(blocks as u32) {
            Ok(permit) => Ok(permit),
            Err(_) => tokio::time::timeout(wait, self.permits.clone().acquire_many_owned(blocks as u32))
                .await
                .map_err(|_| PoolError::Exhausted)
                .and_then(|permit| permit.map_err(|_| PoolError::Exhausted)),
        };
        Ok(Reservation { pool: self.clone(), permit: acquired? })
    }
}

/// The right to take some blocks. What is not taken goes back when this is dropped.
pub struct Reservation {
    pool: Arc<Pool>,
    permit: OwnedSemaphorePermit,
}

impl Reservation {
    /// Takes a block, empty; `None` when all that were reserved are taken.
    pub fn take(&mut self) -> Option<Block> {
        let permit = self.permit.split(1)?;
        let mut buffer = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        buffer.clear();
        Some(Block { buffer, pool: self.pool.clone(), _permit: permit })
    }
}

impl Reservation {
    /// Takes the blocks for `bytes` bytes out of this reservation into one of their own, or as many as are left.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64).min(self.permit.num_permits() as u64) as usize;
        // `blocks` is no more than there are, so the split always succeeds.
        let permit = self.permit.split(blocks).or_else(|| self.permit.split(0));
        let permit = permit.unwrap_or_else(|| unreachable!("a permit can give up none of its parts"));
        Reservation { pool: self.pool.clone(), permit }
    }
}

/// One block. It goes back to the pool when the last that holds it, or a slice of it, is dropped.
pub struct Block {
    buffer: BytesMut,
    pool: Arc<Pool>,
    // Given back after the buffer: see `Drop`, which runs before fields are dropped.
    _permit: OwnedSemaphorePermit,
}

impl Block {
    /// Copies the front of `bytes` into what is free; gives the number of bytes copied.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.free_bytes());
        self.buffer.extend_from_slice(bytes.get(..count).unwrap_or_default());
        count
    }

    /// Bytes that still fit.
    pub fn free_bytes(&self) -> usize {
        BLOCK_BYTES - self.buffer.len()
    }

    /// What is in it.
    pub fn filled(&self) -> &[u8] {
        &self.buffer
    }

    /// What is in it, to write over.
    pub fn filled_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Its contents as shared, immutable bytes.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

/// Bytes gathered into reserved blocks, which stay writable until they are frozen.
pub struct Gathered {
    reservation: Reservation,
    blocks: Vec<Block>,
    bytes: u64,
}

impl Gathered {
    /// Gathers into the blocks of `reservation`.
    pub fn new(reservation: Reservation) -> Self {
        Gathered { reservation, blocks: Vec::new(), bytes: 0 }
    }

    /// Bytes gathered.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds `piece`; false, and only a part of it added, when the reservation is used up.
    #[must_use]
    pub fn push(&mut self, mut piece: &[u8]) -> bool {
        while !piece.is_empty() {
            let full = self.blocks.last().is_none_or(|block| block.free_bytes() == 0);
            if full {
                let Some(block) = self.reservation.take() else { return false };
                self.blocks.push(block);
            }
            let Some(block) = self.blocks.last_mut() else { return false };
            let count = block.fill(piece);
            self.bytes += count as u64;
            piece = piece.get(count..).unwrap_or_default();
        }
        true
    }

    /// The first block's bytes, to write over.
    pub fn front_mut(&mut self) -> &mut [u8] {
        self.blocks.first_mut().map_or(&mut [], Block::filled_mut)
    }

    /// The pieces gathered so far.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(Block::filled)
    }

    /// Gives the bytes as they lie in their blocks, and unused blocks back to the pool.
    pub fn freeze(self) -> Vec<Bytes> {
        self.blocks.into_iter().map(Block::freeze).collect()
    }
}
