//! Encodes lines of JSON in one pass, without a tree of their values.
//!
//! It reads common lines only. Those with anything else are read by `read.rs`, which also reports errors: values that
//! don't fit their types, unions with a choice, maps whose keys don't ascend, logical types other than times.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::json::text;
use crate::schema::{Field, Kind, Record, Schema, Type, TypeId};
use crate::write;

/// The maximum count of a block that takes one byte.
const COUNT_MAX: usize = 63;

/// Encodes lines of JSON with one schema, one after the other. Reuses its memory: it allocates only while that grows.
#[derive(Debug, Clone)]
pub struct LineEncoder {
    schema: Arc<Schema>,
    /// The names in a line, each with the index of the root record's field; `None` for those to ignore.
    names: Vec<(String, Option<usize>)>,
    memory: Memory,
}

/// Memory that is reused.
#[derive(Debug, Clone, Default)]
struct Memory {
    /// Positions of the open records' fields in the output, by their index; the innermost record is last.
    places: Vec<Option<Range<usize>>>,
    /// A record's fields in the order of the text, before they are put in the schema's.
    moved: Vec<u8>,
}

impl LineEncoder {
    /// An encoder of lines in which the root record's fields may have other names, each given as the field's name and
    /// the name in a line; names in `skipped` are ignored. `None` if the lines can't be encoded in one pass.
    pub fn new(schema: Arc<Schema>, renamed: &[(&str, &str)], skipped: &[&str]) -> Option<LineEncoder> {
        let fields = match schema.kind(schema.root()) {
            Kind::Record(record) => record.fields.as_slice(),
            _ if renamed.is_empty() && skipped.is_empty() => &[],
            _ => return None,
        };
        let mut names: Vec<(String, Option<usize>)> = Vec::new();
        // The first rule for a name counts. Names are looked for in this order, which most lines have.
        let mut add = |name: &str, index| {
            if !skipped.contains(&name) && names.iter().all(|(known, _)| known != name) {
                names.push((name.to_owned(), Some(index)));
            }
        };
        for (field, name) in renamed {
            let index = fields.iter().position(|found| found.name == *field)?;
            if renamed.iter().any(|(other, again)| name == again && other != field) {
                return None;
            }
            add(name, index);
        }
        fields.iter().enumerate().for_each(|(index, field)| add(&field.name, index));
        names.sort_by_key(|(_, index)| *index);
        names.extend(skipped.iter().map(|name| ((*name).to_owned(), None)));
        Some(LineEncoder { schema, names, memory: Memory::default() })
    }

    /// Encodes a line and appends it. Returns false and appends nothing if it has another form, or an error: then
    /// [`Schema::encode_value`] encodes it, or says why not.
    pub fn encode(&mut self, line: &[u8], out: &mut Vec<u8>) -> bool {
        let LineEncoder { schema, names, memory } = self;
        let Ok(text) = str::from_utf8(line) else { return false };
        let begin = out.len();
        memory.places.clear();
        let mut json = serde_json::Deserializer::from_str(text);
        let names = Some(Names::Of(names));
        let seed = TypeSeed { schema, id: schema.root(), names, is_branch: false, memory, out };
        let is_encoded = seed.deserialize(&mut json).and_then(|()| json.end()).is_ok();
        if !is_encoded {
            out.truncate(begin);
        }
        is_encoded
    }
}

/// Any error: the line is left to the general way.
fn other<E: Error>() -> E {
    E::custom("another form")
}

/// The names of a record's fields in a line.
#[derive(Clone, Copy)]
enum Names<'a> {
    /// The fields' own.
    Own(&'a [Field]),
    /// These, each with the field's index.
    Of(&'a [(String, Option<usize>)]),
}

impl<'a> Names<'a> {
    fn len(self) -> usize {
        match self {
            Names::Own(fields) => fields.len(),
            Names::Of(names) => names.len(),
        }
    }

    #[inline]
    fn get(self, place: usize) -> Option<(&'a str, Option<usize>)> {
        match self {
            Names::Own(fields) => fields.get(place).map(|field| (field.name.as_str(), Some(place))),
            Names::Of(names) => names.get(place).map(|(name, index)| (name.as_str(), *index)),
        }
    }

    /// The place of a name, and the field's index. Costs one comparison if it is at `next`.
    #[inline]
    fn find(self, next: usize, name: &str) -> Option<(usize, Option<usize>)> {
        (next..self.len()).chain(0..next).find_map(|place| {
            let (known, index) = self.get(place)?;
            (known == name).then_some((place, index))
        })
    }
}

/// Encodes a value of one type.
struct TypeSeed<'a> {
    schema: &'a Schema,
    id: TypeId,
    /// The names of a record's fields, if they aren't their own.
    names: Option<Names<'a>>,
    /// Whether the value is in a union.
    is_branch: bool,
    memory: &'a mut Memory,
    out: &'a mut Vec<u8>,
}

