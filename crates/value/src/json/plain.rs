//! Human-readable JSON: `{"host":"10.0.0.1","port":"53/udp","seconds":1.5}`.
//!
//! Values are written without their types. Reading such a text returns values of JSON's types: numbers, strings,
//! arrays; not addresses and times.

use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::one_pass_write::{OnePassWriter, Written};
use super::text::{Rfc3339, Seconds, special_real};
use super::{DEPTH_MAX, ReadError, WriteError, read_with, text_of};
use crate::item::{Item, ItemReader, ItemWriter};
use crate::{Decoder, Kind, Limits, ValueError};

/// Writes the value in `bytes` as JSON, without white space:
///
/// - none as `null`, booleans, counts, integers and reals as such; infinities and NaN as `"inf"`, `"-inf"`, `"nan"`;
/// - strings and enum names as strings, with invalid UTF-8 replaced by U+FFFD;
/// - addresses, subnets and ports as text: `"10.0.0.1"`, `"10.0.0.0/8"`, `"53/udp"`;
/// - times as RFC 3339 with nine digits of a second, durations in seconds: `"1.5s"`;
/// - vectors and sets as arrays;
/// - a table as an object if all its keys have one type that is written as text, else as an array of `[key, value]`.
///
/// Duplicates in sets and tables are written, not rejected. After an error, part of the text may have been written.
pub fn write(bytes: &[u8], out: &mut impl Write) -> Result<(), WriteError> {
    Writer::default().write(bytes, out)
}

/// Writes values as JSON, one after the other. Reuses its memory: it allocates only while that grows.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    /// The open containers, innermost last.
    open: Vec<Open>,
    keys: TextKeys,
    one_pass: OnePassWriter,
    decoder: Decoder,
}

impl Writer {
    /// Checks the value in `bytes` as [`Decoder::decode`] does, and appends it as [`write()`] writes it. After an
    /// error, part of the text may have been appended.
    pub fn append_checked(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
        let written = self.one_pass.write(bytes).map(|Written { text, is_unique }| {
            out.extend_from_slice(text);
            is_unique
        });
        if written != Some(true) {
            self.decoder.decode(bytes)?;
        }
        if written.is_some() { Ok(()) } else { self.append(bytes, out) }
    }

    /// Writes the value in `bytes` as [`write()`] does.
    pub fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> Result<(), WriteError> {
        self.keys.find(bytes)?;
        let is_whole = self.write_with(bytes, Keys::Found, out)?;
        assert!(is_whole, "a table is no object after all its keys were looked at");
        Ok(())
    }

    /// Appends the value in `bytes` as [`write()`] writes it. After an error, part of the text may have been appended.
    pub fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
        let start = out.len();
        // Almost every table is an object. That one isn't is seen at one of its keys, and all is written again.
        if self.write_with(bytes, Keys::Assumed, out)? {
            return Ok(());
        }
        out.truncate(start);
        self.write(bytes, out)
    }

    /// Returns false if a table isn't the object that it was assumed to be.
    fn write_with(&mut self, bytes: &[u8], keys: Keys, out: &mut impl Write) -> Result<bool, WriteError> {
        let Writer { open, keys: TextKeys { found, .. }, .. } = self;
        let mut text_keys = found.iter();
        let mut reader = ItemReader::new(bytes, &Limits::default())?;
        open.clear();
        loop {
            let item = reader.item()?;
            if keys == Keys::Assumed
                && let Some(table) = open.last_mut()
                && table.is_at_other_key(item)
            {
                return Ok(false);
            }
            let (shape, left) = match item {
                Item::Set(elements) | Item::Vector(elements) => (Shape::Array, elements),
                Item::Table(pairs) if keys == Keys::Assumed || text_keys.next() == Some(&true) => {
                    (Shape::Object, pairs * 2)
                }
                Item::Table(pairs) => (Shape::Pairs, pairs * 2),
                _ => {
                    write_scalar(item, out)?;
                    (Shape::Scalar, 0)
                }
            };
            if shape != Shape::Scalar {
                out.write_all(if shape == Shape::Object { b"{" } else { b"[" })?;
                open.push(Open { shape, is_started: false, left, keys: None });
            }
            // After a value comes the end of every container that it completes, then the separator before the next.
            loop {
                let Some(container) = open.last_mut() else {
                    reader.finish()?;
                    return Ok(true);
                };
                if container.write_next(out)? {
                    break;
                }
                open.pop();
            }
        }
    }
}

/// How it is known which tables are objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// All are taken for objects.
    Assumed,
    /// [`TextKeys`] has found it.
    Found,
}

/// The value in `bytes` as JSON, as [`write()`] writes it.
pub fn to_string(bytes: &[u8]) -> Result<String, WriteError> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    write(bytes, &mut out)?;
    Ok(text_of(out))
}

