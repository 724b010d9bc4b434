//! Decodes the standard library's types and the format's own.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::json::{Rfc3339, Seconds};
use crate::{
    Address, DecodeError, FromValue, Kind, Limits, Name, Port, Subnet, Text, TimespanNs, TimestampNs, Value,
    ValueError, ValueReader,
};

macro_rules! whole_numbers {
    ($($of:ty, $first:ident $first_kind:ident, $second:ident $second_kind:ident;)*) => {
        $(impl<'de> FromValue<'de> for $of {
            /// From a count or an integer, if the type holds the number.
            #[inline]
            fn from_value(reader: &mut ValueReader<'de>) -> Result<$of, DecodeError> {
                if reader.is_next(Kind::$first_kind) {
                    let number = reader.$first()?;
                    return <$of>::try_from(number).map_err(|_| out_of_range(number));
                }
                if reader.is_next(Kind::$second_kind) {
                    let number = reader.$second()?;
                    return <$of>::try_from(number).map_err(|_| out_of_range(number));
                }
                Err(DecodeError::kind(reader, Kind::$first_kind))
            }
        })*
    };
}

whole_numbers! {
    u8, count Count, integer Integer;
    u16, count Count, integer Integer;
    u32, count Count, integer Integer;
    u64, count Count, integer Integer;
    usize, count Count, integer Integer;
    i8, integer Integer, count Count;
    i16, integer Integer, count Count;
    i32, integer Integer, count Count;
    i64, integer Integer, count Count;
    isize, integer Integer, count Count;
}

#[cold]
fn out_of_range(number: impl std::fmt::Display) -> DecodeError {
    DecodeError::custom(format_args!("the field's type can't hold the number {number}; use a larger type"))
}

impl<'de> FromValue<'de> for f64 {
    /// From a real or a whole number.
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<f64, DecodeError> {
        if reader.is_next(Kind::Real) {
            return Ok(reader.real()?);
        }
        if reader.is_next(Kind::Count) {
            return Ok(reader.count()? as f64);
        }
        if reader.is_next(Kind::Integer) {
            return Ok(reader.integer()? as f64);
        }
        Err(DecodeError::kind(reader, Kind::Real))
    }
}

impl<'de> FromValue<'de> for f32 {
    /// As an `f64`, rounded.
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<f32, DecodeError> {
        f64::from_value(reader).map(|real| real as f32)
    }
}

/// Types that have one type in the format.
macro_rules! same {
    ($($of:ty, |$reader:ident| $take:expr;)*) => {
        $(impl<'de> FromValue<'de> for $of {
            #[inline]
            fn from_value($reader: &mut ValueReader<'de>) -> Result<$of, DecodeError> {
                Ok($take)
            }
        })*
    };
}

same! {
    bool, |reader| reader.boolean()?;
    Address, |reader| reader.address()?;
    Subnet, |reader| reader.subnet()?;
    Port, |reader| reader.port()?;
    TimestampNs, |reader| TimestampNs(reader.timestamp()?);
    TimespanNs, |reader| TimespanNs(reader.timespan()?);
    IpAddr, |reader| reader.address()?.to_ip();
    Ipv6Addr, |reader| Ipv6Addr::from(*reader.address()?.octets());
    Text, |reader| Text::new(text_bytes(reader)?);
}

/// Types that borrow from the bytes.
macro_rules! borrowed {
    ($($of:ty, |$reader:ident| $take:expr;)*) => {
        $(impl<'de: 'a, 'a> FromValue<'de> for $of {
            #[inline]
            fn from_value($reader: &mut ValueReader<'de>) -> Result<$of, DecodeError> {
                Ok($take)
            }
        })*
    };
}

borrowed! {
    &'a [u8], |reader| text_bytes(reader)?;
    &'a str, |reader| text(reader)?;
    Cow<'a, [u8]>, |reader| Cow::Borrowed(text_bytes(reader)?);
    // Owned where the bytes have an address, a subnet, a port or a time.
    Cow<'a, str>, |reader| match reader.kind()? {
        Kind::String => Cow::Borrowed(reader.str()?),
        Kind::Enum => Cow::Borrowed(text(reader)?),
        _ => Cow::Owned(text_of_other(reader)?),
    };
}

