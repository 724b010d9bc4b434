//! Reads values one at a time from the front of bytes, without an index: for types of known shape.
//!
//! ```
//! use rawline_value::{Fields, ListBuilder, TableBuilder, Limits, ValueError, ValueReader};
//!
//! static FIELDS: Fields<2> = Fields::new(["query", "answers"]);
//!
//! fn read(bytes: &[u8]) -> Result<(String, Vec<u64>), ValueError> {
//!     let mut reader = ValueReader::new(bytes, &Limits::default())?;
//!     let (mut query, mut answers) = (String::new(), Vec::new());
//!     let mut record = reader.table()?;
//!     while let Some(field) = record.field(&mut reader, &FIELDS)? {
//!         match field {
//!             0 => query = reader.str()?.to_owned(),
//!             _ => answers = (0..reader.vector()?).map(|_| reader.count()).collect::<Result<_, _>>()?,
//!         }
//!     }
//!     reader.finish()?;
//!     Ok((query, answers))
//! }
//!
//! let mut bytes = Vec::new();
//! let mut record = TableBuilder::new(&mut bytes);
//! record.add("query", "example.com").add("new in this version", true);
//! record.list("answers").add(1u64).add(2u64);
//! drop(record);
//! assert_eq!(read(&bytes), Ok(("example.com".to_owned(), vec![1, 2])));
//! ```

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::item::{ItemReader, port_of_bytes};
use crate::wire::unpack_real;
use crate::writer::DEPTH_MAX;
use crate::{Address, Decoder, Kind, Limits, Port, Subnet, ValueError};

/// Takes values from the front of bytes. A container is taken as its head; its elements follow as separate values.
///
/// It checks types, lengths, and the number of elements against the available bytes. It doesn't check for duplicates in
/// sets and tables. It doesn't recurse, so depth is for callers that do: [`nested`](ValueReader::nested). After an
/// error, its position is unspecified.
pub struct ValueReader<'a> {
    items: ItemReader<'a>,
    /// Number of levels around the next value, of those that [`nested`](ValueReader::nested) has counted.
    depth: u32,
    depth_max: u32,
}

macro_rules! of_fixed_length {
    ($($name:ident -> $type:ty, $kind:ident, $bytes:ident => $value:expr, $doc:literal;)*) => {$(
        #[doc = concat!("Takes ", $doc, "; fails if the next value is of another type.")]
        #[inline]
        pub fn $name(&mut self) -> Result<$type, ValueError> {
            let $bytes = self.take(Kind::$kind)?;
            Ok($value)
        }
    )*};
}

impl<'a> ValueReader<'a> {
    /// Creates a reader of these bytes. The limits apply, except for the depth.
    #[inline]
    pub fn new(bytes: &'a [u8], limits: &Limits) -> Result<ValueReader<'a>, ValueError> {
        let depth_max = limits.depth_max.min(DEPTH_MAX);
        ItemReader::new(bytes, limits).map(|items| ValueReader { items, depth: 0, depth_max })
    }

    /// Position of the next value in bytes.
    pub fn position(&self) -> usize {
        self.items.reader.position()
    }

    /// The type of the next value, without taking it.
    #[inline]
    pub fn kind(&self) -> Result<Kind, ValueError> {
        let position = self.position();
        let tag = *self.items.rest().first().ok_or(ValueError::Truncated { position })?;
        Kind::of_tag(tag).ok_or(ValueError::Tag { position, found: tag })
    }

    /// Takes a none if one is next; returns whether it did.
    #[inline]
    pub fn none(&mut self) -> bool {
        self.items.reader.take_prefix(&[Kind::None as u8])
    }

    /// Whether the next value is of this type.
    #[inline(always)]
    pub(crate) fn is_next(&self, kind: Kind) -> bool {
        self.items.reader.peek() == Some(kind as u8)
    }

    /// Takes these bytes, which are whole values, if they come next.
    #[inline(always)]
    pub(crate) fn take_prefix<const N: usize>(&mut self, prefix: &[u8; N]) -> bool {
        self.items.reader.take_prefix(prefix)
    }

    /// Runs `read` one level deeper; fails beyond the limit, at most 128. Everything that recurses calls it, so that no
    /// bytes can exhaust the stack.
    #[inline]
    pub fn nested<T, E: From<ValueError>>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        self.enter()?;
        let value = read(self)?;
        self.leave();
        Ok(value)
    }

