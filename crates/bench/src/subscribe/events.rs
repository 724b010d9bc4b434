//! Counts server-sent events in the pieces in which they arrive.

/// Counts lines that begin with `data: `, wherever pieces end.
#[derive(Debug, Default)]
pub(super) struct Counter {
    pub events: u64,
    /// Sum of the bytes of these lines.
    pub data_bytes: u64,
    /// The beginning of the line that the piece before has not ended, and how many bytes it has.
    begin: [u8; 6],
    line_bytes: usize,
}

impl Counter {
    /// Counts in the next piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let (line, rest) = match memchr::memchr(b'\n', piece) {
                Some(end) => (piece.split_at(end).0, Some(piece.split_at(end + 1).1)),
                None => (piece, None),
            };
            for (place, byte) in self.begin.iter_mut().skip(self.line_bytes).zip(line) {
                *place = *byte;
            }
            self.line_bytes += line.len();
            let Some(rest) = rest else { return };
            if self.line_bytes >= self.begin.len() && &self.begin == b"data: " {
                self.events += 1;
                self.data_bytes += self.line_bytes as u64;
            }
            self.line_bytes = 0;
            piece = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_wherever_pieces_end() {
        let text = b"retry: 1000\n\nid: 1\ndata: {}\n\n: keep-alive\n\ndata: {\"a\":1}\n\n";
        for size in 1..=text.len() {
            let mut counter = Counter::default();
            text.chunks(size).for_each(|piece| counter.push(piece));
            assert_eq!((counter.events, counter.data_bytes), (2, 8 + 13), "{size}");
        }
    }
}
