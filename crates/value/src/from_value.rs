//! Decoding: a trait, its error, and the function that decodes bytes.

use std::fmt;

use crate::{Kind, Limits, ValueError, ValueReader};

/// A type that can be decoded from one value. `#[derive(FromValue)]` implements it, with the crate's feature `derive`;
/// see `docs/values.md` for the mapping and the attributes.
///
/// `'de` is the lifetime of the bytes: `&str` and `&[u8]` are borrowed from them.
///
/// ```
/// use rawline_value::{DecodeError, FromValue, ValueReader};
///
/// #[derive(Debug, PartialEq)]
/// struct Celsius(f64);
///
/// impl<'de> FromValue<'de> for Celsius {
///     fn from_value(reader: &mut ValueReader<'de>) -> Result<Celsius, DecodeError> {
///         match f64::from_value(reader)? {
///             kelvin if kelvin >= 0.0 => Ok(Celsius(kelvin - 273.15)),
///             kelvin => Err(DecodeError::custom(format!("{kelvin} K is below absolute zero"))),
///         }
///     }
/// }
///
/// assert_eq!(rawline_value::decode(&rawline_value::encode(&273.15)?), Ok(Celsius(0.0)));
/// # Ok::<(), rawline_value::ValueError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be decoded from a value",
    label = "`FromValue` is not implemented for `{Self}`",
    note = "add `#[derive(FromValue)]` to your type; for a type of another crate, use `#[value(with = \"module\")]`"
)]
pub trait FromValue<'de>: Sized {
    /// Takes exactly one value.
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Self, DecodeError>;

    /// The value of a missing field.
    #[doc(hidden)]
    #[inline(always)]
    fn absent() -> Option<Self> {
        None
    }
}

/// Decodes a Rust value from these bytes. Fails if bytes are left over, for what breaks the default [`Limits`], and for
/// duplicate keys and elements of the decoded parts; skipped parts aren't checked for duplicates.
///
/// With other limits: [`ValueReader::new`], [`FromValue::from_value`], [`ValueReader::finish`].
#[inline]
pub fn decode<'de, T: FromValue<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    let mut reader = ValueReader::new(bytes, &Limits::default())?;
    let value = T::from_value(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Why bytes can't be decoded as a Rust type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    reason: Reason,
    /// The fields around the value, the innermost first.
    path: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    Value(ValueError),
    Missing,
    Custom(String),
}

impl DecodeError {
    /// An error with this text, for an implementation of [`FromValue`].
    #[cold]
    pub fn custom(message: impl fmt::Display) -> DecodeError {
        DecodeError::new(Reason::Custom(message.to_string()))
    }

    /// The error in the bytes, if the bytes aren't a value or not one of a fitting type.
    pub fn value_error(&self) -> Option<ValueError> {
        match self.0.reason {
            Reason::Value(error) => Some(error),
            Reason::Missing | Reason::Custom(_) => None,
        }
    }

    /// The path to the field that can't be decoded, such as `customer.name`; empty for the whole value.
    pub fn path(&self) -> String {
        self.0.path.iter().rev().copied().collect::<Vec<_>>().join(".")
    }

    /// The value at this position isn't of the wanted type.
    #[cold]
    pub(crate) fn kind(reader: &ValueReader<'_>, wanted: Kind) -> DecodeError {
        reader.misfit(wanted).into()
    }

    #[cold]
    pub(crate) fn missing(field: &'static str) -> DecodeError {
        DecodeError::new(Reason::Missing).within(field)
    }

    /// The same error for a field around the value.
    #[cold]
    pub(crate) fn within(mut self, field: &'static str) -> DecodeError {
        self.0.path.push(field);
        self
    }

    fn new(reason: Reason) -> DecodeError {
        DecodeError(Box::new(Inner { reason, path: Vec::new() }))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(formatter, "field {}: ", self.path())?;
        }
        match &self.0.reason {
            Reason::Value(error) => error.fmt(formatter),
            Reason::Missing => formatter.write_str("missing; send it, or give the field a default"),
            Reason::Custom(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<ValueError> for DecodeError {
    #[cold]
    fn from(error: ValueError) -> DecodeError {
        DecodeError::new(Reason::Value(error))
    }
}
