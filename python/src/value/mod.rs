//! Converts structured values between Python objects, bytes and JSON: `rawline.value`.

mod field;
mod hinted;
mod instance;
mod out;
mod read;
mod shape;
mod table;
mod types;
mod view;
mod write;

use crate::buffer::Held;
use crate::error::value_error;
use crate::value::instance::Instances;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use rawline_value::{Hint, json};
use shape::{Fields, Form, Shape};
use std::ffi::CStr;
use write::Place;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<types::Address>()?;
    module.add_class::<types::Subnet>()?;
    module.add_class::<types::Port>()?;
    module.add_class::<types::Timestamp>()?;
    module.add_class::<types::Timespan>()?;
    module.add_class::<view::View>()?;
    module.add_class::<RecordCore>()?;
    module.add_class::<Instances>()?;
    module.add_function(wrap_pyfunction!(field::field, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(to_json, module)?)?;
    module.add_function(wrap_pyfunction!(from_json, module)?)?;
    add_encode(module)
}

/// A function of one argument that Python calls directly: PyO3's argument parsing would take a tenth of the time of a
/// small value.
struct Method(ffi::PyMethodDef);

// SAFETY: it is never written.
unsafe impl Sync for Method {}

impl Method {
    const fn new(name: &CStr, function: ffi::PyCFunction, doc: &CStr) -> Method {
        Method(ffi::PyMethodDef {
            ml_name: name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
            ml_flags: ffi::METH_O,
            ml_doc: doc.as_ptr(),
        })
    }

    /// A Python function that holds `owner` and gets it at each call.
    fn bind<'py>(&'static self, py: Python<'py>, owner: *mut ffi::PyObject) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the method lives forever; the returned function is owned.
        unsafe {
            let made = ffi::PyCFunction_NewEx((&raw const self.0).cast_mut(), owner, std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}

fn add_encode(module: &Bound<'_, PyModule>) -> PyResult<()> {
    static METHOD: Method =
        Method::new(c"encode", encode, c"encode(value, /)\n--\n\nEncodes a Python object as the bytes of a value.");
    module.add("encode", METHOD.bind(module.py(), std::ptr::null_mut())?)
}

static PLACE: Place = Place::new();
static NO_FIELDS: Fields = Fields { hints: Vec::new(), form: Form::Table, of_class: None };

unsafe extern "C" fn encode(_module: *mut ffi::PyObject, object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with the GIL held and one argument, which outlives the call.
    let py = unsafe { Python::assume_attached() };
    encoded(py, &PLACE, &NO_FIELDS, object).unwrap_or_else(|error| {
        error.restore(py);
        std::ptr::null_mut()
    })
}

/// Encodes an object; returns an owned `bytes`.
fn encoded(py: Python<'_>, place: &Place, fields: &Fields, object: *mut ffi::PyObject) -> PyResult<*mut ffi::PyObject> {
    let made = write::encode(py, place, fields, object, |bytes| {
        // SAFETY: start and length are of one slice; with the GIL held.
        unsafe { ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as ffi::Py_ssize_t) }
    })?;
    if made.is_null() { Err(PyErr::fetch(py)) } else { Ok(made) }
}

/// Decodes a value's bytes to an object.
#[pyfunction]
#[pyo3(signature = (data, exact=false))]
fn decode<'py>(py: Python<'py>, data: &Bound<'py, PyAny>, exact: bool) -> PyResult<Bound<'py, PyAny>> {
    match data.cast::<PyBytes>() {
        Ok(bytes) => read::decode(py, bytes.as_bytes(), exact),
        Err(_) => read::decode(py, Held::new(data)?.as_ref(), exact),
    }
}

/// Fails unless the bytes are exactly one value.
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

/// Encodes the value of a JSON text.
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

/// Fields and their types: the native part of `rawline.value.Record`.
#[pyclass(frozen, module = "rawline._rawline")]
struct RecordCore {
    fields: Fields,
    /// The class whose instances are written; `None` for dicts.
    class: Option<Py<PyType>>,
    /// The type as which bytes are read; `None` for dicts.
    instances: Option<Py<Instances>>,
    place: Place,
}

#[pymethods]
impl RecordCore {
    /// `fields` are names and types; `form` is `table` or `vector`, `order` that of a table: `names` or `fields`.
    /// `of_class` is a subclass of `tuple` with as many elements. Fields that are None are omitted, except those of
    /// `kept`. `read_as` says what bytes are read as; dicts without it.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "called from one place")]
    fn new(
        py: Python<'_>,
        fields: Vec<(String, String)>,
        form: &str,
        order: &str,
        of_class: Option<Py<PyType>>,
        kept: Vec<String>,
        read_as: Option<Py<Instances>>,
    ) -> PyResult<RecordCore> {
        let form = match (form, order) {
            ("table", "names") => Form::Table,
            ("table", "fields") => Form::TableOfFields,
            ("vector", "names" | "fields") => Form::Vector,
            ("table" | "vector", _) => {
                return Err(value_error(format!("{order:?} isn't an order; use names or fields")));
            }
            _ => return Err(value_error(format!("{form:?} isn't a form; use table or vector"))),
        };
        let mut hints = Vec::with_capacity(fields.len());
        for (name, kind) in fields {
            if hints.iter().any(|(known, _)| *known == name) {
                return Err(value_error(format!("duplicate field {name:?}; name it once")));
            }
            hints.push((name, kind.parse::<Hint>().map_err(value_error)?));
        }
        let mut fields = Fields { hints, form, of_class: None };
        if of_class.is_some() {
            fields.of_class = Some(Shape::of_class(&fields, &kept, types::types(py)?).map_err(value_error)?);
        }
        Ok(RecordCore { fields, class: of_class, instances: read_as, place: Place::new() })
    }

