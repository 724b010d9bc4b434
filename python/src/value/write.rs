//! Writes Python objects as a value's bytes.
//!
//! Objects are distinguished by their type's address, and read by the cheapest calls of the stable ABI. While no Python
//! code runs, nothing that a container borrows can be freed, so references are not counted. If an object needs Python
//! code (a set, `ipaddress`, `datetime`, a dataclass), writing starts over in a mode that counts them.

use crate::error::value_error;
use crate::value::out::{End, Out};
use crate::value::shape::{Fields, Pair, Shapes, natural_class, text_of};
use crate::value::types::{Address, Port, Subnet, Timespan, Timestamp, Types, types};
use pyo3::ffi;
use pyo3::prelude::*;
use rawline_value::{Decoder, Hint, Kind, Limits, MisfitError, Put, Value};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Maximum nesting of containers: the default of readers.
const DEPTH_MAX: usize = 128;

/// Memory that is reused from one value to the next.
#[derive(Default)]
pub struct Scratch {
    pub out: Out,
    /// Pairs of the dicts that are being written, inner ones after outer ones. Pairs from `pairs_used` on are left over
    /// from earlier dicts, and never read.
    pub pairs: Vec<Pair>,
    pub pairs_used: usize,
    pub shapes: Shapes,
}

/// Stores an idle [`Scratch`]. It is taken out while it is in use, so Python code that runs meanwhile, or another
/// thread, finds none and creates another. Only one thread uses a scratch at a time, which makes sharing it safe.
#[derive(Default)]
pub struct Place(AtomicPtr<Scratch>);

impl Place {
    pub const fn new() -> Place {
        Place(AtomicPtr::new(ptr::null_mut()))
    }

    fn take(&self) -> Box<Scratch> {
        let waiting = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the pointer is from a box, and no other thread has it, since it was taken out.
        if waiting.is_null() { Box::default() } else { unsafe { Box::from_raw(waiting) } }
    }

    fn put(&self, scratch: Box<Scratch>) {
        let before = self.0.swap(Box::into_raw(scratch), Ordering::AcqRel);
        if !before.is_null() {
            // SAFETY: as in `take`.
            drop(unsafe { Box::from_raw(before) });
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// Limits on the memory of values that is kept, in bytes and in pairs.
const KEPT_BYTES_MAX: usize = 1 << 20;
const KEPT_PAIRS_MAX: usize = 1 << 14;

/// Writes a value and passes its bytes to `done`.
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
        scratch.pairs_used = 0;
        let end = scratch.out.begin();
        let mut writer = Writer { py, scratch: &mut scratch, types, fields, owned, stop: Stop::NeedsPython };
        // PyO3 must know that the GIL is held when references are released: Python's call bypassed it.
        let written = match owned {
            true => Python::attach(|_| writer.root(object, end)),
            false => writer.root(object, end),
        };
        result = written.map_err(|Failed| writer.stop);
        if !matches!(result, Err(Stop::NeedsPython)) {
            break;
        }
    }
    let done = result.map(|end| done(scratch.out.written(end)));
    scratch.out.shrink_to(KEPT_BYTES_MAX);
    if scratch.pairs.len() > KEPT_PAIRS_MAX {
        scratch.pairs = Vec::new();
    }
    place.put(scratch);
    done.map_err(|stop| match stop {
        Stop::Failed(error) => *error,
        Stop::Misfit(why) => value_error(why),
        Stop::NeedsPython => value_error("cannot write the value"),
    })
}

enum Stop {
    /// Python code must run: start over, counting references.
    NeedsPython,
    /// The value doesn't have the requested type.
    Misfit(Box<MisfitError>),
    Failed(Box<PyErr>),
}

/// The reason is in the writer, so that the result of each value fits a register.
pub struct Failed;

pub type Written = Result<End, Failed>;

const _: () = assert!(size_of::<Written>() == size_of::<usize>());

pub struct Writer<'a, 'py> {
    pub py: Python<'py>,
    pub scratch: &'a mut Scratch,
    pub types: &'static Types,
    /// The fields of the outermost dict.
    pub fields: &'a Fields,
    pub owned: bool,
    stop: Stop,
}

/// The address of a type, to compare with.
macro_rules! is {
    ($class:expr, $known:ident) => {
        std::ptr::eq($class, &raw mut ffi::$known)
    };
}

pub(super) use is;

/// An integer that exceeds an `i64` but fits a `u64`.
#[cold]
pub fn unsigned(object: *mut ffi::PyObject) -> Option<u64> {
    // SAFETY: see `Writer::value`; the object is an integer.
    let number = unsafe { ffi::PyLong_AsUnsignedLongLong(object) };
    // SAFETY: with the GIL held.
    if unsafe { ffi::PyErr_Occurred() }.is_null() {
        return Some(number);
    }
    // SAFETY: as above.
    unsafe { ffi::PyErr_Clear() };
    None
}

impl Writer<'_, '_> {
    fn root(&mut self, object: *mut ffi::PyObject, end: End) -> Written {
        match &self.fields.of_class {
            Some(shape) => self.record(object, shape, end),
            None => self.any(object, 0, end),
        }
    }

