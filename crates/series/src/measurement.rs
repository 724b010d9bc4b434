//! Decodes messages of measurements into columns: a series id, a time and a value per message.
//!
//! A message is a metric, a map of tags, a time and a value. The first two are its *identity* and repeat from message
//! to message; the last two are its *tail* and change. Reading the identity from the front means following eleven
//! lengths, each of which gives the position of the next. The decoder avoids that chain:
//!
//! 1. The tail is read **from the end**. In a variable-length integer every byte but the last has its high bit set, so
//!    the message's last byte ends `value`, the bytes before it with the high bit set belong to it, the next one ends
//!    `time`, and so on until the high bit is clear again. (A float or double is four or eight bytes.)
//! 2. The bytes before the tail are looked up as a whole among the identities seen before: one hash, one comparison of
//!    all bytes.
//! 3. If the identity is known, the message is valid and done. If not, it is read from the front with every check, and
//!    its identity is remembered.
//!
//! **Why this validates everything.** Let `M` be a message, and `P` the bytes before its tail as found from the end,
//! equal to a remembered identity. `P` was remembered because the forward reader, with every check, read a metric and
//! tags from some message and ended exactly at `P`'s length. The forward reader decides each step by bytes that it has
//! read, and by bounds that only a shorter message can violate. So on `M`, which begins with `P` and is longer, it
//! takes the same steps and ends at the same position with the same strings. By construction, the bytes after that are
//! one integer (bytes with the high bit set, then one with it clear), then a second one (or four or eight bytes), and
//! nothing else. The forward reader would read them as time and value, and end at the message's end. An integer of more
//! than ten bytes or 64 bits isn't accepted here; the forward reader reports the fault. So the fast path accepts only
//! messages that the forward reader accepts, with the same result. And it misses none: an identity ends with the map's
//! closing zero, whose high bit is clear, so on a valid message the backward reader stops where the forward reader
//! would begin the tail.
//!
//! **Batches.** With a million series each look-up misses the cache twice. Messages are therefore processed in blocks,
//! and each block in three passes: find the identity, hash it and prefetch its slot; read the slot and prefetch the
//! bytes to which it points; compare and write the row.

mod reader;
mod roles;
mod shape;
mod tail;

use std::sync::Arc;

use rawline_avro::{Counts, Cursor, FAULTS_MAX, Fault, FaultKind};

pub use reader::{MeasurementReader, Refused};
pub use shape::{FieldType, Shape, ShapeError, ValueType};

use crate::arena::Place;
use crate::series::{Scratch, SeriesError, SeriesTable, read_identity};
use tail::Tail;

/// The schema of measurements: new ones are written with it, and all are read as it.
pub const MEASUREMENT_SCHEMA: &str = include_str!("measurement/measurement.avsc");

/// Messages that are looked up together: enough to keep the memory's parallel requests busy, few enough to stay in the
/// level-1 cache.
const BLOCK: usize = 64;

/// Measurements as columns; a row has the same index in each. The caller keeps and reuses them.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Columns {
    /// Series ids of the decoder's table.
    pub series: Vec<u32>,
    /// Times as written: milliseconds since 1970.
    pub time_ms: Vec<i64>,
    /// Values. A long above 2^53 is rounded.
    pub value: Vec<f64>,
}

impl Columns {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.series.clear();
        self.time_ms.clear();
        self.value.clear();
    }
}

/// A rejected message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {number}, field {field}: {fault}")]
pub struct MessageFault {
    /// The message's index in the batch.
    pub number: u64,
    /// The field: `frame`, `metric`, `tags`, `time`, `value`, or `end` for bytes after it.
    pub field: &'static str,
    /// The error, and its position in the message.
    pub fault: Fault,
}

/// Decodes measurements of one shape. Each thread needs a separate decoder; all share one table.
#[derive(Debug)]
pub struct MeasurementDecoder {
    table: Arc<SeriesTable>,
    forward: Forward,
    faults: Vec<MessageFault>,
}

/// A message between the passes.
#[derive(Clone, Copy)]
struct Pending<'m> {
    /// Metric and tags; empty if the message is to be read from the front.
    identity: &'m [u8],
    hash: u64,
    place: Place,
    time: i64,
    value: f64,
}

const NOTHING_PENDING: Pending<'static> = Pending { identity: &[], hash: 0, place: 0, time: 0, value: 0.0 };

