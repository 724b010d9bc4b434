//! A decoded message as a row: every value in one flat list that borrows from the message.
//!
//! A record's slots are adjacent, so a field is found by its index alone. The parts of a slot's value (fields,
//! elements, entries, a union's value) follow later. An element's parts follow it directly, so the next element begins
//! where they end.

use crate::cursor::Cursor;
use crate::datum::Datum;
use crate::decode::{self, Level, Sink};
use crate::error::{DecodeError, Fault};
use crate::item::Item;
use crate::plan::Plan;

/// Memory for decoding rows, reused between messages and plans.
#[derive(Debug, Default)]
pub struct RowBuffer {
    items: Vec<Item<'static>>,
    levels: Vec<Level<Mark>>,
}

impl RowBuffer {
    /// Creates an empty buffer, which grows as messages need it.
    pub fn new() -> Self {
        Self::default()
    }
}

/// One decoded message. Texts and bytes borrow from the message; dropping the row returns its memory to the buffer.
#[derive(Debug)]
pub struct Row<'b, 'm> {
    plan: &'m Plan,
    items: Vec<Item<'m>>,
    home: &'b mut Vec<Item<'static>>,
}

impl<'m> Row<'_, 'm> {
    /// The whole message's value.
    #[inline]
    pub fn datum(&self) -> Datum<'_, 'm> {
        let schema = self.plan.reader();
        Datum::new(&self.items, schema, schema.root(), 0)
    }

    /// The field `name` of a message that is a record.
    #[inline]
    pub fn field(&self, name: &str) -> Option<Datum<'_, 'm>> {
        self.datum().field(name)
    }

    /// The field at `index`, in the reader's order, of a message that is a record.
    #[inline]
    pub fn at(&self, index: usize) -> Option<Datum<'_, 'm>> {
        self.datum().at(index)
    }
}

impl Drop for Row<'_, '_> {
    fn drop(&mut self) {
        *self.home = recycle(std::mem::take(&mut self.items));
    }
}

impl Plan {
    /// Decodes a message; fails if bytes follow its value.
    #[inline]
    pub fn row<'b, 'm>(&'m self, buffer: &'b mut RowBuffer, message: &'m [u8]) -> Result<Row<'b, 'm>, DecodeError> {
        let mut cursor = Cursor::new(message);
        let row = self.row_from(buffer, &mut cursor)?;
        cursor.finish().map_err(|fault| DecodeError { path: String::new(), fault })?;
        Ok(row)
    }

    /// Decodes the value at the cursor and moves the cursor past it, for concatenated values.
    #[inline]
    pub fn row_from<'b, 'm>(
        &'m self,
        buffer: &'b mut RowBuffer,
        cursor: &mut Cursor<'m>,
    ) -> Result<Row<'b, 'm>, DecodeError> {
        let RowBuffer { items, levels } = buffer;
        let mut row = Row { plan: self, items: recycle(std::mem::take(items)), home: items };
        row.items.push(Item::Null);
        let mut sink = Rows { items: &mut row.items, base: 0 };
        decode::decode(self, cursor, levels, &mut sink)?;
        Ok(row)
    }
}

/// An empty list in the same memory, free to borrow from another message.
#[inline]
fn recycle<'to>(mut items: Vec<Item<'_>>) -> Vec<Item<'to>> {
    items.clear();
    // `collect` reuses the iterator's memory, since both have items of one size.
    items.into_iter().map_while(|_| None).collect()
}

/// The slot that a level fills, and the base of the enclosing level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    slot: u32,
    base: u32,
    begin: u32,
}

struct Rows<'r, 'm> {
    items: &'r mut Vec<Item<'m>>,
    /// Slot 0 of the innermost level.
    base: u32,
}

