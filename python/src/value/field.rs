//! Reads one field of a value, by name or index, and skips the others without decoding them.

use crate::buffer::Held;
use crate::error::value_error;
use crate::value::read::{Cursor, cut_off, decode};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use std::ffi::CStr;

/// One step of the path to a field.
enum Step {
    /// A key of a table, as its tag, size and bytes.
    Key(Box<[u8]>),
    /// An index in a vector.
    Index(usize),
}

/// The path to a field.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct FieldPath {
    steps: Vec<Step>,
}

/// Moves the cursor from a table's first byte to the value of this key. False if there is no such key.
#[inline]
fn find_key(cursor: &mut Cursor<'_>, key: &[u8]) -> Option<bool> {
    if cursor.byte()? != 13 {
        return Some(false);
    }
    let count = cursor.elements(2)?;
    for _ in 0..count {
        let rest = cursor.bytes.get(cursor.at..)?;
        if rest.starts_with(key) {
            cursor.at += key.len();
            return Some(true);
        }
        cursor.skip()?;
        cursor.skip()?;
    }
    Some(false)
}

#[inline]
fn find_index(cursor: &mut Cursor<'_>, index: usize) -> Option<bool> {
    if cursor.byte()? != 14 {
        return Some(false);
    }
    if index >= cursor.elements(1)? {
        return Some(false);
    }
    for _ in 0..index {
        cursor.skip()?;
    }
    Some(true)
}

impl FieldPath {
    /// Start of the field's value; `None` if there is no such field.
    #[inline]
    fn find(&self, bytes: &[u8]) -> Option<Option<usize>> {
        let mut cursor = Cursor { bytes, at: 0 };
        for step in &self.steps {
            let found = match step {
                Step::Key(key) => find_key(&mut cursor, key)?,
                Step::Index(index) => find_index(&mut cursor, *index)?,
            };
            if !found {
                return Some(None);
            }
        }
        Some(Some(cursor.at))
    }

    fn read(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<*mut ffi::PyObject> {
        let Some(found) = self.find(bytes) else { return Err(*cut_off()) };
        let Some(position) = found else { return Ok(py.None().into_ptr()) };
        let mut value = Cursor { bytes, at: position };
        // A fast path for the most common type.
        if value.byte() == Some(5) {
            let text = value.size().and_then(|length| value.take(length)).ok_or_else(|| *cut_off())?;
            // SAFETY: start and length are of one slice; the GIL is held.
            let made = unsafe {
                ffi::PyUnicode_DecodeUTF8(text.as_ptr().cast(), text.len() as ffi::Py_ssize_t, std::ptr::null())
            };
            if !made.is_null() {
                return Ok(made);
            }
            // SAFETY: with the GIL held; text that isn't UTF-8 is read as bytes below.
            unsafe { ffi::PyErr_Clear() };
        }
        let mut end = Cursor { bytes, at: position };
        end.skip().ok_or_else(|| *cut_off())?;
        decode(py, bytes.get(position..end.at).unwrap_or_default(), false).map(Bound::into_ptr)
    }
}

/// Returns a function from a value's bytes to one of its fields. `path` has names and indices.
#[pyfunction]
#[pyo3(signature = (*path))]
pub fn field<'py>(py: Python<'py>, path: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let mut steps = Vec::new();
    for step in path {
        if let Ok(name) = step.cast::<PyString>() {
            let mut head = Vec::new();
            rawline_value::Put::put(name.to_str()?, &mut head);
            steps.push(Step::Key(head.into()));
        } else {
            let index = step.extract().map_err(|_| value_error("a field's path has names and indices, from 0 on"))?;
            steps.push(Step::Index(index));
        }
    }
    let path = Bound::new(py, FieldPath { steps })?;
    static METHOD: Method = Method(ffi::PyMethodDef {
        ml_name: c"field".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: read_field },
        ml_flags: ffi::METH_O,
        ml_doc: DOC.as_ptr(),
    });
    // SAFETY: the method lives forever; the returned function is owned, and holds the path.
    unsafe {
        let method = (&raw const METHOD.0).cast_mut();
        Bound::from_owned_ptr_or_err(py, ffi::PyCFunction_NewEx(method, path.as_ptr(), std::ptr::null_mut()))
    }
}

const DOC: &CStr = c"Returns the field of a value's bytes; None if there is no such field.";

/// A method's description. Python only reads it.
struct Method(ffi::PyMethodDef);

// SAFETY: it is never written.
unsafe impl Sync for Method {}

/// Python calls this without PyO3's argument parsing, which would take longer than finding the field.
unsafe extern "C" fn read_field(path: *mut ffi::PyObject, data: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with the GIL held, the path that `field` passed, and one argument; both outlive the
    // call.
    unsafe {
        let py = Python::assume_attached();
        let path = Bound::from_borrowed_ptr(py, path);
        let Ok(path) = path.cast::<FieldPath>() else { return std::ptr::null_mut() };
        let read = if std::ptr::eq(ffi::Py_TYPE(data), &raw mut ffi::PyBytes_Type) {
            let (start, length) = (ffi::PyBytes_AsString(data), ffi::PyBytes_Size(data));
            path.get().read(py, std::slice::from_raw_parts(start.cast(), length.unsigned_abs()))
        } else {
            read_other(path.get(), &Bound::from_borrowed_ptr(py, data))
        };
        read.unwrap_or_else(|error| {
            error.restore(py);
            std::ptr::null_mut()
        })
    }
}

#[cold]
fn read_other(path: &FieldPath, data: &Bound<'_, PyAny>) -> PyResult<*mut ffi::PyObject> {
    if data.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("expected a value's bytes, not text; use json.loads for JSON"));
    }
    debug_assert!(!data.is_exact_instance_of::<PyBytes>());
    path.read(data.py(), Held::new(data)?.as_ref())
}
