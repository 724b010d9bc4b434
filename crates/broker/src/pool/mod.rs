//! The broker's buffers: one region, allocated at start, lent in blocks.
//!
//! What knows its size reserves all of its blocks at once, and holds none while it waits. A body reserves blocks as it
//! arrives, so a client that announces much and sends little holds little. `bank.rs` decides who gets blocks: bodies
//! can't block each other.

mod bank;
mod gathered;

use crate::limits::BLOCK_BYTES;
use bank::{Bank, Request};
use bytes::{Bytes, BytesMut};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::oneshot;

pub use gathered::{Gathered, take_front};

/// All buffers of a broker.
pub struct Pool {
    state: Mutex<State>,
    blocks: usize,
}

struct State {
    bank: Bank,
    /// Blocks that aren't taken; more than are free by `bank` while granted ones are not taken yet.
    buffers: Vec<BytesMut>,
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
        let mut buffers: Vec<BytesMut> = (0..blocks).map(|_| region.split_to(BLOCK_BYTES)).collect();
        buffers.reverse();
        Arc::new(Pool { state: Mutex::new(State { bank: Bank::new(blocks), buffers }), blocks })
    }

    /// Size of the pool in bytes.
    pub fn bytes(&self) -> u64 {
        (self.blocks * BLOCK_BYTES) as u64
    }

    /// Bytes that are not reserved.
    pub fn bytes_free(&self) -> u64 {
        (self.lock().bank.free() * BLOCK_BYTES) as u64
    }

    /// Whether requests wait for buffers.
    pub fn is_scarce(&self) -> bool {
        self.lock().bank.is_scarce()
    }

    /// Reserves for the peer at this address: one account, however many connections it has.
    pub fn holder(self: &Arc<Self>, address: IpAddr) -> Arc<Holder> {
        Arc::new(Holder { account: self.lock().bank.open_holder(address), pool: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many blocks hold `bytes` bytes, if the pool has that many.
    fn blocks_of(&self, bytes: u64) -> Result<usize, PoolError> {
        match usize::try_from(bytes.div_ceil(BLOCK_BYTES as u64)) {
            Ok(blocks) if blocks <= self.blocks => Ok(blocks),
            _ => Err(PoolError::TooLarge { bytes, pool_bytes: self.bytes() }),
        }
    }
}

/// On whose account blocks are reserved.
pub struct Holder {
    pool: Arc<Pool>,
    account: usize,
}

impl Holder {
    /// Reserves blocks for `bytes` bytes at once, waiting in line for at most `wait`.
    pub async fn reserve(self: &Arc<Self>, bytes: u64, wait: Duration) -> Result<Reservation, PoolError> {
        let blocks = self.pool.blocks_of(bytes.max(1))?;
        let mut reservation = Reservation { holder: self.clone(), body: None, granted: 0, growth: 0 };
        reservation.obtain(blocks, wait).await?;
        Ok(reservation)
    }

    /// For a body of at most `bytes` bytes, which reserves blocks as they arrive: none yet.
    pub fn body(self: &Arc<Self>, bytes: u64) -> Result<Reservation, PoolError> {
        let growth = self.pool.blocks_of(bytes)?;
        let body = self.pool.lock().bank.open_body(growth);
        Ok(Reservation { holder: self.clone(), body: Some(body), granted: 0, growth })
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.pool.lock().bank.close_holder(self.account);
    }
}

/// The right to take some blocks. Those that are not taken go back when this is dropped.
pub struct Reservation {
    holder: Arc<Holder>,
    /// Shared by the parts of a body; none if everything was reserved at once.
    body: Option<usize>,
    /// Blocks that can be taken.
    granted: usize,
    /// Blocks that may still be reserved.
    growth: usize,
}

impl Reservation {
    /// Takes an empty block; `None` when all reserved blocks are taken.
    pub fn take(&mut self) -> Option<Block> {
        self.granted = self.granted.checked_sub(1)?;
        let pool = &self.holder.pool;
        let buffer = pool.lock().buffers.pop();
        let Some(mut buffer) = buffer else {
            unreachable!("a block is reserved, but none of {} is there", pool.blocks)
        };
        buffer.clear();
        assert!(buffer.capacity() >= BLOCK_BYTES, "a block of {} bytes is in the pool", buffer.capacity());
        Some(Block { buffer, pool: pool.clone(), account: self.holder.account })
    }

    /// Moves the blocks for `bytes` bytes into a separate reservation, or as many as are left.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64);
        let cut = |left: &mut usize| {
            let part = usize::try_from(blocks).map_or(*left, |blocks| blocks.min(*left));
            *left -= part;
            part
        };
        if let Some(body) = self.body {
            assert_eq!(self.granted, 0, "a body is split before it grows");
            self.holder.pool.lock().bank.share_body(body);
        }
        let (granted, growth) = (cut(&mut self.granted), cut(&mut self.growth));
        Reservation { holder: self.holder.clone(), body: self.body, granted, growth }
    }

    fn request(&self, blocks: usize) -> Request {
        Request { holder: self.holder.account, body: self.body, blocks }
    }

    /// Reserves this many more blocks, if they are there and no request waits.
    fn try_obtain(&mut self, blocks: usize) -> bool {
        let request = self.request(blocks);
        let is_granted = self.holder.pool.lock().bank.try_grant(request);
        if is_granted {
            self.add(blocks);
        }
        is_granted
    }

    /// Reserves this many more blocks, waiting in line for at most `wait`.
    async fn obtain(&mut self, blocks: usize, wait: Duration) -> Result<(), PoolError> {
        if self.try_obtain(blocks) {
            return Ok(());
        }
        let request = self.request(blocks);
        let (ticket, granted) = self.holder.pool.lock().bank.enqueue(request);
        let mut place = Place { pool: &self.holder.pool, ticket, request, granted, is_over: false };
        // Granted, or too late, or both at once.
        let _ = tokio::time::timeout(wait, &mut place.granted).await;
        let is_granted = place.leave();
        drop(place);
        if !is_granted {
            return Err(PoolError::Exhausted);
        }
        self.add(blocks);
        Ok(())
    }

    fn add(&mut self, blocks: usize) {
        self.granted += blocks;
        if self.body.is_some() {
            self.growth -= blocks;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.granted == 0 && self.body.is_none() {
            return;
        }
        let mut state = self.holder.pool.lock();
        state.bank.give_back(self.holder.account, self.granted);
        if let Some(body) = self.body {
            state.bank.close_body(body, self.growth);
        }
    }
}

/// A place in the queue.
struct Place<'a> {
    pool: &'a Pool,
    ticket: u64,
    request: Request,
    granted: oneshot::Receiver<()>,
    is_over: bool,
}

impl Place<'_> {
    /// Whether the blocks have been granted. If not, they never will be.
    fn leave(&mut self) -> bool {
        self.is_over = true;
        !self.pool.lock().bank.leave(self.ticket)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // The caller was dropped while it waited. Blocks granted in the same moment are returned.
        if !self.is_over && self.leave() {
            self.pool.lock().bank.revoke(self.request);
        }
    }
}

/// One block. It goes back to the pool when it and all slices of it are dropped.
pub struct Block {
    buffer: BytesMut,
    pool: Arc<Pool>,
    account: usize,
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
        let mut state = self.pool.lock();
        state.buffers.push(buffer);
        state.bank.give_back(self.account, 1);
    }
}
