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
use crate::{Address, Kind, Limits, Port, Subnet, ValueError, decode};

/// Takes values from the front of bytes. A container is taken as its head; its elements follow as separate values.
///
/// It checks types, lengths, and the number of elements against the available bytes. It doesn't check for duplicates in
/// sets and tables, nor for depth, since it doesn't recurse. After an error, its position is unspecified.
pub struct ValueReader<'a>(ItemReader<'a>);

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
        ItemReader::new(bytes, limits).map(ValueReader)
    }

    /// Position of the next value in bytes.
    pub fn position(&self) -> usize {
        self.0.reader.position()
    }

    /// The type of the next value, without taking it.
    #[inline]
    pub fn kind(&self) -> Result<Kind, ValueError> {
        let position = self.position();
        let tag = *self.0.rest().first().ok_or(ValueError::Truncated { position })?;
        Kind::of_tag(tag).ok_or(ValueError::Tag { position, found: tag })
    }

    /// Takes a none if one is next; returns whether it did.
    #[inline]
    pub fn none(&mut self) -> bool {
        self.0.rest().first() == Some(&(Kind::None as u8)) && self.0.reader.byte().is_ok()
    }

    of_fixed_length! {
        boolean -> bool, Boolean, bytes => bytes != [0], "a boolean";
        count -> u64, Count, bytes => u64::from_be_bytes(bytes), "a count";
        integer -> i64, Integer, bytes => i64::from_be_bytes(bytes), "an integer";
        real -> f64, Real, bytes => unpack_real(u64::from_be_bytes(bytes)), "a real";
        timestamp -> i64, Timestamp, bytes => i64::from_be_bytes(bytes), "a timestamp, in nanoseconds since 1970";
        timespan -> i64, Timespan, bytes => i64::from_be_bytes(bytes), "a timespan, in nanoseconds";
        address -> Address, Address, bytes => Address::from_octets(bytes), "an address";
        subnet -> Subnet, Subnet, bytes => decode::subnet(bytes), "a subnet";
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
        Ok(Pairs { left: self.head(Kind::Table)?, last: 0 })
    }

    /// Takes any value with everything in it, and returns its bytes.
    #[inline]
    pub fn skip(&mut self) -> Result<&'a [u8], ValueError> {
        self.0.value()
    }

    /// Fails if bytes are left.
    pub fn finish(&self) -> Result<(), ValueError> {
        self.0.finish()
    }

    #[inline]
    fn tag(&mut self, wanted: Kind) -> Result<(), ValueError> {
        if self.0.rest().first() != Some(&(wanted as u8)) {
            return Err(self.misfit(wanted));
        }
        self.0.reader.byte().map(drop)
    }

    #[cold]
    fn misfit(&self, wanted: Kind) -> ValueError {
        match self.kind() {
            Ok(found) => ValueError::Kind { position: self.position(), wanted, found },
            Err(error) => error,
        }
    }

    #[inline]
    fn take<const N: usize>(&mut self, kind: Kind) -> Result<[u8; N], ValueError> {
        self.tag(kind)?;
        self.0.reader.array()
    }

    #[inline]
    fn sized(&mut self, kind: Kind) -> Result<&'a [u8], ValueError> {
        self.tag(kind)?;
        self.0.reader.string()
    }

    #[inline]
    fn head(&mut self, kind: Kind) -> Result<usize, ValueError> {
        self.tag(kind)?;
        self.0.reader.elements(if kind == Kind::Table { 2 } else { 1 })
    }
}

/// The rest of a table whose pairs a [`ValueReader`] takes.
#[derive(Debug)]
pub struct Pairs {
    left: usize,
    /// The number of the field taken last plus one, 0 before the first.
    last: usize,
}

impl Pairs {
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
            if reader.0.rest().first() == Some(&(Kind::String as u8)) {
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
