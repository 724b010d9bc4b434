//! Shapes: the keys of a dict, and how a table of them is written. A program's dicts have few; each is worked out once.
//!
//! A dict is known again by the addresses of its keys, which are the same objects wherever Python interns them, else by
//! their text. Then each key's tag, size and bytes are copied from the shape, in the format's order.

use crate::value::out::BLOCK_BYTES;
use pyo3::ffi;
use rawline_value::Hint;
use std::rc::Rc;

/// Enough for a program's record types; a dict that is used as a map has a shape of its own each time and passes through.
const SHAPES_MAX: usize = 32;

/// One field of what is written.
pub struct Entry {
    /// Which of the dict's pairs; none if it has none for this field.
    pub pair: Option<usize>,
    /// The key's tag, size and bytes, and how many these are; more than a block are in `head_long`.
    pub head: [u8; BLOCK_BYTES],
    pub head_bytes: usize,
    pub head_long: Box<[u8]>,
    /// Whether the object says its type.
    pub is_plain: bool,
    pub hint: Hint,
    /// The pair with a port's protocol.
    pub protocol: Option<usize>,
}

pub struct Shape {
    /// The keys, owned, so that their addresses stay theirs.
    keys: Vec<*mut ffi::PyObject>,
    texts: Vec<Box<[u8]>>,
    /// In the order of writing.
    pub entries: Vec<Entry>,
    /// Made with the caller's fields, so of an outermost dict.
    has_fields: bool,
}

// SAFETY: the keys are touched with the GIL held only; when the shape is dropped without it, PyO3 defers the release.
unsafe impl Send for Shape {}

impl Drop for Shape {
    fn drop(&mut self) {
        for key in self.keys.drain(..) {
            // SAFETY: the reference was taken in `new`.
            let _dropped = pyo3::Python::try_attach(|_| unsafe { ffi::Py_DECREF(key) });
        }
    }
}

/// A dict's key and value, borrowed.
pub type Pair = (*mut ffi::PyObject, *mut ffi::PyObject);

/// The UTF-8 of an object that is exactly a `str`; none for another, or with an error set where it has surrogates.
///
/// # Safety
/// The GIL is held, and the object outlives the text.
#[inline]
pub unsafe fn text_of<'a>(object: *mut ffi::PyObject) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises; Python keeps the text as long as the object.
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
                && shape.keys.iter().zip(pairs).all(|(known, (key, _))| known == key)
        };
        self.all.iter().find(same).cloned()
    }

    /// As [`Shapes::find`], by the keys' text.
    pub fn find_by_text(&self, texts: &[&[u8]], has_fields: bool) -> Option<Rc<Shape>> {
        let same = |shape: &&Rc<Shape>| {
            shape.texts.len() == texts.len()
                && shape.has_fields == has_fields
                && shape.texts.iter().zip(texts).all(|(known, text)| **known == **text)
        };
        self.all.iter().find(same).cloned()
    }

    /// Remembers a shape in the place of the oldest.
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

/// What the caller knows of a table's fields: their names in the order of a vector, and their types.
#[derive(Debug, Default)]
pub struct Fields {
    pub hints: Vec<(String, Hint)>,
    /// Written as a vector in this order; else as a table.
    pub is_vector: bool,
}

impl Shape {
    /// The shape of a dict with these keys, whose texts are `texts`.
    pub fn new(pairs: &[Pair], texts: &[&[u8]], fields: &Fields) -> Result<Shape, String> {
        let hint_of = |text: &[u8]| {
            let known = fields.hints.iter().find(|(name, _)| name.as_bytes() == text);
            known.map_or(Hint::ANY, |(_, hint)| hint.clone())
        };
        let has_fields = !fields.hints.is_empty();
        let pair_of = |name: &[u8]| texts.iter().position(|text| *text == name);
        let mut shape = Shape { keys: Vec::new(), texts: Vec::new(), entries: Vec::new(), has_fields };
        let entry = |pair: Option<usize>, head: &[u8], hint: Hint| {
            let protocol = hint.protocol_field().and_then(|name| pair_of(name.as_bytes()));
            let mut block = [0; BLOCK_BYTES];
            for (place, byte) in block.iter_mut().zip(head) {
                *place = *byte;
            }
            let head_long = if head.len() > BLOCK_BYTES { head.into() } else { Box::default() };
            let is_plain = hint == Hint::ANY;
            Entry { pair, head: block, head_bytes: head.len(), head_long, is_plain, hint, protocol }
        };
        if fields.is_vector {
            if let Some(text) =
                texts.iter().find(|text| !fields.hints.iter().any(|(name, _)| name.as_bytes() == **text))
            {
                let name = String::from_utf8_lossy(text);
                return Err(format!("field {name:?} is not one of the record's; name it there or leave it out"));
            }
            shape.entries =
                fields.hints.iter().map(|(name, hint)| entry(pair_of(name.as_bytes()), &[], hint.clone())).collect();
        } else {
            let mut order: Vec<usize> = (0..texts.len()).collect();
            order.sort_by_key(|place| texts.get(*place).copied().unwrap_or_default());
            for place in order {
                let text = texts.get(place).copied().unwrap_or_default();
                let mut head = Vec::new();
                rawline_value::Put::put(text, &mut head);
                shape.entries.push(entry(Some(place), &head, hint_of(text)));
            }
        }
        for ((key, _), text) in pairs.iter().zip(texts) {
            // SAFETY: a key of a dict that the caller holds, with the GIL held.
            unsafe { ffi::Py_INCREF(*key) };
            shape.keys.push(*key);
            shape.texts.push((*text).into());
        }
        Ok(shape)
    }
}
