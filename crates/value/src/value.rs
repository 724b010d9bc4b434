//! An owned tree of values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::{Address, Kind, Port, Set, Subnet, Table, Text};

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
        order(self, other, reals)
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
            Value::Real(real) => real_key(*real).hash(state),
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

/// Compares values by type, then within their type; `reals` compares two reals.
fn order(left: &Value, right: &Value, reals: fn(f64, f64) -> Ordering) -> Ordering {
    match (left, right) {
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
        (Value::Count(left), Value::Count(right)) => left.cmp(right),
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Real(left), Value::Real(right)) => reals(*left, *right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Address(left), Value::Address(right)) => left.cmp(right),
        (Value::Subnet(left), Value::Subnet(right)) => left.cmp(right),
        (Value::Port(left), Value::Port(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Timespan(left), Value::Timespan(right)) => left.cmp(right),
        (Value::Enum(left), Value::Enum(right)) => left.cmp(right),
        (Value::Set(left), Value::Set(right)) => {
            lexicographic(left.as_slice(), right.as_slice(), |left, right| order(left, right, reals))
        }
        (Value::Table(left), Value::Table(right)) => lexicographic(left.as_slice(), right.as_slice(), |left, right| {
            order(&left.0, &right.0, reals).then_with(|| order(&left.1, &right.1, reals))
        }),
        (Value::Vector(left), Value::Vector(right)) => {
            lexicographic(left, right, |left, right| order(left, right, reals))
        }
        (left, right) => left.kind().cmp(&right.kind()),
    }
}

/// Whether the right of two neighbours sorts after the left and isn't a duplicate of it.
#[inline]
pub(crate) fn values_ascend(left: &Value, right: &Value) -> bool {
    if let (Value::String(left), Value::String(right)) = (left, right) {
        return left < right;
    }
    order(left, right, reals) == Ordering::Less && !duplicates(left, right)
}

fn lexicographic<T>(left: &[T], right: &[T], order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    for (left, right) in left.iter().zip(right) {
        let ordering = order(left, right);
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    left.len().cmp(&right.len())
}

/// Compares reals as numbers; NaNs are equal and sort last.
pub(crate) fn reals(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Compares reals as the format detects duplicates: a NaN is equivalent to every real.
pub(crate) fn reals_loose(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Whether two neighbours in ascending order count as duplicates.
pub(crate) fn duplicates(left: &Value, right: &Value) -> bool {
    order(left, right, reals_loose) == Ordering::Equal
}

/// A hash key that is equal for reals that [`reals`] considers equal.
pub(crate) fn real_key(real: f64) -> u64 {
    if real.is_nan() {
        return u64::MAX;
    }
    // Adding positive zero turns a negative zero into a positive one and leaves every other number alone.
    (real + 0.0).to_bits()
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
