//! Plain JSON whose fields get types that JSON does not have: `{"host":"10.0.0.1"}` with `host=address`.
//!
//! Common objects are read in one pass (`one_pass_read.rs`). Other objects, and all errors, take these steps:
//!
//! ```text
//! JSON ─► the bytes of a plain value, ─► an index of them, ─► the bytes of the result
//!         times read from their digits   tables ascending     fields converted, tables and sets ascending
//! ```

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, Error, MapAccess, Visitor};
use serde_json::Deserializer;
use serde_json::de::{Read, StrRead};
use serde_json::value::RawValue;

use super::one_pass_read::OnePassReader;
use super::plain::{self, PlainSeed};
use super::{DEPTH_MAX, ReadError, read_with};
use crate::item::{Item, ItemReader, ItemWriter};
use crate::order;
use crate::variant::{ListView, TableView};
use crate::wire::put_sized;
use crate::{Decoder, FieldHint, Hint, Kind, Limits, MisfitError, Protocol, ValueError, Variant};

/// The text isn't a JSON object, or its fields aren't of the requested types.
#[derive(Debug, thiserror::Error)]
pub enum HintedError {
    /// It isn't JSON, or exceeds the limits of a value.
    #[error(transparent)]
    Json(#[from] ReadError),
    /// It has no fields.
    #[error("types are given for fields, but this isn't an object; write it as {{\"field\":value}}")]
    NoObject,
    /// A field's value does not fit.
    #[error("field {field}: {reason}")]
    Field {
        /// Its name.
        field: String,
        /// Why not.
        reason: MisfitError,
    },
}

impl From<ValueError> for HintedError {
    fn from(error: ValueError) -> HintedError {
        HintedError::Json(error.into())
    }
}

/// Reads one JSON object as [`Reader::read`] does.
pub fn read(json: &[u8], fields: &[FieldHint], out: &mut Vec<u8>) -> Result<(), HintedError> {
    Reader::new(fields.to_vec()).read(json, out)
}

/// Reads JSON objects whose fields have the same requested types, one after the other. Reuses its memory: it allocates
/// only while that grows.
#[derive(Debug, Clone)]
pub struct Reader {
    fields: Vec<FieldHint>,
    /// Which hints have named a field of an object so far, by their index.
    seen: Vec<bool>,
    /// Whether a hint asks for times.
    has_times: bool,
    /// Whether a hint takes a port's protocol from another field, which isn't read in one pass: a try would only cost.
    has_protocols: bool,
    /// The object as a plain value, in the order of the text.
    plain: Vec<u8>,
    decoder: Decoder,
    work: Work,
    one_pass: OnePassReader,
}

/// Memory that is reused.
#[derive(Debug, Clone, Default)]
struct Work {
    /// The path of the object being read or written, and a dot; empty for the outermost. Then a field's name.
    path: Vec<u8>,
    /// The elements of a set, ascending.
    order: Vec<usize>,
}

impl Reader {
    /// A reader with these types for fields; the first hint for a field counts.
    pub fn new(fields: Vec<FieldHint>) -> Reader {
        Reader {
            seen: vec![false; fields.len()],
            has_times: fields.iter().any(|field| field.hint.is_time()),
            has_protocols: fields.iter().any(|field| field.hint.protocol_field().is_some()),
            fields,
            plain: Vec::new(),
            decoder: Decoder::default(),
            work: Work::default(),
            one_pass: OnePassReader::default(),
        }
    }

    /// The requested types, each with whether it has named a field so far.
    pub fn seen(&self) -> impl Iterator<Item = (&FieldHint, bool)> {
        self.fields.iter().zip(self.seen.iter().copied())
    }

    /// Counts what another reader of the same types has seen as seen.
    pub fn merge_seen(&mut self, other: &Reader) {
        assert_eq!(self.seen.len(), other.seen.len(), "readers of other types");
        self.seen.iter_mut().zip(&other.seen).for_each(|(seen, other)| *seen |= other);
    }

