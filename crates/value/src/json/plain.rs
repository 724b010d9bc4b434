//! Human-readable JSON: `{"host":"10.0.0.1","port":"53/udp","seconds":1.5}`.
//!
//! Values are written without their types. Reading such a text returns values of JSON's types: numbers, strings,
//! arrays; not addresses and times.

use std::fmt;
use std::io::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::text::{Rfc3339, Seconds, special_real};
use super::{DEPTH_MAX, ReadError, WriteError, read_with, text_of};
use crate::item::{Item, ItemReader, ItemWriter};
use crate::{Kind, Limits, Value, ValueError};

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
    let mut text_keys = tables_with_text_keys(bytes)?.into_iter();
    let mut reader = ItemReader::new(bytes, &Limits::default())?;
    // The open containers, innermost last.
    let mut open: Vec<Open> = Vec::new();
    loop {
        let item = reader.item()?;
        let (shape, left) = match item {
            Item::Set(elements) | Item::Vector(elements) => (Shape::Array, elements),
            Item::Table(pairs) if text_keys.next() == Some(true) => (Shape::Object, pairs * 2),
            Item::Table(pairs) => (Shape::Pairs, pairs * 2),
            _ => {
                write_scalar(item, out)?;
                (Shape::Scalar, 0)
            }
        };
        if shape != Shape::Scalar {
            out.write_all(if shape == Shape::Object { b"{" } else { b"[" })?;
            open.push(Open { shape, is_started: false, left });
        }
        // After a value comes the end of every container that it completes, then the separator before the next value.
        loop {
            let Some(container) = open.last_mut() else {
                return Ok(reader.finish()?);
            };
            if container.write_next(out)? {
                break;
            }
            open.pop();
        }
    }
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
    Ok(append(json, out)?.finish()?)
}

/// Reads a value as [`read`] does, as a tree.
pub(super) fn read_tree(json: &[u8]) -> Result<Value, ReadError> {
    let mut bytes = Vec::with_capacity(json.len());
    append(json, &mut bytes)?;
    // Also finds duplicates.
    Ok(Value::decode(&bytes, &Limits::default())?)
}

fn append<'o>(json: &[u8], out: &'o mut Vec<u8>) -> Result<ItemWriter<'o>, ReadError> {
    read_with(json, out, |out, json| PlainSeed { out, depth: 1 }.deserialize(json))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Scalar,
    Array,
    /// A table as an object.
    Object,
    /// A table as an array of arrays of two.
    Pairs,
}

/// An open container.
struct Open {
    shape: Shape,
    is_started: bool,
    /// Remaining values; a pair counts as two.
    left: usize,
}

impl Open {
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
/// is written as text, and differ as text. In one pass over all values, since a pass a table would be one a level.
fn tables_with_text_keys(bytes: &[u8]) -> Result<Vec<bool>, ValueError> {
    struct Open {
        /// The table's index in the result; `None` for other containers.
        table: Option<usize>,
        /// The type of the keys so far.
        kind: Option<Kind>,
        left: usize,
    }

    let mut reader = ItemReader::new(bytes, &Limits::default())?;
    let mut answer = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    loop {
        let item = reader.item()?;
        if let Some(Open { table: Some(table), kind, left }) = open.last_mut()
            && !left.is_multiple_of(2)
            && (!is_text(item) || kind.replace(item.kind()).is_some_and(|kind| kind != item.kind()))
            && let Some(place) = answer.get_mut(*table)
        {
            *place = false;
        }
        match item {
            Item::Set(left) | Item::Vector(left) => open.push(Open { table: None, kind: None, left }),
            Item::Table(pairs) => {
                open.push(Open { table: Some(answer.len()), kind: None, left: pairs * 2 });
                answer.push(true);
            }
            _ => {}
        }
        while open.last().is_some_and(|container| container.left == 0) {
            open.pop();
        }
        match open.last_mut() {
            Some(container) => container.left -= 1,
            None => return Ok(answer),
        }
    }
}

/// Whether a value's text is unique among the values of its type.
fn is_text(item: Item<'_>) -> bool {
    match item {
        // Replaced characters could make two keys equal.
        Item::String(text) | Item::Enum(text) => std::str::from_utf8(text).is_ok(),
        Item::Subnet(subnet) => subnet.is_canonical(),
        Item::Address(_) | Item::Port(_) | Item::Timestamp(_) | Item::Timespan(_) => true,
        _ => false,
    }
}

fn write_scalar(item: Item<'_>, out: &mut impl Write) -> io::Result<()> {
    match item {
        Item::Boolean(boolean) => write!(out, "{boolean}"),
        Item::Count(count) => write!(out, "{count}"),
        Item::Integer(integer) => write!(out, "{integer}"),
        Item::Real(real) => match special_real(real) {
            Some(name) => write!(out, "\"{name}\""),
            None => Ok(serde_json::to_writer(out, &real)?),
        },
        Item::String(text) | Item::Enum(text) => Ok(serde_json::to_writer(out, &String::from_utf8_lossy(text))?),
        Item::Address(address) => write!(out, "\"{address}\""),
        Item::Subnet(subnet) => write!(out, "\"{subnet}\""),
        Item::Port(port) => write!(out, "\"{port}\""),
        Item::Timestamp(time) => write!(out, "\"{}\"", Rfc3339(time)),
        Item::Timespan(span) => write!(out, "\"{}\"", Seconds(span)),
        Item::None | Item::Set(_) | Item::Table(_) | Item::Vector(_) => out.write_all(b"null"),
    }
}

/// Reads any JSON value into `out`.
struct PlainSeed<'s, 'o> {
    out: &'s mut ItemWriter<'o>,
    /// Depth of the value; the outermost is at 1.
    depth: usize,
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