impl MeasurementDecoder {
    /// Creates a decoder for messages of this shape. Its series get their ids from `table`.
    pub fn new(shape: Shape, table: Arc<SeriesTable>) -> Self {
        Self { table, forward: Forward::new(shape), faults: Vec::with_capacity(FAULTS_MAX) }
    }

    /// The table.
    pub fn table(&self) -> &Arc<SeriesTable> {
        &self.table
    }

    /// The first faults of the last call, up to [`FAULTS_MAX`].
    pub fn faults(&self) -> &[MessageFault] {
        &self.faults
    }

    /// Appends the messages' rows to `out`, in order. Invalid messages and those without room are counted and skipped.
    pub fn decode<'m>(&mut self, messages: impl IntoIterator<Item = &'m [u8]>, out: &mut Columns) -> Counts {
        self.faults.clear();
        let mut counts = Counts::default();
        each_block(messages, |block| self.decode_block(block, out, &mut counts));
        counts
    }

    fn decode_block(&mut self, messages: &[&[u8]], out: &mut Columns, counts: &mut Counts) {
        let Self { table, forward, faults } = self;
        let mut pending = [NOTHING_PENDING; BLOCK];
        let mut rest = (messages, pending.as_mut_slice());
        while !rest.0.is_empty() {
            // The first message after those with this frame has another frame, or none.
            let next = forward.find_identities(table, rest.0, rest.1) + 1;
            rest = (rest.0.get(next..).unwrap_or_default(), rest.1.get_mut(next..).unwrap_or_default());
        }
        let first = counts.messages;
        look_up(table, messages, &mut pending, out, counts, |at, message| {
            forward.read(table, message).map_err(|error| match error {
                SeriesError::Full => Left::Dropped,
                SeriesError::Bad { field, fault } => {
                    if faults.len() < FAULTS_MAX {
                        faults.push(MessageFault { number: first + at as u64, field, fault });
                    }
                    Left::Faulty
                }
            })
        });
    }
}

