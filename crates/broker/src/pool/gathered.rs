//! Bytes that arrive in pieces, gathered into blocks of the pool.

use super::{Block, PoolError, Reservation};
use crate::limits::BLOCK_BYTES;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

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

    /// Reserves blocks for `bytes` more bytes, or as many as may still be reserved. False if that has to wait.
    #[must_use]
    pub fn try_make_room(&mut self, bytes: usize) -> bool {
        let missing = self.missing_blocks(bytes);
        missing == 0 || self.reservation.try_obtain(missing)
    }

    /// The same, waiting in line for at most `wait`.
    pub async fn make_room(&mut self, bytes: usize, wait: Duration) -> Result<(), PoolError> {
        match self.missing_blocks(bytes) {
            0 => Ok(()),
            missing => self.reservation.obtain(missing, wait).await,
        }
    }

    fn missing_blocks(&self, bytes: usize) -> usize {
        let in_block = self.blocks.last().map_or(0, Block::free_bytes);
        let room = in_block + self.reservation.granted * BLOCK_BYTES;
        if bytes <= room { 0 } else { (bytes - room).div_ceil(BLOCK_BYTES).min(self.reservation.growth) }
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

/// Moves `bytes` bytes from the front of `pieces` to the end of `taken`.
pub fn take_front(pieces: &mut VecDeque<Bytes>, mut bytes: usize, taken: &mut Vec<Bytes>) {
    while bytes > 0 {
        let Some(piece) = pieces.front_mut() else { unreachable!("{bytes} bytes are missing") };
        let front = piece.split_to(bytes.min(piece.len()));
        bytes -= front.len();
        taken.push(front);
        if piece.is_empty() {
            pieces.pop_front();
        }
    }
}