    #[inline(always)]
    pub(crate) fn enter(&mut self) -> Result<(), ValueError> {
        if self.depth >= self.depth_max {
            return Err(self.too_deep());
        }
        self.depth += 1;
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        debug_assert!(self.depth > 0, "left level {} of {}", self.depth, self.depth_max);
        self.depth -= 1;
    }

    /// The number of levels that are left.
    pub(crate) fn depth_left(&self) -> u32 {
        self.depth_max - self.depth
    }

    /// Fails if the next value has a duplicate element or key. Reads it without taking it.
    #[cold]
    pub(crate) fn check_unique(&self) -> Result<(), ValueError> {
        let position = self.position();
        let mut decoder = Decoder::new(Limits { depth_max: self.depth_left(), ..Limits::default() });
        decoder.decode_first(self.items.rest()).map(drop).map_err(|error| error.moved(position))
    }

    /// Takes this many values.
    #[inline]
    pub(crate) fn skip_values(&mut self, count: usize) -> Result<(), ValueError> {
        for _ in 0..count {
            self.skip()?;
        }
        Ok(())
    }

    of_fixed_length! {
        boolean -> bool, Boolean, bytes => bytes != [0], "a boolean";
        count -> u64, Count, bytes => u64::from_be_bytes(bytes), "a count";
        integer -> i64, Integer, bytes => i64::from_be_bytes(bytes), "an integer";
        real -> f64, Real, bytes => unpack_real(u64::from_be_bytes(bytes)), "a real";
        timestamp -> i64, Timestamp, bytes => i64::from_be_bytes(bytes), "a timestamp, in nanoseconds since 1970";
        timespan -> i64, Timespan, bytes => i64::from_be_bytes(bytes), "a timespan, in nanoseconds";
        address -> Address, Address, bytes => Address::from_octets(bytes), "an address";
        subnet -> Subnet, Subnet, bytes => Subnet::from_bytes(bytes), "a subnet";
    }

    /// Takes a port; fails if the next value is of another type.
    #[inline]
    pub fn port(&mut self) -> Result<Port, ValueError> {
        let bytes @ [_, _, protocol] = self.take(Kind::Port)?;
        port_of_bytes(bytes).ok_or(ValueError::Protocol { position: self.position() - 1, found: protocol })
    }

    /// Takes a string's bytes; fails if the next value is of another type.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], ValueError> {
        self.sized(Kind::String)
    }

    /// Takes a string that is UTF-8; fails if the next value is of another type.
    #[inline]
    pub fn str(&mut self) -> Result<&'a str, ValueError> {
        let position = self.position();
        std::str::from_utf8(self.string()?).map_err(|_| ValueError::Utf8 { position })
    }

    /// Takes an enumeration value's name; fails if the next value is of another type.
    #[inline]
    pub fn enum_name(&mut self) -> Result<&'a [u8], ValueError> {
        self.sized(Kind::Enum)
    }

    /// Takes a vector's head and returns its number of elements, which come next; fails if the next value is of another
    /// type.
    #[inline]
    pub fn vector(&mut self) -> Result<usize, ValueError> {
        self.head(Kind::Vector)
    }

    /// Takes a set's head and returns its number of elements, which come next; fails if the next value is of another
    /// type.
    #[inline]
    pub fn set(&mut self) -> Result<usize, ValueError> {
        self.head(Kind::Set)
    }

    /// Takes a table's head; its keys and values come next, to be taken by [`Pairs::field`] or one by one. Fails if the
    /// next value is of another type.
    #[inline]
    pub fn table(&mut self) -> Result<Pairs, ValueError> {
        Ok(Pairs::new(self.head(Kind::Table)?))
    }

    /// Takes any value with everything in it, and returns its bytes.
    #[inline]
    pub fn skip(&mut self) -> Result<&'a [u8], ValueError> {
        self.items.value()
    }

    /// Fails if bytes are left.
    pub fn finish(&self) -> Result<(), ValueError> {
        self.items.finish()
    }

    #[inline]
    fn tag(&mut self, wanted: Kind) -> Result<(), ValueError> {
        if self.take_prefix(&[wanted as u8]) { Ok(()) } else { Err(self.misfit(wanted)) }
    }

    #[cold]
    fn too_deep(&self) -> ValueError {
        ValueError::TooDeep { position: self.position(), depth_max: self.depth_max }
    }

    #[cold]
    pub(crate) fn misfit(&self, wanted: Kind) -> ValueError {
        match self.kind() {
            Ok(found) => ValueError::Kind { position: self.position(), wanted, found },
            Err(error) => error,
        }
    }

    #[inline]
    fn take<const N: usize>(&mut self, kind: Kind) -> Result<[u8; N], ValueError> {
        self.tag(kind)?;
        self.items.reader.array()
    }

    #[inline]
    fn sized(&mut self, kind: Kind) -> Result<&'a [u8], ValueError> {
        self.tag(kind)?;
        self.items.reader.string()
    }

    #[inline]
    fn head(&mut self, kind: Kind) -> Result<usize, ValueError> {
        self.tag(kind)?;
        self.items.reader.elements(if kind == Kind::Table { 2 } else { 1 })
    }
}

