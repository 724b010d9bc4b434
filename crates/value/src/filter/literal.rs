//! The value of a condition: one text, parsed in advance as each type that a field can have.

use crate::item::Item;
use crate::json::{read_span, read_time};
use crate::{Address, Port, Subnet};
use std::cmp::Ordering;

/// A text, parsed as each type; the field's type selects one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    text: String,
    boolean: Option<bool>,
    /// Holds every count and every integer.
    whole: Option<i128>,
    real: Option<f64>,
    address: Option<Address>,
    subnet: Option<Subnet>,
    port: Option<Port>,
    timestamp: Option<i64>,
    timespan: Option<i64>,
}

impl Literal {
    pub fn new(text: String) -> Literal {
        Literal {
            boolean: match text.as_str() {
                "T" => Some(true),
                "F" => Some(false),
                word if word.eq_ignore_ascii_case("true") => Some(true),
                word if word.eq_ignore_ascii_case("false") => Some(false),
                _ => None,
            },
            whole: text.parse().ok(),
            real: text.parse().ok(),
            address: text.parse().ok(),
            subnet: text.parse().ok(),
            port: text.parse().ok(),
            timestamp: read_time(&text),
            timespan: read_span(&text),
            text,
        }
    }

    /// How the field is ordered relative to this; `None` if the text isn't of the field's type.
    pub fn order(&self, field: Item<'_>) -> Option<Ordering> {
        match field {
            Item::Boolean(boolean) => Some(boolean.cmp(&self.boolean?)),
            Item::Count(count) => self.order_whole(count.into(), count as f64),
            Item::Integer(number) => self.order_whole(number.into(), number as f64),
            Item::Real(real) => real.partial_cmp(&self.real?),
            Item::String(text) | Item::Enum(text) => Some(text.cmp(self.text.as_bytes())),
            Item::Address(address) => Some(address.cmp(&self.address?)),
            Item::Subnet(subnet) => Some(subnet.cmp(&self.subnet?)),
            Item::Port(port) => match self.port {
                Some(other) => Some(port.cmp(&other)),
                // Without a protocol: any.
                None => Some(i128::from(port.number).cmp(&self.whole?)),
            },
            Item::Timestamp(time) => Some(time.cmp(&self.timestamp?)),
            Item::Timespan(span) => Some(span.cmp(&self.timespan?)),
            Item::None | Item::Set(_) | Item::Table(_) | Item::Vector(_) => None,
        }
    }

    fn order_whole(&self, field: i128, rounded: f64) -> Option<Ordering> {
        match self.whole {
            Some(whole) => Some(field.cmp(&whole)),
            None => rounded.partial_cmp(&self.real?),
        }
    }

    /// Whether an address is in the network, if this is one. An IPv4 address is in no IPv6 network, though it is stored
    /// as if it were.
    pub fn subnet_test(&self) -> Option<impl Fn(Address) -> bool> {
        let subnet = self.subnet?;
        let mask = u128::MAX.checked_shl(128 - u32::from(subnet.prefix_bits())).unwrap_or(0);
        let network = u128::from_be_bytes(*subnet.network().octets());
        let is_ipv4 = subnet.network().is_ipv4();
        Some(move |address: Address| {
            address.is_ipv4() == is_ipv4 && u128::from_be_bytes(*address.octets()) & mask == network
        })
    }
}
