//! Records from Python that can be sent without the GIL: bytes-like objects, or Arrow arrays of bytes or text.

use crate::arrow;
use crate::buffer::Held;
use crate::error::config_error;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyMemoryView, PyString};

/// Maximum number of records taken from an iterable at once: enough to make releasing the GIL cheap, and few enough
/// that a slow generator's records are sent soon.
const CHUNK_RECORDS: usize = 1024;
const CHUNK_BYTES: usize = 1 << 20;

/// A source of records.
pub enum Source {
    Objects(Py<PyIterator>),
    Arrays(std::vec::IntoIter<ArrayRef>),
}

/// Some records of a source.
pub enum Chunk {
    Objects(Vec<Held>),
    Array(ArrayRef),
}

impl Source {
    /// Records of an Arrow array or of any iterable. A single bytes-like object and a dict are rejected: they are
    /// probably mistakes, and a dict's keys would be sent.
    pub fn new(records: &Bound<'_, PyAny>) -> PyResult<Source> {
        let one = records.is_instance_of::<PyBytes>()
            || records.is_instance_of::<PyString>()
            || records.is_instance_of::<PyByteArray>()
            || records.is_instance_of::<PyMemoryView>();
        if one {
            return Err(PyTypeError::new_err("expected many records, got one; use send, or put it in a list"));
        }
        if records.is_instance_of::<PyDict>() {
            return Err(PyTypeError::new_err(
                "a dict is not a sequence of records; encode it first, for example as JSON",
            ));
        }
        if !arrow::is_arrow(records)? {
            return Ok(Source::Objects(records.try_iter()?.unbind()));
        }
        let arrays = arrow::import_arrays(records)?;
        let arrays = arrays.into_iter().map(records_column).collect::<PyResult<Vec<_>>>()?;
        Ok(Source::Arrays(arrays.into_iter()))
    }

    /// The next records; `None` at the end.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<Chunk>> {
        let objects = match self {
            Source::Objects(objects) => objects,
            Source::Arrays(arrays) => return Ok(arrays.next().map(Chunk::Array)),
        };
        let mut chunk = Vec::new();
        let mut bytes = 0;
        for record in objects.bind(py).clone() {
            let record = Held::new(&record?)?;
            bytes += record.as_ref().len();
            chunk.push(record);
            if chunk.len() >= CHUNK_RECORDS || bytes >= CHUNK_BYTES {
                break;
            }
        }
        Ok(Some(chunk).filter(|chunk| !chunk.is_empty()).map(Chunk::Objects))
    }
}

/// The column with the records: the array itself, or a table's only column or the one named `record`.
fn records_column(array: ArrayRef) -> PyResult<ArrayRef> {
    let array = match array.as_struct_opt() {
        None => array,
        Some(table) if table.num_columns() == 1 => table.column(0).clone(),
        Some(table) => table.column_by_name("record").cloned().ok_or_else(|| {
            config_error("the table has several columns and none is named \"record\"; pass the column with the records")
        })?,
    };
    if array.null_count() > 0 {
        return Err(config_error("the array has nulls, and a record is never null; drop or fill them first"));
    }
    match array.data_type() {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::FixedSizeBinary(_) => Ok(array),
        other => Err(config_error(format!("an Arrow array of {other}; records are binary or string: cast it"))),
    }
}

impl Chunk {
    /// Number of records.
    pub fn len(&self) -> usize {
        match self {
            Chunk::Objects(objects) => objects.len(),
            Chunk::Array(array) => array.len(),
        }
    }

    /// A record's bytes.
    pub fn record(&self, index: usize) -> &[u8] {
        let array = match self {
            Chunk::Objects(objects) => return objects.get(index).map(AsRef::as_ref).unwrap_or_default(),
            Chunk::Array(array) => array,
        };
        if index >= array.len() {
            return &[];
        }
        match array.data_type() {
            DataType::Binary => array.as_binary::<i32>().value(index),
            DataType::LargeBinary => array.as_binary::<i64>().value(index),
            DataType::BinaryView => array.as_binary_view().value(index),
            DataType::Utf8 => array.as_string::<i32>().value(index).as_bytes(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(index).as_bytes(),
            DataType::Utf8View => array.as_string_view().value(index).as_bytes(),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(index),
            // `records_column` rejects all other types.
            _ => &[],
        }
    }
}