impl<'de> FromValue<'de> for Ipv4Addr {
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Ipv4Addr, DecodeError> {
        match reader.address()?.to_ip() {
            IpAddr::V4(address) => Ok(address),
            IpAddr::V6(address) => Err(DecodeError::custom(format_args!("{address} is not an IPv4 address"))),
        }
    }
}

impl<'de> FromValue<'de> for Name {
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Name, DecodeError> {
        let position = reader.position();
        let name = std::str::from_utf8(reader.enum_name()?).map_err(|_| ValueError::Utf8 { position })?;
        Ok(Name(name.to_owned()))
    }
}

impl<'de> FromValue<'de> for () {
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<(), DecodeError> {
        if reader.none() { Ok(()) } else { Err(DecodeError::kind(reader, Kind::None)) }
    }
}

impl<'de, T: ?Sized> FromValue<'de> for PhantomData<T> {
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<PhantomData<T>, DecodeError> {
        <()>::from_value(reader).map(|()| PhantomData)
    }
}

/// A string's or an enum's bytes.
#[inline]
fn text_bytes<'de>(reader: &mut ValueReader<'de>) -> Result<&'de [u8], ValueError> {
    if reader.is_next(Kind::Enum) { reader.enum_name() } else { reader.string() }
}

#[inline]
fn text<'de>(reader: &mut ValueReader<'de>) -> Result<&'de str, ValueError> {
    let position = reader.position();
    std::str::from_utf8(text_bytes(reader)?).map_err(|_| ValueError::Utf8 { position })
}

impl<'de> FromValue<'de> for String {
    /// From a string or an enum; from an address, a subnet, a port or a time as text.
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<String, DecodeError> {
        if reader.is_next(Kind::String) { Ok(reader.str()?.to_owned()) } else { text_of_other(reader) }
    }
}

#[cold]
fn text_of_other(reader: &mut ValueReader<'_>) -> Result<String, DecodeError> {
    Ok(match reader.kind()? {
        Kind::Address => reader.address()?.to_string(),
        Kind::Subnet => reader.subnet()?.to_string(),
        Kind::Port => reader.port()?.to_string(),
        Kind::Timestamp => Rfc3339(reader.timestamp()?).to_string(),
        Kind::Timespan => Seconds(reader.timespan()?).to_string(),
        _ => text(reader)?.to_owned(),
    })
}

impl<'de> FromValue<'de> for char {
    fn from_value(reader: &mut ValueReader<'de>) -> Result<char, DecodeError> {
        let text = text(reader)?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(DecodeError::custom(format_args!("{text:?} is not one character"))),
        }
    }
}

impl<'de> FromValue<'de> for Value {
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Value, DecodeError> {
        let position = reader.position();
        let limits = Limits { depth_max: reader.depth_left(), ..Limits::default() };
        Ok(Value::decode(reader.skip()?, &limits).map_err(|error| error.moved(position))?)
    }
}

impl<'de, T: FromValue<'de>> FromValue<'de> for Option<T> {
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Option<T>, DecodeError> {
        if reader.none() { Ok(None) } else { T::from_value(reader).map(Some) }
    }

    #[inline(always)]
    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<'de, T: FromValue<'de>> FromValue<'de> for Box<T> {
    /// A level, since a type can contain itself through it.
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Box<T>, DecodeError> {
        reader.nested(|reader| T::from_value(reader).map(Box::new))
    }

    #[inline]
    fn absent() -> Option<Box<T>> {
        T::absent().map(Box::new)
    }
}

/// Maximum memory that is reserved for a container's elements before they are read.
const RESERVED_BYTES_MAX: usize = 1 << 20;

#[inline]
fn reserved<T>(elements: usize) -> usize {
    elements.min(RESERVED_BYTES_MAX / size_of::<T>().max(1))
}

/// Takes the head of a vector or a set. A set's elements are checked for duplicates first, unless `T` can't hold any.
#[inline]
fn elements<'de>(reader: &mut ValueReader<'de>, checked: bool) -> Result<usize, DecodeError> {
    if reader.is_next(Kind::Vector) {
        return Ok(reader.vector()?);
    }
    if !reader.is_next(Kind::Set) {
        return Err(DecodeError::kind(reader, Kind::Vector));
    }
    if checked {
        reader.check_unique()?;
    }
    Ok(reader.set()?)
}

