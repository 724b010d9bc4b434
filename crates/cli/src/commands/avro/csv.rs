//! The cells of a row of CSV.

use csv_core::ReadRecordResult;

/// Splits rows of CSV; reuses its memory.
pub struct Cells {
    reader: csv_core::Reader,
    line: Vec<u8>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Clone for Cells {
    /// Creates a new reader: a copy of a reader that has read nothing returned empty cells.
    fn clone(&self) -> Cells {
        Cells::new()
    }
}

impl Cells {
    pub fn new() -> Cells {
        let mut reader = csv_core::Reader::new();
        // The first row that a reader reads loses a byte order mark. Later pieces of the input have their own reader.
        reader.read_record(b"x\n", &mut [0; 2], &mut [0; 2]);
        Cells { reader, line: Vec::new(), text: Vec::new(), ends: Vec::new() }
    }

    /// The cells of a whole row, without the quotes around them. White space is kept, as RFC 4180 requires.
    pub fn cut(&mut self, row: &[u8]) -> Result<impl ExactSizeIterator<Item = &str>, String> {
        self.line.clear();
        self.line.extend_from_slice(row);
        self.line.push(b'\n');
        // Cells are not longer than the row, and not more than its bytes.
        self.text.resize(self.line.len(), 0);
        self.ends.resize(self.line.len(), 0);
        let (result, read, text, ends) = self.reader.read_record(&self.line, &mut self.text, &mut self.ends);
        if result != ReadRecordResult::Record {
            *self = Cells::new();
            return Err("not CSV: a quote is not closed".to_owned());
        }
        assert_eq!(read, self.line.len(), "a row of CSV was split where the reader sees one: {:?}", self.line);
        let text = std::str::from_utf8(self.text.get(..text).unwrap_or_default())
            .map_err(|_| "not CSV: its bytes are not UTF-8".to_owned())?;
        let ends = self.ends.get(..ends).unwrap_or_default();
        let begin = |cell: usize| cell.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        Ok(ends.iter().enumerate().map(move |(cell, end)| text.get(begin(cell)..*end).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_what_is_between_commas_and_within_quotes() {
        let mut cells = Cells::new();
        for (row, want) in [
            ("a,b", &["a", "b"][..]),
            (" a , b ", &[" a ", " b "]),
            ("\"  a\",\"b \"", &["  a", "b "]),
            ("\"a,\"\"b\"\"\r\n\",", &["a,\"b\"\r\n", ""]),
            ("5\" pipe,x", &["5\" pipe", "x"]),
            ("\"\"", &[""]),
            ("   ", &["   "]),
            ("\u{feff}a,\u{feff}", &["\u{feff}a", "\u{feff}"]),
        ] {
            assert_eq!(cells.cut(row.as_bytes()).unwrap().collect::<Vec<_>>(), want, "{row:?}");
            assert_eq!(cells.clone().cut(row.as_bytes()).unwrap().collect::<Vec<_>>(), want, "{row:?}");
        }
        assert!(cells.cut(b"\"a").is_err_and(|error| error.contains("not closed")));
        assert!(cells.cut(b"a,b").is_ok());
        assert!(cells.cut(b"\xff").is_err());
    }
}