impl<'a> TypeSeed<'a> {
    /// The same, of another type.
    fn of(&mut self, id: TypeId) -> TypeSeed<'_> {
        TypeSeed { schema: self.schema, id, names: None, is_branch: false, memory: self.memory, out: self.out }
    }

    /// The name of the union's branch that the value is of.
    fn branch(&self) -> Option<&'a str> {
        self.is_branch.then(|| self.schema.kind(self.id).name())
    }

    fn is_null(&self, id: TypeId) -> bool {
        matches!(self.schema.kind(id), Kind::Null)
    }

    /// The type of a value that isn't null: in a union, its only branch besides null, whose index is appended.
    #[inline]
    fn enter<E: Error>(&mut self) -> Result<&'a Type, E> {
        let outer = self.schema.type_at(self.id);
        let Kind::Union(branches) = &outer.kind else { return Ok(outer) };
        let (index, id) = match &**branches {
            [first, second] if self.is_null(*first) => (1, *second),
            [first, second] if self.is_null(*second) => (0, *first),
            [only] => (0, *only),
            _ => return Err(other()),
        };
        let inner = self.schema.type_at(id);
        if matches!(inner.kind, Kind::Null) {
            return Err(other());
        }
        // A zigzag integer.
        self.out.push(index << 1);
        self.id = id;
        self.names = None;
        self.is_branch = true;
        Ok(inner)
    }

    #[inline]
    fn put_integer<E: Error>(mut self, number: i64) -> Result<(), E> {
        match &self.enter()?.kind {
            Kind::Int if i32::try_from(number).is_ok() => write::long(self.out, number),
            Kind::Long => write::long(self.out, number),
            Kind::Float => self.out.extend_from_slice(&(number as f64 as f32).to_le_bytes()),
            Kind::Double => self.out.extend_from_slice(&(number as f64).to_le_bytes()),
            // Bytes and fixed may be decimals.
            _ => return Err(other()),
        }
        Ok(())
    }

    fn put_record<'de, A: MapAccess<'de>>(mut self, record: &'a Record, mut fields: A) -> Result<(), A::Error> {
        let names = self.names.unwrap_or(Names::Own(&record.fields));
        let (begin, first) = (self.out.len(), self.memory.places.len());
        self.memory.places.resize(first + record.fields.len(), None);
        let (mut next, mut branch) = (0, self.branch());
        while let Some((place, index)) = fields.next_key_seed(NameSeed { names, next, branch: branch.take() })? {
            next = place + 1;
            let Some(index) = index else {
                // Not `IgnoredAny`, which accepts what isn't JSON.
                fields.next_value::<Value>()?;
                continue;
            };
            let value_begin = self.out.len();
            fields.next_value_seed(self.of(record.fields.get(index).ok_or_else(other)?.type_id))?;
            let value = value_begin..self.out.len();
            let place = self.memory.places.get_mut(first + index).ok_or_else(other)?;
            if place.replace(value).is_some() {
                return Err(other());
            }
        }
        self.memory.order(record, first, begin, self.out).ok_or_else(other)
    }

    fn put_map<'de, A: MapAccess<'de>>(mut self, values: TypeId, mut entries: A) -> Result<(), A::Error> {
        let (count_at, mut count, mut before) = (self.out.len(), 0, None);
        let mut branch = self.branch();
        self.out.push(0);
        while let Some(key) = entries.next_key_seed(KeySeed { out: self.out, before, branch: branch.take() })? {
            entries.next_value_seed(self.of(values))?;
            before = Some(key);
            count += 1;
        }
        end_block(self.out, count_at, count).ok_or_else(other)
    }
}

/// Ends the items after the byte for their count. `None` if there are more than it can hold.
fn end_block(out: &mut Vec<u8>, count_at: usize, count: usize) -> Option<()> {
    if count > 0 {
        (count <= COUNT_MAX).then_some(())?;
        // A zigzag integer.
        *out.get_mut(count_at)? = (count << 1) as u8;
        out.push(0);
    }
    Some(())
}

