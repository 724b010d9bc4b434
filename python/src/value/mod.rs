//! Structured values between Python's objects, their bytes and JSON: `rawline.value`.

mod field;
mod out;
mod read;
mod shape;
mod types;
mod view;
mod write;

use crate::buffer::Held;
use crate::error::value_error;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rawline_value::{Hint, json};
use shape::Fields;
use write::Place;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<types::Address>()?;
    module.add_class::<types::Subnet>()?;
    module.add_class::<types::Port>()?;
    module.add_class::<types::Timestamp>()?;
    module.add_class::<types::Timespan>()?;
    module.add_class::<view::View>()?;
    module.add_class::<RecordCore>()?;
    module.add_function(wrap_pyfunction!(field::field, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(to_json, module)?)?;
    module.add_function(wrap_pyfunction!(from_json, module)?)?;
    add_encode(module)
}

/// `encode`, called by Python itself: PyO3's argument parsing would be a tenth of the time of a small value.
fn add_encode(module: &Bound<'_, PyModule>) -> PyResult<()> {
    struct Method(ffi::PyMethodDef);
    // SAFETY: it is never written.
    unsafe impl Sync for Method {}
    static METHOD: Method = Method(ffi::PyMethodDef {
        ml_name: c"encode".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: encode },
        ml_flags: ffi::METH_O,
        ml_doc: c"encode(value, /)\n--\n\nThe bytes of the value that a Python object is.".as_ptr(),
    });
    // SAFETY: the method lives for ever; the function that comes back is owned.
    let function = unsafe {
        let method = (&raw const METHOD.0).cast_mut();
        let made = ffi::PyCFunction_NewEx(method, std::ptr::null_mut(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(module.py(), made)?
    };
    module.add("encode", function)
}

static PLACE: Place = Place::new();
static NO_FIELDS: Fields = Fields { hints: Vec::new(), is_vector: false };

unsafe extern "C" fn encode(_module: *mut ffi::PyObject, object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls with the GIL held and one argument, which outlives the call.
    let py = unsafe { Python::assume_attached() };
    encoded(py, &PLACE, &NO_FIELDS, object).unwrap_or_else(|error| {
        error.restore(py);
        std::ptr::null_mut()
    })
}

/// An owned `bytes`.
fn encoded(py: Python<'_>, place: &Place, fields: &Fields, object: *mut ffi::PyObject) -> PyResult<*mut ffi::PyObject> {
    let made = write::encode(py, place, fields, object, |bytes| {
        // SAFETY: start and length are of one slice; with the GIL held.
        unsafe { ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as ffi::Py_ssize_t) }
    })?;
    if made.is_null() { Err(PyErr::fetch(py)) } else { Ok(made) }
}

/// The object that a value's bytes stand for.
#[pyfunction]
#[pyo3(signature = (data, exact=false))]
fn decode<'py>(py: Python<'py>, data: &Bound<'py, PyAny>, exact: bool) -> PyResult<Bound<'py, PyAny>> {
    match data.cast::<PyBytes>() {
        Ok(bytes) => read::decode(py, bytes.as_bytes(), exact),
        Err(_) => read::decode(py, Held::new(data)?.as_ref(), exact),
    }
}

/// Errs unless the bytes are exactly one value.
#[pyfunction]
fn check(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
    let held = Held::new(data)?;
    py.detach(|| read::check(held.as_ref()))
}

#[pyfunction]
#[pyo3(signature = (data, typed=false))]
fn to_json(py: Python<'_>, data: &Bound<'_, PyAny>, typed: bool) -> PyResult<String> {
    let held = Held::new(data)?;
    py.detach(|| view::to_json(held.as_ref(), typed))
}

/// The bytes of the value that a JSON text is.
#[pyfunction]
#[pyo3(signature = (text, typed=false))]
fn from_json<'py>(py: Python<'py>, text: &Bound<'py, PyAny>, typed: bool) -> PyResult<Bound<'py, PyBytes>> {
    let held = Held::new(text)?;
    let bytes = py.detach(|| {
        let mut out = Vec::new();
        let text = held.as_ref();
        let read = if typed { json::typed::read(text, &mut out) } else { json::plain::read(text, &mut out) };
        read.map(|()| out).map_err(value_error)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Fields and their types, behind `rawline.value.Record`.
#[pyclass(frozen, module = "rawline._rawline")]
struct RecordCore {
    fields: Fields,
    place: Place,
}

#[pymethods]
impl RecordCore {
    /// `fields` are names and types.
    #[new]
    fn new(fields: Vec<(String, String)>, is_vector: bool) -> PyResult<RecordCore> {
        let mut hints = Vec::with_capacity(fields.len());
        for (name, kind) in fields {
            if hints.iter().any(|(known, _)| *known == name) {
                return Err(value_error(format!("field {name:?} is there twice; name it once")));
            }
            hints.push((name, kind.parse::<Hint>().map_err(value_error)?));
        }
        Ok(RecordCore { fields: Fields { hints, is_vector }, place: Place::new() })
    }

    fn encode<'py>(&self, py: Python<'py>, record: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let made = encoded(py, &self.place, &self.fields, record.as_ptr())?;
        // SAFETY: an owned object.
        Ok(unsafe { Bound::from_owned_ptr(py, made) })
    }
}