    /// Reads one JSON object as [`plain::read`] does and appends the bytes of its table to `out`, with its fields
    /// converted to the requested types. After an error, `out` is unchanged.
    ///
    /// - A field of a nested object is named by its path, such as `id.orig_h`; a field with that exact name has
    ///   priority.
    /// - Text is parsed as the type: `"10.0.0.1"`, `"53/udp"`, `"1500ms"`, or the name of an enum.
    /// - A number is a time or a duration in seconds, exact to the nanosecond, a port, or a number of the type: `1.0`
    ///   and `1e3` are whole ones.
    /// - The field with a port's protocol is in the same object.
    /// - An array becomes a set if requested, without duplicates; otherwise the type applies to its elements.
    /// - `null` becomes none.
    ///
    /// Objects in arrays keep JSON's types. All tables and sets are ascending.
    pub fn read(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), HintedError> {
        let start = out.len();
        // Addresses are longer than their text, so the length is known at last.
        let written = self.write_object(json, out).and_then(|()| {
            let written = out.get(start..).unwrap_or_default();
            ItemReader::new(written, &Limits::default()).map(drop).map_err(HintedError::from)
        });
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_object(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), HintedError> {
        if !self.has_protocols
            && let Some(object) = self.one_pass.read(json, &self.fields, &mut self.seen)
        {
            out.extend_from_slice(object);
            return Ok(());
        }
        self.write_any_object(json, out)
    }

    /// Writes an object of any form.
    pub(super) fn write_any_object(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), HintedError> {
        self.read_plain(json)?;
        let Reader { fields, seen, plain, decoder, work, .. } = self;
        let Some(table) = decoder.decode(plain)?.as_table() else {
            return Err(HintedError::NoObject);
        };
        work.path.clear();
        Tables { fields, seen, work }.put_table(table, out)
    }

    /// Reads the object into `plain`. A number of seconds that is converted to a time is one there already: the plain
    /// value would have a double, which doesn't hold the number's digits.
    fn read_plain(&mut self, json: &[u8]) -> Result<(), HintedError> {
        let Reader { fields, plain, work: Work { path, .. }, has_times, .. } = self;
        plain.clear();
        if *has_times
            && json.trim_ascii_start().first() == Some(&b'{')
            && let Ok(text) = str::from_utf8(json)
        {
            path.clear();
            let seed = |out: &mut ItemWriter<'_>, json: &mut _| ObjectSeed { fields, path, out, depth: 1 }.read(json);
            if read_with(Deserializer::from_str(text), plain, seed).is_ok() {
                return Ok(());
            }
            // Positions in a part of the text say less: read all of it, for the error.
        }
        plain::append(json, plain)?;
        Ok(())
    }
}

/// Reads an object, with the numbers in its fields of times as times.
struct ObjectSeed<'s, 'o> {
    fields: &'s [FieldHint],
    path: &'s mut Vec<u8>,
    out: &'s mut ItemWriter<'o>,
    /// Depth of the object; the outermost is at 1.
    depth: usize,
}

impl ObjectSeed<'_, '_> {
    fn read<'de>(self, json: &mut Deserializer<impl Read<'de>>) -> serde_json::Result<()> {
        if self.depth > DEPTH_MAX {
            return Err(Error::custom(super::TOO_DEEP));
        }
        json.deserialize_map(self)
    }

    /// Reads a field's value.
    fn read_field<'de, A: MapAccess<'de>>(&mut self, fields: &mut A) -> Result<(), A::Error> {
        let depth = self.depth + 1;
        let read = match hint_of(self.fields, self.path) {
            Some(hint) if hint.is_time() => read_times(fields.next_value()?, hint, self.out, depth),
            None if has_hints_within(self.fields, self.path) => self.read_inner(fields.next_value()?, depth),
            _ => return fields.next_value_seed(PlainSeed { out: self.out, depth }),
        };
        read.map_err(Error::custom)
    }

