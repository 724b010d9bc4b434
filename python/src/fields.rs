//! Times, keys and headers of a batch's records as columns, read in one pass.

use crate::arrow::arrow_error;
use crate::batch::Batch;
use arrow_array::builder::{BinaryBuilder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use pyo3::prelude::*;
use rawline_batch::record_batch;
use std::sync::Arc;

/// The columns that are requested.
pub struct RecordFields {
    pub timestamps: Option<ArrayRef>,
    pub keys: Option<ArrayRef>,
    pub headers: Option<ArrayRef>,
}

/// Microseconds in UTC.
pub fn timestamp_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The headers of a record, in order.
pub fn headers_type() -> DataType {
    DataType::List(Arc::new(header_field()))
}

fn header_field() -> Field {
    Field::new("item", DataType::Struct(header_fields()), false)
}

fn header_fields() -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Binary, true)])
}

impl RecordFields {
    /// Those of these columns.
    pub fn read(batch: &Batch, schema: &Schema) -> PyResult<RecordFields> {
        let wants = |name: &str| schema.column_with_name(name).is_some();
        let rows = batch.records();
        let timestamps = TimestampMicrosecondBuilder::with_capacity(rows).with_data_type(timestamp_type());
        let mut timestamps = wants("timestamp").then_some(timestamps);
        let mut keys = wants("key").then(|| BinaryBuilder::with_capacity(rows, 0));
        let mut headers = wants("headers").then(|| HeadersBuilder::with_capacity(rows));
        if batch.stored().kafka().is_none() {
            let created_us = i64::try_from(batch.stored().header().created_us).unwrap_or(i64::MAX);
            timestamps.iter_mut().for_each(|times| times.append_value_n(created_us, rows));
            keys.iter_mut().for_each(|keys| keys.append_nulls(rows));
            headers.iter_mut().for_each(|headers| headers.append_empty(rows));
        } else if timestamps.is_some() || keys.is_some() || headers.is_some() {
            for record in batch.kafka_records() {
                let time_us = record.filter(|record| record.timestamp_ms >= 0);
                let time_us = time_us.map(|record| record.timestamp_ms.saturating_mul(1000));
                timestamps.iter_mut().for_each(|times| times.append_option(time_us));
                keys.iter_mut().for_each(|keys| keys.append_option(record.and_then(|record| record.key)));
                let found = record.map(|record| record.headers).unwrap_or_default();
                headers.iter_mut().for_each(|headers| headers.append(found));
            }
        }
        Ok(RecordFields {
            timestamps: timestamps.map(|mut times| Arc::new(times.finish()) as ArrayRef),
            keys: keys.map(|mut keys| Arc::new(keys.finish()) as ArrayRef),
            headers: headers.map(HeadersBuilder::finish).transpose()?,
        })
    }
}

/// Headers of records, one record after the other.
struct HeadersBuilder {
    names: StringBuilder,
    values: BinaryBuilder,
    /// The number of headers up to the end of each record, after a 0.
    ends: Vec<i32>,
}

impl HeadersBuilder {
    fn with_capacity(rows: usize) -> HeadersBuilder {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        HeadersBuilder { names: StringBuilder::new(), values: BinaryBuilder::new(), ends }
    }

    fn append(&mut self, headers: record_batch::Headers<'_>) {
        let mut end = self.ends.last().copied().unwrap_or_default();
        for (name, value) in headers {
            self.names.append_value(String::from_utf8_lossy(name));
            self.values.append_option(value);
            // A batch has fewer than 2^31 bytes, and a header has several of them.
            end += 1;
        }
        self.ends.push(end);
    }

    fn append_empty(&mut self, rows: usize) {
        let end = self.ends.last().copied().unwrap_or_default();
        self.ends.resize(self.ends.len() + rows, end);
    }

    fn finish(mut self) -> PyResult<ArrayRef> {
        let columns: Vec<ArrayRef> = vec![Arc::new(self.names.finish()), Arc::new(self.values.finish())];
        let headers = StructArray::try_new(header_fields(), columns, None).map_err(arrow_error)?;
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        let list = ListArray::try_new(Arc::new(header_field()), ends, Arc::new(headers), None);
        Ok(Arc::new(list.map_err(arrow_error)?))
    }
}
