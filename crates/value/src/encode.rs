//! Encodes a tree into bytes.

use crate::wire::{pack_real, put_sized};
use crate::{Kind, Value};

impl Value {
    /// Appends the value's bytes. Sets and tables are ascending, so equal values have equal bytes, except for reals:
    /// `0.0` and `-0.0` are equal and written as they are.
    ///
    /// The format keeps subnormal reals above 2^-1023; smaller ones are written as zero. A string or container of 2^32
    /// or more is written with a size that decoding rejects.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            Value::None => out.push(Kind::None as u8),
            Value::Boolean(boolean) => out.extend_from_slice(&[Kind::Boolean as u8, u8::from(*boolean)]),
            Value::Count(count) => put_word(out, Kind::Count, *count),
            Value::Integer(number) => put_word(out, Kind::Integer, *number as u64),
            Value::Real(real) => put_word(out, Kind::Real, pack_real(*real)),
            Value::String(text) => put_string(out, Kind::String, text),
            Value::Address(address) => put_array::<17>(out, Kind::Address, address.octets()),
            Value::Subnet(subnet) => {
                put_array::<17>(out, Kind::Subnet, subnet.network().octets());
                out.push(subnet.prefix_bits());
            }
            Value::Port(port) => {
                let [high, low] = port.number.to_be_bytes();
                out.extend_from_slice(&[Kind::Port as u8, high, low, port.protocol as u8]);
            }
            Value::Timestamp(time_ns) => put_word(out, Kind::Timestamp, *time_ns as u64),
            Value::Timespan(span_ns) => put_word(out, Kind::Timespan, *span_ns as u64),
            Value::Enum(name) => put_string(out, Kind::Enum, name),
            Value::Set(set) => put_values(out, Kind::Set, set.as_slice()),
            Value::Table(table) => {
                put_sized(out, Kind::Table, table.len());
                for (key, value) in table {
                    key.encode_into(out);
                    value.encode_into(out);
                }
            }
            Value::Vector(values) => put_values(out, Kind::Vector, values),
        }
    }

    /// The value's bytes, as [`Value::encode_into`] appends them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out
    }
}

#[inline]
pub(crate) fn put_word(out: &mut Vec<u8>, kind: Kind, word: u64) {
    put_array::<9>(out, kind, &word.to_be_bytes());
}

/// Appends a tag and its content in one step; `N` is the content's size plus one.
#[inline]
pub(crate) fn put_array<const N: usize>(out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    let mut bytes = [kind as u8; N];
    if let Some((_, place)) = bytes.split_first_mut() {
        place.copy_from_slice(payload);
    }
    out.extend_from_slice(&bytes);
}

#[inline]
pub(crate) fn put_string(out: &mut Vec<u8>, kind: Kind, bytes: &[u8]) {
    put_sized(out, kind, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_values(out: &mut Vec<u8>, kind: Kind, values: &[Value]) {
    put_sized(out, kind, values.len());
    for value in values {
        value.encode_into(out);
    }
}
