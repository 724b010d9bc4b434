//! Appends a message's values to their columns.
//!
//! A column can refuse a value that the plan accepts: a text that isn't a UUID, a string for which the interner has no
//! room. Such a fault is reported after the message has been read, so the plan's own faults take precedence.

use arrow_buffer::{IntervalMonthDayNano, i256};

use super::column::{Column, Data, NOTHING, extend, push_branch, push_null};
use super::logical;
use super::texts::{Texts, chunk, push_view, read_entries};
use crate::cursor::Cursor;
use crate::decode::Sink;
use crate::error::{Fault, FaultKind};

/// Receives the values of one message.
pub(super) struct Filling<'c, 'm> {
    columns: &'c mut [Column],
    texts: &'c mut Texts,
    message: &'m [u8],
    /// Slot 0 of the innermost level.
    base: u32,
    /// Whether a view points into the message itself.
    viewed: bool,
    /// The first value that a column refused.
    refused: Option<Refused>,
}

/// A value that its column refused.
pub(super) struct Refused {
    pub column: u32,
    pub fault: Fault,
}

impl<'c, 'm> Filling<'c, 'm> {
    #[inline]
    pub fn new(columns: &'c mut [Column], texts: &'c mut Texts, message: &'m [u8], base: u32) -> Self {
        Self { columns, texts, message, base, viewed: false, refused: None }
    }

    /// Must be called when the message has been read.
    #[inline]
    pub fn finish(self) -> Result<(), Refused> {
        if self.viewed {
            self.texts.block.extend_from_slice(self.message);
        }
        self.refused.map_or(Ok(()), Err)
    }

    #[inline]
    fn data(&mut self, slot: u32) -> Option<&mut Data> {
        self.columns.get_mut((self.base + slot) as usize).map(|column| &mut column.data)
    }

    /// Refuses a value that ends with `bytes` and begins `header` bytes before them.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, column: u32, kind: FaultKind, bytes: &[u8], header: usize) {
        // A default is not in the message; its fault is reported at position 0.
        let begin = bytes.as_ptr().addr().wrapping_sub(self.message.as_ptr().addr());
        let position =
            Some(begin).filter(|begin| *begin <= self.message.len()).and_then(|begin| begin.checked_sub(header));
        self.refused.get_or_insert(Refused { column, fault: Fault { kind, position: position.unwrap_or_default() } });
    }

    /// Appends a text to the column `at`.
    #[inline]
    fn text(&mut self, at: u32, text: &'m str) {
        let Some(Column { data, .. }) = self.columns.get_mut(at as usize) else { return };
        let kind = match data {
            Data::Runs(runs) => {
                if runs.reserve(1, text.len()) {
                    runs.append(text.as_bytes(), chunk(self.message, text));
                    return;
                }
                FaultKind::ColumnsFull
            }
            Data::View(views) => {
                if push_view(views, text, self.message, self.texts, &mut self.viewed) {
                    return;
                }
                FaultKind::ColumnsFull
            }
            Data::Id(ids) => match self.texts.id(text.as_bytes()) {
                Ok(id) => {
                    ids.push(id);
                    return;
                }
                Err(kind) => kind,
            },
            Data::Uuid(values) => match logical::uuid_of_text(text) {
                Some(uuid) => {
                    values.push(uuid);
                    return;
                }
                None => FaultKind::Logical,
            },
            _ => return,
        };
        self.refuse(at, kind, text.as_bytes(), length_bytes(text.as_bytes()));
    }

    /// Appends bytes or a fixed value to the column at `slot`; `header` bytes precede the value.
    #[inline]
    fn binary(&mut self, slot: u32, value: &'m [u8], header: usize) {
        let at = self.base + slot;
        let Some(data) = self.data(slot) else { return };
        let done = match data {
            Data::Runs(runs) => {
                if !runs.push(value) {
                    self.refuse(at, FaultKind::ColumnsFull, value, header);
                }
                return;
            }
            Data::Fixed { data, rows, .. } => {
                data.extend_from_slice(value);
                *rows += 1;
                return;
            }
            Data::Uuid(values) => value.try_into().ok().map(|uuid| values.push(uuid)),
            Data::Decimal128 { below, values } => {
                let number = logical::sign_extended(value).map(i128::from_be_bytes);
                number.filter(|number| -*below < *number && number < below).map(|number| values.push(number))
            }
            Data::Decimal256 { below, values } => {
                let number = logical::sign_extended(value).map(i256::from_be_bytes);
                number
                    .filter(|number| below.wrapping_neg() < *number && number < below)
                    .map(|number| values.push(number))
            }
            Data::Duration(values) => logical::duration(value).map(|(months, days, nanoseconds)| {
                values.push(IntervalMonthDayNano::new(months, days, nanoseconds));
            }),
            _ => return,
        };
        if done.is_none() {
            self.refuse(at, FaultKind::Logical, value, header);
        }
    }

    /// Ends an array or map.
    #[inline(always)]
    fn blocks_end(&mut self, mark: Mark, count: u32) {
        self.base = mark.base;
        let at = mark.base + mark.slot;
        if let Some(Data::List { offsets, .. } | Data::Map { offsets, .. }) = self.data(mark.slot)
            && !extend(offsets, count)
        {
            self.refuse(at, FaultKind::ColumnsFull, &[], 0);
        }
    }
}

