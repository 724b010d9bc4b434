//! Functions that derived code calls. Not for other callers: they change with the macros of `rawline-value-derive`.

pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};

pub use crate::reader::Fields;
pub use crate::{DecodeError, FromValue, ToValue, ValueError, ValueReader, ValueWriter};

use crate::reader::Pairs;
use crate::{EnumName, Kind};

/// Appends a record's head: a vector of its fields, or a table of those that are present.
#[inline(always)]
pub fn begin(writer: &mut ValueWriter<'_>, is_table: bool, fields: usize) -> Result<(), ValueError> {
    if is_table { writer.table(fields) } else { writer.vector(fields) }
}

/// Appends a variant that has content, up to its content.
#[inline]
pub fn begin_variant(writer: &mut ValueWriter<'_>, name: &'static str) -> Result<(), ValueError> {
    writer.vector(2)?;
    writer.put(EnumName(name));
    Ok(())
}

/// Appends a variant that has no content.
#[inline]
pub fn put_variant(writer: &mut ValueWriter<'_>, name: &'static str) -> Result<(), ValueError> {
    writer.put(EnumName(name));
    Ok(())
}

/// Appends a key, which is the bytes of a string, and a field; without a key, the field alone.
#[inline(always)]
pub fn put_field<T: ToValue + ?Sized, const N: usize>(
    writer: &mut ValueWriter<'_>,
    key: &[u8; N],
    field: &T,
) -> Result<(), ValueError> {
    field.to_value_after(key, writer)
}

/// Appends the bytes of whole values.
#[inline(always)]
pub fn put_raw<const N: usize>(writer: &mut ValueWriter<'_>, bytes: &[u8; N]) {
    writer.put_raw(bytes);
}

/// A field with `#[value(set)]`.
pub struct AsSet<'f, T>(pub &'f T);

impl<'f, T> ToValue for AsSet<'f, T>
where
    &'f T: IntoIterator<Item: ToValue, IntoIter: ExactSizeIterator>,
{
    fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        let start = writer.position();
        let values = self.0.into_iter();
        let len = values.len();
        writer.set(len)?;
        writer.nested(|writer| {
            for value in values {
                value.to_value(writer)?;
            }
            Ok(())
        })?;
        if len > 1 { writer.check_from(start) } else { Ok(()) }
    }
}

/// A field with `#[value(bytes)]`.
pub struct AsBytes<'f, T>(pub &'f T);

impl<T: AsRef<[u8]>> ToValue for AsBytes<'_, T> {
    #[inline]
    fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        writer.bytes(self.0.as_ref());
        Ok(())
    }
}

/// Reads a field with `#[value(bytes)]`.
#[inline]
pub fn bytes<'de, T: From<&'de [u8]>>(reader: &mut ValueReader<'de>) -> Result<T, DecodeError> {
    <&[u8]>::from_value(reader).map(T::from)
}

/// Takes a field's value, and names the field in an error.
#[inline(always)]
pub fn named<T>(taken: Result<T, DecodeError>, field: &'static str) -> Result<T, DecodeError> {
    taken.map_err(|error| error.within(field))
}

/// Takes a field's value out of the usual order; fails if the field is duplicate.
#[inline(never)]
pub fn fill<'de, T>(
    place: &mut Option<T>,
    reader: &mut ValueReader<'de>,
    take: impl FnOnce(&mut ValueReader<'de>) -> Result<T, DecodeError>,
    field: &'static str,
) -> Result<(), DecodeError> {
    if place.is_some() {
        return Err(DecodeError::custom("duplicate; send each key once").within(field));
    }
    *place = Some(named(take(reader), field)?);
    Ok(())
}

/// The value of a field that wasn't there, if its type has one.
#[inline(always)]
pub fn absent<'de, T: FromValue<'de>>(field: &'static str) -> Result<T, DecodeError> {
    T::absent().ok_or_else(|| DecodeError::missing(field))
}

/// The error for a field that wasn't there.
#[cold]
pub fn missing(field: &'static str) -> DecodeError {
    DecodeError::missing(field)
}

/// A record that is being read, whose fields come in their order or, in a table, in any order.
pub struct Record {
    is_table: bool,
    left: Pairs,
}

impl Record {
    /// Takes the head of a vector, or of a table if the record's fields have names.
    #[inline(always)]
    pub fn begin(reader: &mut ValueReader<'_>, has_names: bool) -> Result<Record, DecodeError> {
        let is_table = has_names && reader.is_next(Kind::Table);
        let left = if is_table { reader.table()? } else { Pairs::new(reader.vector()?) };
        reader.enter()?;
        Ok(Record { is_table, left })
    }

    /// Whether the next field is the one with this key, which is the bytes of a string. Takes the key.
    #[inline(always)]
    pub fn is_next<const N: usize>(&mut self, reader: &mut ValueReader<'_>, key: &[u8; N]) -> bool {
        if self.left.left() == 0 || (self.is_table && !reader.take_prefix(key)) {
            return false;
        }
        self.left.taken();
        true
    }

    /// Takes keys of a table up to the next known field and returns its number; the caller must take its value next.
    /// Skips all else. Returns `None` at the end of the record.
    #[inline]
    pub fn other<const N: usize>(
        &mut self,
        reader: &mut ValueReader<'_>,
        fields: &Fields<'_, N>,
    ) -> Result<Option<usize>, DecodeError> {
        if self.left.left() == 0 {
            return Ok(None);
        }
        if self.is_table {
            return Ok(self.left.field(reader, fields)?);
        }
        reader.skip_values(self.left.left())?;
        self.left = Pairs::new(0);
        Ok(None)
    }

    /// Ends the record.
    #[inline(always)]
    pub fn end(self, reader: &mut ValueReader<'_>) {
        reader.leave();
    }
}

/// Takes a variant up to its content: its name, and whether it has content, which [`end_variant`] ends.
#[inline]
pub fn variant<'de>(reader: &mut ValueReader<'de>) -> Result<(&'de [u8], bool), DecodeError> {
    if !reader.is_next(Kind::Vector) {
        return Ok((variant_name(reader)?, false));
    }
    if reader.vector()? != 2 {
        return Err(DecodeError::custom("a variant is its name, or a vector of its name and its content"));
    }
    reader.enter()?;
    Ok((variant_name(reader)?, true))
}

#[inline]
fn variant_name<'de>(reader: &mut ValueReader<'de>) -> Result<&'de [u8], ValueError> {
    if reader.is_next(Kind::String) { reader.string() } else { reader.enum_name() }
}

/// Ends a variant.
#[inline(always)]
pub fn end_variant(reader: &mut ValueReader<'_>, has_content: bool) {
    if has_content {
        reader.leave();
    }
}

/// The error for a variant that the enum doesn't have.
#[cold]
pub fn no_variant(name: &[u8], has_content: bool, names: &[&str]) -> DecodeError {
    let name = String::from_utf8_lossy(name);
    if names.contains(&name.as_ref()) {
        let found = if has_content { "has content" } else { "has no content" };
        return DecodeError::custom(format_args!("the variant {name} {found}, unlike the type's variant of this name"));
    }
    DecodeError::custom(format_args!("the type has no variant {name:?}; its variants are {}", names.join(", ")))
}
