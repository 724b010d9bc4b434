//! Reads and writes values one at a time, containers as their heads; shared by JSON and serde.

use crate::decoder::{NO_STEP, step};
use crate::encode::{put_array, put_string, put_word};
use crate::wire::{Reader, pack_real, put_size, unpack_real};
use crate::{Address, Decoder, Kind, Limits, Port, Protocol, Subnet, ValueError};

/// A scalar, or the head of a container, whose elements follow as separate items.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    None,
    Boolean(bool),
    Count(u64),
    Integer(i64),
    Real(f64),
    String(&'a [u8]),
    Address(Address),
    Subnet(Subnet),
    Port(Port),
    Timestamp(i64),
    Timespan(i64),
    Enum(&'a [u8]),
    /// With the number of elements.
    Set(usize),
    /// With the number of pairs.
    Table(usize),
    /// With the number of elements.
    Vector(usize),
}

impl Item<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Item::None => Kind::None,
            Item::Boolean(_) => Kind::Boolean,
            Item::Count(_) => Kind::Count,
            Item::Integer(_) => Kind::Integer,
            Item::Real(_) => Kind::Real,
            Item::String(_) => Kind::String,
            Item::Address(_) => Kind::Address,
            Item::Subnet(_) => Kind::Subnet,
            Item::Port(_) => Kind::Port,
            Item::Timestamp(_) => Kind::Timestamp,
            Item::Timespan(_) => Kind::Timespan,
            Item::Enum(_) => Kind::Enum,
            Item::Set(_) => Kind::Set,
            Item::Table(_) => Kind::Table,
            Item::Vector(_) => Kind::Vector,
        }
    }
}

/// Takes items from the front of bytes.
pub(crate) struct ItemReader<'a> {
    bytes: &'a [u8],
    pub(crate) reader: Reader<'a>,
}

