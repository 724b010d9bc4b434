//! Decodes a value's bytes to an instance of a class, without a dict in between.

use crate::error::value_error;
use crate::value::read::{Fault, Read, Reader, TAG_TABLE, TAG_VECTOR, check_depth, cut_off};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// A class whose instances are read, and its fields.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct Instances {
    class: Py<PyType>,
    /// Whether an instance is nothing but a tuple of its fields, as that of a `NamedTuple`; else the class is called.
    is_tuple: bool,
    /// In the order of the class: each field's name, and what a missing one becomes.
    fields: Vec<Field>,
    /// The fields' places in the order in which a table usually has them.
    order: Vec<usize>,
}

struct Field {
    key: Key,
    default: Py<PyAny>,
    /// The class of the field's instance, and whether the field is a list of them.
    inner: Option<(Py<Instances>, bool)>,
}

/// A field's name as a value: tag, size, bytes.
struct Key {
    encoded: Box<[u8]>,
    /// The first 16 bytes as a number, and the bits that belong to the key: comparing these needs no call.
    start: u128,
    bits: u128,
}

impl Key {
    fn new(name: &str) -> Key {
        let mut encoded = Vec::new();
        rawline_value::Put::put(name, &mut encoded);
        let mut start = [0; 16];
        for (place, byte) in start.iter_mut().zip(&encoded) {
            *place = *byte;
        }
        let bits = if encoded.len() < 16 { (1 << (8 * encoded.len())) - 1 } else { u128::MAX };
        Key { encoded: encoded.into(), start: u128::from_le_bytes(start), bits }
    }

    /// Whether these bytes begin with the key.
    #[inline(always)]
    fn begins(&self, bytes: &[u8]) -> bool {
        match bytes.first_chunk() {
            Some(start) if self.encoded.len() <= 16 => (u128::from_le_bytes(*start) ^ self.start) & self.bits == 0,
            _ => bytes.starts_with(&self.encoded),
        }
    }
}

/// Which slots of an instance are filled: a bit for each of the first 64.
struct Filled(u64);

impl Filled {
    #[inline(always)]
    fn has(&self, made: &Bound<'_, PyAny>, place: usize) -> bool {
        if place < 64 { self.0 >> place & 1 != 0 } else { is_there(made, place) }
    }

    #[inline(always)]
    fn fill(&mut self, made: &Bound<'_, PyAny>, place: usize, object: *mut ffi::PyObject) -> Result<(), Fault> {
        if place < 64 {
            self.0 |= 1 << place;
        }
        put(made, place, object)
    }
}

#[pymethods]
impl Instances {
    /// Of fields with these names and defaults, in the order of the class. If `is_sorted`, tables usually have them by
    /// name.
    #[new]
    fn new(
        class_: Py<PyType>,
        is_tuple: bool,
        names: Vec<String>,
        defaults: Vec<Py<PyAny>>,
        inner: Vec<Option<(Py<Instances>, bool)>>,
        is_sorted: bool,
    ) -> PyResult<Instances> {
        if names.len() != defaults.len() || names.len() != inner.len() {
            let (defaults, inner) = (defaults.len(), inner.len());
            return Err(PyTypeError::new_err(format!("{} fields, {defaults} defaults, {inner} classes", names.len())));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        if is_sorted {
            order.sort_by_key(|place| names.get(*place));
        }
        let fields = names.iter().zip(defaults).zip(inner);
        let fields = fields.map(|((name, default), inner)| Field { key: Key::new(name), default, inner }).collect();
        Ok(Instances { class: class_, is_tuple, fields, order })
    }
}

impl Instances {
    /// An owned tuple of as many empty slots as there are fields; of the class if its instances are tuples.
    fn slots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.fields.len() as ffi::Py_ssize_t;
        // SAFETY: the GIL is held. A class whose instances are nothing but tuples is allocated as a tuple is: with its
        // slots empty, which garbage collection and destruction allow.
        unsafe {
            let made = if self.is_tuple {
                ffi::PyType_GenericAlloc(self.class.as_ptr().cast(), count)
            } else {
                ffi::PyTuple_New(count)
            };
            Bound::from_owned_ptr_or_err(py, made)
        }
    }

    /// The place of the field whose key the bytes begin with, and the length of the key. `next` is the field that is
    /// expected, by its place in the usual order.
    #[inline]
    fn find(&self, bytes: &[u8], next: &mut usize) -> Option<(usize, usize)> {
        let (later, earlier) = (self.order.get(*next..)?, self.order.get(..*next)?);
        for (index, place) in later.iter().chain(earlier).enumerate() {
            let Field { key, .. } = self.fields.get(*place)?;
            if key.begins(bytes) {
                *next += index + 1;
                if *next >= self.order.len() {
                    *next -= self.order.len();
                }
                return Some((*place, key.encoded.len()));
            }
        }
        None
    }
}

