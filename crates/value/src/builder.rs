//! Writes values directly as bytes.
//!
//! A builder writes into the caller's buffer and allocates only while that buffer grows. A nested builder continues in
//! the same buffer. Dropping a container's builder fills in the number of elements: it goes into a byte reserved for
//! it; with more than 127 elements, the following bytes move to make room.
//!
//! ```
//! use rawline_value::{Limits, ListBuilder, Value};
//!
//! let mut bytes = Vec::new();
//! let mut event = ListBuilder::new(&mut bytes);
//! event.add("event_1");
//! event.list().add(42).add("test");
//! drop(event);
//! let value = Value::decode(&bytes, &Limits::default())?;
//! let arguments = Value::Vector(vec![42.into(), "test".into()]);
//! assert_eq!(value, Value::Vector(vec!["event_1".into(), arguments]));
//! # Ok::<(), rawline_value::ValueError>(())
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::encode::{put_array, put_string, put_word};
use crate::wire::{pack_real, put_size};
use crate::{Address, Decoder, Kind, Limits, Port, Subnet, Text, Value, ValueError, Variant};

/// A type that a builder accepts as one value. Unsigned numbers become counts, signed ones integers.
pub trait Put {
    /// Appends the bytes of exactly one value.
    fn put(&self, out: &mut Vec<u8>);
}

/// A point in time for a builder, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimestampNs(pub i64);

/// A duration for a builder, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimespanNs(pub i64);

/// An enumeration value's name for a builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnumName<'a>(pub &'a str);

/// Writes a vector. Its bytes are complete when the builder is dropped.
#[derive(Debug)]
pub struct ListBuilder<'a>(Open<'a>);

/// Writes a set in the order given, without sorting or checking it: see [`SetBuilder::canonical`].
/// Its bytes are complete when the builder is dropped.
#[derive(Debug)]
pub struct SetBuilder<'a>(Open<'a>);

/// Writes a table in the order given, without sorting or checking it: see [`TableBuilder::canonical`].
/// Its bytes are complete when the builder is dropped.
#[derive(Debug)]
pub struct TableBuilder<'a>(Open<'a>);

macro_rules! elements {
    ($of:ident) => {
        impl<'a> $of<'a> {
            /// Adds a value.
            #[inline(always)]
            pub fn add(&mut self, value: impl Put) -> &mut Self {
                self.0.count += 1;
                value.put(self.0.out);
                self
            }

            /// Adds a vector, written with the returned builder.
            #[inline]
            pub fn list(&mut self) -> ListBuilder<'_> {
                self.0.count += 1;
                ListBuilder::new(self.0.out)
            }

            /// Adds a set, written with the returned builder.
            #[inline]
            pub fn set(&mut self) -> SetBuilder<'_> {
                self.0.count += 1;
                SetBuilder::new(self.0.out)
            }

            /// Adds a table, written with the returned builder.
            #[inline]
            pub fn table(&mut self) -> TableBuilder<'_> {
                self.0.count += 1;
                TableBuilder::new(self.0.out)
            }

            /// The number of added values.
            pub fn len(&self) -> usize {
                self.0.count
            }

            /// Whether nothing was added.
            pub fn is_empty(&self) -> bool {
                self.0.count == 0
            }
        }
    };
}

elements!(ListBuilder);
elements!(SetBuilder);

impl<'a> ListBuilder<'a> {
    /// Begins a vector at the buffer's end.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>) -> ListBuilder<'a> {
        ListBuilder(Open::new(out, Kind::Vector))
    }
}

impl<'a> SetBuilder<'a> {
    /// Begins a set at the buffer's end.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>) -> SetBuilder<'a> {
        SetBuilder(Open::new(out, Kind::Set))
    }

    /// Ends the set with its values ascending. Fails if the set has a duplicate or exceeds [`Limits::FORMAT`]; the
    /// set then stays in the buffer as it was given, and readers reject it. Allocates. If the values were added in
    /// order, this is only a check.
    pub fn canonical(self) -> Result<(), ValueError> {
        self.0.canonical()
    }
}