    /// Appends an object of this class. Scalars are written inline; a call for each would cost as much as the writing.
    #[inline(always)]
    pub fn value(
        &mut self,
        object: *mut ffi::PyObject,
        class: *mut ffi::PyTypeObject,
        depth: usize,
        end: End,
    ) -> Written {
        // SAFETY: here and in the functions called, the GIL is held. The object is alive, since its container is or
        // since it is counted. Each call gets an object of the type that was just checked.
        if is!(class, PyUnicode_Type) {
            return self.text(object, Kind::String, end);
        }
        if is!(class, PyLong_Type) {
            return self.number(object, end);
        }
        if is!(class, PyBool_Type) {
            // SAFETY: `True` is one object.
            let boolean = ptr::eq(object, unsafe { ffi::Py_True() });
            return Ok(self.scratch.out.two(end, Kind::Boolean as u8, u8::from(boolean)));
        }
        if is!(class, PyFloat_Type) {
            // SAFETY: see above.
            let real = unsafe { ffi::PyFloat_AsDouble(object) };
            let bits = real.to_bits();
            // Exponents 1 to 2046, and both zeros, are the same as in IEEE 754.
            return Ok(if (bits >> 52 & 0x7ff).wrapping_sub(1) < 0x7fe {
                self.scratch.out.word(end, Kind::Real, bits)
            } else {
                self.scratch.out.append(end, |bytes| real.put(bytes)).0
            });
        }
        self.other(object, class, depth, end)
    }

    /// Like `value`, if the class is not known yet.
    #[inline(always)]
    fn any(&mut self, object: *mut ffi::PyObject, depth: usize, end: End) -> Written {
        // SAFETY: see `value`.
        let class = unsafe { ffi::Py_TYPE(object) };
        self.value(object, class, depth, end)
    }

    /// Writes objects that take longer, or are rarer.
    #[inline(never)]
    fn other(&mut self, object: *mut ffi::PyObject, known: *mut ffi::PyTypeObject, depth: usize, end: End) -> Written {
        let types = self.types;
        let class = known.cast();
        // SAFETY: see `value`.
        let object_is = unsafe { Borrowed::from_ptr(self.py, object) };
        let out = &mut self.scratch.out;
        // SAFETY: of all calls below, the object's class is the one that was just checked.
        Ok(unsafe {
            if class == types.name {
                return self.text(object, Kind::Enum, end);
            } else if class == types.integer {
                return self.marked_number(object, Kind::Integer, end);
            } else if class == types.address {
                out.fixed(end, Kind::Address, object_is.cast_unchecked::<Address>().get().0.octets())
            } else if class == types.port {
                let port = object_is.cast_unchecked::<Port>().get().0;
                let [high, low] = port.number.to_be_bytes();
                out.fixed(end, Kind::Port, &[high, low, port.protocol as u8])
            } else if class == types.timestamp {
                out.word(end, Kind::Timestamp, object_is.cast_unchecked::<Timestamp>().get().0 as u64)
            } else if class == types.timespan {
                out.word(end, Kind::Timespan, object_is.cast_unchecked::<Timespan>().get().0 as u64)
            } else if is!(known, PyList_Type) {
                return self.list(object, depth, &Hint::ANY, None, end);
            } else if is!(known, PyDict_Type) {
                return self.table(object, depth, end);
            } else if ptr::eq(object, ffi::Py_None()) {
                out.byte(end, Kind::None as u8)
            } else if is!(known, PyTuple_Type) {
                return self.tuple(object, depth, &Hint::ANY, None, end);
            } else if class == types.subnet {
                out.append(end, |bytes| object_is.cast_unchecked::<Subnet>().get().0.put(bytes)).0
            } else if is!(known, PyBytes_Type) {
                out.sized(end, Kind::String, object_is.cast_unchecked::<pyo3::types::PyBytes>().as_bytes())
            } else if class == types.count {
                return self.marked_number(object, Kind::Count, end);
            } else {
                return self.by_python(object, known, depth, end);
            }
        })
    }

    #[inline(always)]
    pub fn text(&mut self, object: *mut ffi::PyObject, kind: Kind, end: End) -> Written {
        // SAFETY: see `value`.
        let Some(text) = (unsafe { text_of(object) }) else { return self.raised() };
        Ok(self.scratch.out.sized(end, kind, text))
    }

