//! A view of a value in its original bytes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::node::{Node, kind, link, position, unpack_end};
use crate::order;
use crate::value::real_key;
use crate::wire::unpack_real;
use crate::{Address, Kind, Port, Protocol, Set, Subnet, Table, Text, Value};

/// A view of a value: cheap to copy, immutable, safe to share between threads. Strings point into the bytes.
///
/// `as_…` returns `None` for another type, `to_…` a fallback; no type is turned into another. Comparing is structural,
/// also of views into different bytes, and the same as comparing the [`Value`]s.
#[derive(Clone, Copy)]
pub struct Variant<'a> {
    nodes: &'a [Node],
    bytes: &'a [u8],
    node: Node,
}

/// A view of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListView<'a>(Children<'a>);

/// A view of a set, ascending regardless of the order of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetView<'a>(Children<'a>);

/// A view of a table, ascending by key regardless of the order of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableView<'a>(Children<'a>);

/// The values in a container; for a table, keys and values alternate.
#[derive(Clone, Copy)]
struct Children<'a> {
    nodes: &'a [Node],
    bytes: &'a [u8],
    children: &'a [Node],
}

macro_rules! accessors {
    ($($as:ident $to:ident $of:ty: $what:literal),* $(,)?) => {
        $(
            #[doc = concat!($what, ", or the fallback for another type.")]
            #[inline]
            pub fn $to(&self, fallback: $of) -> $of {
                self.$as().unwrap_or(fallback)
            }
        )*
    };
}

impl<'a> Variant<'a> {
    /// A none without bytes.
    pub const NONE: Variant<'static> = Variant { nodes: &[], bytes: &[0], node: [0; 8] };

