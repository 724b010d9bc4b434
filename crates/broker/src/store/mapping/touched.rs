//! Which parts of a mapping this process has read: their pages count as its memory until they are released.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The kernel maps this much around a page that is read, at a multiple of it (`fault_around_bytes`).
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// One bit per chunk of a mapping.
#[derive(Debug)]
pub(super) struct Touched {
    words: Box<[AtomicU64]>,
    chunk_first: usize,
    /// Whether the mapping is among those to be released next.
    is_listed: AtomicBool,
}

impl Touched {
    /// Of a mapping at these addresses; nothing of it was read.
    pub fn new(mapping: &Range<usize>) -> Touched {
        let chunks = chunks(mapping);
        let words = (0..chunks.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Touched { words, chunk_first: chunks.start, is_listed: AtomicBool::new(false) }
    }

    /// The bytes at these addresses were read. Returns how many chunks were not marked before.
    pub fn mark(&self, read: &Range<usize>) -> usize {
        if read.is_empty() {
            return 0;
        }
        let chunks = chunks(read);
        assert!(chunks.start >= self.chunk_first, "{read:x?} before chunk {:x}", self.chunk_first);
        let chunks = chunks.start - self.chunk_first..chunks.end - self.chunk_first;
        assert!(chunks.end <= self.words.len() * 64, "chunks {chunks:?} of {} words", self.words.len());
        let mut marked = 0;
        for (number, word) in self.words.iter().enumerate().take(chunks.end.div_ceil(64)).skip(chunks.start / 64) {
            let begin = chunks.start.max(number * 64) - number * 64;
            let end = chunks.end.min(number * 64 + 64) - number * 64;
            let bits = (u64::MAX >> (64 - (end - begin))) << begin;
            // Most are marked already; many threads share the line.
            if word.load(Ordering::Acquire) & bits != bits {
                marked += (bits & !word.fetch_or(bits, Ordering::AcqRel)).count_ones() as usize;
            }
        }
        marked
    }

    /// Unmarks all chunks. Returns how many were marked.
    pub fn clear(&self) -> usize {
        self.words.iter().map(|word| word.swap(0, Ordering::AcqRel).count_ones() as usize).sum()
    }

    /// Puts the mapping among those to be released. False if it already is.
    pub fn list(&self) -> bool {
        !self.is_listed.swap(true, Ordering::AcqRel)
    }

    /// The mapping is released next. Chunks that are marked from now on list it again.
    pub fn unlist(&self) {
        self.is_listed.store(false, Ordering::Release);
    }
}

/// The chunks that hold these addresses.
fn chunks(addresses: &Range<usize>) -> Range<usize> {
    addresses.start / CHUNK_BYTES..addresses.end.div_ceil(CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const START: usize = 5 * CHUNK_BYTES + 4096;

    /// The same with a set of chunks.
    fn marked(read: &[Range<usize>]) -> usize {
        let pages = read.iter().flat_map(|bytes| bytes.clone().step_by(4096).chain(bytes.clone().next_back()));
        pages.map(|address| address / CHUNK_BYTES).collect::<HashSet<_>>().len()
    }

    #[test]
    fn each_chunk_is_counted_once_until_it_is_cleared() {
        let mapped = 300 * CHUNK_BYTES + 100;
        let mut random = 1u64;
        let mut next = |end: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % end
        };
        let touched = Touched::new(&(START..START + mapped));
        for _ in 0..20 {
            let (mut read, mut sum) = (Vec::new(), 0);
            for _ in 0..20 {
                let start = START + next(mapped);
                let bytes = start..start + next(START + mapped - start + 1).min(next(1 << 21) + 1);
                sum += touched.mark(&bytes);
                read.push(bytes);
                assert_eq!(sum, marked(&read), "{read:x?}");
            }
            assert_eq!(touched.clear(), sum);
        }
        assert_eq!(touched.mark(&(START..START + mapped)), 301);
        assert_eq!(touched.mark(&(START..START)), 0);
    }

    #[test]
    fn a_mapping_is_listed_once_until_it_is_released() {
        let touched = Touched::new(&(START..START + 1));
        assert!(touched.list() && !touched.list());
        touched.unlist();
        assert!(touched.list());
    }
}
