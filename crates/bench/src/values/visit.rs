//! Visits every field of a value, in each representation that a reader without a schema gets.

use rawline_value::{Address, Kind, Port, Subnet, Variant};
use serde_json::Value as Json;

/// A number over every field of a view.
pub fn view(value: &Variant<'_>) -> u64 {
    match value.kind() {
        Kind::None => 0,
        Kind::Boolean => value.to_boolean(false).into(),
        Kind::Count => value.to_count(0),
        Kind::Integer => value.to_integer(0).cast_unsigned(),
        Kind::Real => value.to_real(0.0).to_bits(),
        Kind::String => text(value.to_bytes(&[])),
        Kind::Enum => text(value.to_enum(&[])),
        Kind::Address => u64::from(value.to_address(Address::default()).octets()[15]),
        Kind::Subnet => u64::from(value.to_subnet(Subnet::default()).prefix_bits()),
        Kind::Port => value.to_port(Port::default()).number.into(),
        Kind::Timestamp => value.to_timestamp(0).cast_unsigned(),
        Kind::Timespan => value.to_timespan(0).cast_unsigned(),
        Kind::Set => value.to_set().iter().map(|value| view(&value)).fold(0, u64::wrapping_add),
        Kind::Vector => value.to_list().iter().map(|value| view(&value)).fold(0, u64::wrapping_add),
        Kind::Table => {
            let pairs = value.to_table();
            pairs.iter().map(|(key, value)| view(&key).wrapping_add(view(&value))).fold(0, u64::wrapping_add)
        }
    }
}

/// A number over every field of a JSON tree.
pub fn json(value: &Json) -> u64 {
    match value {
        Json::Null => 0,
        Json::Bool(boolean) => u64::from(*boolean),
        Json::Number(number) => number.as_u64().unwrap_or_else(|| number.as_f64().unwrap_or_default().to_bits()),
        Json::String(string) => text(string.as_bytes()),
        Json::Array(values) => values.iter().map(json).fold(0, u64::wrapping_add),
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| text(name.as_bytes()).wrapping_add(json(value)))
            .fold(0, u64::wrapping_add),
    }
}

/// A string counts with its first byte, so that it has to be read, and its length.
pub fn text(bytes: &[u8]) -> u64 {
    u64::from(bytes.first().copied().unwrap_or_default()) + bytes.len() as u64
}
