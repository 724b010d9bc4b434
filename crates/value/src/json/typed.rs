//! JSON that keeps every value's type: `{"@data-type":"count","data":42}`.
//!
//! It is the mapping of Broker's WebSocket API, but never loses information and always writes valid JSON; the original
//! still reads it where it can. See docs/values.md.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::value::RawValue;

use super::text::{Hex, WholeSpan, ZonelessTime, read_hex, read_span, read_special_real, read_time, special_real};
use super::{DEPTH_MAX, ReadError, WriteError, read_with, text_of};
use crate::item::{Item, ItemReader, ItemWriter};
use crate::{Address, Kind, Limits, Port, PortError, Protocol, Subnet};

/// Writes the value in `bytes` as one JSON object, without white space. Duplicates in sets and tables are written, not
/// rejected. After an error, part of the text may have been written.
pub fn write(bytes: &[u8], out: &mut impl Write) -> Result<(), WriteError> {
    let mut reader = ItemReader::new(bytes, &Limits::default())?;
    // The open containers, innermost last.
    let mut open: Vec<Open> = Vec::new();
    loop {
        match write_item(reader.item()?, out)? {
            Some(container) => open.push(container),
            None => out.write_all(b"}")?,
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

/// The value in `bytes` as one JSON object, without white space.
pub fn to_string(bytes: &[u8]) -> Result<String, WriteError> {
    let mut out = Vec::with_capacity(bytes.len() * 4);
    write(bytes, &mut out)?;
    Ok(text_of(out))
}

/// Reads one JSON object and appends the bytes of its value to `out`; elements of sets and tables stay in the order of
/// the text. Up to [`DEPTH_MAX`] deep. After an error, `out` is unchanged.
pub fn read(json: &[u8], out: &mut Vec<u8>) -> Result<(), ReadError> {
    let json = serde_json::Deserializer::from_slice(json);
    Ok(read_with(json, out, |out, json| ValueSeed { out, depth: 1 }.deserialize(json))?.finish()?)
}

/// Whether the text is an object with a field `@data-type`: a value of this mapping, possibly an invalid one.
/// Returns false if the JSON is invalid before that field.
pub fn is_typed(json: &[u8]) -> bool {
    let mut is_typed = false;
    let mut json = serde_json::Deserializer::from_slice(json);
    let _ = json.deserialize_map(TypeField(&mut is_typed));
    is_typed
}

/// Searches for the field with the type.
struct TypeField<'t>(&'t mut bool);

impl<'de> Visitor<'de> for TypeField<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = fields.next_key::<Key<'de>>()? {
            *self.0 |= name == "@data-type";
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// An open container.
struct Open {
    is_table: bool,
    is_started: bool,
    /// Remaining values; a pair counts as two.
    left: usize,
}

impl Open {
    /// Writes the separator before the container's next value, or its end; returns whether there is a next one.
    fn write_next(&mut self, out: &mut impl Write) -> io::Result<bool> {
        let is_key = self.is_table && self.left.is_multiple_of(2);
        if is_key && self.is_started {
            out.write_all(b"}")?;
        }
        if self.left == 0 {
            out.write_all(b"]}")?;
            return Ok(false);
        }
        out.write_all(match (self.is_table, is_key, self.is_started) {
            (true, true, false) => b"{\"key\":",
            (true, true, true) => b",{\"key\":",
            (true, false, _) => b",\"value\":",
            (false, _, true) => b",",
            (false, _, false) => b"",
        })?;
        self.is_started = true;
        self.left -= 1;
        Ok(true)
    }
}

/// Writes a value up to its closing brace, or a container up to its first element.
fn write_item(item: Item<'_>, out: &mut impl Write) -> io::Result<Option<Open>> {
    write!(out, "{{\"@data-type\":\"{}\",", item.kind().name())?;
    let (is_table, left) = match item {
        Item::Set(elements) | Item::Vector(elements) => (false, elements),
        Item::Table(pairs) => (true, pairs * 2),
        _ => {
            write_data(item, out)?;
            return Ok(None);
        }
    };
    out.write_all(b"\"data\":[")?;
    Ok(Some(Open { is_table, is_started: false, left }))
}

fn write_data(item: Item<'_>, out: &mut impl Write) -> io::Result<()> {
    let text = match item {
        Item::String(text) | Item::Enum(text) => Some(String::from_utf8_lossy(text)),
        Item::Subnet(subnet) if !subnet.is_canonical() => Some(Cow::Owned(subnet.to_string())),
        _ => None,
    };
    if let Some(text) = text {
        // If the text loses information, the bytes are written in addition.
        match item {
            Item::String(bytes) | Item::Enum(bytes) if matches!(text, Cow::Owned(_)) => write_bytes(bytes, out)?,
            Item::Subnet(subnet) => write_bytes(&subnet.to_bytes(), out)?,
            _ => {}
        }
        out.write_all(b"\"data\":")?;
        return Ok(serde_json::to_writer(out, &text)?);
    }
    out.write_all(b"\"data\":")?;
    match item {
        Item::Boolean(boolean) => write!(out, "{boolean}"),
        Item::Count(count) => write!(out, "{count}"),
        Item::Integer(integer) => write!(out, "{integer}"),
        Item::Real(real) => match special_real(real) {
            Some(name) => write!(out, "\"{name}\""),
            None => Ok(serde_json::to_writer(out, &real)?),
        },
        Item::Address(address) => write!(out, "\"{address}\""),
        Item::Subnet(subnet) => write!(out, "\"{subnet}\""),
        Item::Port(port) => write!(out, "\"{port}\""),
        Item::Timestamp(time) => write!(out, "\"{}\"", ZonelessTime(time)),
        Item::Timespan(span) => write!(out, "\"{}\"", WholeSpan(span)),
        _ => out.write_all(b"{}"),
    }
}

fn write_bytes(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    write!(out, "\"@bytes\":\"{}\",", Hex(bytes))
}

/// Reads a value object into `out`.
struct ValueSeed<'s, 'o> {
    out: &'s mut ItemWriter<'o>,
    /// Depth of the value; the outermost is at 1.
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.depth > DEPTH_MAX {
            return Err(D::Error::custom(super::TOO_DEEP));
        }
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(r#"a value such as {"@data-type":"count","data":42}"#)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let ValueSeed { out, depth } = self;
        let mut kind = None;
        let mut bytes: Option<Cow<'de, str>> = None;
        // Data that came before its type.
        let mut early: Option<&'de RawValue> = None;
        let mut data = None;
        while let Some(Key(name)) = fields.next_key::<Key<'de>>()? {
            match &*name {
                "@data-type" if kind.is_none() => {
                    let Key(name) = fields.next_value()?;
                    kind = Some(kind_of_name(&name).ok_or_else(|| A::Error::custom(no_type(&name)))?);
                }
                "data" if data.is_none() && early.is_none() => match kind {
                    Some(kind) => data = Some(fields.next_value_seed(DataSeed { kind, out, depth })?),
                    None => early = Some(fields.next_value()?),
                },
                "@bytes" if bytes.is_none() => bytes = Some(fields.next_value::<Key<'de>>()?.0),
                "@data-type" | "data" | "@bytes" => {
                    return Err(A::Error::custom(format_args!("\"{name}\" is duplicate; give it once")));
                }
                _ => _ = fields.next_value::<IgnoredAny>()?,
            }
        }
        let kind = kind.ok_or_else(|| A::Error::missing_field("@data-type"))?;
        if let Some(early) = early {
            let mut json = serde_json::Deserializer::from_str(early.get());
            json.disable_recursion_limit();
            data = Some(DataSeed { kind, out, depth }.deserialize(&mut json).map_err(A::Error::custom)?);
        }
        match data {
            Some(Data::Written) if bytes.is_none() => Ok(()),
            Some(Data::Text(text)) => match bytes {
                None => put_text(kind, &text, out),
                Some(bytes) => put_bytes(kind, &text, &bytes, out),
            }
            .map_err(A::Error::custom),
            Some(Data::Written) => {
                Err(A::Error::custom("\"@bytes\" belongs to strings, enum-values and subnets only; leave it out"))
            }
            None if kind == Kind::None => {
                out.put(Item::None);
                Ok(())
            }
            None => Err(A::Error::missing_field("data")),
        }
    }
}

fn kind_of_name(name: &str) -> Option<Kind> {
    (0..).map_while(Kind::of_tag).find(|kind| kind.name() == name)
}

fn no_type(name: &str) -> String {
    let names: Vec<&str> = (0..).map_while(Kind::of_tag).map(Kind::name).collect();
    format!("{name:?} isn't a type; write one of {}", names.join(", "))
}

/// A string of the JSON text, borrowed if it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Key<'de>, D::Error> {
        json.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(text.to_owned())))
    }
}

