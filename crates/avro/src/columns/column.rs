//! A column being filled: its values and validity, and truncation to fewer rows.
//!
//! All columns of a schema are in one list in which siblings are adjacent, so a record's field is found by its index. A
//! column without nulls has no validity bitmap; the first null creates it.

use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBufferBuilder, IntervalMonthDayNano, i256};
use arrow_schema::DataType;

use crate::plan::Segment;

/// The column that receives the nulls of nullable unions.
pub(super) const NOTHING: u32 = 0;

/// The column of the whole message.
pub(super) const ROOT: u32 = 1;

/// A column and its place in the schema.
#[derive(Debug)]
pub(super) struct Column {
    pub data: Data,
    pub data_type: DataType,
    /// Validity up to the last null; empty before the first.
    pub nulls: BooleanBufferBuilder,
    pub parent: u32,
    pub segment: Segment,
}

/// A column's values. Null rows hold an arbitrary value here.
#[derive(Debug)]
pub(super) enum Data {
    /// Receives the nulls of nullable unions.
    Nothing,
    Null(usize),
    Boolean(BooleanBufferBuilder),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// Text or bytes.
    Runs(Runs),
    View(Vec<u128>),
    /// Ids of an interner.
    Id(Vec<u32>),
    Fixed {
        size: usize,
        data: Vec<u8>,
        rows: usize,
    },
    Uuid(Vec<[u8; 16]>),
    Decimal128 {
        below: i128,
        values: Vec<i128>,
    },
    Decimal256 {
        below: i256,
        values: Vec<i256>,
    },
    Duration(Vec<IntervalMonthDayNano>),
    Symbol {
        keys: Vec<i32>,
        symbols: ArrayRef,
    },
    List {
        offsets: Vec<i32>,
        items: u32,
    },
    /// The values are the column after the keys.
    Map {
        offsets: Vec<i32>,
        keys: u32,
    },
    Record {
        first: u32,
        count: u32,
        rows: usize,
    },
    Union {
        types: Vec<i8>,
        offsets: Vec<i32>,
        first: u32,
    },
    /// A union of null and one other type, which is the column `value`.
    Nullable {
        value: u32,
        null_branch: u32,
    },
}

/// Concatenated texts or byte strings.
#[derive(Debug)]
pub(super) struct Runs {
    /// Boundaries of the runs; the first is 0.
    pub offsets: Vec<i32>,
    /// The runs, followed by unused capacity with arbitrary bytes.
    data: Vec<u8>,
    used: usize,
}

/// Runs up to this length are copied as one chunk of this size, without a function call.
pub(super) const CHUNK: usize = 16;

impl Runs {
    pub fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { offsets: offsets(rows), data: vec![0; bytes], used: 0 }
    }

    /// Returns false if the column is full: offsets are below 2^31.
    #[inline]
    pub fn push(&mut self, run: &[u8]) -> bool {
        self.reserve(1, run.len()) && {
            self.append(run, None);
            true
        }
    }

    /// Reserves memory for this many runs and all their bytes; fails if the offsets would overflow.
    #[inline]
    pub fn reserve(&mut self, runs: usize, bytes: usize) -> bool {
        let end = self.used + bytes;
        if i32::try_from(end).is_err() {
            return false;
        }
        if self.data.len() < end + CHUNK {
            self.data.resize((end + CHUNK).max(self.data.len() * 2), 0);
        }
        self.offsets.reserve(runs);
        true
    }

    /// Appends a run that fits into the capacity; `chunk` begins with it.
    #[inline(always)]
    pub fn append(&mut self, run: &[u8], chunk: Option<&[u8; CHUNK]>) {
        if let Some(chunk) = chunk
            && run.len() <= CHUNK
        {
            return self.append_short(chunk, run.len());
        }
        if let Some(place) = self.data.get_mut(self.used..self.used + run.len()) {
            place.copy_from_slice(run);
        }
        self.used += run.len();
        self.offsets.push(self.used as i32);
    }

    /// Appends the first `length` bytes of `chunk`, which fit into the capacity.
    #[inline(always)]
    pub fn append_short(&mut self, chunk: &[u8; CHUNK], length: usize) {
        if let Some(place) = self.data.get_mut(self.used..).and_then(<[u8]>::first_chunk_mut) {
            *place = *chunk;
        }
        self.used += length;
        self.offsets.push(self.used as i32);
    }

    fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.used = last(&self.offsets);
    }

    /// Takes the runs, and leaves empty ones with slightly more capacity.
    pub fn take(&mut self) -> Self {
        let (rows, bytes) = (self.offsets.len(), self.used);
        let room = Self::with_capacity(rows + rows / 8, bytes + bytes / 8 + CHUNK);
        let mut full = std::mem::replace(self, room);
        full.data.truncate(full.used);
        full
    }

    /// Offsets and bytes.
    pub fn into_parts(self) -> (Vec<i32>, Vec<u8>) {
        (self.offsets, self.data)
    }
}

