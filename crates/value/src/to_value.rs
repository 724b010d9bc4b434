//! Encoding: a trait, and the standard library's types.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;

use crate::wire::pack_real;
use crate::{
    Address, EnumName, Kind, Name, Port, Subnet, Text, TimespanNs, TimestampNs, Value, ValueError, ValueWriter, Variant,
};

/// A type that can be encoded as one value. `#[derive(ToValue)]` implements it, with the crate's feature `derive`; see
/// `docs/values.md` for the mapping and the attributes.
///
/// ```
/// use rawline_value::{ToValue, ValueError, ValueWriter};
///
/// struct Celsius(f64);
///
/// impl ToValue for Celsius {
///     fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
///         (self.0 + 273.15).to_value(writer)
///     }
/// }
///
/// assert_eq!(rawline_value::encode(&Celsius(0.0)), rawline_value::encode(&273.15));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be encoded as a value",
    label = "`ToValue` is not implemented for `{Self}`",
    note = "add `#[derive(ToValue)]` to your type; for a type of another crate, use `#[value(with = \"module\")]`"
)]
pub trait ToValue {
    /// Appends exactly one value.
    fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError>;

    /// Whether different Rust values always give different values, so that the keys of a map need no check.
    #[doc(hidden)]
    const DISTINCT: bool = false;

    /// Whether a record that is a table leaves the field out.
    #[doc(hidden)]
    #[inline(always)]
    fn is_absent(&self) -> bool {
        false
    }

    /// Appends bytes that are whole values, and then the value: a record's key and field in one step.
    #[doc(hidden)]
    #[inline(always)]
    fn to_value_after<const N: usize>(&self, head: &[u8; N], writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        writer.put_raw(head);
        self.to_value(writer)
    }
}

macro_rules! words {
    ($($of:ty, $kind:ident, $distinct:literal, |$value:ident| $word:expr;)*) => {
        $(impl ToValue for $of {
            const DISTINCT: bool = $distinct;

            #[inline(always)]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                self.to_value_after(&[], writer)
            }

            #[inline(always)]
            fn to_value_after<const N: usize>(
                &self,
                head: &[u8; N],
                writer: &mut ValueWriter<'_>,
            ) -> Result<(), ValueError> {
                let $value = *self;
                writer.put_word_after(head, Kind::$kind, $word);
                Ok(())
            }
        })*
    };
}

words! {
    u8, Count, true, |number| u64::from(number);
    u16, Count, true, |number| u64::from(number);
    u32, Count, true, |number| u64::from(number);
    u64, Count, true, |number| number;
    usize, Count, true, |number| number as u64;
    i8, Integer, true, |number| i64::from(number) as u64;
    i16, Integer, true, |number| i64::from(number) as u64;
    i32, Integer, true, |number| i64::from(number) as u64;
    i64, Integer, true, |number| number as u64;
    isize, Integer, true, |number| number as u64;
    f32, Real, false, |real| pack_real(real.into());
    f64, Real, false, |real| pack_real(real);
    TimestampNs, Timestamp, true, |time| time.0 as u64;
    TimespanNs, Timespan, true, |span| span.0 as u64;
}

macro_rules! texts {
    ($($of:ty, |$value:ident| $bytes:expr;)*) => {
        $(impl ToValue for $of {
            const DISTINCT: bool = true;

            #[inline(always)]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                let $value = self;
                writer.bytes($bytes);
                Ok(())
            }

            #[inline(always)]
            fn to_value_after<const N: usize>(
                &self,
                head: &[u8; N],
                writer: &mut ValueWriter<'_>,
            ) -> Result<(), ValueError> {
                let $value = self;
                writer.put_string_after(head, $bytes);
                Ok(())
            }
        })*
    };
}

texts! {
    str, |text| text.as_bytes();
    String, |text| text.as_bytes();
    Text, |text| text.as_bytes();
}

/// Types that builders accept too.
macro_rules! puts {
    ($($of:ty, $distinct:literal, |$value:ident| $put:expr;)*) => {
        $(impl ToValue for $of {
            const DISTINCT: bool = $distinct;

            #[inline]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                let $value = self;
                writer.put($put);
                Ok(())
            }
        })*
    };
}

puts! {
    (), true, |_none| ();
    char, true, |text| text.encode_utf8(&mut [0; 4]) as &str;
    Address, true, |address| address;
    IpAddr, false, |address| *address;
    Ipv4Addr, true, |address| *address;
    Ipv6Addr, true, |address| *address;
    Subnet, true, |subnet| subnet;
    Port, true, |port| port;
    Name, true, |name| EnumName(&name.0);
    EnumName<'_>, true, |name| name;
}

/// Whole values, whose depth and elements are checked.
macro_rules! wholes {
    ($($of:ty),*) => {
        $(impl ToValue for $of {
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                let start = writer.position();
                writer.put(self);
                writer.check_from(start)
            }
        })*
    };
}