/// Slot 0 of the enclosing level, and the slot in it that this level fills.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    base: u32,
    slot: u32,
}

impl<'m> Sink<'m> for Filling<'_, 'm> {
    type Mark = Mark;

    #[inline]
    fn null(&mut self, slot: u32) {
        if let Some(Data::Null(rows)) = self.data(slot) {
            *rows += 1;
        }
    }

    #[inline]
    fn boolean(&mut self, slot: u32, value: bool) {
        if let Some(Data::Boolean(values)) = self.data(slot) {
            values.append(value);
        }
    }

    #[inline]
    fn int(&mut self, slot: u32, value: i32) {
        if let Some(Data::Int(values)) = self.data(slot) {
            values.push(value);
        }
    }

    #[inline]
    fn long(&mut self, slot: u32, value: i64) {
        if let Some(Data::Long(values)) = self.data(slot) {
            values.push(value);
        }
    }

    #[inline]
    fn float(&mut self, slot: u32, value: f32) {
        if let Some(Data::Float(values)) = self.data(slot) {
            values.push(value);
        }
    }

    #[inline]
    fn double(&mut self, slot: u32, value: f64) {
        if let Some(Data::Double(values)) = self.data(slot) {
            values.push(value);
        }
    }

    #[inline]
    fn bytes(&mut self, slot: u32, value: &'m [u8]) {
        self.binary(slot, value, length_bytes(value));
    }

    #[inline]
    fn string(&mut self, slot: u32, value: &'m str) {
        self.text(self.base + slot, value);
    }

    #[inline]
    fn fixed(&mut self, slot: u32, value: &'m [u8]) {
        self.binary(slot, value, 0);
    }

    #[inline]
    fn symbol(&mut self, slot: u32, value: u32) {
        if let Some(Data::Symbol { keys, .. }) = self.data(slot) {
            keys.push(value.cast_signed());
        }
    }

    #[inline]
    fn record_begin(&mut self, slot: u32, _slots: u32) -> Mark {
        let mark = Mark { base: self.base, slot };
        if let Some(Data::Record { first, rows, .. }) = self.data(slot) {
            *rows += 1;
            self.base = *first;
        }
        mark
    }

    #[inline]
    fn record_end(&mut self, mark: Mark) {
        self.base = mark.base;
    }

    #[inline]
    fn branch_begin(&mut self, slot: u32, branch: u32) -> Mark {
        let mark = Mark { base: self.base, slot };
        let at = self.base + slot;
        self.base = match self.data(slot) {
            Some(Data::Nullable { value, null_branch }) => {
                let value = *value;
                if *null_branch == branch {
                    push_null(self.columns, value);
                    NOTHING
                } else {
                    value
                }
            }
            _ => match push_branch(self.columns, at, branch) {
                Some(child) => child,
                None => {
                    self.refuse(at, FaultKind::ColumnsFull, &[], 0);
                    NOTHING
                }
            },
        };
        mark
    }

    #[inline]
    fn branch_end(&mut self, mark: Mark) {
        self.base = mark.base;
    }

    #[inline]
    fn array_begin(&mut self, slot: u32) -> Mark {
        let mark = Mark { base: self.base, slot };
        if let Some(Data::List { items, .. }) = self.data(slot) {
            self.base = *items;
        }
        mark
    }

    #[inline]
    fn element(&mut self) {}

    #[inline]
    fn array_end(&mut self, mark: Mark, count: u32) {
        self.blocks_end(mark, count);
    }

    #[inline]
    fn map_begin(&mut self, slot: u32) -> Mark {
        let mark = Mark { base: self.base, slot };
        if let Some(Data::Map { keys, .. }) = self.data(slot) {
            self.base = *keys + 1;
        }
        mark
    }

    #[inline]
    fn key(&mut self, key: &'m str) {
        // A map's keys are the column before its values.
        self.text(self.base - 1, key);
    }

    #[inline(always)]
    fn map_end(&mut self, mark: Mark, count: u32) {
        self.blocks_end(mark, count);
    }

    #[inline]
    fn texts(&mut self, count: u32, cursor: &mut Cursor<'m>) -> Result<(), Fault> {
        let Self { columns, texts, message, viewed, .. } = self;
        let pair = columns.get_mut(self.base as usize - 1..).and_then(<[_]>::first_chunk_mut);
        if let Some(pair) = pair
            && read_entries(pair, count as usize, cursor, message, texts, viewed)?
        {
            return Ok(());
        }
        for _ in 0..count {
            self.key(cursor.string()?);
            self.string(0, cursor.string()?);
        }
        Ok(())
    }
}

/// Size of the shortest encoding of the value's length, in bytes.
#[inline]
fn length_bytes(value: &[u8]) -> usize {
    let bits = usize::BITS - (value.len() << 1 | 1).leading_zeros();
    bits.div_ceil(7) as usize
}