impl<'m> Rows<'_, 'm> {
    #[inline]
    fn set(&mut self, slot: u32, item: Item<'m>) {
        if let Some(place) = self.items.get_mut((self.base + slot) as usize) {
            *place = item;
        }
    }

    /// The list's length. A message has fewer than 2^32 elements, so it fits.
    #[inline]
    fn length(&self) -> u32 {
        self.items.len() as u32
    }

    #[inline]
    fn begin(&mut self, slot: u32) -> Mark {
        let begin = self.length();
        let mark = Mark { slot: self.base + slot, base: self.base, begin };
        self.base = begin;
        mark
    }

    #[inline]
    fn end(&mut self, mark: Mark, item: Item<'m>) {
        self.base = mark.base;
        if let Some(place) = self.items.get_mut(mark.slot as usize) {
            *place = item;
        }
    }

    #[inline]
    fn grow(&mut self) {
        self.base = self.length();
        self.items.push(Item::Null);
    }
}

impl<'m> Sink<'m> for Rows<'_, 'm> {
    type Mark = Mark;

    #[inline]
    fn null(&mut self, slot: u32) {
        self.set(slot, Item::Null);
    }

    #[inline]
    fn boolean(&mut self, slot: u32, value: bool) {
        self.set(slot, Item::Boolean(value));
    }

    #[inline]
    fn int(&mut self, slot: u32, value: i32) {
        self.set(slot, Item::Int(value));
    }

    #[inline]
    fn long(&mut self, slot: u32, value: i64) {
        self.set(slot, Item::Long(value));
    }

    #[inline]
    fn float(&mut self, slot: u32, value: f32) {
        self.set(slot, Item::Float(value));
    }

    #[inline]
    fn double(&mut self, slot: u32, value: f64) {
        self.set(slot, Item::Double(value));
    }

    #[inline]
    fn bytes(&mut self, slot: u32, value: &'m [u8]) {
        self.set(slot, Item::Bytes(value));
    }

    #[inline]
    fn string(&mut self, slot: u32, value: &'m str) {
        self.set(slot, Item::String(value));
    }

    #[inline]
    fn fixed(&mut self, slot: u32, value: &'m [u8]) {
        self.set(slot, Item::Fixed(value));
    }

    #[inline]
    fn symbol(&mut self, slot: u32, value: u32) {
        self.set(slot, Item::Symbol(value));
    }

    #[inline]
    fn record_begin(&mut self, slot: u32, slots: u32) -> Mark {
        let mark = self.begin(slot);
        self.items.reserve(slots as usize);
        for _ in 0..slots {
            self.items.push(Item::Null);
        }
        mark
    }

    #[inline]
    fn record_end(&mut self, mark: Mark) {
        self.end(mark, Item::Record { begin: mark.begin, end: self.length() });
    }

    #[inline]
    fn branch_begin(&mut self, slot: u32, branch: u32) -> Mark {
        // The branch is kept in the slot until its end is known.
        self.set(slot, Item::Symbol(branch));
        let mark = self.begin(slot);
        self.items.push(Item::Null);
        mark
    }

    #[inline]
    fn branch_end(&mut self, mark: Mark) {
        let branch = match self.items.get(mark.slot as usize) {
            Some(Item::Symbol(branch)) => *branch,
            _ => 0,
        };
        self.end(mark, Item::Union { begin: mark.begin, end: self.length(), branch });
    }

    #[inline]
    fn array_begin(&mut self, slot: u32) -> Mark {
        self.begin(slot)
    }

    #[inline]
    fn element(&mut self) {
        self.grow();
    }

    #[inline]
    fn array_end(&mut self, mark: Mark, count: u32) {
        self.end(mark, Item::Array { begin: mark.begin, end: self.length(), count });
    }

    #[inline]
    fn map_begin(&mut self, slot: u32) -> Mark {
        self.begin(slot)
    }

    #[inline]
    fn key(&mut self, key: &'m str) {
        self.items.push(Item::String(key));
        self.grow();
    }

    #[inline]
    fn map_end(&mut self, mark: Mark, count: u32) {
        self.end(mark, Item::Map { begin: mark.begin, end: self.length(), count });
    }

    #[inline]
    fn texts(&mut self, count: u32, cursor: &mut Cursor<'m>) -> Result<(), Fault> {
        let mut local = cursor.clone();
        for _ in 0..count {
            let pair = [Item::String(local.string()?), Item::String(local.string()?)];
            self.items.extend_from_slice(&pair);
        }
        cursor.go_to(&local);
        Ok(())
    }

    #[inline]
    fn reserve(&mut self, elements: usize) {
        self.items.reserve(elements);
    }
}
