//! The offsets of an append as the original API returns them: one per record, as text that is made while it is sent.
//!
//! A request of a million empty records is 4 MiB, and this text 7 to 20 MB: kept in memory, a few clients that don't
//! read their responses would use up all of it.

use bytes::Bytes;
use std::fmt::Write;
use std::ops::Range;

/// Offsets in one piece of the text: about 32 KiB.
const PIECE_OFFSETS: u64 = 2048;

const START: &str = "{\"offsets\":[";
const END: &str = "]}";

/// `{"offsets":[4,5,6]}` in pieces.
#[derive(Debug)]
pub(crate) struct OffsetsText {
    /// The offsets that are not in a piece yet.
    left: Range<u64>,
    first: u64,
    is_done: bool,
}

impl OffsetsText {
    /// The text of these offsets, at least one.
    pub fn new(offsets: Range<u64>) -> Self {
        assert!(!offsets.is_empty(), "an append has records, not offsets {offsets:?}");
        OffsetsText { first: offsets.start, left: offsets, is_done: false }
    }

    /// Length of the whole text in bytes.
    pub fn bytes(&self) -> u64 {
        let offsets = self.first..self.left.end;
        let commas = offsets.end - offsets.start - 1;
        (START.len() + END.len()) as u64 + digits(offsets) + commas
    }
}

impl Iterator for OffsetsText {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.is_done {
            return None;
        }
        let end = self.left.end.min(self.left.start.saturating_add(PIECE_OFFSETS));
        let mut text = String::new();
        for offset in self.left.start..end {
            let separator = if offset == self.first { START } else { "," };
            // Writing to a string can't fail.
            let _ = write!(text, "{separator}{offset}");
        }
        self.left.start = end;
        if self.left.is_empty() {
            text.push_str(END);
            self.is_done = true;
        }
        Some(Bytes::from(text))
    }
}

/// How many decimal digits these numbers have together.
fn digits(numbers: Range<u64>) -> u64 {
    let mut sum = 0;
    let mut start = numbers.start;
    while start < numbers.end {
        let digits = start.checked_ilog10().unwrap_or(0) + 1;
        let end = 10u64.checked_pow(digits).map_or(numbers.end, |end| end.min(numbers.end));
        sum += u64::from(digits) * (end - start);
        start = end;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_json_of_the_offsets_and_as_long_as_announced() {
        for offsets in [0..1, 0..3, 9..11, 0..PIECE_OFFSETS, 0..PIECE_OFFSETS + 1, 995..12_345, u64::MAX - 3..u64::MAX]
        {
            let text = OffsetsText::new(offsets.clone());
            let bytes = text.bytes();
            let pieces: Vec<Bytes> = text.collect();
            assert!(pieces.iter().all(|piece| piece.len() < 64 << 10));
            let text = pieces.concat();
            assert_eq!(text.len() as u64, bytes, "{offsets:?}");
            let want = serde_json::json!({ "offsets": offsets.clone().collect::<Vec<_>>() });
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&text).unwrap(), want, "{offsets:?}");
        }
    }
}
