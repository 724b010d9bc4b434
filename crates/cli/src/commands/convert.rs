//! Converts the lines of `rawline produce` to records, on all cores, with their order kept.

use super::full::Encoder;
use super::key::KeySource;
use super::ordered::{Ordered, Slices};
use super::value::{FieldTypes, value_of_json};

/// Conversion of a line before it is sent.
#[derive(Clone)]
pub enum Convert {
    Nothing,
    /// A line of JSON to a value, with these types for fields.
    Value(Box<FieldTypes>),
    Avro(Box<Encoder>),
}

impl Convert {
    /// Whether lines are rows of CSV: line breaks inside quotes are part of them.
    pub fn has_quotes(&self) -> bool {
        matches!(self, Convert::Avro(encoder) if encoder.has_quotes())
    }

    /// Whether copies convert lines in the same way: not before the first line of CSV, which names the columns.
    fn can_be_copied(&self) -> bool {
        !matches!(self, Convert::Avro(encoder) if encoder.needs_header())
    }

    /// Appends to `out` the record that the line becomes. `None` if it becomes no record.
    fn apply(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Option<()>, String> {
        if let Convert::Nothing = self {
            out.extend_from_slice(line);
            return Ok(Some(()));
        }
        // In CSV, white space may be a cell.
        if line.is_empty() || !self.has_quotes() && line.trim_ascii().is_empty() {
            return Ok(None);
        }
        match self {
            Convert::Nothing => unreachable!("a line that isn't converted"),
            Convert::Value(types) => value_of_json(line, types, out).map(Some),
            Convert::Avro(encoder) => encoder.encode(line, out),
        }
    }
}

/// Consecutive lines and their converted form. Its memory is reused for later lines.
pub struct Piece {
    convert: Convert,
    /// Position of the record's key in its line.
    key_source: Option<KeySource>,
    /// Number of lines of the input before these.
    lines_before: u64,
    lines: Slices,
    records: Slices,
    /// The records' keys, if they have any.
    keys: Vec<Option<Vec<u8>>>,
    /// The number and the error of the line after the records.
    failed: Option<(u64, String)>,
}

impl Piece {
    fn new(convert: Convert, key_source: Option<KeySource>) -> Piece {
        Piece {
            convert,
            key_source,
            lines_before: 0,
            lines: Slices::default(),
            records: Slices::default(),
            keys: Vec::new(),
            failed: None,
        }
    }

    /// Converts the lines up to the first that can't be.
    fn convert(mut self) -> Piece {
        let Piece { convert, key_source, lines_before, lines, records, keys, failed } = &mut self;
        for (line, number) in lines.iter().zip(*lines_before + 1..) {
            let (key, line) = match key_source {
                Some(source) => source.split(line),
                None => (None, line),
            };
            match records.push_with(|out| convert.apply(line, out)) {
                Ok(None) => {}
                Ok(Some(())) => keys.extend(key_source.as_ref().map(|_| key)),
                Err(reason) => {
                    *failed = Some((number, reason));
                    break;
                }
            }
        }
        self
    }

    /// The records, each with its key if it has one.
    pub fn records(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let keys = self.keys.iter().map(Option::as_deref).chain(std::iter::repeat(None));
        self.records.iter().zip(keys)
    }

    /// The number of the line after the records, and why it can't be converted.
    pub fn failed(&self) -> Option<(u64, &str)> {
        self.failed.as_ref().map(|(number, reason)| (*number, reason.as_str()))
    }
}

/// Lines that are being converted.
pub struct Pipeline {
    /// The first copy, as long as copies differ from it; it also collects what the others have seen.
    convert: Convert,
    key_source: Option<KeySource>,
    jobs: Ordered<Piece>,
    /// Whether the first copy is in a job.
    is_lent: bool,
    spare: Vec<Piece>,
    /// The lines of the next job.
    next: Option<Piece>,
    /// Number of lines that were added.
    lines: u64,
}

impl Pipeline {
    pub fn new(convert: Convert, key_source: Option<KeySource>) -> Pipeline {
        Pipeline { convert, key_source, jobs: Ordered::new(), is_lent: false, spare: Vec::new(), next: None, lines: 0 }
    }

    /// Number of lines that were added.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether lines are being converted.
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether a line can be added.
    pub fn has_room(&self) -> bool {
        self.jobs.has_room() && !self.is_lent
    }

    /// Adds a line, and starts a job if there are enough of them.
    pub fn add(&mut self, line: &[u8]) {
        assert!(self.has_room(), "a line without room for it");
        let Pipeline { convert, key_source, spare, next, lines, .. } = self;
        let piece = next.get_or_insert_with(|| {
            let mut piece = spare.pop().unwrap_or_else(|| Piece::new(convert.clone(), key_source.clone()));
            piece.lines_before = *lines;
            piece
        });
        piece.lines.push(line);
        *lines += 1;
        if piece.lines.fill_a_job() {
            self.start();
        }
    }

    /// Starts a job of the lines that were added since the last one.
    pub fn start(&mut self) {
        if let Some(piece) = self.next.take() {
            self.is_lent = !self.convert.can_be_copied();
            self.jobs.push(|| piece.convert());
        }
    }

    /// Waits for the oldest lines; `None` if there are none. Can be dropped while it waits.
    pub async fn next(&mut self) -> Option<Piece> {
        self.jobs.next().await
    }

    /// Takes back the lines that [`Pipeline::next`] has returned.
    pub fn give_back(&mut self, mut piece: Piece) {
        if std::mem::take(&mut self.is_lent) {
            self.convert = piece.convert.clone();
        }
        if let (Convert::Value(types), Convert::Value(seen)) = (&mut self.convert, &mut piece.convert) {
            types.merge(seen);
        }
        piece.lines.clear();
        piece.records.clear();
        piece.keys.clear();
        if piece.failed.is_none() {
            self.spare.push(piece);
        }
    }

    /// Reports types whose field was in no record on stderr.
    pub fn report_unused(&self) {
        if let Convert::Value(types) = &self.convert {
            types.report_unused();
        }
    }
}