/// Reads one JSON value of any kind and appends the bytes of its value to `out`: `null` as none, a whole number as
/// count or, if negative, as integer, any other number as real, strings as strings, arrays as vectors, objects as
/// tables with strings as keys, in the order of the text. Up to [`DEPTH_MAX`] deep. After an error, `out` is
/// unchanged.
pub fn read(json: &[u8], out: &mut Vec<u8>) -> Result<(), ReadError> {
    read_with_decoder(json, &mut Decoder::default(), out)
}

/// Reads a value as [`read`] does. The decoder finds duplicates, and reuses its memory.
pub fn read_with_decoder(json: &[u8], decoder: &mut Decoder, out: &mut Vec<u8>) -> Result<(), ReadError> {
    Ok(append(json, out)?.finish_with(decoder)?)
}

/// Appends a value whose duplicates are still to be found.
pub(super) fn append<'o>(json: &[u8], out: &'o mut Vec<u8>) -> Result<ItemWriter<'o>, ReadError> {
    // One check of the whole text costs less than one of each string in it.
    match str::from_utf8(json) {
        Ok(text) => read_with(serde_json::Deserializer::from_str(text), out, |out, json| {
            PlainSeed { out, depth: 1 }.deserialize(json)
        }),
        // It says where.
        Err(_) => read_with(serde_json::Deserializer::from_slice(json), out, |out, json| {
            PlainSeed { out, depth: 1 }.deserialize(json)
        }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Scalar,
    Array,
    /// A table as an object.
    Object,
    /// A table as an array of arrays of two.
    Pairs,
}

/// An open container.
#[derive(Debug, Clone)]
struct Open {
    shape: Shape,
    is_started: bool,
    /// Remaining values; a pair counts as two.
    left: usize,
    /// The type of an object's keys, once there is one.
    keys: Option<Kind>,
}

impl Open {
    /// Whether `item` is a key that an object can't have: no text, or not of the type of the keys before it.
    fn is_at_other_key(&mut self, item: Item<'_>) -> bool {
        let is_key = self.shape == Shape::Object && !self.left.is_multiple_of(2);
        is_key && (!is_text(item) || self.keys.replace(item.kind()).is_some_and(|kind| kind != item.kind()))
    }

    /// Writes the separator before the container's next value, or its end; returns whether there is a next one.
    fn write_next(&mut self, out: &mut impl Write) -> io::Result<bool> {
        let is_key = self.shape != Shape::Array && self.left.is_multiple_of(2);
        if is_key && self.is_started && self.shape == Shape::Pairs {
            out.write_all(b"]")?;
        }
        if self.left == 0 {
            out.write_all(if self.shape == Shape::Object { b"}" } else { b"]" })?;
            return Ok(false);
        }
        out.write_all(match (self.shape, is_key, self.is_started) {
            (Shape::Object, false, _) => b":",
            (Shape::Pairs, true, false) => b"[",
            (Shape::Pairs, true, true) => b",[",
            (_, _, true) => b",",
            (_, _, false) => b"",
        })?;
        self.is_started = true;
        self.left -= 1;
        Ok(true)
    }
}

/// For each table, in the order of their heads, whether it can be an object: whether its keys are all of one type that
/// is written as text, and differ as text.
#[derive(Debug, Clone, Default)]
struct TextKeys {
    found: Vec<bool>,
    open: Vec<OpenKeys>,
}

/// An open container whose keys are looked at.
#[derive(Debug, Clone)]
struct OpenKeys {
    /// The table's index in the result; `None` for other containers.
    table: Option<usize>,
    /// The type of the keys so far.
    kind: Option<Kind>,
    left: usize,
}

impl TextKeys {
    /// Looks at all tables of a value. In one pass over all values, since a pass a table would be one a level.
    fn find(&mut self, bytes: &[u8]) -> Result<(), ValueError> {
        let TextKeys { found, open } = self;
        let mut reader = ItemReader::new(bytes, &Limits::default())?;
        found.clear();
        open.clear();
        loop {
            let item = reader.item()?;
            if let Some(OpenKeys { table: Some(table), kind, left }) = open.last_mut()
                && !left.is_multiple_of(2)
                && (!is_text(item) || kind.replace(item.kind()).is_some_and(|kind| kind != item.kind()))
                && let Some(place) = found.get_mut(*table)
            {
                *place = false;
            }
            match item {
                Item::Set(left) | Item::Vector(left) => open.push(OpenKeys { table: None, kind: None, left }),
                Item::Table(pairs) => {
                    open.push(OpenKeys { table: Some(found.len()), kind: None, left: pairs * 2 });
                    found.push(true);
                }
                _ => {}
            }
            while open.last().is_some_and(|container| container.left == 0) {
                open.pop();
            }
            match open.last_mut() {
                Some(container) => container.left -= 1,
                None => return Ok(()),
            }
        }
    }
}

/// Whether a value's text is unique among the values of its type.
fn is_text(item: Item<'_>) -> bool {
    match item {
        // Replaced characters could make two keys equal.
        Item::String(text) | Item::Enum(text) => is_verbatim(text) || std::str::from_utf8(text).is_ok(),
        Item::Subnet(subnet) => subnet.is_canonical(),
        Item::Address(_) | Item::Port(_) | Item::Timestamp(_) | Item::Timespan(_) => true,
        _ => false,
    }
}

pub(super) fn write_scalar(item: Item<'_>, out: &mut impl Write) -> io::Result<()> {
    match item {
        Item::Boolean(boolean) => out.write_all(if boolean { b"true" } else { b"false" }),
        Item::Count(count) => Ok(serde_json::to_writer(out, &count)?),
        Item::Integer(integer) => Ok(serde_json::to_writer(out, &integer)?),
        Item::Real(real) => match special_real(real) {
            Some(name) => write!(out, "\"{name}\""),
            None => Ok(serde_json::to_writer(out, &real)?),
        },
        Item::String(text) | Item::Enum(text) => write_text(text, out),
        Item::Address(address) => match address.to_ip() {
            IpAddr::V4(address) => write_ipv4(address, out),
            IpAddr::V6(address) => write!(out, "\"{address}\""),
        },
        Item::Subnet(subnet) => write!(out, "\"{subnet}\""),
        Item::Port(port) => {
            out.write_all(b"\"")?;
            serde_json::to_writer(&mut *out, &port.number)?;
            out.write_all(b"/")?;
            out.write_all(port.protocol.name().as_bytes())?;
            out.write_all(b"\"")
        }
        Item::Timestamp(time) => {
            out.write_all(b"\"")?;
            out.write_all(&Rfc3339(time).bytes())?;
            out.write_all(b"\"")
        }
        Item::Timespan(span) => write!(out, "\"{}\"", Seconds(span)),
        Item::None | Item::Set(_) | Item::Table(_) | Item::Vector(_) => out.write_all(b"null"),
    }
}

/// Writes a string; bytes that aren't UTF-8 are replaced.
pub(super) fn write_text(text: &[u8], out: &mut impl Write) -> io::Result<()> {
    if !is_verbatim(text) {
        return Ok(serde_json::to_writer(out, &String::from_utf8_lossy(text))?);
    }
    out.write_all(b"\"")?;
    out.write_all(text)?;
    out.write_all(b"\"")
}

/// Whether JSON has the text as it is: ASCII without control characters, quotes and backslashes.
fn is_verbatim(text: &[u8]) -> bool {
    // The last group overlaps the one before it.
    if let Some(last) = text.last_chunk::<16>() {
        return text.as_chunks::<16>().0.iter().chain([last]).all(is_group_verbatim);
    }
    match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => is_group_verbatim(first) && is_group_verbatim(last),
        _ => !text.iter().any(is_special),
    }
}

