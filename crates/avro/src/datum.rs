//! A value within a row, with its type.

use crate::item::Item;
use crate::schema::{Field, Kind, Logical, Schema, Type, TypeId};

/// A view of one value of a decoded message. Accessors look through unions: a nullable string's `as_str` is the string
/// or `None`.
#[derive(Debug, Clone, Copy)]
pub struct Datum<'r, 'm> {
    items: &'r [Item<'m>],
    schema: &'m Schema,
    type_id: TypeId,
    index: u32,
}

impl<'r, 'm> Datum<'r, 'm> {
    #[inline]
    pub(crate) fn new(items: &'r [Item<'m>], schema: &'m Schema, type_id: TypeId, index: u32) -> Self {
        Self { items, schema, type_id, index }
    }

    /// The value's type; for a value in a union, the union's.
    #[inline]
    pub fn schema_type(&self) -> &'m Type {
        self.schema.type_at(self.type_id)
    }

    /// The schema that has the type: the reader's.
    pub fn schema(&self) -> &'m Schema {
        self.schema
    }

    /// The type's id in the schema.
    pub fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// The logical type; for a union, that of its value.
    pub fn logical(&self) -> Option<Logical> {
        self.plain().schema_type().logical
    }

    /// Index of a union's branch.
    pub fn branch(&self) -> Option<u32> {
        match self.item() {
            Item::Union { branch, .. } => Some(branch),
            _ => None,
        }
    }

    /// The value inside a union; any other value is returned unchanged.
    #[inline]
    pub fn plain(&self) -> Self {
        match (self.item(), self.schema.kind(self.type_id)) {
            (Item::Union { begin, branch, .. }, Kind::Union(branches)) => {
                let type_id = branches.get(branch as usize).copied().unwrap_or(self.type_id);
                Self { type_id, index: begin, ..*self }
            }
            _ => *self,
        }
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self.inner(), Item::Null)
    }

    /// A boolean.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self.inner() {
            Item::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// An int or a long.
    #[inline]
    pub fn as_long(&self) -> Option<i64> {
        match self.inner() {
            Item::Int(value) => Some(i64::from(value)),
            Item::Long(value) => Some(value),
            _ => None,
        }
    }

    /// A float or a double.
    #[inline]
    pub fn as_double(&self) -> Option<f64> {
        match self.inner() {
            Item::Float(value) => Some(f64::from(value)),
            Item::Double(value) => Some(value),
            _ => None,
        }
    }

    /// A string, or an enum's symbol.
    #[inline]
    pub fn as_str(&self) -> Option<&'m str> {
        match self.inner() {
            Item::String(value) => Some(value),
            Item::Symbol(index) => match self.plain().schema_type() {
                Type { kind: Kind::Enum(symbols), .. } => symbols.symbols.get(index as usize).map(String::as_str),
                _ => None,
            },
            _ => None,
        }
    }

    /// The bytes of a `bytes` or `fixed` value.
    #[inline]
    pub fn as_bytes(&self) -> Option<&'m [u8]> {
        match self.inner() {
            Item::Bytes(value) | Item::Fixed(value) => Some(value),
            _ => None,
        }
    }

    /// Index of an enum's symbol.
    #[inline]
    pub fn as_symbol(&self) -> Option<u32> {
        match self.inner() {
            Item::Symbol(index) => Some(index),
            _ => None,
        }
    }

    /// A record's field by its name.
    pub fn field(&self, name: &str) -> Option<Self> {
        let plain = self.plain();
        match plain.schema.kind(plain.type_id) {
            Kind::Record(record) => plain.at(record.fields.iter().position(|field| field.name == name)?),
            _ => None,
        }
    }

    /// A record's field by its index in the reader's schema.
    #[inline]
    pub fn at(&self, index: usize) -> Option<Self> {
        let (begin, plain) = match self.item() {
            Item::Record { begin, .. } => (begin, *self),
            Item::Union { .. } => {
                let plain = self.plain();
                let Item::Record { begin, .. } = plain.item() else { return None };
                (begin, plain)
            }
            _ => return None,
        };
        let Kind::Record(record) = plain.schema.kind(plain.type_id) else { return None };
        let field = record.fields.get(index)?;
        Some(Self { type_id: field.type_id, index: begin + u32::try_from(index).ok()?, ..plain })
    }

    /// A record's fields in the reader's order; empty for any other value.
    pub fn fields(&self) -> Fields<'r, 'm> {
        let plain = self.plain();
        match (plain.item(), plain.schema.kind(plain.type_id)) {
            (Item::Record { begin, .. }, Kind::Record(record)) => {
                Fields { datum: Self { index: begin, ..plain }, fields: record.fields.iter() }
            }
            _ => Fields { datum: plain, fields: [].iter() },
        }
    }

    /// An array's elements; empty for any other value.
    #[inline]
    pub fn elements(&self) -> Elements<'r, 'm> {
        let plain = self.plain();
        match (plain.item(), plain.schema.kind(plain.type_id)) {
            (Item::Array { begin, count, .. }, Kind::Array(type_id)) => {
                Elements { next: Self { type_id: *type_id, index: begin, ..plain }, left: count }
            }
            _ => Elements { next: plain, left: 0 },
        }
    }

    /// A map's entries as written, including duplicate keys; empty for any other value.
    #[inline]
    pub fn entries(&self) -> Entries<'r, 'm> {
        let plain = self.plain();
        match (plain.item(), plain.schema.kind(plain.type_id)) {
            (Item::Map { begin, count, .. }, Kind::Map(type_id)) => {
                Entries { next: Self { type_id: *type_id, index: begin, ..plain }, left: count }
            }
            _ => Entries { next: plain, left: 0 },
        }
    }

    #[inline]
    pub(crate) fn item(&self) -> Item<'m> {
        self.items.get(self.index as usize).copied().unwrap_or(Item::Null)
    }

    /// The item; for a union, the item of its value.
    #[inline]
    fn inner(&self) -> Item<'m> {
        match self.item() {
            Item::Union { .. } => self.plain().item(),
            item => item,
        }
    }

    /// Position after this value, if it is an element.
    #[inline]
    fn end(&self) -> u32 {
        match self.item() {
            Item::Record { end, .. } | Item::Array { end, .. } | Item::Map { end, .. } | Item::Union { end, .. } => end,
            _ => self.index + 1,
        }
    }
}

