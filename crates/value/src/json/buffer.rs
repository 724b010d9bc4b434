//! A growing buffer whose appends copy whole words: copies of a few bytes, each with a call, would take most of the
//! time.

use std::io;

pub(super) const WORD_BYTES: usize = size_of::<u64>();

/// Bytes that are written, in memory that may be larger. Every function returns `None` if the memory doesn't suffice.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    /// Number of bytes that are written.
    end: usize,
}

impl Buffer {
    /// Clears the buffer, and reserves this many bytes, and space for words that are copied whole.
    pub(super) fn begin(&mut self, room: usize) {
        let room = room + 4 * WORD_BYTES;
        if self.memory.len() < room {
            self.memory.resize(room.next_power_of_two(), 0);
        }
        self.end = 0;
    }

    /// Number of bytes that are written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end
    }

    /// Truncates the buffer to this many bytes.
    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        assert!(len <= self.end, "{len} of {} bytes", self.end);
        self.end = len;
    }

    /// The bytes from this position on.
    #[inline]
    pub(super) fn written(&self, begin: usize) -> Option<&[u8]> {
        self.memory.get(begin..self.end)
    }

    #[inline]
    pub(super) fn written_mut(&mut self, begin: usize) -> Option<&mut [u8]> {
        self.memory.get_mut(begin..self.end)
    }

    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, bytes: &[u8; N]) -> Option<()> {
        self.put_first(bytes, N)
    }

    /// Appends the first `len` of these bytes, and writes all of them.
    #[inline(always)]
    pub(super) fn put_first<const N: usize>(&mut self, bytes: &[u8; N], len: usize) -> Option<()> {
        debug_assert!(len <= N, "{len} of {N} bytes");
        *self.memory.get_mut(self.end..)?.first_chunk_mut()? = *bytes;
        self.end += len;
        Some(())
    }

    pub(super) fn put_slice(&mut self, bytes: &[u8]) -> Option<()> {
        self.memory.get_mut(self.end..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.end += bytes.len();
        Some(())
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, byte: u8) -> Option<()> {
        *self.written_mut(at)?.first_mut()? = byte;
        Some(())
    }

    /// Makes room for a byte at this position.
    pub(super) fn insert(&mut self, at: usize) -> Option<()> {
        self.put(&[0])?;
        let moved = self.written_mut(at)?;
        moved.copy_within(..moved.len() - 1, 1);
        Some(())
    }
}

impl io::Write for Buffer {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put_slice(bytes).map(|()| bytes.len()).ok_or_else(|| io::ErrorKind::WriteZero.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Number of bytes before the first quote, backslash or control character in a word of a text.
#[inline(always)]
pub(super) fn plain_bytes(word: &[u8; WORD_BYTES]) -> usize {
    leading(special_bytes(u64::from_le_bytes(*word)))
}

/// Number of bytes before the first that needs an escape in JSON, or isn't ASCII.
#[inline(always)]
pub(super) fn verbatim_bytes(word: &[u8; WORD_BYTES]) -> usize {
    let word = u64::from_le_bytes(*word);
    leading(special_bytes(word) | word & HIGH_BITS)
}

const ONES: u64 = u64::MAX / 0xff;
const HIGH_BITS: u64 = ONES << 7;

/// The high bit of the first quote, backslash or control character, and perhaps of later bytes.
#[inline(always)]
fn special_bytes(word: u64) -> u64 {
    // A byte below the limit borrows from the next one.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH_BITS;
    below(word ^ (ONES * b'"' as u64), 1) | below(word ^ (ONES * b'\\' as u64), 1) | below(word, 0x20)
}

/// Number of bytes before the first with a high bit.
#[inline(always)]
fn leading(high_bits: u64) -> usize {
    high_bits.trailing_zeros() as usize / 8
}

/// The first bytes of a text, followed by zeros, as a number: texts have the order of these numbers unless they are
/// equal. `text` is at the beginning of `bytes`.
#[inline]
pub(super) fn first_word(text: &[u8], bytes: &[u8]) -> u64 {
    let Some(word) = bytes.first_chunk() else {
        let mut word = [0; WORD_BYTES];
        word.iter_mut().zip(text).for_each(|(place, byte)| *place = *byte);
        return u64::from_be_bytes(word);
    };
    let word = u64::from_be_bytes(*word);
    match text.len() {
        0 => 0,
        1..WORD_BYTES => word & u64::MAX << (8 * (WORD_BYTES - text.len())),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_special_or_not_wherever_it_is() {
        for byte in 0..=u8::MAX {
            for place in 0..WORD_BYTES {
                for around in [b'a', 0x7f, 0x80, 0xff, b' ', b'!', b'#', b'[', b']'] {
                    let mut word = [around; WORD_BYTES];
                    word[place] = byte;
                    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
                    let plain = word.iter().take_while(|byte| is_plain(byte)).count();
                    let verbatim = word.iter().take_while(|byte| is_plain(byte) && byte.is_ascii()).count();
                    assert_eq!((plain_bytes(&word), verbatim_bytes(&word)), (plain, verbatim), "{word:?}");
                }
            }
        }
    }

    #[test]
    fn first_words_have_the_order_of_their_texts() {
        let texts = ["", "\0", "a", "a\0", "aa", "abcdefg", "abcdefgh", "abcdefghi", "b", "ü"];
        for left in texts {
            for right in texts {
                let word = |text: &str, after: &str| first_word(text.as_bytes(), format!("{text}{after}").as_bytes());
                for after in ["", "\u{7f}zzzzzzzzz"] {
                    let (left_word, right_word) = (word(left, after), word(right, ""));
                    assert!(
                        left_word == right_word || (left_word < right_word) == (left < right),
                        "{left:?} {right:?}"
                    );
                }
            }
        }
    }
}
