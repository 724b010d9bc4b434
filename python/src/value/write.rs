//! Python's objects into a value's bytes.
//!
//! Objects are told apart by their type's address, and read by the calls of the stable ABI that cost least. As long as
//! no Python code runs, nothing that a container borrows can go away, so no reference is counted. Where an object needs
//! Python code (a set, `ipaddress`, `datetime`, a dataclass), writing begins again in a mode that counts them.

use crate::error::value_error;
use crate::value::out::Out;
use crate::value::shape::{Fields, Pair, Shape, Shapes, text_of};
use crate::value::types::{Address, Port, Subnet, Timespan, Timestamp, Types, protocol_of, types};
use pyo3::ffi;
use pyo3::prelude::*;
use rawline_value::{Decoder, Hint, Kind, Limits, MisfitError, Put, TimespanNs, TimestampNs};
use std::sync::{Mutex, PoisonError};

/// Containers inside each other: what a reader takes by default.
const DEPTH_MAX: usize = 128;

/// What is kept from one value to the next.
#[derive(Default)]
pub struct Scratch {
    out: Out,
    pairs: Vec<Pair>,
    shapes: Shapes,
}

// SAFETY: the pairs are empty between two values; the rest may move.
unsafe impl Send for Scratch {}

/// Where a [`Scratch`] waits. Taken out while it is in use, so that Python code that runs meanwhile, or another thread,
/// finds none and makes its own.
#[derive(Default)]
pub struct Place(Mutex<Option<Box<Scratch>>>);

impl Place {
    pub const fn new() -> Place {
        Place(Mutex::new(None))
    }

    fn take(&self) -> Box<Scratch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    fn put(&self, scratch: Box<Scratch>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(scratch);
    }
}

/// Memory of values up to this many bytes is kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Writes a value and hands its bytes to `done`.
pub fn encode<T>(
    py: Python<'_>,
    place: &Place,
    fields: &Fields,
    object: *mut ffi::PyObject,
    done: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    let types = types(py)?;
    let mut scratch = place.take();
    let mut result = Err(Stop::NeedsPython);
    for owned in [false, true] {
        scratch.out.clear();
        scratch.pairs.clear();
        let mut writer = Writer { py, scratch: &mut scratch, types, fields, owned };
        // PyO3 is told that the GIL is held where references are given back: it was not asked when Python called.
        result = if owned { Python::attach(|_| writer.value(object, 0)) } else { writer.value(object, 0) };
        if !matches!(result, Err(Stop::NeedsPython)) {
            break;
        }
    }
    let done = result.map(|()| done(scratch.out.as_slice()));
    scratch.out.shrink_to(KEPT_BYTES_MAX);
    place.put(scratch);
    done.map_err(|stop| match stop {
        Stop::Failed(error) => *error,
        Stop::NeedsPython => value_error("the value can't be written"),
    })
}

enum Stop {
    /// Python code must run: begin again, counting references.
    NeedsPython,
    Failed(Box<PyErr>),
}

type Written = Result<(), Stop>;

fn failed(error: PyErr) -> Stop {
    Stop::Failed(Box::new(error))
}

struct Writer<'a, 'py> {
    py: Python<'py>,
    scratch: &'a mut Scratch,
    types: &'static Types,
    /// Of the outermost dict.
    fields: &'a Fields,
    owned: bool,
}

/// The address of a type, to compare with.
macro_rules! is {
    ($class:expr, $known:ident) => {
        std::ptr::eq($class, &raw mut ffi::$known)
    };
}

