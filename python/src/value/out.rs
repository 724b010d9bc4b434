//! The buffer to which a value is written: a vector, and the position of its next byte, which writers pass on.
//!
//! The position is kept in a register. In memory, each piece would wait for the length that the previous piece stored,
//! and a field has three pieces: writing a small dict took a third longer. Short pieces are copied as one or two words.

use rawline_value::Kind;
use std::ptr::NonNull;

/// Size of the block as which a key of a shape is copied, if it is at most this long.
pub const BLOCK_BYTES: usize = 32;

/// The position of the next byte of an [`Out`]. There is only one at a time, because writing consumes it.
///
/// All SAFETY comments below depend on this: it returns to the `Out` that created it, it lies within the vector's
/// memory, and every byte before it is written.
#[must_use]
pub struct End(NonNull<u8>);

pub struct Out {
    bytes: Vec<u8>,
    /// The end of the vector's memory.
    limit: *mut u8,
}

impl Default for Out {
    fn default() -> Out {
        let mut bytes = Vec::new();
        let limit = bytes.as_mut_ptr();
        Out { bytes, limit }
    }
}

impl Out {
    /// Begins a new value.
    pub fn begin(&mut self) -> End {
        self.bytes.clear();
        self.end()
    }

    /// The bytes written up to here.
    pub fn written(&mut self, end: End) -> &[u8] {
        self.close(end);
        &self.bytes
    }

    /// Frees memory beyond this many bytes, between two values.
    pub fn shrink_to(&mut self, bytes_max: usize) {
        if self.bytes.capacity() > bytes_max {
            self.bytes.clear();
            self.bytes.shrink_to(bytes_max);
        }
    }

    /// Number of bytes written.
    #[inline]
    pub fn len(&self, end: &End) -> usize {
        end.0.as_ptr().addr() - self.bytes.as_ptr().addr()
    }

    /// Lets a writer that needs a vector append to it.
    pub fn append<T>(&mut self, end: End, write: impl FnOnce(&mut Vec<u8>) -> T) -> (End, T) {
        self.close(end);
        let done = write(&mut self.bytes);
        (self.end(), done)
    }

    /// Sets the vector's length to `end`.
    fn close(&mut self, end: End) {
        let length = self.len(&end);
        assert!(length <= self.bytes.capacity(), "{length} bytes in a vector of {}", self.bytes.capacity());
        // SAFETY: this many bytes are within the capacity, and written.
        unsafe { self.bytes.set_len(length) }
    }

    /// The end that corresponds to the vector's length.
    fn end(&mut self) -> End {
        let memory = self.bytes.spare_capacity_mut().as_mut_ptr_range();
        self.limit = memory.end.cast();
        // SAFETY: a vector's pointer is never null, not even an empty vector's.
        End(unsafe { NonNull::new_unchecked(memory.start.cast()) })
    }

    /// Makes room for this many more bytes.
    #[inline(always)]
    fn room(&mut self, end: End, count: usize) -> End {
        if self.limit.addr() - end.0.as_ptr().addr() < count { self.grow(end, count) } else { end }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, end: End, count: usize) -> End {
        self.append(end, |bytes| bytes.reserve(count)).0
    }

    #[inline(always)]
    pub fn byte(&mut self, end: End, byte: u8) -> End {
        let end = self.room(end, 1);
        // SAFETY: room was made.
        unsafe { end.put(&[byte], 1) }
    }

    /// Two bytes: a type and a small size, or a boolean.
    #[inline(always)]
    pub fn two(&mut self, end: End, first: u8, second: u8) -> End {
        let end = self.room(end, 2);
        // SAFETY: room was made.
        unsafe { end.put(&[first, second], 2) }
    }

    /// A type and 64 bits.
    #[inline(always)]
    pub fn word(&mut self, end: End, kind: Kind, word: u64) -> End {
        let end = self.room(end, 9);
        // SAFETY: room was made.
        unsafe { end.put(&[kind as u8], 1).put(&word.to_be_bytes(), 8) }
    }

    /// A type and a constant number of bytes.
    #[inline(always)]
    pub fn fixed<const N: usize>(&mut self, end: End, kind: Kind, bytes: &[u8; N]) -> End {
        let end = self.room(end, 1 + N);
        // SAFETY: room was made.
        unsafe { end.put(&[kind as u8], 1).put(bytes, N) }
    }

    /// The first `length` bytes of a block.
    #[inline(always)]
    pub fn block(&mut self, end: End, block: &[u8; BLOCK_BYTES], length: usize) -> End {
        let end = self.room(end, BLOCK_BYTES);
        // SAFETY: room was made; the length is limited to the block.
        unsafe { end.put(block, length.min(BLOCK_BYTES)) }
    }

    /// A type, a size, and as many bytes.
    #[inline(always)]
    pub fn sized(&mut self, end: End, kind: Kind, bytes: &[u8]) -> End {
        if bytes.len() < 0x80 {
            let end = self.room(end, 2 + bytes.len());
            // SAFETY: room was made.
            return unsafe { end.put(&[kind as u8, bytes.len() as u8], 2).copy(bytes) };
        }
        let end = self.size(end, kind, bytes.len());
        let end = self.room(end, bytes.len());
        // SAFETY: room was made.
        unsafe { end.copy(bytes) }
    }

    /// A type and a size in base 128, the low group first.
    pub fn size(&mut self, end: End, kind: Kind, mut size: usize) -> End {
        let mut end = self.byte(end, kind as u8);
        while size >= 0x80 {
            end = self.byte(end, size as u8 | 0x80);
            size >>= 7;
        }
        self.byte(end, size as u8)
    }

    /// Bytes without a type.
    pub fn bytes(&mut self, end: End, bytes: &[u8]) -> End {
        let end = self.room(end, bytes.len());
        // SAFETY: room was made.
        unsafe { end.copy(bytes) }
    }
}

impl End {
    /// Copies `bytes`; only the first `length` count.
    ///
    /// # Safety
    /// There is room for all of them, and `length` is at most `N`.
    #[inline(always)]
    unsafe fn put<const N: usize>(self, bytes: &[u8; N], length: usize) -> End {
        // SAFETY: as the caller guarantees.
        unsafe {
            self.0.as_ptr().cast::<[u8; N]>().write_unaligned(*bytes);
            End(self.0.add(length))
        }
    }

    /// Copies bytes; short ones as two overlapping words.
    ///
    /// # Safety
    /// There is room for them.
    #[inline(always)]
    unsafe fn copy(self, bytes: &[u8]) -> End {
        // SAFETY: as the caller guarantees; each call gets the length that it requires.
        unsafe {
            match bytes.len() {
                16..=32 => self.ends::<16>(bytes),
                8..=15 => self.ends::<8>(bytes),
                4..=7 => self.ends::<4>(bytes),
                2..=3 => self.ends::<2>(bytes),
                33..=64 => self.ends::<32>(bytes),
                length => {
                    self.0.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), length);
                    End(self.0.add(length))
                }
            }
        }
    }

    /// # Safety
    /// There is room for the bytes, and their number is `N` to `2 * N`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(self, bytes: &[u8]) -> End {
        debug_assert!((N..=2 * N).contains(&bytes.len()));
        let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else { return self };
        // SAFETY: the two chunks cover the bytes, since there are at most twice as many as in one chunk.
        unsafe {
            let end = self.0.add(bytes.len());
            self.0.as_ptr().cast::<[u8; N]>().write_unaligned(*first);
            end.sub(N).as_ptr().cast::<[u8; N]>().write_unaligned(*last);
            End(end)
        }
    }
}
