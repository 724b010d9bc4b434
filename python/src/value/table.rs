//! Writes dicts and instances of a class by their shapes: as tables, or as vectors if their fields are known.

use crate::error::value_error;
use crate::value::out::End;
use crate::value::shape::{Entry, Fields, Form, Pair, Shape, text_of};
use crate::value::write::{Writer, Written, is};
use pyo3::ffi;
use pyo3::prelude::*;
use rawline_value::Kind;

impl Writer<'_, '_> {
    pub fn table(&mut self, object: *mut ffi::PyObject, depth: usize, end: End) -> Written {
        let base = self.scratch.pairs_used;
        // SAFETY: see `value`.
        let length = unsafe { ffi::PyDict_Size(object) }.unsigned_abs();
        if self.scratch.pairs.len() - base < length {
            self.scratch.pairs.resize(base + length, Pair::NONE);
        }
        let mut position = 0;
        let mut found = base;
        // Python writes into the pair's final place: copying two freshly written words from a local as one piece would
        // stall. The class is read here, well before it is needed, so that cache misses of several objects overlap.
        for pair in self.scratch.pairs.get_mut(base..base + length).unwrap_or_default() {
            // SAFETY: see `value`; the pairs are borrowed from the dict.
            unsafe {
                if ffi::PyDict_Next(object, &mut position, &mut pair.key, &mut pair.value) == 0 {
                    break;
                }
                pair.class = ffi::Py_TYPE(pair.value);
            }
            found += 1;
        }
        self.scratch.pairs_used = found;
        let pairs = self.scratch.pairs.get(base..found).unwrap_or_default();
        let counted: Vec<Py<PyAny>> = match self.owned {
            true => pairs.iter().flat_map(|pair| [self.count(pair.key), self.count(pair.value)]).flatten().collect(),
            false => Vec::new(),
        };
        let written = match self.scratch.shapes.find(pairs, self.has_fields(depth)) {
            Some(shape) => self.table_of(&shape, base, depth, end),
            None => self.new_table(base, depth, end),
        };
        self.scratch.pairs_used = base;
        drop(counted);
        written
    }

    /// Whether the caller's fields apply to a dict at this depth.
    #[inline]
    fn has_fields(&self, depth: usize) -> bool {
        depth == 0 && !self.fields.hints.is_empty()
    }

    /// Writes a dict with this shape; its pairs begin at `base`.
    fn table_of(&mut self, shape: &Shape, base: usize, depth: usize, end: End) -> Written {
        let is_vector = self.has_fields(depth) && self.fields.form == Form::Vector;
        let kind = if is_vector { Kind::Vector } else { Kind::Table };
        let mut end = self.begin(kind, shape.entries.len(), depth, end)?;
        for entry in &shape.entries {
            end = self.head(entry, end);
            let pair = entry.pair.and_then(|place| self.scratch.pairs.get(base + place));
            let Some(Pair { value, class, .. }) = pair.copied() else {
                end = self.scratch.out.byte(end, Kind::None as u8);
                continue;
            };
            let protocol = |writer: &Self, place: usize| Some(writer.scratch.pairs.get(base + place)?.value);
            end = self.entry(entry, value, class, protocol, depth, end)?;
        }
        Ok(end)
    }

    /// Writes an instance of a class, whose fields are the elements of a tuple.
    pub fn record(&mut self, object: *mut ffi::PyObject, shape: &Shape, end: End) -> Written {
        let is_vector = self.fields.form == Form::Vector;
        let count = shape.entries.len();
        // SAFETY: see `value`; the tuple keeps its elements alive, and returns null for missing ones.
        let field = |place: usize| unsafe { ffi::PyTuple_GetItem(object, place as ffi::Py_ssize_t) };
        // SAFETY: `None` is one object.
        let none = unsafe { ffi::Py_None() };
        // A size of one byte is corrected at the end; a longer one is counted first.
        let is_short = count < 0x80;
        let is_left_out = |entry: &&Entry| entry.leaves_none && entry.pair.is_some_and(|place| field(place) == none);
        let known = if is_short { 0 } else { shape.entries.iter().filter(is_left_out).count() };
        let start = self.scratch.out.len(&end);
        let mut end = self.begin(if is_vector { Kind::Vector } else { Kind::Table }, count - known, 0, end)?;
        let mut left_out = 0;
        for entry in &shape.entries {
            let value = field(entry.pair.unwrap_or_default());
            if value.is_null() {
                let error = PyErr::fetch(self.py);
                return self.failed(error);
            }
            if value == none && entry.leaves_none {
                left_out += 1;
                continue;
            }
            end = self.head(entry, end);
            // SAFETY: see `value`.
            let class = unsafe { ffi::Py_TYPE(value) };
            end = self.entry(entry, value, class, |_, place| Some(field(place)), 0, end)?;
        }
        if left_out == known {
            return Ok(end);
        }
        let correct = |bytes: &mut Vec<u8>| {
            if let Some(size) = bytes.get_mut(start + 1) {
                *size = (count - left_out) as u8;
            }
        };
        Ok(self.scratch.out.append(end, correct).0)
    }