/// The result of reading a value's data.
enum Data<'de> {
    /// The output.
    Written,
    /// A text, which the type parses.
    Text(Cow<'de, str>),
}

/// Reads the data of a value of a known type.
struct DataSeed<'s, 'o> {
    kind: Kind,
    out: &'s mut ItemWriter<'o>,
    depth: usize,
}

impl DataSeed<'_, '_> {
    fn put<'de, E>(self, item: Item<'_>) -> Result<Data<'de>, E> {
        self.out.put(item);
        Ok(Data::Written)
    }

    fn takes_text(&self) -> bool {
        !matches!(
            self.kind,
            Kind::None | Kind::Boolean | Kind::Count | Kind::Integer | Kind::Set | Kind::Table | Kind::Vector
        )
    }
}

impl<'de> DeserializeSeed<'de> for DataSeed<'_, '_> {
    type Value = Data<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Data<'de>, D::Error> {
        if self.kind == Kind::None {
            json.deserialize_ignored_any(IgnoredAny)?;
            return self.put(Item::None);
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DataSeed<'_, '_> {
    type Value = Data<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.kind {
            Kind::None => "anything for a none",
            Kind::Boolean => "true or false for a boolean",
            Kind::Count => "a whole number from 0 to 18446744073709551615 for a count",
            Kind::Integer => "a whole number from -9223372036854775808 to 9223372036854775807 for an integer",
            Kind::Real => "a number with a point or an exponent for a real, or \"inf\", \"-inf\" or \"nan\"",
            Kind::String => "a string",
            Kind::Address => "an address such as \"192.0.2.1\" or \"2001:db8::1\"",
            Kind::Subnet => "a subnet such as \"192.0.2.0/24\"",
            Kind::Port => "a port such as \"53/udp\"",
            Kind::Timestamp => "a timestamp such as \"2022-04-10T07:00:00.000\"",
            Kind::Timespan => "a timespan such as \"1500ms\"",
            Kind::Enum => "a string, the name of an enum-value",
            Kind::Set => "an array of values for a set",
            Kind::Table => "an array of {\"key\":value,\"value\":value} for a table",
            Kind::Vector => "an array of values for a vector",
        })
    }