impl<'de, T: FromValue<'de>> FromValue<'de> for Vec<T> {
    /// From a vector or a set.
    #[inline]
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Vec<T>, DecodeError> {
        let len = elements(reader, true)?;
        reader.nested(|reader| {
            let mut values = Vec::with_capacity(reserved::<T>(len));
            for _ in 0..len {
                values.push(T::from_value(reader)?);
            }
            Ok(values)
        })
    }
}

macro_rules! as_vec {
    ($($of:ty),*) => {
        $(impl<'de, T: FromValue<'de>> FromValue<'de> for $of {
            fn from_value(reader: &mut ValueReader<'de>) -> Result<$of, DecodeError> {
                Vec::from_value(reader).map(<$of>::from)
            }
        })*
    };
}

as_vec!(VecDeque<T>, Box<[T]>);

impl<'de> FromValue<'de> for Box<str> {
    fn from_value(reader: &mut ValueReader<'de>) -> Result<Box<str>, DecodeError> {
        String::from_value(reader).map(String::into_boxed_str)
    }
}

impl<'de, T: FromValue<'de>, const LEN: usize> FromValue<'de> for [T; LEN] {
    /// From the first elements of a vector; the others are ignored.
    fn from_value(reader: &mut ValueReader<'de>) -> Result<[T; LEN], DecodeError> {
        let len = elements(reader, true)?;
        reader.nested(|reader| {
            let mut values = Vec::with_capacity(reserved::<T>(LEN));
            for _ in 0..len.min(LEN) {
                values.push(T::from_value(reader)?);
            }
            let values = values.try_into().map_err(|_| too_short(len, LEN))?;
            reader.skip_values(len - LEN)?;
            Ok(values)
        })
    }
}

#[cold]
fn too_short(found: usize, wanted: usize) -> DecodeError {
    DecodeError::custom(format_args!("the vector has {found} elements; send {wanted}"))
}

/// Sets, from a set or a vector, and maps, from a table; a duplicate is an error.
macro_rules! unique {
    ($($set:ident, $map:ident, [$($key:tt)*], [$($state:ident: $build:ident + $default:ident)?];)*) => {
        $(impl<'de, T: FromValue<'de> + $($key)*, $($state: $build + $default)?> FromValue<'de>
            for $set<T $(, $state)?>
        {
            fn from_value(reader: &mut ValueReader<'de>) -> Result<Self, DecodeError> {
                let position = reader.position();
                let len = elements(reader, false)?;
                reader.nested(|reader| {
                    let mut set = Self::default();
                    for _ in 0..len {
                        if !set.insert(T::from_value(reader)?) {
                            return Err(ValueError::NotUnique { position }.into());
                        }
                    }
                    Ok(set)
                })
            }
        }

        impl<'de, K: FromValue<'de> + $($key)*, V: FromValue<'de>, $($state: $build + $default)?> FromValue<'de>
            for $map<K, V $(, $state)?>
        {
            fn from_value(reader: &mut ValueReader<'de>) -> Result<Self, DecodeError> {
                let position = reader.position();
                let len = reader.table()?.left();
                reader.nested(|reader| {
                    let mut map = Self::default();
                    for _ in 0..len {
                        let key = K::from_value(reader)?;
                        if map.insert(key, V::from_value(reader)?).is_some() {
                            return Err(ValueError::NotUnique { position }.into());
                        }
                    }
                    Ok(map)
                })
            }
        })*
    };
}

unique! {
    BTreeSet, BTreeMap, [Ord], [];
    HashSet, HashMap, [Eq + Hash], [S: BuildHasher + Default];
}

macro_rules! tuples {
    ($($len:literal: $($name:ident),+;)*) => {
        $(impl<'de, $($name: FromValue<'de>),+> FromValue<'de> for ($($name,)+) {
            /// From the first elements of a vector; the others are ignored.
            fn from_value(reader: &mut ValueReader<'de>) -> Result<Self, DecodeError> {
                let len = reader.vector()?;
                if len < $len {
                    return Err(too_short(len, $len));
                }
                reader.nested(|reader| {
                    let values = ($($name::from_value(reader)?,)+);
                    reader.skip_values(len - $len)?;
                    Ok(values)
                })
            }
        })*
    };
}

tuples! {
    1: A;
    2: A, B;
    3: A, B, C;
    4: A, B, C, D;
    5: A, B, C, D, E;
    6: A, B, C, D, E, F;
    7: A, B, C, D, E, F, G;
    8: A, B, C, D, E, F, G, H;
}
