//! A view of a value in its original bytes: its type, and its parts, each decoded on request.

use crate::buffer::{Held, memoryview};
use crate::error::value_error;
use crate::value::read::{Cursor, check, cut_off, decode};
use crate::value::write::{Place, encode};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use rawline_value::json;
use std::sync::Arc;

const KINDS: [&str; 15] = [
    "none",
    "boolean",
    "count",
    "integer",
    "real",
    "string",
    "address",
    "subnet",
    "port",
    "timestamp",
    "timespan",
    "enum",
    "set",
    "table",
    "vector",
];

/// See `lib/rawline/_rawline.pyi`.
#[pyclass(frozen, module = "rawline.value")]
pub struct View {
    held: Arc<Held>,
    start: usize,
    end: usize,
}

static KEYS: Place = Place::new();

impl View {
    fn bytes(&self) -> &[u8] {
        (*self.held).as_ref().get(self.start..self.end).unwrap_or_default()
    }

    fn tag(&self) -> u8 {
        self.bytes().first().copied().unwrap_or_default()
    }

    /// A part of this value, by its byte range.
    fn part(&self, start: usize, end: usize) -> View {
        View { held: self.held.clone(), start: self.start + start, end: self.start + end }
    }

    /// Byte range of each element; for a table, those of keys and values alternate.
    fn elements(&self) -> PyResult<Vec<(usize, usize)>> {
        let mut cursor = Cursor { bytes: self.bytes(), at: 1 };
        let width = match self.tag() {
            12 | 14 => 1,
            13 => 2,
            _ => return Err(PyTypeError::new_err(format!("a {} has no elements", self.kind()))),
        };
        let walk = |cursor: &mut Cursor<'_>| {
            let count = cursor.elements(width)? * width;
            let mut elements = Vec::with_capacity(count);
            for _ in 0..count {
                let start = cursor.at;
                cursor.skip()?;
                elements.push((start, cursor.at));
            }
            Some(elements)
        };
        walk(&mut cursor).ok_or_else(|| *cut_off())
    }

    fn find(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<View>> {
        let wanted = encode(py, &KEYS, &Default::default(), key.as_ptr(), <[u8]>::to_vec)?;
        let elements = self.elements()?;
        let (pairs, _) = elements.as_chunks();
        let found = pairs.iter().find(|[(start, end), _]| self.bytes().get(*start..*end) == Some(&wanted));
        Ok(found.map(|[_, (start, end)]| self.part(*start, *end)))
    }
}

#[pymethods]
impl View {
    #[new]
    fn new(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<View> {
        let held = Held::new(data)?;
        let end = held.as_ref().len();
        py.detach(|| check(held.as_ref()))?;
        Ok(View { held: Arc::new(held), start: 0, end })
    }

    #[getter]
    fn kind(&self) -> &'static str {
        KINDS.get(usize::from(self.tag())).copied().unwrap_or_default()
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        memoryview(py, self.held.clone(), self.bytes())
    }

    #[pyo3(signature = (exact=false))]
    fn to_python<'py>(&self, py: Python<'py>, exact: bool) -> PyResult<Bound<'py, PyAny>> {
        decode(py, self.bytes(), exact)
    }

    #[pyo3(signature = (typed=false))]
    fn to_json(&self, typed: bool) -> PyResult<String> {
        to_json(self.bytes(), typed)
    }

    fn __len__(&self) -> PyResult<usize> {
        let elements = self.elements()?.len();
        Ok(if self.tag() == 13 { elements / 2 } else { elements })
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<View> {
        if self.tag() == 13 {
            return self.find(py, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()));
        }
        let elements = self.elements()?;
        let wanted: isize = key.extract()?;
        let place = if wanted < 0 { wanted + elements.len() as isize } else { wanted };
        let found = usize::try_from(place).ok().and_then(|place| elements.get(place));
        let (start, end) = found.ok_or_else(|| {
            PyIndexError::new_err(format!("element {wanted} of a {} of {}", self.kind(), elements.len()))
        })?;
        Ok(self.part(*start, *end))
    }

    /// The value of a key; `None` if there is no such key.
    fn get(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<View>> {
        self.find(py, key)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        if self.tag() == 13 {
            return Ok(self.find(py, key)?.is_some());
        }
        let wanted = encode(py, &KEYS, &Default::default(), key.as_ptr(), <[u8]>::to_vec)?;
        Ok(self.elements()?.iter().any(|(start, end)| self.bytes().get(*start..*end) == Some(&wanted)))
    }

    /// The elements of a vector or set, the keys of a table.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let step = if self.tag() == 13 { 2 } else { 1 };
        let elements: Vec<View> =
            self.elements()?.into_iter().step_by(step).map(|(start, end)| self.part(start, end)).collect();
        elements.into_pyobject(py)?.try_iter().map(Bound::into_any)
    }

    fn items(&self) -> PyResult<Vec<(View, View)>> {
        if self.tag() != 13 {
            return Err(PyTypeError::new_err(format!("a {} has no items", self.kind())));
        }
        let elements = self.elements()?;
        let (pairs, _) = elements.as_chunks();
        Ok(pairs.iter().map(|[key, value]| (self.part(key.0, key.1), self.part(value.0, value.1))).collect())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<View>().is_ok_and(|other| other.get().bytes() == self.bytes())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{Hash, Hasher};
        let mut hasher = std::hash::DefaultHasher::new();
        self.bytes().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let json = to_json(self.bytes(), false).unwrap_or_default();
        let short: String = json.chars().take(60).collect();
        format!("<rawline.value.View {}: {short}{}>", self.kind(), if short.len() < json.len() { "…" } else { "" })
    }
}

/// A value's bytes as JSON, typed or plain.
pub fn to_json(bytes: &[u8], typed: bool) -> PyResult<String> {
    let json = if typed { json::typed::to_string(bytes) } else { json::plain::to_string(bytes) };
    json.map_err(value_error)
}