/// The rest of a table whose pairs a [`ValueReader`] takes.
#[derive(Debug, Clone, Copy)]
pub struct Pairs {
    left: usize,
    /// The number of the field taken last plus one, 0 before the first.
    last: usize,
}

impl Pairs {
    #[inline(always)]
    pub(crate) fn new(left: usize) -> Pairs {
        Pairs { left, last: 0 }
    }

    /// Counts a pair that was taken in another way.
    #[inline(always)]
    pub(crate) fn taken(&mut self) {
        self.left -= 1;
    }

    /// The number of remaining pairs.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Takes keys up to the next known field and returns its number; the caller must take its value next. Skips pairs
    /// with other keys. Returns `None` at the end of the table.
    #[inline(always)]
    pub fn field<const N: usize>(
        &mut self,
        reader: &mut ValueReader<'_>,
        fields: &Fields<'_, N>,
    ) -> Result<Option<usize>, ValueError> {
        while self.left > 0 {
            self.left -= 1;
            if reader.items.rest().first() == Some(&(Kind::String as u8)) {
                if let Some(number) = fields.find(reader.string()?, self.last) {
                    self.last = number + 1;
                    return Ok(Some(number));
                }
            } else {
                reader.skip()?;
            }
            reader.skip()?;
        }
        Ok(None)
    }
}

/// The names of a record's fields, numbered from 0, for [`Pairs::field`]. It remembers the order of fields: if tables
/// have their fields in one order, whichever it is, a field costs one comparison.
#[derive(Debug)]
pub struct Fields<'n, const N: usize> {
    names: [&'n str; N],
    first: AtomicU32,
    after: [AtomicU32; N],
}

impl<'n, const N: usize> Fields<'n, N> {
    /// Fields beyond the one that comes next in the order of the names until which a search is not worth remembering:
    /// optional ones are left out now and then, and threads that share the names would write by turns.
    const NEAR: usize = 4;

    /// Creates the fields with these names; of duplicates, the first counts. Fastest in the order in which they are
    /// usually written.
    pub const fn new(names: [&'n str; N]) -> Fields<'n, N> {
        let mut after = [const { AtomicU32::new(0) }; N];
        let mut number = 0;
        while number < N {
            #[allow(clippy::indexing_slicing, reason = "below N")]
            let follower = &mut after[number];
            number += 1;
            *follower = AtomicU32::new(number as u32);
        }
        Fields { names, first: AtomicU32::new(0), after }
    }

    /// The field with this name; first checks the field that followed the previous one last time.
    #[inline]
    fn find(&self, name: &[u8], last: usize) -> Option<usize> {
        let guess = self.follower(last).map_or(last, |follower| follower.load(Relaxed) as usize);
        if self.is(guess, name) { Some(guess) } else { self.search(name, last) }
    }

    #[inline]
    fn is(&self, number: usize, name: &[u8]) -> bool {
        self.names.get(number).is_some_and(|field| field.as_bytes() == name)
    }

    /// Searches for a field, beginning after the last one found.
    fn search(&self, name: &[u8], last: usize) -> Option<usize> {
        let found = (last..N).chain(0..last.min(N)).find(|number| self.is(*number, name))?;
        if (found + N - last) % N >= Self::NEAR
            && let Some(follower) = self.follower(last)
        {
            follower.store(found as u32, Relaxed);
        }
        Some(found)
    }

    #[inline]
    fn follower(&self, last: usize) -> Option<&AtomicU32> {
        if last == 0 { Some(&self.first) } else { self.after.get(last - 1) }
    }
}
