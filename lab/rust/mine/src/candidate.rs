//! A measured row: a library that writes and reads the messages, checked before anything is timed.

use crate::measure::Operation;
use lab_report::Row;
use std::hint::black_box;

/// The interface of a row to a round of measurements.
pub trait Candidate {
    /// The encoded messages.
    fn wire(&self) -> &[Vec<u8>];

    /// Runs the operation `count` times, round robin from message `first` on. Returns a value that depends on the
    /// results.
    fn run(&mut self, operation: Operation, first: usize, count: usize) -> u64;
}

/// A row and the outcome of its check.
pub struct Attempt {
    /// Which row.
    pub row: Row,
    /// The library's version.
    pub version: String,
    /// The row, or why it is not measured.
    pub candidate: Result<Box<dyn Candidate>, String>,
}

/// The use of a library. `N` is the type that it writes, `D` the one that it reads.
pub struct Library<N, E, R, F> {
    /// The messages in its own form.
    pub native: Vec<N>,
    /// Appends a message's bytes.
    pub encode: E,
    /// Reads a whole message.
    pub decode: R,
    /// Reads the one field's mark, 0 if it is not there.
    pub field: F,
}

impl<N, D, E, R, F> Library<N, E, R, F>
where
    N: 'static,
    D: 'static,
    E: Fn(&N, &mut Vec<u8>) -> Result<(), String> + 'static,
    R: FnMut(&[u8]) -> Result<D, String> + 'static,
    F: FnMut(&[u8]) -> Result<u64, String> + 'static,
{
    /// Writes every message, reads it again, and compares with `same`; reads the field, and compares whether it is
    /// present.
    pub fn check(
        mut self,
        present: &[bool],
        same: impl Fn(usize, &N, &D) -> Result<(), String>,
    ) -> Result<Box<dyn Candidate>, String> {
        let mut wire = Vec::with_capacity(self.native.len());
        for (index, native) in self.native.iter().enumerate() {
            let at = |why: String| format!("message {}: {why}", index + 1);
            let mut bytes = Vec::new();
            (self.encode)(native, &mut bytes).map_err(|why| at(format!("not written: {why}")))?;
            let decoded = (self.decode)(&bytes).map_err(|why| at(format!("not read: {why}")))?;
            same(index, native, &decoded).map_err(at)?;
            let mark = (self.field)(&bytes).map_err(|why| at(format!("its field was not read: {why}")))?;
            if present.get(index).is_some_and(|present| *present) && mark == 0 {
                return Err(at("its field was not found".to_owned()));
            }
            wire.push(bytes);
        }
        Ok(Box::new(Checked { library: self, wire, out: Vec::new() }))
    }
}

struct Checked<N, E, R, F> {
    library: Library<N, E, R, F>,
    wire: Vec<Vec<u8>>,
    out: Vec<u8>,
}

impl<N, D, E, R, F> Candidate for Checked<N, E, R, F>
where
    E: Fn(&N, &mut Vec<u8>) -> Result<(), String>,
    R: FnMut(&[u8]) -> Result<D, String>,
    F: FnMut(&[u8]) -> Result<u64, String>,
{
    fn wire(&self) -> &[Vec<u8>] {
        &self.wire
    }

    fn run(&mut self, operation: Operation, first: usize, count: usize) -> u64 {
        let Library { native, encode, decode, field } = &mut self.library;
        let mut total = 0u64;
        match operation {
            Operation::Encode => {
                for message in native.iter().cycle().skip(first % native.len().max(1)).take(count) {
                    self.out.clear();
                    let written = encode(black_box(message), &mut self.out);
                    total = total.wrapping_add(self.out.len() as u64 + u64::from(written.is_ok()));
                }
            }
            Operation::Decode => {
                for bytes in self.wire.iter().cycle().skip(first % self.wire.len().max(1)).take(count) {
                    let decoded = black_box(decode(black_box(bytes)));
                    total = total.wrapping_add(u64::from(decoded.is_ok()));
                }
            }
            Operation::Field => {
                for bytes in self.wire.iter().cycle().skip(first % self.wire.len().max(1)).take(count) {
                    total = total.wrapping_add(field(black_box(bytes)).unwrap_or_default());
                }
            }
        }
        black_box(total)
    }
}