    #[inline]
    pub(crate) fn root(nodes: &'a [Node], bytes: &'a [u8]) -> Variant<'a> {
        Variant { nodes, bytes, node: nodes.first().copied().unwrap_or_default() }
    }

    #[inline]
    pub(crate) fn new(nodes: &'a [Node], bytes: &'a [u8], node: Node) -> Variant<'a> {
        Variant { nodes, bytes, node }
    }

    /// The value's type.
    #[inline]
    pub fn kind(&self) -> Kind {
        kind(self.node)
    }

    /// Whether it has no value.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.kind() == Kind::None
    }

    /// A boolean.
    #[inline]
    pub fn as_boolean(&self) -> Option<bool> {
        self.array(Kind::Boolean).map(|[byte]| byte != 0)
    }

    /// A count.
    #[inline]
    pub fn as_count(&self) -> Option<u64> {
        self.array(Kind::Count).map(u64::from_be_bytes)
    }

    /// An integer.
    #[inline]
    pub fn as_integer(&self) -> Option<i64> {
        self.array(Kind::Integer).map(i64::from_be_bytes)
    }

    /// A real.
    #[inline]
    pub fn as_real(&self) -> Option<f64> {
        self.array(Kind::Real).map(|bytes| unpack_real(u64::from_be_bytes(bytes)))
    }

    /// A string's bytes.
    #[inline]
    pub fn as_string(&self) -> Option<&'a [u8]> {
        self.string(Kind::String)
    }

    /// A string that is UTF-8.
    #[inline]
    pub fn as_str(&self) -> Option<&'a str> {
        self.as_string().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// An address.
    #[inline]
    pub fn as_address(&self) -> Option<Address> {
        self.array(Kind::Address).map(Address::from_octets)
    }

    /// A subnet.
    #[inline]
    pub fn as_subnet(&self) -> Option<Subnet> {
        self.array(Kind::Subnet).map(Subnet::from_bytes)
    }

    /// A port.
    #[inline]
    pub fn as_port(&self) -> Option<Port> {
        let [high, low, protocol] = self.array(Kind::Port)?;
        Some(Port::new(u16::from_be_bytes([high, low]), Protocol::of_number(protocol)?))
    }

    /// A timestamp, in nanoseconds since 1970.
    #[inline]
    pub fn as_timestamp(&self) -> Option<i64> {
        self.array(Kind::Timestamp).map(i64::from_be_bytes)
    }

    /// A timespan, in nanoseconds.
    #[inline]
    pub fn as_timespan(&self) -> Option<i64> {
        self.array(Kind::Timespan).map(i64::from_be_bytes)
    }

    /// An enumeration value's name.
    #[inline]
    pub fn as_enum(&self) -> Option<&'a [u8]> {
        self.string(Kind::Enum)
    }

    /// A vector.
    #[inline]
    pub fn as_list(&self) -> Option<ListView<'a>> {
        self.children(Kind::Vector).map(ListView)
    }

    /// A set.
    #[inline]
    pub fn as_set(&self) -> Option<SetView<'a>> {
        self.children(Kind::Set).map(SetView)
    }

    /// A table.
    #[inline]
    pub fn as_table(&self) -> Option<TableView<'a>> {
        self.children(Kind::Table).map(TableView)
    }

    accessors! {
        as_boolean to_boolean bool: "A boolean",
        as_count to_count u64: "A count",
        as_integer to_integer i64: "An integer",
        as_real to_real f64: "A real",
        as_string to_bytes &'a [u8]: "A string's bytes",
        as_str to_str &'a str: "A string that is UTF-8",
        as_address to_address Address: "An address",
        as_subnet to_subnet Subnet: "A subnet",
        as_port to_port Port: "A port",
        as_timestamp to_timestamp i64: "A timestamp, in nanoseconds since 1970",
        as_timespan to_timespan i64: "A timespan, in nanoseconds",
        as_enum to_enum &'a [u8]: "An enumeration value's name",
    }

    /// A vector; an empty one for another type.
    #[inline]
    pub fn to_list(&self) -> ListView<'a> {
        self.as_list().unwrap_or(ListView(Children::EMPTY))
    }

    /// A set; an empty one for another type.
    #[inline]
    pub fn to_set(&self) -> SetView<'a> {
        self.as_set().unwrap_or(SetView(Children::EMPTY))
    }

    /// A table; an empty one for another type.
    #[inline]
    pub fn to_table(&self) -> TableView<'a> {
        self.as_table().unwrap_or(TableView(Children::EMPTY))
    }

    /// The value's own bytes, unchanged: a whole value that can be forwarded.
    pub fn bytes(&self) -> &'a [u8] {
        let start = position(self.node);
        let end = match self.kind() {
            Kind::String | Kind::Enum => {
                link(self.node) + self.as_string().or_else(|| self.as_enum()).unwrap_or_default().len()
            }
            Kind::Set | Kind::Table | Kind::Vector => {
                self.nodes.get(link(self.node)).map_or(start, |node| unpack_end(*node).0)
            }
            Kind::None => start + 1,
            Kind::Boolean => start + 2,
            Kind::Port => start + 4,
            Kind::Address => start + 17,
            Kind::Subnet => start + 18,
            Kind::Count | Kind::Integer | Kind::Real | Kind::Timestamp | Kind::Timespan => start + 9,
        };
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// A copy of the value as a tree.
    pub fn to_value(&self) -> Value {
        match self.kind() {
            Kind::None => Value::None,
            Kind::Boolean => Value::Boolean(self.to_boolean(false)),
            Kind::Count => Value::Count(self.to_count(0)),
            Kind::Integer => Value::Integer(self.to_integer(0)),
            Kind::Real => Value::Real(self.to_real(0.0)),
            Kind::String => Value::String(Text::new(self.to_bytes(&[]))),
            Kind::Address => Value::Address(self.to_address(Address::default())),
            Kind::Subnet => Value::Subnet(self.to_subnet(Subnet::default())),
            Kind::Port => Value::Port(self.to_port(Port::default())),
            Kind::Timestamp => Value::Timestamp(self.to_timestamp(0)),
            Kind::Timespan => Value::Timespan(self.to_timespan(0)),
            Kind::Enum => Value::Enum(Text::new(self.to_enum(&[]))),
            Kind::Set => Value::Set(self.to_set().iter().map(|value| value.to_value()).collect::<Set>()),
            Kind::Table => Value::Table(
                self.to_table().iter().map(|(key, value)| (key.to_value(), value.to_value())).collect::<Table>(),
            ),
            Kind::Vector => Value::Vector(self.to_list().iter().map(|value| value.to_value()).collect()),
        }
    }

    #[inline]
    fn array<const N: usize>(&self, kind: Kind) -> Option<[u8; N]> {
        if self.kind() != kind {
            return None;
        }
        self.bytes.get(position(self.node) + 1..)?.first_chunk().copied()
    }

    #[inline]
    fn string(&self, kind: Kind) -> Option<&'a [u8]> {
        if self.kind() != kind {
            return None;
        }
        let start = link(self.node);
        // Checked when it was indexed: a size of up to five bytes ends where the string starts.
        let size = self.bytes.get(position(self.node) + 1..start)?;
        let length = match size {
            [length] => usize::from(*length),
            _ => size.iter().rev().fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f)),
        };
        self.bytes.get(start..start + length)
    }

    fn cmp_str(&self, string: &str) -> Ordering {
        match self.as_string() {
            Some(own) => own.cmp(string.as_bytes()),
            None => self.kind().cmp(&Kind::String),
        }
    }

    #[inline]
    fn children(&self, kind: Kind) -> Option<Children<'a>> {
        if self.kind() != kind {
            return None;
        }
        self.any_children()
    }

    #[inline]
    fn any_children(&self) -> Option<Children<'a>> {
        let (end, rest) = self.nodes.get(link(self.node)..)?.split_first()?;
        let children = rest.get(..unpack_end(*end).1)?;
        Some(Children { nodes: self.nodes, bytes: self.bytes, children })
    }

    /// The values in a container, in order; a table's keys and values alternate. Empty for another type.
    pub(crate) fn walk(&self) -> impl ExactSizeIterator<Item = Variant<'a>> + use<'a> {
        match self.kind() {
            Kind::Set | Kind::Table | Kind::Vector => self.any_children().unwrap_or(Children::EMPTY),
            _ => Children::EMPTY,
        }
        .iter()
    }
}

