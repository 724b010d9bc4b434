//! The broker's buffers: one region, allocated at start, lent in blocks.
//!
//! A request reserves as many blocks as it may need, waiting in line if there are too few, and only then takes them one
//! by one. So no request holds blocks while it waits for others, and there can't be a deadlock.

use crate::limits::BLOCK_BYTES;
use bytes::{Bytes, BytesMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All buffers of a broker.
pub struct Pool {
    free: Mutex<Vec<BytesMut>>,
    permits: Arc<Semaphore>,
    blocks: usize,
}

/// Why a reservation failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PoolError {
    /// All buffers are in use; this passes.
    #[error("all of the broker's buffers are in use; wait, then retry, or give the broker more memory")]
    Exhausted,
    /// More than the size of the pool.
    #[error(
        "a request of {bytes} bytes exceeds the broker's memory of {pool_bytes} bytes; send less at once, or give the \
         broker more memory"
    )]
    TooLarge {
        /// Size of the request in bytes.
        bytes: u64,
        /// Size of the pool in bytes.
        pool_bytes: u64,
    },
}

impl Pool {
    /// Allocates the region, at least one block. The operating system provides its pages when they are first touched.
    /// The blocks used last are reused first, so only as many pages are touched as were needed at once.
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

    /// Bytes that are not reserved.
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

/// The right to take some blocks. Those that are not taken go back when this is dropped.
pub struct Reservation {
    pool: Arc<Pool>,
    permit: OwnedSemaphorePermit,
}

impl Reservation {
    /// Takes an empty block; `None` when all reserved blocks are taken.
    pub fn take(&mut self) -> Option<Block> {
        let permit = self.permit.split(1)?;
        let buffer = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(mut buffer) = buffer else {
            unreachable!("a block is reserved, but none of {} is free", self.pool.blocks)
        };
        buffer.clear();
        assert!(buffer.capacity() >= BLOCK_BYTES, "a block of {} bytes is in the pool", buffer.capacity());
        Some(Block { buffer, pool: self.pool.clone(), _permit: permit })
    }
}

impl Reservation {
    /// Moves the blocks for `bytes` bytes into a reservation of their own, or as many as are left.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64).min(self.permit.num_permits() as u64) as usize;
        let Some(permit) = self.permit.split(blocks) else {
            unreachable!("{blocks} blocks of {}", self.permit.num_permits())
        };
        Reservation { pool: self.pool.clone(), permit }
    }
}

/// One block. It goes back to the pool when it and all slices of it are dropped.
pub struct Block {
    buffer: BytesMut,
    pool: Arc<Pool>,
    // Given back after the buffer: see `Drop`, which runs before fields are dropped.
    _permit: OwnedSemaphorePermit,
}

impl Block {
    /// Copies the front of `bytes` into the free part. Returns the number of bytes copied.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.free_bytes());
        self.buffer.extend_from_slice(bytes.split_at(count).0);
        count
    }

    /// Bytes that still fit.
    pub fn free_bytes(&self) -> usize {
        assert!(self.buffer.len() <= BLOCK_BYTES, "{} bytes in a block", self.buffer.len());
        BLOCK_BYTES - self.buffer.len()
    }

    /// Its contents.
    pub fn filled(&self) -> &[u8] {
        &self.buffer
    }

    /// Its contents, to overwrite.
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
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(buffer);
        assert!(free.len() <= self.pool.blocks, "{} of {} blocks are free", free.len(), self.pool.blocks);
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

    /// Adds `piece`. False, with only a part of it added, when the reservation is used up.
    #[must_use]
    pub fn push(&mut self, mut piece: &[u8]) -> bool {
        while !piece.is_empty() {
            let full = self.blocks.last().is_none_or(|block| block.free_bytes() == 0);
            if full {
                let Some(block) = self.reservation.take() else { return false };
                self.blocks.push(block);
            }
            let Some(block) = self.blocks.last_mut() else { unreachable!("a block was just added") };
            let count = block.fill(piece);
            self.bytes += count as u64;
            assert!(count > 0, "a full block takes bytes");
            piece = piece.split_at(count).1;
        }
        true
    }

    /// The first block's bytes, to overwrite.
    pub fn front_mut(&mut self) -> &mut [u8] {
        self.blocks.first_mut().map_or(&mut [], Block::filled_mut)
    }

    /// The pieces gathered so far.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(Block::filled)
    }

    /// Returns the bytes as they are in their blocks, and unused blocks to the pool.
    pub fn freeze(self) -> Vec<Bytes> {
        let bytes: u64 = self.blocks.iter().map(|block| block.filled().len() as u64).sum();
        assert_eq!(bytes, self.bytes, "bytes of a request were lost or counted twice");
        self.blocks.into_iter().map(Block::freeze).collect()
    }
}