/// Offsets of zero rows, with capacity for `rows`.
pub(super) fn offsets(rows: usize) -> Vec<i32> {
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    offsets
}

/// Start of the next run.
#[inline]
pub(super) fn last(offsets: &[i32]) -> usize {
    offsets.last().copied().unwrap_or_default() as usize
}

/// Adds `count` to the last offset; returns false on overflow.
#[inline]
pub(super) fn extend(offsets: &mut Vec<i32>, count: u32) -> bool {
    let last = offsets.last().copied().unwrap_or_default();
    match i32::try_from(count).ok().and_then(|count| last.checked_add(count)) {
        Some(end) => {
            offsets.push(end);
            true
        }
        None => false,
    }
}

/// Number of rows of the column `at`.
pub(super) fn rows(columns: &[Column], at: u32) -> usize {
    let Some(column) = columns.get(at as usize) else { return 0 };
    match &column.data {
        Data::Nothing => 0,
        Data::Null(rows) => *rows,
        Data::Boolean(values) => values.len(),
        Data::Int(values) => values.len(),
        Data::Long(values) => values.len(),
        Data::Float(values) => values.len(),
        Data::Double(values) => values.len(),
        Data::Runs(runs) => runs.offsets.len() - 1,
        Data::View(views) => views.len(),
        Data::Id(ids) => ids.len(),
        Data::Fixed { rows, .. } | Data::Record { rows, .. } => *rows,
        Data::Uuid(values) => values.len(),
        Data::Decimal128 { values, .. } => values.len(),
        Data::Decimal256 { values, .. } => values.len(),
        Data::Duration(values) => values.len(),
        Data::Symbol { keys, .. } => keys.len(),
        Data::List { offsets, .. } | Data::Map { offsets, .. } => offsets.len() - 1,
        Data::Union { types, .. } => types.len(),
        Data::Nullable { value, .. } => rows(columns, *value),
    }
}

/// Appends a null. Children get a placeholder: a null, an empty list, a union's first branch.
pub(super) fn push_null(columns: &mut [Column], at: u32) {
    let row = rows(columns, at);
    let Some(Column { data, nulls, .. }) = columns.get_mut(at as usize) else { return };
    let mut mark = || {
        nulls.append_n(row - nulls.len(), true);
        nulls.append(false);
    };
    match data {
        Data::Nothing => {}
        Data::Null(rows) => *rows += 1,
        Data::Boolean(values) => {
            mark();
            values.append(false);
        }
        Data::Int(values) | Data::Symbol { keys: values, .. } => {
            mark();
            values.push(0);
        }
        Data::Long(values) => {
            mark();
            values.push(0);
        }
        Data::Float(values) => {
            mark();
            values.push(0.0);
        }
        Data::Double(values) => {
            mark();
            values.push(0.0);
        }
        Data::Runs(Runs { offsets, .. }) | Data::List { offsets, .. } | Data::Map { offsets, .. } => {
            mark();
            extend(offsets, 0);
        }
        Data::View(views) => {
            mark();
            views.push(0);
        }
        Data::Id(ids) => {
            mark();
            ids.push(0);
        }
        Data::Fixed { size, data, rows } => {
            mark();
            data.resize(data.len() + *size, 0);
            *rows += 1;
        }
        Data::Uuid(values) => {
            mark();
            values.push([0; 16]);
        }
        Data::Decimal128 { values, .. } => {
            mark();
            values.push(0);
        }
        Data::Decimal256 { values, .. } => {
            mark();
            values.push(i256::ZERO);
        }
        Data::Duration(values) => {
            mark();
            values.push(IntervalMonthDayNano::ZERO);
        }
        Data::Record { first, count, rows } => {
            mark();
            *rows += 1;
            let (first, count) = (*first, *count);
            (first..first + count).for_each(|child| push_null(columns, child));
        }
        Data::Union { first, .. } => {
            let first = *first;
            push_branch(columns, at, 0);
            push_null(columns, first);
        }
        Data::Nullable { value, .. } => {
            let value = *value;
            push_null(columns, value);
        }
    }
}