impl Writer<'_, '_> {
    /// Scalars are written where this is called; a call for each would cost as much as the writing.
    #[inline(always)]
    fn value(&mut self, object: *mut ffi::PyObject, depth: usize) -> Written {
        // SAFETY: here and in what is called, the GIL is held; the object is alive, since its container is, or since it
        // is counted; each call gets an object of the type that was just looked at.
        let class = unsafe { ffi::Py_TYPE(object) };
        if is!(class, PyUnicode_Type) {
            return self.text(object, Kind::String);
        }
        if is!(class, PyLong_Type) {
            return self.number(object);
        }
        if is!(class, PyBool_Type) {
            // SAFETY: `True` is one object.
            let boolean = std::ptr::eq(object, unsafe { ffi::Py_True() });
            self.scratch.out.two(Kind::Boolean as u8, u8::from(boolean));
            return Ok(());
        }
        if is!(class, PyFloat_Type) {
            // SAFETY: see above.
            let real = unsafe { ffi::PyFloat_AsDouble(object) };
            let bits = real.to_bits();
            // Exponents 1 to 2046, and both zeros, are as IEEE 754 has them.
            if (bits >> 52 & 0x7ff).wrapping_sub(1) < 0x7fe {
                self.scratch.out.word(Kind::Real, bits);
            } else {
                real.put(self.scratch.out.as_vec());
            }
            return Ok(());
        }
        self.container(object, class, depth)
    }

    #[inline(never)]
    fn container(&mut self, object: *mut ffi::PyObject, class: *mut ffi::PyTypeObject, depth: usize) -> Written {
        // SAFETY: `None` is one object.
        if std::ptr::eq(object, unsafe { ffi::Py_None() }) {
            self.scratch.out.byte(Kind::None as u8);
            return Ok(());
        }
        if is!(class, PyDict_Type) {
            return self.table(object, depth);
        }
        if is!(class, PyList_Type) {
            return self.list(object, depth, &Hint::ANY);
        }
        self.other(object, class.cast(), depth)
    }

    #[inline]
    fn text(&mut self, object: *mut ffi::PyObject, kind: Kind) -> Written {
        // SAFETY: see `value`.
        let Some(text) = (unsafe { text_of(object) }) else { return Err(self.raised()) };
        self.scratch.out.sized(kind, text);
        Ok(())
    }