impl<'a> Children<'a> {
    const EMPTY: Children<'static> = Children { nodes: &[], bytes: &[], children: &[] };

    #[inline]
    fn get(&self, index: usize) -> Option<Variant<'a>> {
        self.children.get(index).map(|node| Variant::new(self.nodes, self.bytes, *node))
    }

    #[inline]
    fn iter(&self) -> impl ExactSizeIterator<Item = Variant<'a>> + DoubleEndedIterator + use<'a> {
        let Children { nodes, bytes, children } = *self;
        children.iter().map(move |node| Variant::new(nodes, bytes, *node))
    }
}

impl<'a> ListView<'a> {
    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.children.len()
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.children.is_empty()
    }

    /// The value at an index. O(1).
    #[inline]
    pub fn get(&self, index: usize) -> Option<Variant<'a>> {
        self.0.get(index)
    }

    /// The value at an index; `None` if the list is shorter. O(1).
    #[inline]
    pub fn at(&self, index: usize) -> Variant<'a> {
        self.0.get(index).unwrap_or(Variant::NONE)
    }

    /// The first `N` values, padded with nones.
    #[inline]
    pub fn take<const N: usize>(&self) -> [Variant<'a>; N] {
        std::array::from_fn(|index| self.at(index))
    }

    /// The values in their order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Variant<'a>> + DoubleEndedIterator + use<'a> {
        self.0.iter()
    }
}

impl<'a> SetView<'a> {
    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.children.len()
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.children.is_empty()
    }

    /// Whether the set contains the value. O(log n).
    pub fn contains(&self, value: &Value) -> bool {
        let Children { nodes, bytes, children } = self.0;
        children.binary_search_by(|node| order::variant_with_value(&Variant::new(nodes, bytes, *node), value)).is_ok()
    }

    /// The values, ascending.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Variant<'a>> + DoubleEndedIterator + use<'a> {
        self.0.iter()
    }
}

