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
use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, ListArray, RecordBatch, RecordBatchOptions, StructArray, TimestampMicrosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use rawline_batch::record_batch::Record;
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
    let columns = schema.fields().iter().map(|field| column(batch, field)).collect::<PyResult<Vec<_>>>()?;
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
        "timestamp" => (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        "key" | "record" => (DataType::Binary, true),
        "headers" => (DataType::List(Arc::new(header_field())), false),
        _ => return None,
    };
    Some(Field::new(name, data_type, is_nullable))
}

fn header_field() -> Field {
    Field::new("item", DataType::Struct(header_fields()), false)
}

fn header_fields() -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Binary, true)])
}

fn column(batch: &Batch, field: &Field) -> PyResult<ArrayRef> {
    let rows = batch.records();
    Ok(match field.name().as_str() {
        "partition" => Arc::new(UInt32Array::from_value(batch.partition_number(), rows)),
        "offset" => {
            let first = batch.first_offset_value();
            Arc::new(UInt64Array::from_iter_values(first..first + rows as u64))
        }
        "timestamp" => Arc::new(timestamps(batch).with_timezone("UTC")),
        "key" => records_as(Arc::new(keys(batch)), field.data_type())?,
        "record" => records_as(records(batch)?, field.data_type())?,
        _ => Arc::new(headers(batch)?),
    })
}

fn timestamps(batch: &Batch) -> TimestampMicrosecondArray {
    if batch.stored().kafka().is_some() {
        let time_us = |record: Record<'_>| (record.timestamp_ms >= 0).then(|| record.timestamp_ms.saturating_mul(1000));
        return kafka_records(batch).map(|record| record.and_then(time_us)).collect();
    }
    let created_us = i64::try_from(batch.stored().header().created_us).unwrap_or(i64::MAX);
    TimestampMicrosecondArray::from_value(created_us, batch.records())
}

fn keys(batch: &Batch) -> BinaryArray {
    if batch.stored().kafka().is_none() {
        return BinaryArray::new_null(batch.records());
    }
    let mut keys = BinaryBuilder::with_capacity(batch.records(), 0);
    kafka_records(batch).for_each(|record| keys.append_option(record.and_then(|record| record.key)));
    keys.finish()
}

fn headers(batch: &Batch) -> PyResult<ListArray> {
    let (mut names, mut values) = (StringBuilder::new(), BinaryBuilder::new());
    let (mut end, mut ends) = (0i32, Vec::with_capacity(batch.records() + 1));
    ends.push(end);
    for record in kafka_records(batch) {
        for (name, value) in record.map(|record| record.headers).unwrap_or_default() {
            names.append_value(String::from_utf8_lossy(name));
            values.append_option(value);
            // A section has fewer than 2^31 bytes, and a header has several of them.
            end += 1;
        }
        ends.push(end);
    }
    let columns: Vec<ArrayRef> = vec![Arc::new(names.finish()), Arc::new(values.finish())];
    let pairs = StructArray::try_new(header_fields(), columns, None).map_err(arrow_error)?;
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    ListArray::try_new(Arc::new(header_field()), ends, Arc::new(pairs), None).map_err(arrow_error)
}

/// Each record as a Kafka batch has it; `None` for records of our batches.
fn kafka_records(batch: &Batch) -> impl Iterator<Item = Option<Record<'_>>> {
    (0..batch.records()).map(|index| batch.kafka_record(index))
}