    #[inline]
    fn number(&mut self, object: *mut ffi::PyObject) -> Written {
        let mut overflow = 0;
        // SAFETY: see `value`.
        let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) };
        if overflow != 0 {
            return self.long_number(object, overflow);
        }
        let kind = if number < 0 { Kind::Integer } else { Kind::Count };
        self.scratch.out.word(kind, number as u64);
        Ok(())
    }

    #[cold]
    fn long_number(&mut self, object: *mut ffi::PyObject, overflow: i32) -> Written {
        if overflow > 0 {
            // SAFETY: see `value`.
            let count = unsafe { ffi::PyLong_AsUnsignedLongLong(object) };
            // SAFETY: with the GIL held.
            if unsafe { ffi::PyErr_Occurred() }.is_null() {
                self.scratch.out.word(Kind::Count, count);
                return Ok(());
            }
            // SAFETY: as above.
            unsafe { ffi::PyErr_Clear() };
        }
        Err(failed(value_error("a number beyond 64 bits; send it as text, or as a float if it may be rounded")))
    }

    /// The error that Python has set.
    #[cold]
    fn raised(&self) -> Stop {
        let error = PyErr::fetch(self.py);
        failed(value_error(format!("a text that is no UTF-8 ({error}); send it as bytes")))
    }

    fn begin(&mut self, kind: Kind, elements: usize, depth: usize) -> Written {
        if depth >= DEPTH_MAX {
            return Err(failed(value_error("containers nested more than 128 deep; send flatter values")));
        }
        if elements < 0x80 {
            self.scratch.out.two(kind as u8, elements as u8);
            return Ok(());
        }
        self.scratch.out.byte(kind as u8);
        self.scratch.out.size(elements);
        Ok(())
    }

    fn list(&mut self, object: *mut ffi::PyObject, depth: usize, hint: &Hint) -> Written {
        // SAFETY: see `value`; an index past the end, should Python code have shortened the list, gives null.
        let length = unsafe { ffi::PyList_Size(object) };
        self.begin(Kind::Vector, length.unsigned_abs(), depth)?;
        for index in 0..length {
            // SAFETY: as above.
            let element = unsafe { ffi::PyList_GetItem(object, index) };
            self.element(element, depth, hint)?;
        }
        Ok(())
    }

    fn tuple(&mut self, object: *mut ffi::PyObject, depth: usize, hint: &Hint) -> Written {
        // SAFETY: see `value`; a tuple keeps its elements.
        let length = unsafe { ffi::PyTuple_Size(object) };
        self.begin(Kind::Vector, length.unsigned_abs(), depth)?;
        for index in 0..length {
            // SAFETY: as above.
            let element = unsafe { ffi::PyTuple_GetItem(object, index) };
            self.element(element, depth, hint)?;
        }
        Ok(())
    }

    #[inline]
    fn element(&mut self, element: *mut ffi::PyObject, depth: usize, hint: &Hint) -> Written {
        if element.is_null() {
            return Err(failed(PyErr::fetch(self.py)));
        }
        let _counted = self.count(element);
        match hint.kind() {
            None => self.value(element, depth + 1),
            Some(_) => self.hinted(element, depth + 1, hint, None),
        }
    }

    /// A reference for as long as Python code may run.
    #[inline]
    fn count(&self, object: *mut ffi::PyObject) -> Option<Py<PyAny>> {
        // SAFETY: the object is alive now.
        self.owned.then(|| unsafe { Bound::from_borrowed_ptr(self.py, object).unbind() })
    }

    fn table(&mut self, object: *mut ffi::PyObject, depth: usize) -> Written {
        let base = self.scratch.pairs.len();
        // SAFETY: see `value`.
        let length = unsafe { ffi::PyDict_Size(object) }.unsigned_abs();
        self.scratch.pairs.resize(base + length, (std::ptr::null_mut(), std::ptr::null_mut()));
        let mut position = 0;
        let mut found = base;
        // Python writes where the pair stays: read from a local at once, as one piece, two fresh words stall.
        for (key, value) in self.scratch.pairs.get_mut(base..).unwrap_or_default() {
            // SAFETY: see `value`; the pairs are borrowed from the dict.
            if unsafe { ffi::PyDict_Next(object, &mut position, key, value) } == 0 {
                break;
            }
            found += 1;
        }
        self.scratch.pairs.truncate(found);
        let pairs = self.scratch.pairs.get(base..).unwrap_or_default();
        let counted: Vec<Py<PyAny>> = match self.owned {
            true => pairs.iter().flat_map(|(key, value)| [self.count(*key), self.count(*value)]).flatten().collect(),
            false => Vec::new(),
        };
        let written = match self.scratch.shapes.find(pairs, self.has_fields(depth)) {
            Some(shape) => self.table_of(&shape, base, depth),
            None => self.new_table(base, depth),
        };
        self.scratch.pairs.truncate(base);
        drop(counted);
        written
    }

    /// Whether the caller's fields are of a dict at this depth.
    #[inline]
    fn has_fields(&self, depth: usize) -> bool {
        depth == 0 && !self.fields.hints.is_empty()
    }

    /// The shape is of this dict, whose pairs lie from `base` on.
    fn table_of(&mut self, shape: &Shape, base: usize, depth: usize) -> Written {
        let is_vector = self.has_fields(depth) && self.fields.is_vector;
        self.begin(if is_vector { Kind::Vector } else { Kind::Table }, shape.entries.len(), depth)?;
        for entry in &shape.entries {
            if entry.head_long.is_empty() {
                self.scratch.out.block(&entry.head, entry.head_bytes);
            } else {
                self.scratch.out.as_vec().extend_from_slice(&entry.head_long);
            }
            let value_of = |pair: usize| self.scratch.pairs.get(base + pair).map(|pair| pair.1);
            let Some(value) = entry.pair.and_then(value_of) else {
                self.scratch.out.byte(Kind::None as u8);
                continue;
            };
            if entry.is_plain {
                self.value(value, depth + 1)?;
            } else {
                let protocol = entry.protocol.and_then(value_of);
                self.hinted(value, depth + 1, &entry.hint, protocol)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn new_table(&mut self, base: usize, depth: usize) -> Written {
        let pairs: Vec<Pair> = self.scratch.pairs.get(base..).unwrap_or_default().to_vec();
        // SAFETY: see `value`.
        let all_text = pairs.iter().all(|(key, _)| is!(unsafe { ffi::Py_TYPE(*key) }, PyUnicode_Type));
        if !all_text {
            return self.any_table(&pairs, depth);
        }
        let mut texts = Vec::with_capacity(pairs.len());
        for (key, _) in &pairs {
            // SAFETY: the dict holds the key.
            let Some(text) = (unsafe { text_of(*key) }) else { return Err(self.raised()) };
            texts.push(text);
        }
        // The names are those of the outermost dict only.
        let none = Fields::default();
        let shape = match self.scratch.shapes.find_by_text(&texts, self.has_fields(depth)) {
            Some(known) => known,
            None => {
                let fields = if self.has_fields(depth) { self.fields } else { &none };
                let shape = Shape::new(&pairs, &texts, fields).map_err(|why| failed(value_error(why)))?;
                self.scratch.shapes.add(shape)
            }
        };
        self.table_of(&shape, base, depth)
    }

    /// A table whose keys are not all text: written as it comes, then sorted.
    fn any_table(&mut self, pairs: &[Pair], depth: usize) -> Written {
        let start = self.scratch.out.len();
        self.begin(Kind::Table, pairs.len(), depth)?;
        for (key, value) in pairs {
            self.value(*key, depth + 1)?;
            self.value(*value, depth + 1)?;
        }
        self.sort(start)
    }

    /// Brings the container that begins at `start` into the format's order.
    fn sort(&mut self, start: usize) -> Written {
        let mut decoder = Decoder::new(Limits::FORMAT);
        let sorted =
            decoder.decode(self.scratch.out.as_slice().get(start..).unwrap_or_default()).map(|value| value.to_value());
        let sorted = sorted.map_err(|error| failed(value_error(error)))?;
        self.scratch.out.as_vec().truncate(start);
        sorted.encode_into(self.scratch.out.as_vec());
        Ok(())
    }

    fn other(&mut self, object: *mut ffi::PyObject, class: *mut ffi::PyObject, depth: usize) -> Written {
        // SAFETY: see `value`.
        let borrowed = || unsafe { Bound::from_borrowed_ptr(self.py, object) };
        let types = self.types;
        if class == types.address {
            let address = borrowed().cast_into::<Address>().map_err(|error| failed(error.into()))?;
            address.get().0.put(self.scratch.out.as_vec());
        } else if class == types.port {
            let port = borrowed().cast_into::<Port>().map_err(|error| failed(error.into()))?;
            port.get().0.put(self.scratch.out.as_vec());
        } else if class == types.timestamp {
            let time = borrowed().cast_into::<Timestamp>().map_err(|error| failed(error.into()))?;
            TimestampNs(time.get().0).put(self.scratch.out.as_vec());
        } else if class == types.timespan {
            let span = borrowed().cast_into::<Timespan>().map_err(|error| failed(error.into()))?;
            TimespanNs(span.get().0).put(self.scratch.out.as_vec());
        } else if class == types.subnet {
            let subnet = borrowed().cast_into::<Subnet>().map_err(|error| failed(error.into()))?;
            subnet.get().0.put(self.scratch.out.as_vec());
        } else if class == types.name {
            return self.text(object, Kind::Enum);
        } else if class == types.count || class == types.integer {
            return self.marked_number(object, class == types.integer);
        } else if is!(class.cast(), PyBytes_Type) {
            let bytes = borrowed().cast_into::<pyo3::types::PyBytes>().map_err(|error| failed(error.into()))?;
            self.scratch.out.sized(Kind::String, bytes.as_bytes());
        } else if is!(class.cast(), PyTuple_Type) {
            return self.tuple(object, depth, &Hint::ANY);
        } else {
            return self.by_python(object, class, depth);
        }
        Ok(())
    }

    fn marked_number(&mut self, object: *mut ffi::PyObject, is_integer: bool) -> Written {
        let start = self.scratch.out.len();
        self.number(object)?;
        let Some(tag) = self.scratch.out.as_vec().get_mut(start) else { return Ok(()) };
        if is_integer && *tag == Kind::Count as u8 {
            *tag = Kind::Integer as u8;
            // A count of 2^63 and above would read as another number.
            if self.scratch.out.as_slice().get(start + 1).is_some_and(|byte| *byte >= 0x80) {
                return Err(failed(value_error("an integer beyond 64 bits with its sign; send it as a count")));
            }
        } else if !is_integer && *tag == Kind::Integer as u8 {
            return Err(failed(value_error("a count below 0; send it as an integer")));
        }
        Ok(())
    }

    /// Sets, and objects that `lib/rawline/value.py` knows how to turn into others.
    fn by_python(&mut self, object: *mut ffi::PyObject, class: *mut ffi::PyObject, depth: usize) -> Written {
        if !self.owned {
            return Err(Stop::NeedsPython);
        }
        // SAFETY: see `value`; the reference is counted from here on.
        let object = unsafe { Bound::from_borrowed_ptr(self.py, object) };
        if is!(class.cast(), PySet_Type) || is!(class.cast(), PyFrozenSet_Type) {
            let start = self.scratch.out.len();
            let elements = object.len().map_err(failed)?;
            self.begin(Kind::Set, elements, depth)?;
            for element in object.try_iter().map_err(failed)? {
                self.value(element.map_err(failed)?.as_ptr(), depth + 1)?;
            }
            return self.sort(start);
        }
        // SAFETY: the function lives as long as the interpreter.
        let convert = unsafe { Bound::from_borrowed_ptr(self.py, self.types.convert) };
        let converted = convert.call1((object,)).map_err(failed)?;
        if depth >= DEPTH_MAX {
            return Err(failed(value_error("containers nested more than 128 deep; send flatter values")));
        }
        self.value(converted.as_ptr(), depth)
    }

    /// A value of the type asked for.
    fn hinted(
        &mut self,
        object: *mut ffi::PyObject,
        depth: usize,
        hint: &Hint,
        protocol: Option<*mut ffi::PyObject>,
    ) -> Written {
        // SAFETY: see `value`.
        let class = unsafe { ffi::Py_TYPE(object) };
        let wrong = |why: MisfitError| failed(value_error(why));
        let start = self.scratch.out.len();
        let is_written = if is!(class, PyUnicode_Type) {
            // SAFETY: as above.
            let Some(text) = (unsafe { text_of(object) }) else { return Err(self.raised()) };
            // Python's text is UTF-8 here.
            let text = std::str::from_utf8(text).unwrap_or_default();
            hint.put_text(text, self.scratch.out.as_vec()).map_err(wrong)?
        } else if is!(class, PyLong_Type) {
            let protocol =
                protocol.and_then(|protocol| self.protocol_text(protocol)).and_then(protocol_of).unwrap_or_default();
            let mut overflow = 0;
            // SAFETY: as above.
            let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) };
            overflow == 0 && hint.put_number(number, protocol, self.scratch.out.as_vec()).map_err(wrong)?
        } else if is!(class, PyFloat_Type) {
            // SAFETY: as above.
            let real = unsafe { ffi::PyFloat_AsDouble(object) };
            hint.put_real(real, self.scratch.out.as_vec()).map_err(wrong)?
        } else if hint.kind() == Some(Kind::Set) && (is!(class, PyList_Type) || is!(class, PyTuple_Type)) {
            self.value(object, depth)?;
            if let Some(tag) = self.scratch.out.as_vec().get_mut(start) {
                *tag = Kind::Set as u8;
            }
            self.sort(start)?;
            true
        } else if is!(class, PyList_Type) {
            return self.list(object, depth, hint);
        } else if is!(class, PyTuple_Type) {
            return self.tuple(object, depth, hint);
        } else {
            false
        };
        if is_written {
            return Ok(());
        }
        self.value(object, depth)?;
        let found = self.scratch.out.as_slice().get(start).and_then(|tag| Kind::of_tag(*tag)).unwrap_or(Kind::None);
        hint.check(found).map_err(wrong)
    }

    /// The name of a port's protocol in another field.
    fn protocol_text<'a>(&self, object: *mut ffi::PyObject) -> Option<&'a [u8]> {
        // SAFETY: see `value`.
        let class = unsafe { ffi::Py_TYPE(object) };
        let is_text = is!(class, PyUnicode_Type) || class.cast() == self.types.name;
        // SAFETY: as above.
        if is_text { unsafe { text_of(object) } } else { None }
    }
}