impl<'a> TableView<'a> {
    /// The number of pairs.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.children.len() / 2
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.children.is_empty()
    }

    /// The value of a key. O(log n).
    pub fn get(&self, key: &Value) -> Option<Variant<'a>> {
        self.find(|other| order::variant_with_value(other, key))
    }

    /// The value of a key given as a view. O(log n).
    pub fn get_variant(&self, key: &Variant<'_>) -> Option<Variant<'a>> {
        self.find(|other| order::variants(other, key))
    }

    /// The value of a string key. O(log n).
    pub fn get_str(&self, key: &str) -> Option<Variant<'a>> {
        self.find(|other| other.cmp_str(key))
    }

    /// The value of a field. O(1) if the field had the same position in the previous table, as in tables of one schema;
    /// O(log n) otherwise.
    #[inline]
    pub fn get_field(&self, field: &Field<'_>) -> Option<Variant<'a>> {
        let Children { nodes, bytes, children } = self.0;
        let (pairs, _) = children.as_chunks();
        let place = field.place.load(Relaxed);
        if let Some([key, value]) = pairs.get(place as usize)
            && Variant::new(nodes, bytes, *key).as_string() == Some(field.name.as_bytes())
        {
            return Some(Variant::new(nodes, bytes, *value));
        }
        let place = self.place(|key| key.cmp_str(field.name))?;
        field.place.store(place as u32, Relaxed);
        pairs.get(place).map(|[_, value]| Variant::new(nodes, bytes, *value))
    }

    /// The pairs, ascending by key.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Variant<'a>, Variant<'a>)> + use<'a> {
        let Children { nodes, bytes, children } = self.0;
        let variant = move |node: &Node| Variant::new(nodes, bytes, *node);
        children.as_chunks().0.iter().map(move |[key, value]| (variant(key), variant(value)))
    }

    fn find(&self, order: impl Fn(&Variant<'a>) -> Ordering) -> Option<Variant<'a>> {
        let Children { nodes, bytes, children } = self.0;
        let place = self.place(order)?;
        children.get(2 * place + 1).map(|node| Variant::new(nodes, bytes, *node))
    }

    /// Position of the pair whose key compares equal.
    fn place(&self, order: impl Fn(&Variant<'a>) -> Ordering) -> Option<usize> {
        let Children { nodes, bytes, children } = self.0;
        let (pairs, _) = children.as_chunks();
        pairs.binary_search_by(|[key, _]| order(&Variant::new(nodes, bytes, *key))).ok()
    }
}

/// A field's name and its position in the previous table: for reading the same fields of many tables of one schema.
#[derive(Debug)]
pub struct Field<'n> {
    name: &'n str,
    place: AtomicU32,
}

impl<'n> Field<'n> {
    /// Creates a field without a known position.
    pub const fn new(name: &'n str) -> Field<'n> {
        Field { name, place: AtomicU32::new(0) }
    }
}

impl fmt::Debug for Variant<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(formatter)
    }
}

impl PartialEq for Variant<'_> {
    fn eq(&self, other: &Self) -> bool {
        order::variants(self, other) == Ordering::Equal
    }
}

impl Eq for Variant<'_> {}

impl PartialOrd for Variant<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Variant<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        order::variants(self, other)
    }
}

impl PartialEq<Value> for Variant<'_> {
    fn eq(&self, other: &Value) -> bool {
        order::variant_with_value(self, other) == Ordering::Equal
    }
}

impl PartialEq<Variant<'_>> for Value {
    fn eq(&self, other: &Variant<'_>) -> bool {
        order::variant_with_value(other, self) == Ordering::Equal
    }
}

impl Hash for Variant<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.kind() as u8);
        match self.kind() {
            Kind::Set | Kind::Table | Kind::Vector => {
                let children = self.walk();
                state.write_usize(children.len());
                children.for_each(|child| child.hash(state));
            }
            Kind::Boolean => self.to_boolean(false).hash(state),
            Kind::Real => real_key(self.to_real(0.0)).hash(state),
            Kind::String => self.to_bytes(&[]).hash(state),
            Kind::Enum => self.to_enum(&[]).hash(state),
            _ => self.bytes().hash(state),
        }
    }
}

impl fmt::Debug for Children<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Children<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Children<'_> {}

impl PartialOrd for Children<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Children<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}