impl Reader<'_, '_> {
    /// An owned instance of the class, of a table or a vector.
    pub fn instance(&mut self, of: &Instances, depth: usize) -> Read {
        check_depth(depth)?;
        let made = of.slots(self.py)?;
        let mut filled = Filled(0);
        match self.cursor.byte() {
            Some(TAG_TABLE) => self.take_pairs(of, &made, &mut filled, depth)?,
            Some(TAG_VECTOR) => self.take_elements(of, &made, &mut filled, depth)?,
            Some(_) => {
                let class = of.class.bind(self.py).name()?;
                return Err(Box::new(value_error(format!("a record of {class} is a table or a vector"))));
            }
            None => return Err(cut_off()),
        }
        for (place, Field { default, .. }) in of.fields.iter().enumerate() {
            if !filled.has(&made, place) {
                filled.fill(&made, place, default.clone_ref(self.py).into_ptr())?;
            }
        }
        if of.is_tuple {
            return Ok(made.into_ptr());
        }
        // SAFETY: with the GIL held; the arguments are a tuple without empty slots. Null means that an error is set.
        unsafe {
            let instance = ffi::PyObject_CallObject(of.class.as_ptr(), made.as_ptr());
            if instance.is_null() { Err(Box::new(PyErr::fetch(self.py))) } else { Ok(instance) }
        }
    }

    fn take_pairs(
        &mut self,
        of: &Instances,
        made: &Bound<'_, PyAny>,
        filled: &mut Filled,
        depth: usize,
    ) -> Result<(), Fault> {
        let count = self.elements(2)?;
        let mut next = 0;
        for _ in 0..count {
            let rest = self.cursor.bytes.get(self.cursor.at..).unwrap_or_default();
            let Some((place, length)) = of.find(rest, &mut next) else {
                self.cursor.skip().and_then(|()| self.cursor.skip()).ok_or_else(cut_off)?;
                continue;
            };
            self.cursor.at += length;
            let value = self.field(of, place, depth + 1)?;
            if filled.has(made, place) {
                // SAFETY: owned, and used nowhere else.
                drop(unsafe { Bound::from_owned_ptr(self.py, value) });
                return Err(Box::new(value_error("a table has a duplicate key; send each once")));
            }
            filled.fill(made, place, value)?;
        }
        Ok(())
    }

    fn take_elements(
        &mut self,
        of: &Instances,
        made: &Bound<'_, PyAny>,
        filled: &mut Filled,
        depth: usize,
    ) -> Result<(), Fault> {
        for place in 0..self.elements(1)? {
            if place < of.fields.len() {
                let value = self.field(of, place, depth + 1)?;
                filled.fill(made, place, value)?;
            } else {
                self.cursor.skip().ok_or_else(cut_off)?;
            }
        }
        Ok(())
    }

    /// The owned object of a field.
    #[inline]
    fn field(&mut self, of: &Instances, place: usize, depth: usize) -> Read {
        match of.fields.get(place) {
            Some(Field { inner: Some((inner, is_list)), .. }) => self.inner(inner.get(), *is_list, depth),
            _ => self.object(depth, false),
        }
    }

    /// An owned instance, list of instances, or `None`.
    fn inner(&mut self, of: &Instances, is_list: bool, depth: usize) -> Read {
        let tag = self.cursor.bytes.get(self.cursor.at).copied();
        if tag == Some(0) || (is_list && tag != Some(TAG_VECTOR)) {
            return self.object(depth, false);
        }
        if !is_list {
            return self.instance(of, depth);
        }
        check_depth(depth)?;
        self.cursor.at += 1;
        let mut list = Vec::new();
        for _ in 0..self.elements(1)? {
            // SAFETY: an owned object.
            list.push(unsafe { Bound::from_owned_ptr(self.py, self.inner(of, false, depth + 1)?) });
        }
        Ok(pyo3::types::PyList::new(self.py, list)?.into_any().into_ptr())
    }
}

/// Whether a slot of a tuple has an object.
#[inline]
fn is_there(tuple: &Bound<'_, PyAny>, place: usize) -> bool {
    // SAFETY: a tuple with that slot, with the GIL held; an empty slot is null.
    unsafe { !ffi::PyTuple_GetItem(tuple.as_ptr(), place as ffi::Py_ssize_t).is_null() }
}

/// Puts an owned object into an empty slot of a tuple that has no other owner.
#[inline]
fn put(tuple: &Bound<'_, PyAny>, place: usize, object: *mut ffi::PyObject) -> Result<(), Fault> {
    // SAFETY: a tuple with that slot and one reference, with the GIL held; the object's reference is handed over.
    if unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), place as ffi::Py_ssize_t, object) } != 0 {
        return Err(Box::new(PyErr::fetch(tuple.py())));
    }
    Ok(())
}