/// Looks at every byte, so that the compiler looks at all of them at once.
fn is_group_verbatim<const N: usize>(group: &[u8; N]) -> bool {
    !group.iter().fold(false, |found, byte| found | is_special(byte))
}

fn is_special(byte: &u8) -> bool {
    *byte < 0x20 || *byte >= 0x80 || *byte == b'"' || *byte == b'\\'
}

/// Writes a dotted quad.
fn write_ipv4(address: Ipv4Addr, out: &mut impl Write) -> io::Result<()> {
    for (octet, before) in address.octets().iter().zip([b"\"", b".", b".", b"."]) {
        out.write_all(before)?;
        serde_json::to_writer(&mut *out, octet)?;
    }
    out.write_all(b"\"")
}

/// Reads any JSON value into `out`.
pub(super) struct PlainSeed<'s, 'o> {
    pub(super) out: &'s mut ItemWriter<'o>,
    /// Depth of the value; the outermost is at 1.
    pub(super) depth: usize,
}

impl<'de> DeserializeSeed<'de> for PlainSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.depth > DEPTH_MAX {
            return Err(D::Error::custom(super::TOO_DEEP));
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PlainSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.out.put(Item::None);
        Ok(())
    }

    fn visit_bool<E: Error>(self, boolean: bool) -> Result<(), E> {
        self.out.put(Item::Boolean(boolean));
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.out.put(Item::Count(number));
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.out.put(Item::Integer(number));
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.out.put(Item::Real(number));
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.out.put(Item::String(text.as_bytes()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let PlainSeed { out, depth } = self;
        let container = out.begin(Kind::Vector);
        let mut count = 0;
        while elements.next_element_seed(PlainSeed { out, depth: depth + 1 })?.is_some() {
            count += 1;
        }
        out.end(container, count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let PlainSeed { out, depth } = self;
        let container = out.begin(Kind::Table);
        let mut count = 0;
        while fields.next_key_seed(PlainSeed { out, depth: depth + 1 })?.is_some() {
            fields.next_value_seed(PlainSeed { out, depth: depth + 1 })?;
            count += 1;
        }
        out.end(container, count);
        Ok(())
    }
}
