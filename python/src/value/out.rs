//! The bytes of a value as they are written: a vector that is asked for room once a value, not once a piece.
//!
//! A third of the time that a small dict took went into the calls and checks of `extend_from_slice`; here short pieces
//! are copied as one or two words.

use rawline_value::Kind;

/// A key's bytes in a shape: up to this long they are copied as a block of so many.
pub const BLOCK_BYTES: usize = 32;

#[derive(Default)]
pub struct Out {
    bytes: Vec<u8>,
}

impl Out {
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    pub fn shrink_to(&mut self, bytes_max: usize) {
        self.bytes.shrink_to(bytes_max);
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The vector, for writers that know nothing of this.
    pub fn as_vec(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Room for so many bytes more.
    #[inline(always)]
    fn room(&mut self, count: usize) {
        if self.bytes.capacity() - self.bytes.len() < count {
            self.bytes.reserve(count);
        }
    }

    /// Copies `bytes`, of which the first `length` stay.
    ///
    /// # Safety
    /// There is room for all of them, and `length` is at most `N`.
    #[inline(always)]
    unsafe fn put<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        debug_assert!(length <= N && self.bytes.capacity() - self.bytes.len() >= N);
        let end = self.bytes.len();
        // SAFETY: `N` bytes behind the end are the vector's own, by the caller's promise; the first `length` are written
        // when the length comes to count them.
        unsafe {
            self.bytes.as_mut_ptr().add(end).cast::<[u8; N]>().write_unaligned(*bytes);
            self.bytes.set_len(end + length);
        }
    }

    #[inline(always)]
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Two bytes: a type and a small size, or a boolean.
    #[inline(always)]
    pub fn two(&mut self, first: u8, second: u8) {
        self.room(2);
        // SAFETY: room was made.
        unsafe { self.put(&[first, second], 2) }
    }

    /// A type and 64 bits.
    #[inline(always)]
    pub fn word(&mut self, kind: Kind, word: u64) {
        self.room(16);
        // SAFETY: room was made.
        unsafe {
            self.put(&[kind as u8], 1);
            self.put(&word.to_be_bytes(), 8);
        }
    }

    /// The first `length` bytes of a block.
    #[inline(always)]
    pub fn block(&mut self, block: &[u8; BLOCK_BYTES], length: usize) {
        self.room(BLOCK_BYTES);
        // SAFETY: room was made; the length is cut to the block.
        unsafe { self.put(block, length.min(BLOCK_BYTES)) }
    }

    /// A type, a size and so many bytes.
    #[inline(always)]
    pub fn sized(&mut self, kind: Kind, bytes: &[u8]) {
        self.room(bytes.len() + 8);
        if bytes.len() < 0x80 {
            // SAFETY: room was made.
            unsafe { self.put(&[kind as u8, bytes.len() as u8], 2) }
        } else {
            self.bytes.push(kind as u8);
            self.size(bytes.len());
        }
        self.copy(bytes);
    }

    /// A size in base 128, the low group first.
    pub fn size(&mut self, mut size: usize) {
        while size >= 0x80 {
            self.bytes.push(size as u8 | 0x80);
            size >>= 7;
        }
        self.bytes.push(size as u8);
    }

    /// Bytes, short ones as two words that overlap.
    #[inline(always)]
    fn copy(&mut self, bytes: &[u8]) {
        match bytes.len() {
            16..=32 => self.ends::<16>(bytes),
            8..=15 => self.ends::<8>(bytes),
            4..=7 => self.ends::<4>(bytes),
            _ => self.bytes.extend_from_slice(bytes),
        }
    }

    /// `N` to `2 * N` bytes.
    #[inline(always)]
    fn ends<const N: usize>(&mut self, bytes: &[u8]) {
        let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else { return };
        self.room(bytes.len());
        let end = self.bytes.len();
        debug_assert!((N..=2 * N).contains(&bytes.len()));
        // SAFETY: there is room for all of the bytes, which the two chunks cover: they are at most twice as long as one.
        unsafe {
            let place = self.bytes.as_mut_ptr().add(end);
            place.cast::<[u8; N]>().write_unaligned(*first);
            place.add(bytes.len() - N).cast::<[u8; N]>().write_unaligned(*last);
            self.bytes.set_len(end + bytes.len());
        }
    }
}