impl<'a> ItemReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: &Limits) -> Result<ItemReader<'a>, ValueError> {
        Ok(ItemReader { bytes, reader: Reader::new(bytes, limits)? })
    }

    /// The remaining bytes.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.reader.position()..).unwrap_or_default()
    }

    /// The next item. Inlined: passing it through memory would take longer than reading it.
    #[inline(always)]
    pub(crate) fn item(&mut self) -> Result<Item<'a>, ValueError> {
        let reader = &mut self.reader;
        let position = reader.position();
        let tag = reader.byte()?;
        let kind = Kind::of_tag(tag).ok_or(ValueError::Tag { position, found: tag })?;
        Ok(match kind {
            Kind::None => Item::None,
            Kind::Boolean => Item::Boolean(reader.byte()? != 0),
            Kind::Count => Item::Count(u64::from_be_bytes(reader.array()?)),
            Kind::Integer => Item::Integer(i64::from_be_bytes(reader.array()?)),
            Kind::Real => Item::Real(unpack_real(u64::from_be_bytes(reader.array()?))),
            Kind::String => Item::String(reader.string()?),
            Kind::Address => Item::Address(Address::from_octets(reader.array()?)),
            Kind::Subnet => Item::Subnet(Subnet::from_bytes(reader.array()?)),
            Kind::Port => {
                let position = reader.position() + 2;
                let bytes @ [_, _, protocol] = reader.array()?;
                Item::Port(port_of_bytes(bytes).ok_or(ValueError::Protocol { position, found: protocol })?)
            }
            Kind::Timestamp => Item::Timestamp(i64::from_be_bytes(reader.array()?)),
            Kind::Timespan => Item::Timespan(i64::from_be_bytes(reader.array()?)),
            Kind::Enum => Item::Enum(reader.string()?),
            Kind::Set => Item::Set(reader.elements(1)?),
            Kind::Table => Item::Table(reader.elements(2)?),
            Kind::Vector => Item::Vector(reader.elements(1)?),
        })
    }

    /// Takes a whole value with everything in it, and returns its bytes.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<&'a [u8], ValueError> {
        let start = self.rest();
        // Values of a fixed size are the most frequent.
        let step = start.first().map_or(NO_STEP, |tag| step(*tag));
        if step != NO_STEP {
            self.reader.byte()?;
            self.reader.take(usize::from(step) - 1)?;
            return Ok(start.get(..usize::from(step)).unwrap_or_default());
        }
        self.value_of_any_length(start)
    }

    fn value_of_any_length(&mut self, start: &'a [u8]) -> Result<&'a [u8], ValueError> {
        let bytes = self.bytes;
        // Start of the next value. The reader is moved there only for types that it alone can read.
        let mut at = self.reader.position();
        let mut left = 1;
        while left > 0 {
            left -= 1;
            let position = at;
            let tag = *bytes.get(position).ok_or(ValueError::Truncated { position })?;
            let step = step(tag);
            if step != NO_STEP {
                at = position + usize::from(step);
                if at > bytes.len() {
                    return Err(ValueError::Truncated { position: position + 1 });
                }
                continue;
            }
            if (tag == Kind::String as u8 || tag == Kind::Enum as u8)
                && let Some(length) = bytes.get(position + 1).filter(|length| **length < 0x80)
            {
                at = position + 2 + usize::from(*length);
                if at > bytes.len() {
                    return Err(ValueError::Truncated { position: position + 2 });
                }
                continue;
            }
            self.reader.go_to(bytes, position);
            // Never more than there are bytes, which the reader checks.
            left += match self.item()? {
                Item::Set(elements) | Item::Vector(elements) => elements,
                Item::Table(pairs) => pairs * 2,
                _ => 0,
            };
            at = self.reader.position();
        }
        self.reader.go_to(bytes, at);
        Ok(start.get(..start.len() - self.rest().len()).unwrap_or_default())
    }

    /// Takes the next value and returns its bytes if it is a string or an enum.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<Option<&'a [u8]>, ValueError> {
        match self.rest().first() {
            Some(tag) if *tag == Kind::String as u8 || *tag == Kind::Enum as u8 => {
                self.reader.byte()?;
                self.reader.string().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Fails if bytes are left.
    pub(crate) fn finish(&self) -> Result<(), ValueError> {
        self.reader.finish()
    }
}

/// Appends items to bytes.
pub(crate) struct ItemWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Position of the first item.
    start: usize,
    /// Whether there are elements or keys that could be duplicates.
    may_have_duplicates: bool,
}

/// An open container, whose count is filled in last.
pub(crate) struct Container {
    kind: Kind,
    /// Position of the count.
    size_at: usize,
}

impl<'o> ItemWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> ItemWriter<'o> {
        let start = out.len();
        ItemWriter { out, start, may_have_duplicates: false }
    }

    /// Position of the next item.
    pub(crate) fn position(&self) -> usize {
        self.out.len()
    }

    /// Appends a scalar, or a container's head whose count is known.
    pub(crate) fn put(&mut self, item: Item<'_>) {
        let out = &mut *self.out;
        match item {
            Item::None => out.push(Kind::None as u8),
            Item::Boolean(boolean) => out.extend_from_slice(&[Kind::Boolean as u8, u8::from(boolean)]),
            Item::Count(count) => put_word(out, Kind::Count, count),
            Item::Integer(number) => put_word(out, Kind::Integer, number as u64),
            Item::Real(real) => put_word(out, Kind::Real, pack_real(real)),
            Item::String(text) => put_string(out, Kind::String, text),
            Item::Address(address) => put_array::<17>(out, Kind::Address, address.octets()),
            Item::Subnet(subnet) => put_array::<18>(out, Kind::Subnet, &subnet.to_bytes()),
            Item::Port(port) => put_array::<4>(out, Kind::Port, &port_bytes(port)),
            Item::Timestamp(time_ns) => put_word(out, Kind::Timestamp, time_ns as u64),
            Item::Timespan(span_ns) => put_word(out, Kind::Timespan, span_ns as u64),
            Item::Enum(name) => put_string(out, Kind::Enum, name),
            Item::Set(size) | Item::Table(size) | Item::Vector(size) => {
                self.may_have_duplicates |= size > 1 && item.kind() != Kind::Vector;
                out.push(item.kind() as u8);
                put_size(out, size);
            }
        }
    }

    /// Appends the bytes of a complete value.
    pub(crate) fn put_value(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends a container's tag and reserves one byte for the count, which suffices for most containers.
    pub(crate) fn begin(&mut self, kind: Kind) -> Container {
        self.out.push(kind as u8);
        let size_at = self.out.len();
        self.out.push(0);
        Container { kind, size_at }
    }

    /// Fills in the count. With 128 or more elements, they move to make room for it.
    pub(crate) fn end(&mut self, container: Container, count: usize) {
        self.may_have_duplicates |= count > 1 && container.kind != Kind::Vector;
        if let (0..0x80, Some(size)) = (count, self.out.get_mut(container.size_at)) {
            *size = count as u8;
            return;
        }
        let mut size = Vec::with_capacity(5);
        put_size(&mut size, count);
        self.out.splice(container.size_at..=container.size_at, size);
    }

    /// Swaps the bytes from `middle` on with the bytes between `start` and `middle`.
    pub(crate) fn swap(&mut self, start: usize, middle: usize) {
        if let Some(both) = self.out.get_mut(start..) {
            both.rotate_left(middle.saturating_sub(start));
        }
    }

    /// Removes everything that was appended.
    pub(crate) fn clear(&mut self) {
        self.out.truncate(self.start);
    }

    /// Checks that exactly one value within the limits was appended; removes it otherwise.
    pub(crate) fn finish(self) -> Result<(), ValueError> {
        self.finish_with(&mut Decoder::default())
    }

    /// Like [`ItemWriter::finish`], with the limits and the memory of a decoder.
    pub(crate) fn finish_with(mut self, decoder: &mut Decoder) -> Result<(), ValueError> {
        let checked = self.check(decoder);
        if checked.is_err() {
            self.clear();
        }
        checked
    }

    fn check(&self, decoder: &mut Decoder) -> Result<(), ValueError> {
        let bytes = self.out.get(self.start..).unwrap_or_default();
        if self.may_have_duplicates {
            return decoder.decode(bytes).map(drop);
        }
        let mut reader = ItemReader::new(bytes, decoder.limits())?;
        reader.value()?;
        reader.finish()
    }
}

/// A port's bytes after its tag.
pub(crate) fn port_bytes(port: Port) -> [u8; 3] {
    let [high, low] = port.number.to_be_bytes();
    [high, low, port.protocol as u8]
}

/// The port of these bytes; `None` for an unknown protocol number.
pub(crate) fn port_of_bytes([high, low, protocol]: [u8; 3]) -> Option<Port> {
    Some(Port::new(u16::from_be_bytes([high, low]), Protocol::of_number(protocol)?))
}
