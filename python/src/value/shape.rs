//! Shapes: the keys of a dict, and how a table with these keys is written. A program's dicts have few shapes; each is
//! computed once.
//!
//! A dict's shape is found by the addresses of its keys, which are the same objects if Python interned them, otherwise
//! by their text. Then each key's tag, size and bytes are copied from the shape, in the order of writing.

use crate::value::out::BLOCK_BYTES;
use crate::value::types::Types;
use pyo3::ffi;
use rawline_value::{Hint, Kind};
use std::rc::Rc;

/// Enough for a program's record types. A dict that is used as a map has a new shape each time, which is soon evicted.
const SHAPES_MAX: usize = 32;

/// One field of the output.
pub struct Entry {
    /// The index of the dict's pair; `None` if the dict has no such field.
    pub pair: Option<usize>,
    /// For errors.
    pub name: Box<str>,
    /// The key's tag, size and bytes, and their length; if they exceed a block, they are in `head_long`.
    pub head: [u8; BLOCK_BYTES],
    pub head_bytes: usize,
    pub head_long: Box<[u8]>,
    /// Whether the field has no hint, so that the object's class determines its type.
    pub is_plain: bool,
    pub hint: Hint,
    /// The class whose objects have the hinted type anyway.
    pub natural: *mut ffi::PyObject,
    /// Index of the pair with a port's protocol.
    pub protocol: Option<usize>,
    /// Whether the field is omitted if it is None, in a record of a class.
    pub leaves_none: bool,
}

pub struct Shape {
    /// The keys, owned, so that no other object gets their addresses.
    keys: Vec<*mut ffi::PyObject>,
    texts: Vec<Box<[u8]>>,
    /// In the order of writing.
    pub entries: Vec<Entry>,
    /// Whether it was made with the caller's fields, which are those of an outermost dict.
    has_fields: bool,
}

// SAFETY: the keys are used only with the GIL held; classes are only compared.
unsafe impl Send for Shape {}
// SAFETY: as above.
unsafe impl Sync for Shape {}

impl Drop for Shape {
    fn drop(&mut self) {
        for key in self.keys.drain(..) {
            // SAFETY: the reference was taken in `new`.
            let _dropped = pyo3::Python::try_attach(|_| unsafe { ffi::Py_DECREF(key) });
        }
    }
}

/// A dict's key and value, borrowed, and the value's class.
#[derive(Clone, Copy)]
pub struct Pair {
    pub key: *mut ffi::PyObject,
    pub value: *mut ffi::PyObject,
    pub class: *mut ffi::PyTypeObject,
}

impl Pair {
    pub const NONE: Pair = Pair { key: std::ptr::null_mut(), value: std::ptr::null_mut(), class: std::ptr::null_mut() };
}

/// The UTF-8 of an object that is exactly a `str`. `None` for another object, or with an error set if it has
/// surrogates.
///
/// # Safety
/// The GIL is held, and the object outlives the text.
#[inline]
pub unsafe fn text_of<'a>(object: *mut ffi::PyObject) -> Option<&'a [u8]> {
    // SAFETY: as the caller guarantees; Python keeps the text as long as the object.
    unsafe {
        let mut length = 0;
        let start = ffi::PyUnicode_AsUTF8AndSize(object, &mut length);
        if start.is_null() {
            return None;
        }
        Some(std::slice::from_raw_parts(start.cast(), length.unsigned_abs()))
    }
}

#[derive(Default)]
pub struct Shapes {
    all: Vec<Rc<Shape>>,
    next: usize,
}

impl Shapes {
    /// The shape of these pairs, if it is known.
    #[inline]
    pub fn find(&self, pairs: &[Pair], has_fields: bool) -> Option<Rc<Shape>> {
        let same = |shape: &&Rc<Shape>| {
            shape.keys.len() == pairs.len()
                && shape.has_fields == has_fields
                && shape.keys.iter().zip(pairs).all(|(known, pair)| *known == pair.key)
        };
        self.all.iter().find(same).cloned()
    }

    /// Like [`Shapes::find`], by the keys' text.
    pub fn find_by_text(&self, texts: &[&[u8]], has_fields: bool) -> Option<Rc<Shape>> {
        let same = |shape: &&Rc<Shape>| {
            shape.texts.len() == texts.len()
                && shape.has_fields == has_fields
                && shape.texts.iter().zip(texts).all(|(known, text)| **known == **text)
        };
        self.all.iter().find(same).cloned()
    }

    /// Stores a shape in the place of the oldest one.
    pub fn add(&mut self, shape: Shape) -> Rc<Shape> {
        let shape = Rc::new(shape);
        if self.all.len() < SHAPES_MAX {
            self.all.push(shape.clone());
        } else if let Some(place) = self.all.get_mut(self.next % SHAPES_MAX) {
            self.next += 1;
            *place = shape.clone();
        }
        shape
    }
}