    /// Writes a key, which precedes its value.
    #[inline(always)]
    fn head(&mut self, entry: &Entry, end: End) -> End {
        if entry.head_long.is_empty() {
            self.scratch.out.block(end, &entry.head, entry.head_bytes)
        } else {
            self.scratch.out.bytes(end, &entry.head_long)
        }
    }

    /// Writes a field's value. `protocol` finds the field at an index.
    #[inline(always)]
    fn entry(
        &mut self,
        entry: &Entry,
        value: *mut ffi::PyObject,
        class: *mut ffi::PyTypeObject,
        protocol: impl FnOnce(&Self, usize) -> Option<*mut ffi::PyObject>,
        depth: usize,
        end: End,
    ) -> Written {
        if entry.is_plain || class.cast() == entry.natural {
            return self.value(value, class, depth + 1, end);
        }
        if is!(class, PyLong_Type) && entry.hint.kind() == Some(Kind::Integer) {
            return self.integer(value, &entry.hint, depth + 1, end).map_err(|failed| self.named(&entry.name, failed));
        }
        if is!(class, PyUnicode_Type) && entry.hint.kind() == Some(Kind::Enum) {
            return self.text(value, Kind::Enum, end);
        }
        let protocol = entry.protocol.and_then(|place| protocol(self, place));
        self.hinted(value, depth + 1, &entry.hint, protocol, end).map_err(|failed| self.named(&entry.name, failed))
    }

    #[cold]
    fn new_table(&mut self, base: usize, depth: usize, end: End) -> Written {
        let pairs: Vec<Pair> = self.scratch.pairs.get(base..self.scratch.pairs_used).unwrap_or_default().to_vec();
        // SAFETY: see `value`.
        let all_text = pairs.iter().all(|pair| is!(unsafe { ffi::Py_TYPE(pair.key) }, PyUnicode_Type));
        if !all_text {
            return self.any_table(&pairs, depth, end);
        }
        let mut texts = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            // SAFETY: the dict holds the key.
            let Some(text) = (unsafe { text_of(pair.key) }) else { return self.raised() };
            texts.push(text);
        }
        // The names apply only to the outermost dict.
        let none = Fields::default();
        let shape = match self.scratch.shapes.find_by_text(&texts, self.has_fields(depth)) {
            Some(known) => known,
            None => {
                let fields = if self.has_fields(depth) { self.fields } else { &none };
                match Shape::new(&pairs, &texts, fields, self.types) {
                    Ok(shape) => self.scratch.shapes.add(shape),
                    Err(why) => return self.failed(value_error(why)),
                }
            }
        };
        self.table_of(&shape, base, depth, end)
    }

    /// Writes a table whose keys are not all text: in the dict's order, then sorted.
    fn any_table(&mut self, pairs: &[Pair], depth: usize, end: End) -> Written {
        let start = self.scratch.out.len(&end);
        let mut end = self.begin(Kind::Table, pairs.len(), depth, end)?;
        for pair in pairs {
            // SAFETY: see `value`.
            let class = unsafe { ffi::Py_TYPE(pair.key) };
            end = self.value(pair.key, class, depth + 1, end)?;
            end = self.value(pair.value, pair.class, depth + 1, end)?;
        }
        self.sort(start, end)
    }
}
