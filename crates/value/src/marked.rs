//! The format's own types for serde: written as such into a value, as text or bytes into other formats.
//!
//! serde has no addresses and times. Such a type serializes as a newtype with a name that only this crate uses, around
//! the bytes of its value; this crate's serializer copies them, and its deserializer returns them.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};

use crate::item::{Item, ItemReader, ItemWriter};
use crate::json::{Rfc3339, Seconds, read_span, read_time};
use crate::{Address, Limits, Port, Subnet, TimespanNs, TimestampNs, Value};

/// Name of the newtype around the bytes of a value.
pub(crate) const VALUE_NAME: &str = "$rawline::value";

/// Name of the newtype around a sequence that becomes a set.
pub(crate) const SET_NAME: &str = "$rawline::set";

/// The name of an enumeration's value, such as `Conn::LOG`; for names that are not the variants of a Rust enum.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name(pub String);

/// The text isn't a time or duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not a time.
    #[error("not a time from 1677-09-21 to 2262-04-11; write it as 2022-04-10T07:00:00.123456789Z")]
    Timestamp,
    /// Not a duration.
    #[error("not a duration that 64 bits of nanoseconds hold exactly; write a number and ns, us, ms, s, min or h")]
    Timespan,
}

impl fmt::Display for TimestampNs {
    /// In RFC 3339, with nine digits of a second.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Rfc3339(self.0).fmt(formatter)
    }
}

impl FromStr for TimestampNs {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<TimestampNs, TimeError> {
        read_time(text).map(TimestampNs).ok_or(TimeError::Timestamp)
    }
}

impl fmt::Display for TimespanNs {
    /// In seconds, such as `1.5s`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Seconds(self.0).fmt(formatter)
    }
}

impl FromStr for TimespanNs {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<TimespanNs, TimeError> {
        read_span(text).map(TimespanNs).ok_or(TimeError::Timespan)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Name, Self::Err> {
        Ok(Name(text.to_owned()))
    }
}

impl From<TimestampNs> for Value {
    fn from(time: TimestampNs) -> Value {
        Value::Timestamp(time.0)
    }
}

impl From<TimespanNs> for Value {
    fn from(span: TimespanNs) -> Value {
        Value::Timespan(span.0)
    }
}

impl From<Name> for Value {
    fn from(name: Name) -> Value {
        Value::Enum(name.0.into())
    }
}

/// Bytes, for `serialize_newtype_struct`.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

macro_rules! marked {
    ($($of:ident, $item:ident, $expected:literal, |$value:ident| $put:expr, |$got:ident| $take:expr;)*) => {
        $(impl Serialize for $of {
            /// Itself in a value, text in a human-readable format, the value's bytes in other formats.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    return serializer.collect_str(self);
                }
                let $value = self;
                let mut bytes = Vec::with_capacity(24);
                ItemWriter::new(&mut bytes).put(Item::$item($put));
                serializer.serialize_newtype_struct(VALUE_NAME, &Bytes(&bytes))
            }
        }

        impl<'de> Deserialize<'de> for $of {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$of, D::Error> {
                struct Marked;

                impl<'de> Visitor<'de> for Marked {
                    type Value = $of;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str($expected)
                    }

                    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<$of, D::Error> {
                        inner.deserialize_bytes(self)
                    }

                    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<$of, E> {
                        let mut reader = ItemReader::new(bytes, &Limits::default()).map_err(E::custom)?;
                        match reader.item().map_err(E::custom)? {
                            Item::$item($got) => $take,
                            item => Err(E::custom(format_args!("expected {}, got {}", $expected, item.kind().name()))),
                        }
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$of, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                if deserializer.is_human_readable() {
                    return deserializer.deserialize_str(Marked);
                }
                deserializer.deserialize_newtype_struct(VALUE_NAME, Marked)
            }
        })*
    };
}

marked! {
    Address, Address, "an address", |value| *value, |got| Ok(got);
    Subnet, Subnet, "a subnet", |value| *value, |got| Ok(got);
    Port, Port, "a port", |value| *value, |got| Ok(got);
    TimestampNs, Timestamp, "a timestamp", |value| value.0, |got| Ok(TimestampNs(got));
    TimespanNs, Timespan, "a timespan", |value| value.0, |got| Ok(TimespanNs(got));
    Name, Enum, "an enum-value that is UTF-8", |value| value.0.as_bytes(), |got| {
        std::str::from_utf8(got).map(|name| Name(name.to_owned())).map_err(E::custom)
    };
}

impl Serialize for Value {
    /// Only into a value: other formats don't have its types; `json::typed` writes them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return Err(S::Error::custom(
                "a Value can only be written into a value's bytes; use json::typed or json::plain",
            ));
        }
        serializer.serialize_newtype_struct(VALUE_NAME, &Bytes(&self.encode()))
    }
}

impl<'de> Deserialize<'de> for Value {
    /// Only from a value, for the same reason.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value's bytes")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
                inner.deserialize_bytes(self)
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Value, E> {
                Value::decode(bytes, &Limits::default()).map_err(E::custom)
            }
        }

        if deserializer.is_human_readable() {
            return Err(D::Error::custom(
                "a Value can only be read from a value's bytes; use json::typed or json::plain",
            ));
        }
        deserializer.deserialize_newtype_struct(VALUE_NAME, Any)
    }
}

/// Writes a field's sequence as a set: `#[serde(with = "rawline_value::as_set")]` on a `BTreeSet`, a
/// `HashSet`, a `Vec`. A sequence with duplicates is rejected. In other formats it stays a sequence.
pub mod as_set {
    use super::*;

    /// Writes a set.
    pub fn serialize<T: Serialize, S: Serializer>(sequence: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(SET_NAME, sequence)
    }

    /// Reads a set, or a vector.
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}