impl Memory {
    /// Puts the fields of a record, which begins at `begin`, in the schema's order, with the defaults of missing ones.
    /// `None` if one has no default. Its places are those from `first` on, which end here.
    fn order(&mut self, record: &Record, first: usize, begin: usize, out: &mut Vec<u8>) -> Option<()> {
        let Memory { places, moved } = self;
        let fields = places.get(first..)?;
        let mut end = begin;
        let is_in_order = fields.iter().all(|place| {
            place.as_ref().is_some_and(|place| {
                let follows = place.start == end;
                end = place.end;
                follows
            })
        });
        if !is_in_order {
            moved.clear();
            moved.extend_from_slice(out.get(begin..)?);
            out.truncate(begin);
            // Neighbours are copied together.
            let mut run = begin..begin;
            for (place, field) in fields.iter().zip(&record.fields) {
                match place {
                    Some(place) if place.start == run.end => run.end = place.end,
                    place => {
                        out.extend_from_slice(moved.get(run.start - begin..run.end - begin)?);
                        run = place.clone().unwrap_or(begin..begin);
                    }
                }
                if place.is_none() {
                    out.extend_from_slice(field.default.as_deref()?);
                }
            }
            out.extend_from_slice(moved.get(run.start - begin..run.end - begin)?);
        }
        places.truncate(first);
        Some(())
    }
}

impl<'de> DeserializeSeed<'de> for TypeSeed<'_> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TypeSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.schema.kind(self.id))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match self.schema.kind(self.id) {
            Kind::Null => Ok(()),
            Kind::Union(branches) => {
                let index = branches.iter().position(|id| self.is_null(*id)).ok_or_else(other)?;
                write::length(self.out, index);
                Ok(())
            }
            _ => Err(other()),
        }
    }

    fn visit_bool<E: Error>(mut self, boolean: bool) -> Result<(), E> {
        match self.enter()?.kind {
            Kind::Boolean => self.out.push(u8::from(boolean)),
            _ => return Err(other()),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.put_integer(i64::try_from(number).map_err(|_| other())?)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.put_integer(number)
    }

    fn visit_f64<E: Error>(mut self, number: f64) -> Result<(), E> {
        match self.enter()?.kind {
            Kind::Double => self.out.extend_from_slice(&number.to_le_bytes()),
            Kind::Float if (number as f32).is_finite() => self.out.extend_from_slice(&(number as f32).to_le_bytes()),
            _ => return Err(other()),
        }
        Ok(())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        let Type { kind, logical } = self.enter()?;
        match (kind, logical) {
            (Kind::String, None) => write::bytes(self.out, text.as_bytes()),
            (Kind::Enum(symbols), None) => {
                let index = symbols.symbols.iter().position(|symbol| symbol == text).ok_or_else(other)?;
                write::length(self.out, index);
            }
            (Kind::Int | Kind::Long, Some(logical)) => {
                let number = text::parse_time(*logical, text).ok_or_else(other)?;
                if matches!(kind, Kind::Int) && i32::try_from(number).is_err() {
                    return Err(other());
                }
                write::long(self.out, number);
            }
            _ => return Err(other()),
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        let Kind::Array(items) = self.enter()?.kind else { return Err(other()) };
        let (count_at, mut count) = (self.out.len(), 0);
        self.out.push(0);
        while elements.next_element_seed(self.of(items))?.is_some() {
            count += 1;
        }
        end_block(self.out, count_at, count).ok_or_else(other)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, fields: A) -> Result<(), A::Error> {
        match self.enter()? {
            Type { kind: Kind::Record(record), .. } => self.put_record(record, fields),
            Type { kind: Kind::Map(values), .. } => self.put_map(*values, fields),
            _ => Err(other()),
        }
    }
}

/// Finds a record's field by its name.
struct NameSeed<'a> {
    names: Names<'a>,
    /// The place where it is most likely.
    next: usize,
    /// A name that may be a union's branch.
    branch: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = (usize, Option<usize>);

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_> {
    type Value = (usize, Option<usize>);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a field's name")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        if self.branch == Some(name) {
            return Err(other());
        }
        self.names.find(self.next, name).ok_or_else(other)
    }
}

/// Appends a map's key.
struct KeySeed<'a> {
    out: &'a mut Vec<u8>,
    /// The key before it, in the output.
    before: Option<Range<usize>>,
    /// A name that may be a union's branch.
    branch: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Range<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Range<usize>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Range<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Range<usize>, E> {
        let before = self.before.and_then(|before| self.out.get(before));
        if self.branch == Some(key) || before.is_some_and(|before| before >= key.as_bytes()) {
            return Err(other());
        }
        write::bytes(self.out, key.as_bytes());
        Ok(self.out.len() - key.len()..self.out.len())
    }
}
