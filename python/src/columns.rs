//! The records of a batch as the columns of an Arrow table.
//!
//! ```text
//! partition   uint32
//! offset      uint64
//! timestamp   microseconds, UTC: the record's; in our batches, whose records have none, that of the batch. Or null
//! key         binary, or null
//! record      binary, over the batch's memory; null if a Kafka batch has a null value
//! headers     list of structs: key and value, which can be null. Empty without headers
//! ```

use crate::arrow::{arrow_error, is_binary_or_text, records, records_as};
use crate::batch::Batch;
use crate::error::config_error;
use crate::fields::{RecordFields, headers_type, timestamp_type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use std::sync::Arc;

const NAMES: [&str; 6] = ["partition", "offset", "timestamp", "key", "record", "headers"];

/// The requested columns, in the requested order; all of them if none are requested. Keys and records have the
/// requested type if it is a binary or string type. The caller casts other columns and other types.
pub fn schema(requested: Option<&DataType>) -> PyResult<SchemaRef> {
    let fields: Vec<Field> = match requested {
        Some(DataType::Struct(fields)) => fields.iter().map(|field| requested_field(field)).collect::<PyResult<_>>()?,
        _ => NAMES.iter().filter_map(|name| natural_field(name)).collect(),
    };
    Ok(Arc::new(Schema::new(fields)))
}

/// A batch's records with these columns.
pub fn columns(batch: &Batch, schema: &SchemaRef) -> PyResult<RecordBatch> {
    let fields = RecordFields::read(batch, schema)?;
    let columns = schema.fields().iter().map(|field| column(batch, &fields, field)).collect::<PyResult<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.records()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(arrow_error)
}

fn requested_field(requested: &Field) -> PyResult<Field> {
    let name = requested.name();
    let natural = natural_field(name)
        .ok_or_else(|| config_error(format!("no column is named {name:?}; the columns are {}", NAMES.join(", "))))?;
    let is_binary = natural.data_type() == &DataType::Binary && is_binary_or_text(requested.data_type());
    Ok(if is_binary { natural.with_data_type(requested.data_type().clone()) } else { natural })
}

fn natural_field(name: &str) -> Option<Field> {
    let (data_type, is_nullable) = match name {
        "partition" => (DataType::UInt32, false),
        "offset" => (DataType::UInt64, false),
        "timestamp" => (timestamp_type(), true),
        "key" | "record" => (DataType::Binary, true),
        "headers" => (headers_type(), false),
        _ => return None,
    };
    Some(Field::new(name, data_type, is_nullable))
}

fn column(batch: &Batch, fields: &RecordFields, field: &Field) -> PyResult<ArrayRef> {
    let rows = batch.records();
    let read = match field.name().as_str() {
        "partition" => return Ok(Arc::new(UInt32Array::from_value(batch.partition_number(), rows))),
        "offset" => {
            let first = batch.first_offset_value();
            return Ok(Arc::new(UInt64Array::from_iter_values(first..first + rows as u64)));
        }
        "record" => return records_as(records(batch)?, field.data_type()),
        "timestamp" => &fields.timestamps,
        "key" => &fields.keys,
        _ => &fields.headers,
    };
    let Some(column) = read.clone() else { unreachable!("{field} was read") };
    if field.name() == "key" { records_as(column, field.data_type()) } else { Ok(column) }
}