/// A record's fields, each with its entry in the schema.
#[derive(Debug, Clone)]
pub struct Fields<'r, 'm> {
    datum: Datum<'r, 'm>,
    fields: std::slice::Iter<'m, Field>,
}

impl<'r, 'm> Iterator for Fields<'r, 'm> {
    type Item = (&'m Field, Datum<'r, 'm>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.next()?;
        let datum = Datum { type_id: field.type_id, ..self.datum };
        self.datum.index += 1;
        Some((field, datum))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.fields.size_hint()
    }
}

impl ExactSizeIterator for Fields<'_, '_> {}

/// An array's elements.
#[derive(Debug, Clone)]
pub struct Elements<'r, 'm> {
    next: Datum<'r, 'm>,
    left: u32,
}

impl<'r, 'm> Iterator for Elements<'r, 'm> {
    type Item = Datum<'r, 'm>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let datum = self.next;
        self.next.index = datum.end();
        Some(datum)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Elements<'_, '_> {}

/// A map's entries.
#[derive(Debug, Clone)]
pub struct Entries<'r, 'm> {
    next: Datum<'r, 'm>,
    left: u32,
}

impl<'r, 'm> Iterator for Entries<'r, 'm> {
    type Item = (&'m str, Datum<'r, 'm>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let key = match self.next.item() {
            Item::String(key) => key,
            _ => "",
        };
        let datum = Datum { index: self.next.index + 1, ..self.next };
        self.next.index = datum.end();
        Some((key, datum))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Entries<'_, '_> {}