    fn visit_bool<E: Error>(self, boolean: bool) -> Result<Data<'de>, E> {
        match self.kind {
            Kind::Boolean => self.put(Item::Boolean(boolean)),
            _ => Err(E::invalid_type(Unexpected::Bool(boolean), &self)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Data<'de>, E> {
        match (self.kind, i64::try_from(number)) {
            (Kind::Count, _) => self.put(Item::Count(number)),
            (Kind::Integer, Ok(number)) => self.put(Item::Integer(number)),
            _ => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Data<'de>, E> {
        match self.kind {
            Kind::Integer => self.put(Item::Integer(number)),
            _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Data<'de>, E> {
        match self.kind {
            Kind::Real => self.put(Item::Real(number)),
            _ => Err(E::invalid_value(Unexpected::Float(number), &self)),
        }
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Data<'de>, E> {
        match self.takes_text() {
            true => Ok(Data::Text(Cow::Borrowed(text))),
            false => Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Data<'de>, E> {
        match self.takes_text() {
            true => Ok(Data::Text(Cow::Owned(text.to_owned()))),
            false => Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Data<'de>, A::Error> {
        if !matches!(self.kind, Kind::Set | Kind::Table | Kind::Vector) {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let DataSeed { kind, out, depth } = self;
        let container = out.begin(kind);
        let mut count = 0;
        if kind == Kind::Table {
            while elements.next_element_seed(PairSeed { out, depth: depth + 1 })?.is_some() {
                count += 1;
            }
        } else {
            while elements.next_element_seed(ValueSeed { out, depth: depth + 1 })?.is_some() {
                count += 1;
            }
        }
        out.end(container, count);
        Ok(Data::Written)
    }
}

/// Reads a pair of a table: the key into `out`, then the value.
struct PairSeed<'s, 'o> {
    out: &'s mut ItemWriter<'o>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for PairSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PairSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table's pair: {\"key\":value,\"value\":value}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let PairSeed { out, depth } = self;
        let start = out.position();
        // Start of the key, if present, and of the value.
        let (mut key_at, mut value_at) = (None, None);
        while let Some(Key(name)) = fields.next_key::<Key<'de>>()? {
            let place = match &*name {
                "key" => &mut key_at,
                "value" => &mut value_at,
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if place.replace(out.position()).is_some() {
                return Err(A::Error::custom(format_args!("\"{name}\" is duplicate in a pair; give it once")));
            }
            fields.next_value_seed(ValueSeed { out, depth })?;
        }
        let key_at = key_at.ok_or_else(|| A::Error::missing_field("key"))?;
        value_at.ok_or_else(|| A::Error::missing_field("value"))?;
        // The value came first: swap the two.
        if key_at > start {
            out.swap(start, key_at);
        }
        Ok(())
    }
}

/// Appends a value whose type JSON represents as text.
fn put_text(kind: Kind, text: &str, out: &mut ItemWriter<'_>) -> Result<(), String> {
    let unread = |expected: &str| format!("{text:?} is not {expected}");
    let item = match kind {
        Kind::String => Item::String(text.as_bytes()),
        Kind::Enum => Item::Enum(text.as_bytes()),
        Kind::Address => Item::Address(text.parse::<Address>().map_err(|error| format!("{text:?}: {error}"))?),
        Kind::Subnet => Item::Subnet(text.parse::<Subnet>().map_err(|error| format!("{text:?}: {error}"))?),
        Kind::Port => Item::Port(read_port(text).map_err(|error| format!("{text:?}: {error}"))?),
        Kind::Timestamp => Item::Timestamp(read_time(text).ok_or_else(|| {
            unread("a timestamp from 1677-09-21 to 2262-04-11; write it as 2022-04-10T07:00:00.123456789Z")
        })?),
        Kind::Timespan => Item::Timespan(read_span(text).ok_or_else(|| {
            unread("a timespan that 64 bits of nanoseconds hold exactly; write a number and ns, us, ms, s, min or h")
        })?),
        Kind::Real => Item::Real(read_special_real(text).ok_or_else(|| {
            unread("a real; write a number with a point or an exponent, or \"inf\", \"-inf\" or \"nan\"")
        })?),
        _ => return Err(unread("data of this type")),
    };
    out.put(item);
    Ok(())
}

/// Parses a port; the default protocol is TCP, as in the original.
fn read_port(text: &str) -> Result<Port, PortError> {
    if text.contains('/') {
        return text.parse();
    }
    format!("{text}/{}", Protocol::Tcp.name()).parse()
}

/// Appends a value whose text isn't exact.
fn put_bytes(kind: Kind, text: &str, hex: &str, out: &mut ItemWriter<'_>) -> Result<(), String> {
    let bytes = read_hex(hex).ok_or("\"@bytes\" is not pairs of hexadecimal digits; write them as in \"fffe\"")?;
    let differs = || "\"@bytes\" and \"data\" say different things; change both, or leave \"@bytes\" out".to_owned();
    match kind {
        Kind::String | Kind::Enum => {
            if String::from_utf8_lossy(&bytes) != text {
                return Err(differs());
            }
            let item = if kind == Kind::Enum { Item::Enum(&bytes) } else { Item::String(&bytes) };
            out.put(item);
        }
        Kind::Subnet => {
            let subnet =
                bytes.as_array().map(|bytes| Subnet::from_bytes(*bytes)).filter(|subnet| subnet.to_string() == text);
            out.put(Item::Subnet(subnet.ok_or_else(differs)?));
        }
        _ => return Err("\"@bytes\" belongs to strings, enum-values and subnets only; leave it out".to_owned()),
    }
    Ok(())
}
