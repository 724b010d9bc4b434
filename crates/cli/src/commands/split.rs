//! Splits an input into records: lines, length-prefixed records, or the whole file.

use std::ops::Range;

/// Size of one read in bytes; a longer record is gathered from several reads.
pub const READ_BYTES: usize = 1 << 20;

/// The end of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEnd {
    /// At each newline.
    Newline,
    /// At each end of a row of CSV: CR, LF or both, not inside a quoted cell.
    CsvRow,
    /// At the end of the input.
    EndOfInput,
    /// After the number of bytes in the u32 (little-endian) before the record.
    LengthPrefix,
}

/// Splits the bytes read so far into records. Keeps the beginning of a record whose end was not read yet.
pub struct Splitter {
    record_end: RecordEnd,
    record_bytes_max: u64,
    held: Vec<u8>,
    /// Position of the next record in `held`.
    start: usize,
    /// Position in `held` up to which there is no newline after `start`, so that a long line is searched once.
    searched: usize,
    row: Row,
    /// Whether a byte order mark may follow, which isn't part of the input.
    skips_mark: bool,
}

/// The state of the search for the end of a CSV row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Unquoted,
    Quoted,
    /// After this position's quote, which ends a quoted cell unless another quote follows.
    Closed(usize),
    /// Before the row, after a CR: a LF is a part of the row end before.
    AfterReturn,
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

impl Splitter {
    /// Records end at `record_end`; longer ones than `record_bytes_max` are refused.
    pub fn new(record_end: RecordEnd, record_bytes_max: u64) -> Self {
        Splitter {
            record_end,
            record_bytes_max,
            held: Vec::with_capacity(2 * READ_BYTES),
            start: 0,
            searched: 0,
            row: Row::Unquoted,
            skips_mark: false,
        }
    }

    /// Leaves out a byte order mark at the beginning of the input.
    pub fn skipping_mark(mut self) -> Self {
        self.skips_mark = true;
        self
    }