/// Appends a row of the branch `branch` to the union `at`. Returns the column of its value, or `None` if an offset
/// overflows.
#[inline]
pub(super) fn push_branch(columns: &mut [Column], at: u32, branch: u32) -> Option<u32> {
    let Some(Column { data: Data::Union { first, .. }, .. }) = columns.get(at as usize) else { return None };
    let child = first + branch;
    let offset = i32::try_from(rows(columns, child)).ok()?;
    if let Some(Column { data: Data::Union { types, offsets, .. }, .. }) = columns.get_mut(at as usize) {
        types.push(branch as i8);
        offsets.push(offset);
    }
    Some(child)
}

/// Removes the rows from `to` on. Works in any state: children may have more rows than their parents account for.
pub(super) fn truncate(columns: &mut [Column], at: u32, to: usize) {
    let Some(Column { data, nulls, .. }) = columns.get_mut(at as usize) else { return };
    if nulls.len() > to {
        nulls.truncate(to);
    }
    match data {
        Data::Nothing => {}
        Data::Null(rows) => *rows = to.min(*rows),
        Data::Boolean(values) => values.truncate(to),
        Data::Int(values) | Data::Symbol { keys: values, .. } => values.truncate(to),
        Data::Long(values) => values.truncate(to),
        Data::Float(values) => values.truncate(to),
        Data::Double(values) => values.truncate(to),
        Data::Runs(runs) => runs.truncate(to),
        Data::View(views) => views.truncate(to),
        Data::Id(ids) => ids.truncate(to),
        Data::Fixed { size, data, rows } => {
            *rows = to.min(*rows);
            data.truncate(*rows * *size);
        }
        Data::Uuid(values) => values.truncate(to),
        Data::Decimal128 { values, .. } => values.truncate(to),
        Data::Decimal256 { values, .. } => values.truncate(to),
        Data::Duration(values) => values.truncate(to),
        Data::List { offsets, items } => {
            offsets.truncate(to + 1);
            let (items, to) = (*items, last(offsets));
            truncate(columns, items, to);
        }
        Data::Map { offsets, keys } => {
            offsets.truncate(to + 1);
            let (keys, to) = (*keys, last(offsets));
            truncate(columns, keys, to);
            truncate(columns, keys + 1, to);
        }
        Data::Record { first, count, rows } => {
            *rows = to.min(*rows);
            let (first, count) = (*first, *count);
            (first..first + count).for_each(|child| truncate(columns, child, to));
        }
        Data::Union { .. } => truncate_union(columns, at, to),
        Data::Nullable { value, .. } => {
            let value = *value;
            truncate(columns, value, to);
        }
    }
}

/// Each removed row also removes its child's row, in reverse order because children only grow at the end.
fn truncate_union(columns: &mut [Column], at: u32, to: usize) {
    while let Some(Column { data: Data::Union { types, offsets, first }, .. }) = columns.get_mut(at as usize)
        && types.len() > to
        && let (Some(branch), Some(offset)) = (types.pop(), offsets.pop())
    {
        let child = *first + u32::from(branch.cast_unsigned());
        truncate(columns, child, offset as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_to_2_31_and_not_on() {
        let mut offsets = vec![0, i32::MAX - 2];
        assert!(extend(&mut offsets, 2));
        assert!(!extend(&mut offsets, 1) && !extend(&mut offsets, u32::MAX));
        assert_eq!(offsets, [0, i32::MAX - 2, i32::MAX]);
        let mut runs = Runs { offsets: vec![0], data: Vec::new(), used: i32::MAX as usize - 3 };
        assert!(!runs.reserve(1, 4) && !runs.push(b"four"));
        assert_eq!(runs.offsets, [0]);
    }
}