/// Known fields of a table: their names in the order of a vector, and their types.
#[derive(Default)]
pub struct Fields {
    pub hints: Vec<(String, Hint)>,
    pub form: Form,
    /// How instances are written, if the fields belong to a class. A pair's index is then the field's index.
    pub of_class: Option<Shape>,
}

/// How a dict with known fields is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A table in the format's order.
    #[default]
    Table,
    /// A table of the fields in their order, followed by other keys in the format's order.
    TableOfFields,
    /// A vector of the fields.
    Vector,
}

impl Shape {
    /// The shape of instances of a class with these fields. Fields in `kept` are written even if they are None.
    pub fn of_class(fields: &Fields, kept: &[String], types: &Types) -> Result<Shape, String> {
        let names: Vec<&[u8]> = fields.hints.iter().map(|(name, _)| name.as_bytes()).collect();
        let mut shape = Shape::new(&[], &names, fields, types)?;
        for entry in &mut shape.entries {
            let name = entry.pair.and_then(|place| fields.hints.get(place)).map(|(name, _)| name);
            entry.leaves_none = fields.form != Form::Vector && name.is_some_and(|name| !kept.contains(name));
        }
        Ok(shape)
    }

    /// The shape of a dict with these keys, whose texts are `texts`.
    pub fn new(pairs: &[Pair], texts: &[&[u8]], fields: &Fields, types: &Types) -> Result<Shape, String> {
        let place_of = |text: &[u8]| fields.hints.iter().position(|(name, _)| name.as_bytes() == text);
        let hint_of = |text: &[u8]| {
            let known = place_of(text).and_then(|place| fields.hints.get(place));
            known.map_or(Hint::ANY, |(_, hint)| hint.clone())
        };
        let has_fields = !fields.hints.is_empty();
        let pair_of = |name: &[u8]| texts.iter().position(|text| *text == name);
        let mut shape = Shape { keys: Vec::new(), texts: Vec::new(), entries: Vec::new(), has_fields };
        let entry = |pair: Option<usize>, name: &[u8], head: &[u8], hint: Hint| {
            let protocol = hint.protocol_field().and_then(|name| pair_of(name.as_bytes()));
            let mut block = [0; BLOCK_BYTES];
            for (place, byte) in block.iter_mut().zip(head) {
                *place = *byte;
            }
            let head_long = if head.len() > BLOCK_BYTES { head.into() } else { Box::default() };
            let is_plain = hint == Hint::ANY;
            let natural = natural_class(hint.kind(), types);
            Entry {
                pair,
                name: String::from_utf8_lossy(name).into(),
                head: block,
                head_bytes: head.len(),
                head_long,
                is_plain,
                hint,
                natural,
                protocol,
                leaves_none: false,
            }
        };
        if fields.form == Form::Vector {
            if let Some(text) = texts.iter().find(|text| place_of(text).is_none()) {
                let name = String::from_utf8_lossy(text);
                return Err(format!("field {name:?} is not one of the record's; name it there or leave it out"));
            }
            let field =
                |(name, hint): &(String, Hint)| entry(pair_of(name.as_bytes()), name.as_bytes(), &[], hint.clone());
            shape.entries = fields.hints.iter().map(field).collect();
        } else {
            let mut order: Vec<usize> = (0..texts.len()).collect();
            order.sort_by_key(|place| {
                let text = texts.get(*place).copied().unwrap_or_default();
                let field = if fields.form == Form::TableOfFields { place_of(text) } else { None };
                (field.unwrap_or(usize::MAX), text)
            });
            for place in order {
                let text = texts.get(place).copied().unwrap_or_default();
                let mut head = Vec::new();
                rawline_value::Put::put(text, &mut head);
                shape.entries.push(entry(Some(place), text, &head, hint_of(text)));
            }
        }
        for (pair, text) in pairs.iter().zip(texts) {
            // SAFETY: the key belongs to a dict that the caller holds, with the GIL held.
            unsafe { ffi::Py_INCREF(pair.key) };
            shape.keys.push(pair.key);
            shape.texts.push((*text).into());
        }
        Ok(shape)
    }
}

/// The class whose objects have that type anyway.
#[inline]
pub fn natural_class(requested: Option<Kind>, types: &Types) -> *mut ffi::PyObject {
    match requested {
        Some(Kind::String) => (&raw mut ffi::PyUnicode_Type).cast(),
        Some(Kind::Real) => (&raw mut ffi::PyFloat_Type).cast(),
        Some(Kind::Integer) => types.integer,
        Some(Kind::Count) => types.count,
        Some(Kind::Enum) => types.name,
        Some(Kind::Address) => types.address,
        Some(Kind::Subnet) => types.subnet,
        Some(Kind::Port) => types.port,
        Some(Kind::Timestamp) => types.timestamp,
        Some(Kind::Timespan) => types.timespan,
        _ => std::ptr::null_mut(),
    }
}