    /// Reads the value of a field that has hints for the fields in it.
    fn read_inner(&mut self, raw: &RawValue, depth: usize) -> serde_json::Result<()> {
        let mut json = part(raw);
        if !raw.get().starts_with('{') {
            return PlainSeed { out: self.out, depth }.deserialize(&mut json);
        }
        self.path.push(b'.');
        ObjectSeed { fields: self.fields, path: self.path, out: self.out, depth }.read(&mut json)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let container = self.out.begin(Kind::Table);
        let mut count = 0;
        let length = self.path.len();
        while fields.next_key_seed(NameSeed { path: self.path, out: self.out })?.is_some() {
            self.read_field(&mut fields)?;
            self.path.truncate(length);
            count += 1;
        }
        self.out.end(container, count);
        Ok(())
    }
}

/// Reads the name of a field into the output, and appends it to the path.
struct NameSeed<'s, 'o> {
    path: &'s mut Vec<u8>,
    out: &'s mut ItemWriter<'o>,
}

impl<'de> DeserializeSeed<'de> for NameSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a field's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.path.extend_from_slice(name.as_bytes());
        self.out.put(Item::String(name.as_bytes()));
        Ok(())
    }
}

/// A reader of a part of a text, whose nesting the seeds limit.
fn part(raw: &RawValue) -> Deserializer<StrRead<'_>> {
    let mut json = Deserializer::from_str(raw.get());
    json.disable_recursion_limit();
    json
}

/// Reads a value whose numbers, even in arrays, are times. Other values are unchanged.
fn read_times(raw: &RawValue, hint: &Hint, out: &mut ItemWriter<'_>, depth: usize) -> serde_json::Result<()> {
    if let Some(time) = hint.time_of_seconds(raw.get()) {
        out.put(time);
        return Ok(());
    }
    if !raw.get().starts_with('[') {
        return PlainSeed { out, depth }.deserialize(&mut part(raw));
    }
    if depth > DEPTH_MAX {
        return Err(Error::custom(super::TOO_DEEP));
    }
    let elements: Vec<&RawValue> = serde::Deserialize::deserialize(&mut part(raw))?;
    let container = out.begin(Kind::Vector);
    elements.iter().try_for_each(|element| read_times(element, hint, out, depth + 1))?;
    out.end(container, elements.len());
    Ok(())
}

/// Index of the first hint for the field of this name in the object at the path `outer`, which ends in a dot unless it
/// is empty.
#[inline]
pub(super) fn place_of(fields: &[FieldHint], outer: &[u8], name: &[u8]) -> Option<usize> {
    // Most names of one length differ in their last byte, which saves a call.
    fields.iter().position(|FieldHint { field, .. }| {
        field.len() == outer.len() + name.len()
            && field.as_bytes().last() == name.last().or(outer.last())
            && field.as_bytes().ends_with(name)
            && field.as_bytes().starts_with(outer)
    })
}

/// The first hint for the field at this path.
fn hint_of<'h>(fields: &'h [FieldHint], path: &[u8]) -> Option<&'h Hint> {
    place_of(fields, &[], path).and_then(|place| fields.get(place)).map(|field| &field.hint)
}

/// Whether a hint names a field of the object at `path`.
fn has_hints_within(fields: &[FieldHint], path: &[u8]) -> bool {
    fields.iter().any(|FieldHint { field, .. }| {
        field.as_bytes().get(path.len()) == Some(&b'.') && field.as_bytes().starts_with(path)
    })
}

/// Writes tables with the requested types.
struct Tables<'h> {
    fields: &'h [FieldHint],
    seen: &'h mut [bool],
    work: &'h mut Work,
}