/// Passes the messages on, [`BLOCK`] of them at a time.
#[inline(always)]
fn each_block<'m>(messages: impl IntoIterator<Item = &'m [u8]>, mut work: impl FnMut(&[&'m [u8]])) {
    let mut messages = messages.into_iter();
    let mut block: [&[u8]; BLOCK] = [&[]; BLOCK];
    loop {
        let mut filled = 0;
        for (place, message) in block.iter_mut().zip(&mut messages) {
            *place = message;
            filled += 1;
        }
        match block.get(..filled) {
            Some(block) if !block.is_empty() => work(block),
            _ => return,
        }
    }
}

/// Why a message has no row.
enum Left {
    Dropped,
    Faulty,
}

/// The second and third pass over a block: writes the rows of known identities, and calls `read` for the others.
#[inline(always)]
fn look_up<'m>(
    table: &SeriesTable,
    messages: &[&'m [u8]],
    pending: &mut [Pending<'m>; BLOCK],
    out: &mut Columns,
    counts: &mut Counts,
    mut read: impl FnMut(usize, &'m [u8]) -> Result<Row, Left>,
) {
    let aliases = table.aliases();
    for next in pending.iter_mut().take(messages.len()) {
        next.place = aliases.propose(next.hash, next.identity.len());
    }
    let mut series = [0; BLOCK];
    let mut time_ms = [0; BLOCK];
    let mut value = [0.0; BLOCK];
    let mut rows = 0;
    for (at, (next, message)) in pending.iter().zip(messages).enumerate() {
        // SAFETY: the place was returned by `propose` of the same table in the pass above.
        let known = unsafe { aliases.confirm(next.place, next.identity) };
        let row = match known {
            Some(series) => Row { series, time: next.time, value: next.value },
            None => match read(at, message) {
                Ok(row) => row,
                Err(Left::Dropped) => {
                    counts.dropped += 1;
                    continue;
                }
                Err(Left::Faulty) => {
                    counts.faulty += 1;
                    continue;
                }
            },
        };
        let places = (series.get_mut(rows), time_ms.get_mut(rows), value.get_mut(rows));
        if let (Some(series), Some(time_ms), Some(value)) = places {
            (*series, *time_ms, *value) = (row.series, row.time, row.value);
            rows += 1;
        }
    }
    let (Some(series), Some(time_ms), Some(value)) = (series.get(..rows), time_ms.get(..rows), value.get(..rows))
    else {
        unreachable!("{rows} rows of a block of {BLOCK} messages")
    };
    out.series.extend_from_slice(series);
    out.time_ms.extend_from_slice(time_ms);
    out.value.extend_from_slice(value);
    counts.rows += rows as u64;
    counts.messages += messages.len() as u64;
}

/// Reads messages from the front, with every check.
#[derive(Debug)]
struct Forward {
    value: ValueType,
    header: [u8; 10],
    header_bytes: usize,
    scratch: Scratch,
}

struct Row {
    series: u32,
    time: i64,
    value: f64,
}

impl Forward {
    fn new(shape: Shape) -> Self {
        let mut written = Vec::new();
        shape.frame.write(&mut written);
        let mut header = [0; 10];
        header.iter_mut().zip(&written).for_each(|(place, byte)| *place = *byte);
        assert!(written.len() <= header.len(), "a frame of {} bytes", written.len());
        Self { value: shape.value, header, header_bytes: written.len(), scratch: Scratch::default() }
    }

    /// The first pass over a block, or over part of it: reads the tails from the end, up to the first message without
    /// this frame. Returns the number of messages before that one. Messages that aren't measurements, as far as their
    /// end shows, get no identity.
    fn find_identities<'m>(&self, table: &SeriesTable, messages: &[&'m [u8]], pending: &mut [Pending<'m>]) -> usize {
        match self.value {
            ValueType::Long => self
                .find_before(table, messages, pending, |body| Some(tail::two_longs(body)?.map(|value| value as f64))),
            ValueType::Int => self.find_before(table, messages, pending, |body| {
                let tail = tail::two_longs(body)?;
                i32::try_from(tail.value).is_ok().then(|| tail.map(|value| value as f64))
            }),
            ValueType::Float => {
                self.find_before(table, messages, pending, |body| Some(tail::long_and_float(body)?.map(f64::from)))
            }
            ValueType::Double => self.find_before(table, messages, pending, tail::long_and_double),
        }
    }

    #[inline(always)]
    fn find_before<'m>(
        &self,
        table: &SeriesTable,
        messages: &[&'m [u8]],
        pending: &mut [Pending<'m>],
        read_tail: impl Fn(&'m [u8]) -> Option<Tail<f64>>,
    ) -> usize {
        let aliases = table.aliases();
        for (at, (next, message)) in pending.iter_mut().zip(messages).enumerate() {
            let Some(body) = self.body(message) else { return at };
            let Some(Tail { begin, time, value }) = read_tail(body) else { continue };
            let identity = body.get(..begin).unwrap_or_default();
            let hash = aliases.hash(identity);
            aliases.prefetch_slot(hash);
            *next = Pending { identity, hash, place: 0, time, value };
        }
        messages.len()
    }

    /// The message without its frame, if that is the expected one.
    #[inline(always)]
    fn body<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]> {
        message.strip_prefix(self.header.get(..self.header_bytes)?)
    }

    #[cold]
    #[inline(never)]
    fn read(&mut self, table: &SeriesTable, message: &[u8]) -> Result<Row, SeriesError> {
        let bad = |field| move |fault| SeriesError::Bad { field, fault };
        let mut cursor = Cursor::new(message);
        if self.body(message).is_none() {
            return Err(bad("frame")(cursor.fault(FaultKind::Frame)));
        }
        cursor.fixed(self.header_bytes).map_err(bad("frame"))?;
        let metric = read_identity(&mut cursor, &mut self.scratch)?;
        let identity = message.get(self.header_bytes..cursor.position()).unwrap_or_default();
        let time = cursor.long().map_err(bad("time"))?;
        let value = match self.value {
            ValueType::Int => cursor.int().map(f64::from),
            ValueType::Long => cursor.long().map(|value| value as f64),
            ValueType::Float => cursor.float().map(f64::from),
            ValueType::Double => cursor.double(),
        };
        let value = value.map_err(bad("value"))?;
        cursor.finish().map_err(bad("end"))?;
        // Only now, so that a bad message leaves nothing in the table.
        let hash = table.aliases().hash(identity);
        let series = match table.aliases().find(hash, identity) {
            Some(series) => series,
            None => table.learn(identity, hash, metric, message, &mut self.scratch)?,
        };
        Ok(Row { series, time, value })
    }
}
