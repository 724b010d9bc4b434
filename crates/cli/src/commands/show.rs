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

    /// Appends the record's line without its newline.
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
                return shown.map_err(|why| format!("can't decode the record at offset {offset} as Avro: {why}"));
            }
        };
        shown.map_err(|error| {
            format!("the record at offset {offset} isn't a structured value: {error}; use --format raw")
        })
    }
}

/// Consecutive records and their text. Its memory is reused for later records.
pub struct Piece {
    show: Show,
    records: Slices,
    offsets: Vec<u64>,
    /// The lines of the records, up to the first that can't be shown.
    pub text: Vec<u8>,
    /// Why a record can't be shown.
    pub failed: Option<String>,
}

impl Piece {
    fn show(mut self) -> Piece {
        let Piece { show, records, offsets, text, failed } = &mut self;
        for (record, offset) in records.iter().zip(offsets) {
            let begin = text.len();
            if let Err(reason) = show.apply(*offset, record, text) {
                text.truncate(begin);
                *failed = Some(reason);
                break;
            }
            text.push(b'\n');
        }
        self
    }
}

/// Records that are being converted.
pub struct Pipeline {
    show: Show,
    jobs: Ordered<Piece>,
    spare: Vec<Piece>,
    /// The records of the next job.
    next: Option<Piece>,
}

impl Pipeline {
    pub fn new(show: Show) -> Pipeline {
        Pipeline { show, jobs: Ordered::new(), spare: Vec::new(), next: None }
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
        let Pipeline { show, spare, next, .. } = self;
        let piece = next.get_or_insert_with(|| {
            spare.pop().unwrap_or_else(|| Piece {
                show: show.clone(),
                records: Slices::default(),
                offsets: Vec::new(),
                text: Vec::new(),
                failed: None,
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