impl Tables<'_> {
    fn put_table(&mut self, table: TableView<'_>, out: &mut Vec<u8>) -> Result<(), HintedError> {
        put_sized(out, Kind::Table, table.len());
        for (name, value) in table.iter() {
            out.extend_from_slice(name.bytes());
            let length = self.work.path.len();
            // JSON's keys are strings.
            self.work.path.extend_from_slice(name.to_bytes(&[]));
            if let Some(at) = place_of(self.fields, &[], &self.work.path) {
                self.put_field(at, value, table, out)?;
            } else if let Some(inner) = value.as_table()
                && has_hints_within(self.fields, &self.work.path)
            {
                self.work.path.push(b'.');
                self.put_table(inner, out)?;
            } else {
                put_ascending(value, out);
            }
            self.work.path.truncate(length);
        }
        Ok(())
    }

    fn put_field(
        &mut self,
        at: usize,
        value: Variant<'_>,
        table: TableView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), HintedError> {
        if let Some(seen) = self.seen.get_mut(at) {
            *seen = true;
        }
        let Some(FieldHint { field, hint }) = self.fields.get(at) else { return Ok(()) };
        put(value, hint, protocol_of(hint, table), &mut self.work.order, out)
            .map_err(|reason| HintedError::Field { field: field.clone(), reason })
    }
}

/// The protocol that another field of the same object names; unknown where none is named.
fn protocol_of(hint: &Hint, table: TableView<'_>) -> Protocol {
    let named = hint.protocol_field().and_then(|field| table.get_str(field));
    named.and_then(|name| name.as_str()).and_then(Protocol::of_name).unwrap_or_default()
}

/// Appends a value of the requested type. `order` is memory for the elements of a set.
fn put(
    value: Variant<'_>,
    hint: &Hint,
    protocol: Protocol,
    order: &mut Vec<usize>,
    out: &mut Vec<u8>,
) -> Result<(), MisfitError> {
    let is_put = match value.kind() {
        // A number of seconds that fits is a time since it was read.
        Kind::Count | Kind::Integer | Kind::Real if hint.is_time() => {
            let whole = value.as_count().map(|count| count as f64).or(value.as_integer().map(|number| number as f64));
            return Err(MisfitError::Seconds { seconds: whole.unwrap_or(value.to_real(0.0)) });
        }
        // JSON is UTF-8.
        Kind::String => hint.put_text(value.as_str().unwrap_or_default(), out)?,
        Kind::Count => hint.put_number(value.to_count(0), protocol, out)?,
        Kind::Integer => hint.put_number(value.to_integer(0), protocol, out)?,
        Kind::Real => hint.put_real(value.to_real(0.0), protocol, out)?,
        Kind::Vector if hint.kind() == Some(Kind::Set) => {
            put_set(value.to_list(), order, out);
            true
        }
        Kind::Vector => {
            let elements = value.to_list();
            put_sized(out, Kind::Vector, elements.len());
            elements.iter().try_for_each(|element| put(element, hint, protocol, order, out))?;
            true
        }
        _ => false,
    };
    if !is_put {
        hint.check(value.kind())?;
        put_ascending(value, out);
    }
    Ok(())
}

/// Appends the set of these elements; keeps the first of duplicates.
fn put_set(elements: ListView<'_>, order: &mut Vec<usize>, out: &mut Vec<u8>) {
    order.clear();
    order.extend(0..elements.len());
    order.sort_unstable_by(|left, right| {
        order::variants(&elements.at(*left), &elements.at(*right)).then_with(|| left.cmp(right))
    });
    order.dedup_by(|right, left| order::duplicate_variants(&elements.at(*left), &elements.at(*right)));
    put_sized(out, Kind::Set, order.len());
    order.iter().for_each(|at| put_ascending(elements.at(*at), out));
}

/// Appends a plain value with its tables ascending. Recurses as deep as the value.
fn put_ascending(value: Variant<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::Table => {
            let table = value.to_table();
            put_sized(out, Kind::Table, table.len());
            for (name, value) in table.iter() {
                out.extend_from_slice(name.bytes());
                put_ascending(value, out);
            }
        }
        Kind::Vector => {
            let elements = value.to_list();
            put_sized(out, Kind::Vector, elements.len());
            elements.iter().for_each(|element| put_ascending(element, out));
        }
        _ => out.extend_from_slice(value.bytes()),
    }
}
