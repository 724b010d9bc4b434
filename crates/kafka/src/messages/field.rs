//! Fields of messages: how each type is read and written.

use crate::read::WireError;
use crate::write::Writer;
use bytes::Bytes;
use std::fmt;

/// Where the values of a message's fields come from: its bytes, or the random numbers of a test.
pub trait Source: Sized {
    /// The next flag.
    fn bool(&mut self) -> Result<bool, WireError>;
    /// The next number of one byte.
    fn i8(&mut self) -> Result<i8, WireError>;
    /// The next number of two bytes.
    fn i16(&mut self) -> Result<i16, WireError>;
    /// The next number of four bytes.
    fn i32(&mut self) -> Result<i32, WireError>;
    /// The next number of eight bytes.
    fn i64(&mut self) -> Result<i64, WireError>;
    /// The next id.
    fn uuid(&mut self) -> Result<Uuid, WireError>;
    /// The next string. `None` only if it `is_nullable`, as of the methods below.
    fn string(&mut self, is_nullable: bool) -> Result<Option<String>, WireError>;
    /// The next bytes.
    fn bytes(&mut self, is_nullable: bool) -> Result<Option<Bytes>, WireError>;
    /// How many elements the next array has, each of which takes this many bytes of memory.
    fn count(&mut self, element_bytes: usize, is_nullable: bool) -> Result<Option<usize>, WireError>;
    /// Whether the structure that may come next does.
    fn is_present(&mut self) -> Result<bool, WireError>;
    /// Hands the number of each tagged field to `read`, which reads the field if it knows it.
    fn tags(&mut self, read: impl FnMut(&mut Self, u32) -> Result<bool, WireError>) -> Result<(), WireError>;
}

/// A type that fields have.
pub trait Field: Sized + Default {
    fn read<S: Source>(from: &mut S, version: i16) -> Result<Self, WireError>;

    fn write(&self, to: &mut Writer, version: i16);

    /// Reads in a version in which the field must not be null.
    fn read_required<S: Source>(from: &mut S, version: i16) -> Result<Self, WireError> {
        Self::read(from, version)
    }

    /// Writes in a version in which the field must not be null.
    fn write_required(&self, to: &mut Writer, version: i16) {
        self.write(to, version);
    }

    /// The value of a field that is named as errors are; 0 if its type is another than that of errors.
    fn code(&self) -> i16 {
        0
    }

    /// The first error in it that isn't 0; 0 without one.
    fn error(&self) -> i16 {
        0
    }
}

/// The first of these errors that isn't 0.
pub fn first(errors: impl IntoIterator<Item = i16>) -> i16 {
    errors.into_iter().find(|error| *error != 0).unwrap_or_default()
}

/// Reads a field that may be null from a version on.
pub fn read<T: Field, S: Source>(from: &mut S, version: i16, null_from: i16) -> Result<T, WireError> {
    if version >= null_from { T::read(from, version) } else { T::read_required(from, version) }
}

/// Writes a field that may be null from a version on. Before that version, null is written as empty.
pub fn write<T: Field>(value: &T, to: &mut Writer, version: i16, null_from: i16) {
    if version >= null_from {
        value.write(to, version);
    } else {
        value.write_required(to, version);
    }
}

macro_rules! numbers {
    ($($number:ident),*) => {$(
        impl Field for $number {
            fn read<S: Source>(from: &mut S, _: i16) -> Result<$number, WireError> {
                from.$number()
            }

            fn write(&self, to: &mut Writer, _: i16) {
                to.$number(*self);
            }
        }
    )*};
}

numbers!(bool, i8, i32, i64);

impl Field for i16 {
    fn read<S: Source>(from: &mut S, _: i16) -> Result<i16, WireError> {
        from.i16()
    }

    fn write(&self, to: &mut Writer, _: i16) {
        to.i16(*self);
    }

    fn code(&self) -> i16 {
        *self
    }
}

/// An id of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

