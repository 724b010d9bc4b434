//! Arrow's C data interface with PyCapsules: exports records without a copy, imports arrays.

use crate::batch::Batch;
use crate::error::config_error;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, GenericBinaryArray, GenericStringArray, LargeBinaryArray,
    OffsetSizeTrait, RecordBatch, RecordBatchIterator, StringViewArray, StructArray, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rawline_batch::record_batch::Record;
use std::ffi::CStr;
use std::sync::Arc;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Arrow's errors.
pub fn arrow_error(error: ArrowError) -> PyErr {
    config_error(format!("Arrow reports an error: {error}"))
}

/// A batch's records over the batch's memory: Binary, or LargeBinary if 31 bits aren't enough for the offsets. Null
/// values of Kafka's batches are null.
pub fn records(batch: &Batch) -> PyResult<ArrayRef> {
    let stored = batch.stored();
    let nulls = stored.kafka().filter(|kafka| kafka.has_nulls()).map(|_| {
        let is_null = |record: Record<'_>| record.value.is_none();
        NullBuffer::from_iter(batch.kafka_records().map(|record| !record.is_some_and(is_null)))
    });
    let (start, end) = batch.places();
    let (offsets, data) = (stored.offsets().clone(), stored.data_buffer());
    let (from, count) = (start, end - start + 1);
    if i32::try_from(stored.header().raw_bytes).is_ok() {
        let offsets = OffsetBuffer::new(ScalarBuffer::<i32>::new(offsets, from, count));
        return Ok(Arc::new(BinaryArray::try_new(offsets, data, nulls).map_err(arrow_error)?));
    }
    let offsets: Vec<i64> =
        offsets.typed_data::<u32>().iter().skip(from).take(count).map(|at| i64::from(*at)).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(LargeBinaryArray::try_new(offsets, data, nulls).map_err(arrow_error)?))
}

/// Whether [`records_as`] can return records as this type.
pub fn is_binary_or_text(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(data_type, Binary | LargeBinary | BinaryView | Utf8 | LargeUtf8 | Utf8View)
}

/// Records as another of Arrow's binary or string types, over the same memory.
pub fn records_as(records: ArrayRef, requested: &DataType) -> PyResult<ArrayRef> {
    let is_large = matches!(records.data_type(), DataType::LargeBinary);
    Ok(match requested {
        same if same == records.data_type() => records,
        DataType::LargeBinary => Arc::new(widened(records.as_binary())?),
        DataType::LargeUtf8 if is_large => Arc::new(text(records.as_binary::<i64>().clone())?),
        DataType::LargeUtf8 => Arc::new(text(widened(records.as_binary())?)?),
        DataType::Utf8 if !is_large => Arc::new(text(records.as_binary::<i32>().clone())?),
        DataType::BinaryView if !is_large => Arc::new(BinaryViewArray::from(records.as_binary::<i32>())),
        DataType::Utf8View if !is_large => Arc::new(StringViewArray::from(&text(records.as_binary::<i32>().clone())?)),
        other => {
            return Err(config_error(format!(
                "records are {}, not {other}; request a binary or string type, and cast that",
                records.data_type()
            )));
        }
    })
}

fn widened(records: &BinaryArray) -> PyResult<LargeBinaryArray> {
    let offsets: Vec<i64> = records.value_offsets().iter().map(|at| i64::from(*at)).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    LargeBinaryArray::try_new(offsets, records.values().clone(), records.nulls().cloned()).map_err(arrow_error)
}

fn text<O: OffsetSizeTrait>(records: GenericBinaryArray<O>) -> PyResult<GenericStringArray<O>> {
    GenericStringArray::try_from_binary(records)
        .map_err(|error| config_error(format!("not all records are text: {error}; request binary")))
}

/// The type that a caller of the PyCapsule interface requests.
pub fn requested_type(requested: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let requested = requested.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
    // SAFETY: the capsule's name guarantees its content, and the capsule is alive during the call.
    let requested = unsafe { requested.cast::<FFI_ArrowSchema>().as_ref() };
    DataType::try_from(requested).map_err(arrow_error)
}

/// Exports a type through the C data interface.
pub fn export_type<'py>(py: Python<'py>, data_type: &DataType) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(data_type).map_err(arrow_error)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Exports an array through the C data interface: schema and array. Nothing is copied.
pub fn export_array<'py>(
    py: Python<'py>,
    array: &dyn Array,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(arrow_error)?;
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// Exports batches of columns through the C stream interface.
pub fn export_stream<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// Whether an object provides arrays through the PyCapsule interface.
pub fn is_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")?)
}

/// The arrays of an object with the PyCapsule interface; a stream's arrays in order. Nothing is copied.
pub fn import_arrays(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if object.hasattr("__arrow_c_array__")? {
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
            object.call_method0("__arrow_c_array__")?.extract()?;
        let (schema, array) = (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
        // SAFETY: the capsules' names guarantee their content; the array is moved out, as the interface requires.
        let data = unsafe {
            let array = FFI_ArrowArray::from_raw(array.as_ptr().cast());
            from_ffi(array, schema.cast::<FFI_ArrowSchema>().as_ref())
        };
        return Ok(vec![make_array(data.map_err(arrow_error)?)]);
    }
    let stream: Bound<'_, PyCapsule> = object.call_method0("__arrow_c_stream__")?.extract()?;
    let stream = stream.pointer_checked(Some(STREAM))?;
    // SAFETY: the capsule's name guarantees its content; the stream is moved out, as the interface requires.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
    let arrays = ArrayStreamReader::try_new(stream).map_err(arrow_error)?;
    arrays.collect::<Result<_, _>>().map_err(arrow_error)
}

/// Like [`import_arrays`], for tables.
pub fn import_tables(object: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    if !is_arrow(object)? {
        return Err(config_error("not an Arrow table; give an object with __arrow_c_array__ or __arrow_c_stream__"));
    }
    if object.hasattr("__arrow_c_stream__")? {
        let stream: Bound<'_, PyCapsule> = object.call_method0("__arrow_c_stream__")?.extract()?;
        let stream = stream.pointer_checked(Some(STREAM))?;
        // SAFETY: the capsule's name guarantees its content; the stream is moved out, as the interface requires.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
        let reader = RecordBatchStreamReader::try_new(stream).map_err(arrow_error)?;
        return reader.collect::<Result<_, _>>().map_err(arrow_error);
    }
    let mut tables = Vec::new();
    for array in import_arrays(object)? {
        match array.as_any().downcast_ref::<StructArray>() {
            Some(columns) if columns.null_count() == 0 => tables.push(RecordBatch::from(columns)),
            _ => return Err(config_error(format!("an Arrow array of {}; give a table", array.data_type()))),
        }
    }
    Ok(tables)
}