wholes!(Value, Variant<'_>);

impl ToValue for bool {
    const DISTINCT: bool = true;

    #[inline(always)]
    fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        self.to_value_after(&[], writer)
    }

    #[inline(always)]
    fn to_value_after<const N: usize>(&self, head: &[u8; N], writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        writer.put_after(head, &[Kind::Boolean as u8, u8::from(*self)]);
        Ok(())
    }
}

impl<T: ?Sized> ToValue for PhantomData<T> {
    #[inline]
    fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        writer.put(());
        Ok(())
    }
}

impl<T: ToValue> ToValue for Option<T> {
    #[inline]
    fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        match self {
            Some(value) => value.to_value(writer),
            None => ().to_value(writer),
        }
    }

    #[inline(always)]
    fn is_absent(&self) -> bool {
        self.is_none()
    }

    #[inline(always)]
    fn to_value_after<const N: usize>(&self, head: &[u8; N], writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
        match self {
            Some(value) => value.to_value_after(head, writer),
            None => ().to_value_after(head, writer),
        }
    }
}

/// References, written as their targets.
macro_rules! forward {
    ($([$($generics:tt)*] $of:ty as $to:ty;)*) => {
        $(impl<$($generics)*> ToValue for $of {
            const DISTINCT: bool = <$to>::DISTINCT;

            #[inline(always)]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                <$to>::to_value(self, writer)
            }

            #[inline(always)]
            fn is_absent(&self) -> bool {
                <$to>::is_absent(self)
            }

            #[inline(always)]
            fn to_value_after<const N: usize>(
                &self,
                head: &[u8; N],
                writer: &mut ValueWriter<'_>,
            ) -> Result<(), ValueError> {
                <$to>::to_value_after(self, head, writer)
            }
        })*
    };
}

forward! {
    [T: ToValue + ?Sized] &T as T;
    [T: ToValue + ?Sized] &mut T as T;
    [T: ToValue + ToOwned + ?Sized] Cow<'_, T> as T;
}

/// Pointers, through which a type can contain itself: each is a level.
macro_rules! pointers {
    ($($of:ty),*) => {
        $(impl<T: ToValue + ?Sized> ToValue for $of {
            const DISTINCT: bool = T::DISTINCT;

            #[inline]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                writer.nested(|writer| T::to_value(self, writer))
            }

            #[inline]
            fn is_absent(&self) -> bool {
                T::is_absent(self)
            }
        })*
    };
}

pointers!(Box<T>, Rc<T>, Arc<T>);

/// Appends a vector.
#[inline]
fn put_vector<T: ToValue>(
    writer: &mut ValueWriter<'_>,
    values: impl ExactSizeIterator<Item = T>,
) -> Result<(), ValueError> {
    writer.vector(values.len())?;
    writer.nested(|writer| {
        for value in values {
            value.to_value(writer)?;
        }
        Ok(())
    })
}

macro_rules! sequences {
    ($([$($generics:tt)*] $of:ty;)*) => {
        $(impl<$($generics)*> ToValue for $of {
            #[inline]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                put_vector(writer, self.iter())
            }
        })*
    };
}

sequences! {
    [T: ToValue] [T];
    [T: ToValue] Vec<T>;
    [T: ToValue] VecDeque<T>;
    [T: ToValue] LinkedList<T>;
    [T: ToValue] BTreeSet<T>;
    [T: ToValue, S] HashSet<T, S>;
    [T: ToValue, const LEN: usize] [T; LEN];
}

macro_rules! maps {
    ($([$($generics:tt)*] $of:ty;)*) => {
        $(impl<K: ToValue, V: ToValue, $($generics)*> ToValue for $of {
            #[inline]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                let start = writer.position();
                writer.table(self.len())?;
                writer.nested(|writer| {
                    for (key, value) in self {
                        key.to_value(writer)?;
                        value.to_value(writer)?;
                    }
                    Ok(())
                })?;
                if !K::DISTINCT && self.len() > 1 {
                    writer.check_from(start)?;
                }
                Ok(())
            }
        })*
    };
}

maps! {
    [] BTreeMap<K, V>;
    [S] HashMap<K, V, S>;
}

macro_rules! tuples {
    ($($len:literal: $($name:ident $index:tt),+;)*) => {
        $(impl<$($name: ToValue),+> ToValue for ($($name,)+) {
            const DISTINCT: bool = $($name::DISTINCT)&&+;

            #[inline]
            fn to_value(&self, writer: &mut ValueWriter<'_>) -> Result<(), ValueError> {
                writer.vector($len)?;
                writer.nested(|writer| {
                    $(self.$index.to_value(writer)?;)+
                    Ok(())
                })
            }
        })*
    };
}

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}