impl<'a> TableBuilder<'a> {
    /// Begins a table at the buffer's end.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>) -> TableBuilder<'a> {
        TableBuilder(Open::new(out, Kind::Table))
    }

    /// Adds a pair.
    #[inline(always)]
    pub fn add(&mut self, key: impl Put, value: impl Put) -> &mut Self {
        self.0.count += 1;
        let out = &mut *self.0.out;
        key.put(out);
        value.put(out);
        self
    }

    /// Adds a pair whose value is a vector, written with the returned builder.
    #[inline]
    pub fn list(&mut self, key: impl Put) -> ListBuilder<'_> {
        self.0.count += 1;
        key.put(self.0.out);
        ListBuilder::new(self.0.out)
    }

    /// Adds a pair whose value is a set, written with the returned builder.
    #[inline]
    pub fn set(&mut self, key: impl Put) -> SetBuilder<'_> {
        self.0.count += 1;
        key.put(self.0.out);
        SetBuilder::new(self.0.out)
    }

    /// Adds a pair whose value is a table, written with the returned builder.
    #[inline]
    pub fn table(&mut self, key: impl Put) -> TableBuilder<'_> {
        self.0.count += 1;
        key.put(self.0.out);
        TableBuilder::new(self.0.out)
    }

    /// The number of added pairs.
    pub fn len(&self) -> usize {
        self.0.count
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }

    /// Ends the table with its pairs ascending by key, as [`SetBuilder::canonical`] does.
    pub fn canonical(self) -> Result<(), ValueError> {
        self.0.canonical()
    }
}

/// An open container.
#[derive(Debug)]
struct Open<'a> {
    out: &'a mut Vec<u8>,
    /// Position of the byte reserved for the number of elements.
    place: usize,
    count: usize,
}

impl<'a> Open<'a> {
    #[inline]
    fn new(out: &'a mut Vec<u8>, kind: Kind) -> Open<'a> {
        out.extend_from_slice(&[kind as u8, 0]);
        let place = out.len() - 1;
        Open { out, place, count: 0 }
    }

    fn canonical(mut self) -> Result<(), ValueError> {
        let start = self.place - 1;
        self.close();
        let container = self.out.get(start..).unwrap_or_default();
        let mut decoder = Decoder::new(Limits::FORMAT);
        let children = decoder.decode(container)?.walk().map(|child| child.bytes());
        let sorted = children.collect::<Vec<_>>().concat();
        self.out.truncate(self.out.len() - sorted.len());
        self.out.extend_from_slice(&sorted);
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        if self.count >= 0x80 {
            self.close_long();
        } else if let Some(place) = self.out.get_mut(self.place) {
            *place = self.count as u8;
        }
        // Closed: dropping it again changes nothing.
        self.count = 0;
        self.place = usize::MAX;
    }

    #[cold]
    fn close_long(&mut self) {
        let mut size = Vec::new();
        put_size(&mut size, self.count);
        self.out.splice(self.place..self.place + 1, size);
    }
}

impl Drop for Open<'_> {
    #[inline]
    fn drop(&mut self) {
        self.close();
    }
}

macro_rules! put_words {
    ($kind:ident, $wide:ty: $($of:ty)*) => {
        $(impl Put for $of {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                put_word(out, Kind::$kind, <$wide>::from(*self) as u64);
            }
        })*
    };
}

put_words!(Count, u64: u8 u16 u32 u64);
put_words!(Integer, i64: i8 i16 i32 i64);

macro_rules! put_addresses {
    ($($of:ty)*) => {
        $(impl Put for $of {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                Address::from(*self).put(out);
            }
        })*
    };
}

put_addresses!(IpAddr Ipv4Addr Ipv6Addr);

impl Put for () {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        out.push(Kind::None as u8);
    }
}

impl Put for bool {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[Kind::Boolean as u8, u8::from(*self)]);
    }
}

impl Put for f64 {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_word(out, Kind::Real, pack_real(*self));
    }
}

impl Put for str {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_string(out, Kind::String, self.as_bytes());
    }
}

impl Put for [u8] {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_string(out, Kind::String, self);
    }
}

impl Put for Text {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_string(out, Kind::String, self);
    }
}

impl Put for EnumName<'_> {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_string(out, Kind::Enum, self.0.as_bytes());
    }
}

impl Put for Address {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_array::<17>(out, Kind::Address, self.octets());
    }
}

impl Put for Subnet {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.network().put(out);
        if let Some(tag) = out.len().checked_sub(17).and_then(|place| out.get_mut(place)) {
            *tag = Kind::Subnet as u8;
        }
        out.push(self.prefix_bits());
    }
}

impl Put for Port {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        let [high, low] = self.number.to_be_bytes();
        out.extend_from_slice(&[Kind::Port as u8, high, low, self.protocol as u8]);
    }
}

impl Put for TimestampNs {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_word(out, Kind::Timestamp, self.0 as u64);
    }
}

impl Put for TimespanNs {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_word(out, Kind::Timespan, self.0 as u64);
    }
}

impl Put for Value {
    fn put(&self, out: &mut Vec<u8>) {
        self.encode_into(out);
    }
}

impl Put for Variant<'_> {
    /// Copies the value's bytes unchanged.
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes());
    }
}

impl<T: Put + ?Sized> Put for &T {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
}