    /// A function from a dict, or an instance, to its bytes.
    #[getter]
    fn encode<'py>(record: &Bound<'py, RecordCore>) -> PyResult<Bound<'py, PyAny>> {
        static METHOD: Method =
            Method::new(c"encode", encode_record, c"encode(record, /)\n--\n\nThe bytes of a record.");
        METHOD.bind(record.py(), record.as_ptr())
    }

    /// A function from bytes to a dict, or an instance.
    #[getter]
    fn decode<'py>(record: &Bound<'py, RecordCore>) -> PyResult<Bound<'py, PyAny>> {
        static METHOD: Method =
            Method::new(c"decode", decode_record, c"decode(data, /)\n--\n\nThe record of these bytes.");
        METHOD.bind(record.py(), record.as_ptr())
    }
}

unsafe extern "C" fn decode_record(owner: *mut ffi::PyObject, data: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as for `encode_record`.
    let (py, owner, data) = unsafe {
        let py = Python::assume_attached();
        (py, Borrowed::from_ptr(py, owner).cast_unchecked::<RecordCore>(), Borrowed::from_ptr(py, data))
    };
    let instances = &owner.get().instances;
    let read = |bytes: &[u8]| match instances {
        Some(of) => read::decode_instance(py, bytes, of.get()),
        None => read::decode(py, bytes, false),
    };
    let decoded = match data.cast::<PyBytes>() {
        Ok(bytes) => read(bytes.as_bytes()),
        Err(_) => Held::new(&data).and_then(|held| read(held.as_ref())),
    };
    decoded.map(Bound::into_ptr).unwrap_or_else(|error| {
        error.restore(py);
        std::ptr::null_mut()
    })
}

unsafe extern "C" fn encode_record(owner: *mut ffi::PyObject, record: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with the GIL held and one argument. It outlives the call, and so does the owner, to
    // which the function is bound.
    let (py, owner, found) = unsafe {
        let py = Python::assume_attached();
        (py, Borrowed::from_ptr(py, owner).cast_unchecked::<RecordCore>(), Borrowed::from_ptr(py, record))
    };
    let core = owner.get();
    let encoded = || {
        match &core.class {
            None => drop(found.cast::<PyDict>()?),
            Some(class) => is_instance(found, class.bind(py), core.fields.hints.len())?,
        }
        encoded(py, &core.place, &core.fields, record)
    };
    encoded().unwrap_or_else(|error| {
        error.restore(py);
        std::ptr::null_mut()
    })
}

/// Fails unless the object is an instance of the class, a subclass of tuple, with this many elements.
#[inline]
fn is_instance(object: Borrowed<'_, '_, PyAny>, class: &Bound<'_, PyType>, elements: usize) -> PyResult<()> {
    // SAFETY: the GIL is held and the object is alive; its size is read only when it is known to be a tuple.
    unsafe {
        let found = ffi::Py_TYPE(object.as_ptr());
        let is_one = found == class.as_type_ptr() || ffi::PyType_IsSubtype(found, class.as_type_ptr()) != 0;
        if is_one && ffi::PyTuple_Size(object.as_ptr()).unsigned_abs() == elements {
            return Ok(());
        }
    }
    Err(PyTypeError::new_err(format!("a record of {} was given {}", class.name()?, object.get_type().name()?)))
}