/// In the usual form: `00112233-4455-6677-8899-aabbccddeeff`.
impl fmt::Debug for Uuid {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let hyphen = if [4, 6, 8, 10].contains(&at) { "-" } else { "" };
            write!(to, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

impl Field for Uuid {
    fn read<S: Source>(from: &mut S, _: i16) -> Result<Uuid, WireError> {
        from.uuid()
    }

    fn write(&self, to: &mut Writer, _: i16) {
        to.id(&self.0);
    }
}

/// A type whose fields may be null.
pub trait Nullable: Field {
    fn read_nullable<S: Source>(from: &mut S, version: i16) -> Result<Option<Self>, WireError>;

    fn write_nullable(value: Option<&Self>, to: &mut Writer, version: i16);
}

impl<T: Nullable> Field for Option<T> {
    fn read<S: Source>(from: &mut S, version: i16) -> Result<Option<T>, WireError> {
        T::read_nullable(from, version)
    }

    fn write(&self, to: &mut Writer, version: i16) {
        T::write_nullable(self.as_ref(), to, version);
    }

    fn read_required<S: Source>(from: &mut S, version: i16) -> Result<Option<T>, WireError> {
        T::read(from, version).map(Some)
    }

    fn write_required(&self, to: &mut Writer, version: i16) {
        match self {
            Some(value) => value.write(to, version),
            None => T::default().write(to, version),
        }
    }

    fn error(&self) -> i16 {
        self.as_ref().map_or(0, T::error)
    }
}

impl Field for String {
    fn read<S: Source>(from: &mut S, _: i16) -> Result<String, WireError> {
        from.string(false)?.ok_or(WireError::Null)
    }

    fn write(&self, to: &mut Writer, _: i16) {
        to.string(self);
    }
}

impl Nullable for String {
    fn read_nullable<S: Source>(from: &mut S, _: i16) -> Result<Option<String>, WireError> {
        from.string(true)
    }

    fn write_nullable(value: Option<&String>, to: &mut Writer, _: i16) {
        to.nullable_string(value.map(String::as_str));
    }
}

impl Field for Bytes {
    fn read<S: Source>(from: &mut S, _: i16) -> Result<Bytes, WireError> {
        from.bytes(false)?.ok_or(WireError::Null)
    }

    fn write(&self, to: &mut Writer, _: i16) {
        to.nullable_bytes(Some(self));
    }
}

impl Nullable for Bytes {
    fn read_nullable<S: Source>(from: &mut S, _: i16) -> Result<Option<Bytes>, WireError> {
        from.bytes(true)
    }

    fn write_nullable(value: Option<&Bytes>, to: &mut Writer, _: i16) {
        to.nullable_bytes(value.map(|bytes| &**bytes));
    }
}

/// All of an array's elements. Their memory is reserved at once: the source has compared their number with its
/// remaining bytes.
fn elements<T: Field, S: Source>(from: &mut S, version: i16, count: usize) -> Result<Vec<T>, WireError> {
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        elements.push(T::read(from, version)?);
    }
    Ok(elements)
}

impl<T: Field> Field for Vec<T> {
    fn read<S: Source>(from: &mut S, version: i16) -> Result<Vec<T>, WireError> {
        let count = from.count(size_of::<T>(), false)?.ok_or(WireError::Null)?;
        elements(from, version, count)
    }

    fn write(&self, to: &mut Writer, version: i16) {
        to.count(self.len());
        self.iter().for_each(|element| element.write(to, version));
    }

    fn error(&self) -> i16 {
        first(self.iter().map(T::error))
    }
}

impl<T: Field> Nullable for Vec<T> {
    fn read_nullable<S: Source>(from: &mut S, version: i16) -> Result<Option<Vec<T>>, WireError> {
        let count = from.count(size_of::<T>(), true)?;
        count.map(|count| elements(from, version, count)).transpose()
    }

    fn write_nullable(value: Option<&Vec<T>>, to: &mut Writer, version: i16) {
        match value {
            Some(elements) => elements.write(to, version),
            None => to.nullable_count(None),
        }
    }
}
