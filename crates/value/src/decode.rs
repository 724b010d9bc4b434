//! Decodes bytes into a tree.

use crate::wire::{Reader, unpack_real};
use crate::{Address, Kind, Limits, Port, Protocol, Set, Subnet, Table, Text, Value, ValueError};

impl Value {
    /// Decodes a value from these bytes. Fails if bytes are left over. Recurses up to [`Limits::depth_max`] levels.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Value, ValueError> {
        let mut reader = Reader::new(bytes, limits)?;
        let mut root = Value::None;
        value(&mut reader, 0, &mut root)?;
        reader.finish()?;
        Ok(root)
    }
}

/// Reads a value in place: moving it afterwards would take longer than reading it.
#[inline]
fn value(reader: &mut Reader<'_>, depth: u32, place: &mut Value) -> Result<(), ValueError> {
    let position = reader.position();
    let tag = reader.byte()?;
    let Some(kind) = Kind::of_tag(tag) else {
        return Err(ValueError::Tag { position, found: tag });
    };
    *place = match kind {
        Kind::None => Value::None,
        Kind::Boolean => Value::Boolean(reader.byte()? != 0),
        Kind::Count => Value::Count(u64::from_be_bytes(reader.array()?)),
        Kind::Integer => Value::Integer(i64::from_be_bytes(reader.array()?)),
        Kind::Real => Value::Real(unpack_real(u64::from_be_bytes(reader.array()?))),
        Kind::String => {
            let bytes = reader.string()?;
            *place = Value::String(Text::new(bytes));
            return Ok(());
        }
        Kind::Address => Value::Address(Address::from_octets(reader.array()?)),
        Kind::Subnet => Value::Subnet(Subnet::from_bytes(reader.array()?)),
        Kind::Port => Value::Port(port(reader)?),
        Kind::Timestamp => Value::Timestamp(i64::from_be_bytes(reader.array()?)),
        Kind::Timespan => Value::Timespan(i64::from_be_bytes(reader.array()?)),
        Kind::Enum => {
            let bytes = reader.string()?;
            *place = Value::Enum(Text::new(bytes));
            return Ok(());
        }
        Kind::Set | Kind::Table | Kind::Vector => return container(reader, kind, position, depth, place),
    };
    Ok(())
}

/// Containers have a separate function, which keeps the recursing stack frame small.
#[inline(never)]
fn container(
    reader: &mut Reader<'_>,
    kind: Kind,
    position: usize,
    depth: u32,
    place: &mut Value,
) -> Result<(), ValueError> {
    reader.check_depth(depth, position)?;
    if kind == Kind::Table {
        let mut pairs = Vec::new();
        pairs.resize_with(reader.elements(2)?, || (Value::None, Value::None));
        for (key, mapped) in &mut pairs {
            value(reader, depth + 1, key)?;
            value(reader, depth + 1, mapped)?;
        }
        *place = Value::Table(Table::from_pairs(pairs).map_err(|_| ValueError::NotUnique { position })?);
        return Ok(());
    }
    let mut values = Vec::new();
    values.resize_with(reader.elements(1)?, || Value::None);
    for place in &mut values {
        value(reader, depth + 1, place)?;
    }
    *place = match kind {
        Kind::Vector => Value::Vector(values),
        _ => Value::Set(Set::from_values(values).map_err(|_| ValueError::NotUnique { position })?),
    };
    Ok(())
}

#[inline]
fn port(reader: &mut Reader<'_>) -> Result<Port, ValueError> {
    // The reported position is the protocol's byte, after the number.
    let position = reader.position() + 2;
    let [high, low, protocol] = reader.array()?;
    let Some(protocol) = Protocol::of_number(protocol) else {
        return Err(ValueError::Protocol { position, found: protocol });
    };
    Ok(Port { number: u16::from_be_bytes([high, low]), protocol })
}