    /// The buffer to read to. Forgets the records that were returned.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.held.drain(..self.start);
        self.searched -= self.start;
        if let Row::Closed(at) = &mut self.row {
            *at -= self.start;
        }
        self.start = 0;
        self.held.reserve(READ_BYTES);
        &mut self.held
    }

    /// The next whole record. `None` until more is read, or, if the input has `ended`, after the last record.
    pub fn next(&mut self, ended: bool) -> Result<Option<&[u8]>, String> {
        if self.skips_mark {
            let begin = self.held.get(..BYTE_ORDER_MARK.len().min(self.held.len())).unwrap_or_default();
            if begin.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(begin) && !ended {
                return Ok(None);
            }
            self.skip(if begin == BYTE_ORDER_MARK { begin.len() } else { 0 });
            self.skips_mark = false;
        }
        if self.row == Row::AfterReturn {
            match self.held.get(self.start) {
                None if !ended => return Ok(None),
                byte => self.skip(usize::from(byte == Some(&b'\n'))),
            }
        }
        let line_end = self.line_end();
        let rest = self.held.get(self.start..).unwrap_or_default();
        // Where the record is in `rest`, and how many bytes of `rest` it takes with its newline or length.
        let (record, taken): (Range<usize>, usize) = match self.record_end {
            RecordEnd::Newline | RecordEnd::CsvRow => match line_end {
                Some(bytes) => (0..bytes, bytes + 1),
                None if ended && !rest.is_empty() => (0..rest.len(), rest.len()),
                None => {
                    self.searched = self.held.len();
                    return self.wait_for_more();
                }
            },
            RecordEnd::EndOfInput if ended && !rest.is_empty() => (0..rest.len(), rest.len()),
            RecordEnd::EndOfInput => return self.wait_for_more(),
            RecordEnd::LengthPrefix => match rest.split_first_chunk::<4>() {
                Some((length, body)) => {
                    let length = u32::from_le_bytes(*length) as usize;
                    self.check(length as u64)?;
                    if body.len() < length {
                        if ended {
                            return Err(format!("the input ends after {} of {length} bytes", body.len()));
                        }
                        return Ok(None);
                    }
                    (4..4 + length, 4 + length)
                }
                None if ended && !rest.is_empty() => {
                    return Err("the input ends inside a record's length".to_owned());
                }
                None => return Ok(None),
            },
        };
        self.check(record.len() as u64)?;
        let (start, end) = (self.start, self.start + record.end);
        let is_return = self.record_end == RecordEnd::CsvRow && self.held.get(end) == Some(&b'\r');
        self.skip(taken);
        self.row = if is_return { Row::AfterReturn } else { Row::Unquoted };
        Ok(self.held.get(start + record.start..end))
    }

    /// Continues after this many bytes.
    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.searched = self.start;
        self.row = Row::Unquoted;
    }

    /// Length of the line that begins at `start`, if its newline was read.
    fn line_end(&mut self) -> Option<usize> {
        let rest = self.held.get(self.searched..).unwrap_or_default();
        match self.record_end {
            RecordEnd::EndOfInput | RecordEnd::LengthPrefix => return None,
            RecordEnd::Newline => return memchr::memchr(b'\n', rest).map(|at| self.searched - self.start + at),
            RecordEnd::CsvRow => {}
        }
        for at in memchr::memchr3_iter(b'\n', b'\r', b'"', rest) {
            let place = self.searched + at;
            self.row = match (rest.get(at), self.row) {
                (Some(b'"'), Row::Quoted) => Row::Closed(place),
                // A doubled quote inside the cell.
                (Some(b'"'), Row::Closed(before)) if before + 1 == place => Row::Quoted,
                // Elsewhere than at a cell's beginning, it is a character like others.
                (Some(b'"'), _) if place == self.start || self.held.get(place - 1) == Some(&b',') => Row::Quoted,
                (Some(b'"'), _) => Row::Unquoted,
                (_, Row::Quoted) => Row::Quoted,
                _ => return Some(place - self.start),
            };
        }
        None
    }

    /// A record that is already too long is refused before its end is read.
    fn wait_for_more(&self) -> Result<Option<&[u8]>, String> {
        self.check((self.held.len() - self.start) as u64)?;
        Ok(None)
    }

    fn check(&self, bytes: u64) -> Result<(), String> {
        let limit = self.record_bytes_max;
        if bytes > limit {
            return Err(format!(
                "longer than {limit} bytes, the maximum size of a record; split it into smaller records"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits `input`, read in pieces of `step` bytes.
    fn pieces(record_end: RecordEnd, input: &[u8], step: usize, limit: u64) -> Result<Vec<Vec<u8>>, String> {
        let mut splitter = Splitter::new(record_end, limit);
        let mut records = Vec::new();
        for piece in input.chunks(step).chain([&[][..]]) {
            splitter.buffer().extend_from_slice(piece);
            while let Some(record) = splitter.next(piece.is_empty())? {
                records.push(record.to_vec());
            }
        }
        Ok(records)
    }

    #[test]
    fn lines_lose_their_newline_and_nothing_else() {
        for step in 1..20 {
            let lines = |input: &[u8]| pieces(RecordEnd::Newline, input, step, 100).unwrap();
            assert_eq!(lines(b"a\n\nb\r\n\xff\x00"), [b"a".to_vec(), vec![], b"b\r".to_vec(), vec![0xff, 0]]);
            assert_eq!(lines(b"a\n"), [b"a"]);
            assert_eq!(lines(b"\n"), [b""]);
            assert!(lines(b"").is_empty());
        }
    }

    #[test]
    fn a_newline_in_quotes_does_not_end_a_line() {
        for step in 1..20 {
            let lines = |input: &[u8]| pieces(RecordEnd::CsvRow, input, step, 100).unwrap();
            assert_eq!(lines(b"a,\"b\nc\"\nd"), [&b"a,\"b\nc\""[..], b"d"]);
            assert_eq!(lines(b"\"x\"\"\n\"\n\n"), [&b"\"x\"\"\n\""[..], b""]);
            // A quote inside a cell that has none around it opens nothing.
            assert_eq!(lines(b"5\" pipe,1\n7\",2\n"), [&b"5\" pipe,1"[..], b"7\",2"]);
            assert_eq!(lines(b"a\"\"b\n\"c\"d\"\ne"), [&b"a\"\"b"[..], b"\"c\"d\"", b"e"]);
        }
    }

    #[test]
    fn rows_of_csv_end_in_cr_lf_or_both() {
        for step in 1..20 {
            let rows = |input: &[u8]| pieces(RecordEnd::CsvRow, input, step, 100).unwrap();
            assert_eq!(rows(b"a\rb\nc\r\nd"), [b"a", b"b", b"c", b"d"]);
            assert_eq!(rows(b"a\r\rb\r\n\r\n"), [&b"a"[..], b"", b"b", b""]);
            assert_eq!(rows(b"\"a\r\n\",1\r2\r"), [&b"\"a\r\n\",1"[..], b"2"]);
        }
    }

    #[test]
    fn a_byte_order_mark_is_left_out_at_the_beginning_only() {
        let mark = "\u{feff}";
        for step in 1..8 {
            for (input, want) in [
                (format!("{mark}\"a\n\",b\n{mark}c"), vec!["\"a\n\",b".to_owned(), format!("{mark}c")]),
                (mark.to_owned(), vec![]),
                ("\u{fe00}".to_owned(), vec!["\u{fe00}".to_owned()]),
                ("a".to_owned(), vec!["a".to_owned()]),
            ] {
                let mut splitter = Splitter::new(RecordEnd::CsvRow, 100).skipping_mark();
                let mut records = Vec::new();
                for piece in input.as_bytes().chunks(step).chain([&[][..]]) {
                    splitter.buffer().extend_from_slice(piece);
                    while let Some(record) = splitter.next(piece.is_empty()).unwrap() {
                        records.push(String::from_utf8(record.to_vec()).unwrap());
                    }
                }
                assert_eq!(records, want, "{input:?} {step}");
            }
        }
    }

    #[test]
    fn a_file_is_one_record_unless_it_is_empty() {
        assert_eq!(pieces(RecordEnd::EndOfInput, b"a\nb\n", 1, 100).unwrap(), [b"a\nb\n"]);
        assert!(pieces(RecordEnd::EndOfInput, b"", 1, 100).unwrap().is_empty());
    }

    #[test]
    fn prefixed_records_are_split_by_their_lengths() {
        let mut input = Vec::new();
        let records = [b"one".to_vec(), vec![], vec![b'\n'; 300]];
        for record in &records {
            input.extend_from_slice(&(record.len() as u32).to_le_bytes());
            input.extend_from_slice(record);
        }
        for step in [1, 3, 4, 5, 100, 1000] {
            assert_eq!(pieces(RecordEnd::LengthPrefix, &input, step, 1000).unwrap(), records);
            for end in [1, 3, 5, 8, 20, input.len() - 1] {
                assert!(pieces(RecordEnd::LengthPrefix, &input[..end], step, 1000).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn a_record_that_no_batch_holds_is_refused_before_its_end_is_read() {
        let long = vec![b'x'; 1000];
        for record_end in [RecordEnd::Newline, RecordEnd::EndOfInput] {
            let mut splitter = Splitter::new(record_end, 99);
            splitter.buffer().extend_from_slice(&long);
            assert!(splitter.next(false).is_err());
        }
        assert!(pieces(RecordEnd::LengthPrefix, &100u32.to_le_bytes(), 4, 99).is_err());
    }
}
