//! Converts the records of `rawline consume` to lines of text, on all cores, with their order kept.

use super::full::LineShower;
use super::ordered::{Ordered, Slices};
use rawline_value::Decoder;
use rawline_value::json::{WriteError, plain, typed};

/// How a record becomes a line.
#[derive(Clone)]
pub enum Show {
    /// A structured value as plain JSON.
    Value(Box<plain::Writer>),
    /// A structured value as JSON with the type of every value.
    ValueTyped(Box<Decoder>),
    Avro(Box<LineShower>),
}

impl Show {
    pub fn value() -> Show {
        Show::Value(Box::default())
    }

    pub fn value_typed() -> Show {
        Show::ValueTyped(Box::default())
    }

    /// Appends the record's line without its newline. The error names the record and says what to do.
    fn apply(&mut self, offset: u64, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        // Values are checked before they are shown.
        let shown = match self {
            Show::Value(writer) => writer.append_checked(record, out),
            Show::ValueTyped(decoder) => {
                let checked = decoder.decode(record).map(drop).map_err(WriteError::from);
                checked.and_then(|()| typed::write(record, out))
            }
            Show::Avro(shower) => {
                let shown = shower.show(record, out);
                return shown.map_err(|why| bad_avro(offset, &why));
            }
        };
        shown.map_err(|error| {
            format!("the record at offset {offset} isn't a structured value: {error}; use --format raw, or --skip-bad")
        })
    }
}

/// Why a record can't be shown as Avro.
pub fn bad_avro(offset: u64, why: &str) -> String {
    format!("can't decode the record at offset {offset} as Avro: {why}; --skip-bad skips such records")
}

/// Records that were left out, because they can't be shown.
#[derive(Debug, Default)]
pub struct Skipped {
    records: u64,
    /// Why the first one can't be shown.
    first: Option<String>,
}

impl Skipped {
    pub fn add(&mut self, reason: String) {
        self.records += 1;
        self.first.get_or_insert(reason);
    }

    pub fn merge(&mut self, later: &mut Skipped) {
        let Skipped { records, first } = std::mem::take(later);
        self.records += records;
        self.first = self.first.take().or(first);
    }

    /// Reports them on stderr, if there are any.
    pub fn report(&self) {
        if let Some(reason) = &self.first {
            let records = if self.records == 1 { "record" } else { "records" };
            eprintln!("rawline: skipped {} {records}; the first: {reason}", self.records);
        }
    }
}

/// A record that ends the output.
#[derive(Debug, Clone)]
pub struct BadRecord {
    pub offset: u64,
    pub reason: String,
}

/// Consecutive records and their text. Its memory is reused for later records.
pub struct Piece {
    show: Show,
    skips_bad: bool,
    records: Slices,
    offsets: Vec<u64>,
    /// The lines of the records, up to the first that can't be shown and isn't skipped.
    pub text: Vec<u8>,
    pub failed: Option<BadRecord>,
    pub skipped: Skipped,
}

impl Piece {
    fn show(mut self) -> Piece {
        let Piece { show, skips_bad, records, offsets, text, failed, skipped } = &mut self;
        for (record, &mut offset) in records.iter().zip(offsets) {
            let begin = text.len();
            match show.apply(offset, record, text) {
                Ok(()) => text.push(b'\n'),
                Err(reason) => {
                    text.truncate(begin);
                    if !*skips_bad {
                        *failed = Some(BadRecord { offset, reason });
                        break;
                    }
                    skipped.add(reason);
                }
            }
        }
        self
    }
}

/// Records that are being converted.
pub struct Pipeline {
    show: Show,
    skips_bad: bool,
    jobs: Ordered<Piece>,
    spare: Vec<Piece>,
    /// The records of the next job.
    next: Option<Piece>,
}

impl Pipeline {
    /// Records that can't be shown are skipped, or end the output.
    pub fn new(show: Show, skips_bad: bool) -> Pipeline {
        Pipeline { show, skips_bad, jobs: Ordered::new(), spare: Vec::new(), next: None }
    }

    /// Whether records are being converted.
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether a record can be added.
    pub fn has_room(&self) -> bool {
        self.jobs.has_room()
    }

    /// Adds a record, and starts a job if there are enough of them.
    pub fn add(&mut self, offset: u64, record: &[u8]) {
        let Pipeline { show, skips_bad, spare, next, .. } = self;
        let piece = next.get_or_insert_with(|| {
            spare.pop().unwrap_or_else(|| Piece {
                show: show.clone(),
                skips_bad: *skips_bad,
                records: Slices::default(),
                offsets: Vec::new(),
                text: Vec::new(),
                failed: None,
                skipped: Skipped::default(),
            })
        });
        piece.records.push(record);
        piece.offsets.push(offset);
        if piece.records.fill_a_job() {
            self.start();
        }
    }

    /// Starts a job of the records that were added since the last one.
    pub fn start(&mut self) {
        if let Some(piece) = self.next.take() {
            self.jobs.push(|| piece.show());
        }
    }

    /// Waits for the oldest records; `None` if there are none. Can be dropped while it waits.
    pub async fn next(&mut self) -> Option<Piece> {
        self.jobs.next().await
    }

    /// Takes back the records that [`Pipeline::next`] has returned. After a failure, later records are forgotten.
    pub fn give_back(&mut self, mut piece: Piece) {
        if piece.failed.is_some() {
            self.jobs.clear();
            self.next = None;
            return;
        }
        piece.records.clear();
        piece.offsets.clear();
        piece.text.clear();
        self.spare.push(piece);
    }
}
