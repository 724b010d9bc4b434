//! The records that a subscription's filter has selected, one by one.

use rawline_contract::subscription::Selection;

/// Reads the records of a selection.
#[derive(Debug)]
pub(crate) struct SelectedRecords<'a> {
    selection: Selection<'a>,
    /// The time of their batch.
    time_us: u64,
    /// Index of the next record.
    index: usize,
    /// Start of the next record in the data.
    position: usize,
}

impl<'a> SelectedRecords<'a> {
    pub(crate) fn new(selection: Selection<'a>, time_us: u64) -> SelectedRecords<'a> {
        SelectedRecords { selection, time_us, index: 0, position: 0 }
    }

    /// The next record from the offset `from` on: its offset, its time and its bytes.
    pub(crate) fn next(&mut self, from: u64) -> Option<(u64, u64, &'a [u8])> {
        loop {
            let (offset, size) = self.selection.entry(self.index)?;
            let range = self.position..self.position + size as usize;
            self.index += 1;
            self.position = range.end;
            let Some(bytes) = self.selection.data().get(range) else {
                unreachable!("the record at offset {offset} ends at {} of checked records", self.position)
            };
            if offset >= from {
                return Some((offset, self.time_us, bytes));
            }
        }
    }
}
