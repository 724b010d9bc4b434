//! An owned tree of values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::order;
use crate::{Address, Port, Set, Subnet, Table, Text};

/// An owned value of any type. Variants are in the format's order, so a lower tag sorts first.
///
/// Order, equality and hash agree with each other and with the format: reals compare as numbers, so `0.0` equals
/// `-0.0`. A NaN equals every NaN and sorts after every other real, because the format's own rule (a NaN is equivalent
/// to *every* real) isn't an order; [`Set`] and [`Table`] apply that rule to duplicates.
///
/// Comparing, hashing, cloning and dropping recurse as deep as the tree. A tree made from bytes is at most
/// [`Limits::depth_max`](crate::Limits::depth_max) deep.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// No value.
    #[default]
    None,
    /// True or false.
    Boolean(bool),
    /// An unsigned number.
    Count(u64),
    /// A signed number.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Any bytes, usually text.
    String(Text),
    /// An IPv4 or IPv6 address.
    Address(Address),
    /// A network: an address and the length of its prefix.
    Subnet(Subnet),
    /// A port number with its protocol.
    Port(Port),
    /// A point in time, in nanoseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A duration in nanoseconds.
    Timespan(i64),
    /// The name of an enumeration's value, such as `Conn::LOG`.
    Enum(Text),
    /// Values in ascending order, without duplicates.
    Set(Set),
    /// Pairs of key and value, ascending by key, without duplicate keys.
    Table(Table),
    /// Values in the given order.
    Vector(Vec<Value>),
}

/// The type of a value, with its tag in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// No value.
    None = 0,
    /// True or false.
    Boolean = 1,
    /// An unsigned number.
    Count = 2,
    /// A signed number.
    Integer = 3,
    /// A floating-point number.
    Real = 4,
    /// Any bytes.
    String = 5,
    /// An address.
    Address = 6,
    /// A network.
    Subnet = 7,
    /// A port.
    Port = 8,
    /// A point in time.
    Timestamp = 9,
    /// A duration.
    Timespan = 10,
    /// An enumeration's value.
    Enum = 11,
    /// A set.
    Set = 12,
    /// A table.
    Table = 13,
    /// A vector.
    Vector = 14,
}

impl Kind {
    /// The type with this tag.
    pub fn of_tag(tag: u8) -> Option<Kind> {
        Some(match tag {
            0 => Kind::None,
            1 => Kind::Boolean,
            2 => Kind::Count,
            3 => Kind::Integer,
            4 => Kind::Real,
            5 => Kind::String,
            6 => Kind::Address,
            7 => Kind::Subnet,
            8 => Kind::Port,
            9 => Kind::Timestamp,
            10 => Kind::Timespan,
            11 => Kind::Enum,
            12 => Kind::Set,
            13 => Kind::Table,
            14 => Kind::Vector,
            _ => return None,
        })
    }

    /// The type's name in the JSON mapping, such as `enum-value`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Boolean => "boolean",
            Kind::Count => "count",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::String => "string",
            Kind::Address => "address",
            Kind::Subnet => "subnet",
            Kind::Port => "port",
            Kind::Timestamp => "timestamp",
            Kind::Timespan => "timespan",
            Kind::Enum => "enum-value",
            Kind::Set => "set",
            Kind::Table => "table",
            Kind::Vector => "vector",
        }
    }
}

impl Value {
    /// The value's type.
    pub fn kind(&self) -> Kind {
        match self {
            Value::None => Kind::None,
            Value::Boolean(_) => Kind::Boolean,
            Value::Count(_) => Kind::Count,
            Value::Integer(_) => Kind::Integer,
            Value::Real(_) => Kind::Real,
            Value::String(_) => Kind::String,
            Value::Address(_) => Kind::Address,
            Value::Subnet(_) => Kind::Subnet,
            Value::Port(_) => Kind::Port,
            Value::Timestamp(_) => Kind::Timestamp,
            Value::Timespan(_) => Kind::Timespan,
            Value::Enum(_) => Kind::Enum,
            Value::Set(_) => Kind::Set,
            Value::Table(_) => Kind::Table,
            Value::Vector(_) => Kind::Vector,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        order::values(self, other, order::reals)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.kind() as u8);
        match self {
            Value::None => {}
            Value::Boolean(boolean) => boolean.hash(state),
            Value::Count(count) => count.hash(state),
            Value::Integer(number) | Value::Timestamp(number) | Value::Timespan(number) => number.hash(state),
            Value::Real(real) => order::real_key(*real).hash(state),
            Value::String(text) | Value::Enum(text) => text.hash(state),
            Value::Address(address) => address.hash(state),
            Value::Subnet(subnet) => subnet.hash(state),
            Value::Port(port) => port.hash(state),
            Value::Set(set) => set.as_slice().hash(state),
            Value::Table(table) => table.as_slice().hash(state),
            Value::Vector(values) => values.hash(state),
        }
    }
}

macro_rules! from {
    ($($of:ty => $variant:ident),* $(,)?) => {
        $(impl From<$of> for Value {
            fn from(value: $of) -> Value {
                Value::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Boolean, u64 => Count, u32 => Count, u16 => Count, u8 => Count, i64 => Integer, i32 => Integer,
    i16 => Integer, i8 => Integer, f64 => Real, f32 => Real, &str => String, String => String, Text => String,
    Address => Address, std::net::IpAddr => Address, std::net::Ipv4Addr => Address, std::net::Ipv6Addr => Address,
    Subnet => Subnet, Port => Port, Set => Set, Table => Table, Vec<Value> => Vector,
}