    #[inline(always)]
    fn number(&mut self, object: *mut ffi::PyObject, end: End) -> Written {
        let mut overflow = 0;
        // SAFETY: see `value`.
        let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) };
        if overflow != 0 {
            return self.long_number(object, overflow, end);
        }
        let kind = if number < 0 { Kind::Integer } else { Kind::Count };
        Ok(self.scratch.out.word(end, kind, number as u64))
    }

    #[cold]
    fn long_number(&mut self, object: *mut ffi::PyObject, overflow: i32, end: End) -> Written {
        if overflow > 0
            && let Some(count) = unsigned(object)
        {
            return Ok(self.scratch.out.word(end, Kind::Count, count));
        }
        self.failed(value_error("a number beyond 64 bits; send it as text, or as a float if it may be rounded"))
    }

    /// A number whose class determines its type.
    #[inline]
    fn marked_number(&mut self, object: *mut ffi::PyObject, kind: Kind, end: End) -> Written {
        let mut overflow = 0;
        // SAFETY: see `value`.
        let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) };
        if overflow == 0 && (kind == Kind::Integer || number >= 0) {
            return Ok(self.scratch.out.word(end, kind, number as u64));
        }
        self.large_number(object, overflow, kind, end)
    }

    #[cold]
    fn large_number(&mut self, object: *mut ffi::PyObject, overflow: i32, kind: Kind, end: End) -> Written {
        if overflow == 0 {
            return self.failed(value_error("a count below 0; send it as an integer"));
        }
        let written = self.long_number(object, overflow, end)?;
        // A count of 2^63 or more would be read as another number.
        if kind == Kind::Integer {
            return self.failed(value_error("an integer beyond 64 bits including its sign; send it as a count"));
        }
        Ok(written)
    }

    /// The error that Python has set.
    #[cold]
    pub fn raised(&mut self) -> Written {
        let error = PyErr::fetch(self.py);
        self.failed(value_error(format!("a text that can't be encoded as UTF-8 ({error}); send it as bytes")))
    }

    #[cold]
    pub fn failed(&mut self, error: PyErr) -> Written {
        self.stop = Stop::Failed(Box::new(error));
        Err(Failed)
    }

    #[cold]
    pub fn misfit(&mut self, why: MisfitError) -> Written {
        self.stop = Stop::Misfit(Box::new(why));
        Err(Failed)
    }

    /// Adds a field's name to the error.
    #[cold]
    pub fn named(&mut self, name: &str, failed: Failed) -> Failed {
        if let Stop::Misfit(why) = &self.stop {
            self.stop = Stop::Failed(Box::new(value_error(format!("field {name}: {why}"))));
        }
        failed
    }

    /// Writes the type and the size of a container.
    #[inline]
    pub fn begin(&mut self, kind: Kind, elements: usize, depth: usize, end: End) -> Written {
        if depth >= DEPTH_MAX {
            return self.too_deep();
        }
        if elements < 0x80 {
            return Ok(self.scratch.out.two(end, kind as u8, elements as u8));
        }
        Ok(self.scratch.out.size(end, kind, elements))
    }

    #[cold]
    fn too_deep(&mut self) -> Written {
        self.failed(value_error("containers are nested more than 128 deep; send flatter values"))
    }

    pub fn list(
        &mut self,
        object: *mut ffi::PyObject,
        depth: usize,
        hint: &Hint,
        protocol: Option<*mut ffi::PyObject>,
        end: End,
    ) -> Written {
        // SAFETY: see `value`; if Python code has shortened the list, an index past the end returns null.
        let length = unsafe { ffi::PyList_Size(object) };
        // SAFETY: as above.
        self.elements(length, |index| unsafe { ffi::PyList_GetItem(object, index) }, depth, hint, protocol, end)
    }

    pub fn tuple(
        &mut self,
        object: *mut ffi::PyObject,
        depth: usize,
        hint: &Hint,
        protocol: Option<*mut ffi::PyObject>,
        end: End,
    ) -> Written {
        // SAFETY: see `value`; a tuple keeps its elements.
        let length = unsafe { ffi::PyTuple_Size(object) };
        // SAFETY: as above.
        self.elements(length, |index| unsafe { ffi::PyTuple_GetItem(object, index) }, depth, hint, protocol, end)
    }

    #[inline(always)]
    fn elements(
        &mut self,
        length: ffi::Py_ssize_t,
        element: impl Fn(ffi::Py_ssize_t) -> *mut ffi::PyObject,
        depth: usize,
        hint: &Hint,
        protocol: Option<*mut ffi::PyObject>,
        end: End,
    ) -> Written {
        let mut end = self.begin(Kind::Vector, length.unsigned_abs(), depth, end)?;
        let kind = hint.kind();
        let natural = natural_class(kind, self.types);
        for element in (0..length).map(element) {
            if element.is_null() {
                let error = PyErr::fetch(self.py);
                return self.failed(error);
            }
            let _counted = self.count(element);
            // SAFETY: see `value`.
            let class = unsafe { ffi::Py_TYPE(element) };
            end = if kind.is_none() || class.cast() == natural {
                self.value(element, class, depth + 1, end)?
            } else if kind == Some(Kind::Integer) && is!(class, PyLong_Type) {
                self.integer(element, hint, depth + 1, end)?
            } else {
                self.hinted(element, depth + 1, hint, protocol, end)?
            };
        }
        Ok(end)
    }

    /// Takes a reference for as long as Python code may run.
    #[inline]
    pub fn count(&self, object: *mut ffi::PyObject) -> Option<Py<PyAny>> {
        // SAFETY: the object is alive now.
        self.owned.then(|| unsafe { Bound::from_borrowed_ptr(self.py, object).unbind() })
    }

    /// Sorts the container that begins at `start` into the format's order.
    pub fn sort(&mut self, start: usize, end: End) -> Written {
        self.replace(start, end, |value| value)
    }

    /// Replaces the value that begins at `start` with another one.
    pub fn replace(&mut self, start: usize, end: End, other: impl FnOnce(Value) -> Value) -> Written {
        let (end, sorted) = self.scratch.out.append(end, |bytes| {
            let written = Decoder::new(Limits::FORMAT)
                .decode(bytes.get(start..).unwrap_or_default())
                .map(|value| value.to_value())?;
            bytes.truncate(start);
            other(written).encode_into(bytes);
            Ok::<(), rawline_value::ValueError>(())
        });
        match sorted {
            Ok(()) => Ok(end),
            Err(error) => self.failed(value_error(error)),
        }
    }

    /// Writes sets, and objects that `lib/rawline/value.py` can convert.
    fn by_python(
        &mut self,
        object: *mut ffi::PyObject,
        class: *mut ffi::PyTypeObject,
        depth: usize,
        end: End,
    ) -> Written {
        if !self.owned {
            // `stop` has this initial value.
            return Err(Failed);
        }
        // SAFETY: see `value`; the reference is counted from here on.
        let object = unsafe { Bound::from_borrowed_ptr(self.py, object) };
        if is!(class, PySet_Type) || is!(class, PyFrozenSet_Type) {
            return self.set(&object, depth, end);
        }
        let converted = self.converted(object.as_ptr())?;
        if depth >= DEPTH_MAX { self.too_deep() } else { self.any(converted.as_ptr(), depth, end) }
    }

    /// Whether values of this class are written as they are. `lib/rawline/value.py` converts all others.
    pub fn is_written(&self, class: *mut ffi::PyTypeObject) -> bool {
        let types = self.types;
        let ours = [
            types.name,
            types.integer,
            types.address,
            types.port,
            types.timestamp,
            types.timespan,
            types.subnet,
            types.count,
        ];
        // SAFETY: `None` is one object, whose type lives as long as the interpreter.
        let none = unsafe { ffi::Py_TYPE(ffi::Py_None()) };
        ours.contains(&class.cast())
            || ptr::eq(class, none)
            || is!(class, PyBool_Type)
            || is!(class, PyBytes_Type)
            || is!(class, PyDict_Type)
            || is!(class, PySet_Type)
            || is!(class, PyFrozenSet_Type)
            || is!(class, PyUnicode_Type)
            || is!(class, PyLong_Type)
            || is!(class, PyFloat_Type)
            || is!(class, PyList_Type)
            || is!(class, PyTuple_Type)
    }

    /// An object of another type as one that can be written. Needs Python code.
    pub fn converted(&mut self, object: *mut ffi::PyObject) -> Result<Py<PyAny>, Failed> {
        if !self.owned {
            // As in `by_python`.
            return Err(Failed);
        }
        // SAFETY: see `value`; the function lives as long as the interpreter, and the object is counted from here on.
        let (convert, object) = unsafe {
            (Bound::from_borrowed_ptr(self.py, self.types.convert), Bound::from_borrowed_ptr(self.py, object))
        };
        match convert.call1((object,)) {
            Ok(converted) => Ok(converted.unbind()),
            Err(error) => {
                self.stop = Stop::Failed(Box::new(error));
                Err(Failed)
            }
        }
    }

    fn set(&mut self, set: &Bound<'_, PyAny>, depth: usize, end: End) -> Written {
        let start = self.scratch.out.len(&end);
        let (count, elements) = match set.len().and_then(|count| Ok((count, set.try_iter()?))) {
            Ok(both) => both,
            Err(error) => return self.failed(error),
        };
        let mut end = self.begin(Kind::Set, count, depth, end)?;
        for element in elements {
            match element {
                Ok(element) => end = self.any(element.as_ptr(), depth + 1, end)?,
                Err(error) => return self.failed(error),
            }
        }
        self.sort(start, end)
    }
}
