//! Records of Kafka's batches in Python, with keys, headers and times.

use crate::batch::Batch;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rawline_batch::record_batch::Record;

/// A record with its key, headers and time, which records of Kafka's batches have. Created by `messages` of consumers
/// and batches.
#[pyclass(frozen, module = "rawline")]
pub struct Message {
    batch: Py<Batch>,
    /// Its index in the batch.
    index: usize,
}

impl Message {
    pub fn new(batch: Py<Batch>, index: usize) -> Message {
        Message { batch, index }
    }

    fn record(&self) -> Option<Record<'_>> {
        self.batch.get().kafka_record(self.index)
    }
}

#[pymethods]
impl Message {
    /// The topic that was read.
    #[getter]
    fn topic(&self) -> String {
        self.batch.get().topic_name().to_string()
    }

    /// The partition that was read.
    #[getter]
    fn partition(&self) -> u32 {
        self.batch.get().partition_number()
    }

    /// The offset in the partition.
    #[getter]
    fn offset(&self) -> u64 {
        self.batch.get().first_offset_value() + self.index as u64
    }

    /// The record, a memoryview of the received bytes; `None` if it is null.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.record().is_some_and(|record| record.value.is_none()) {
            return Ok(None);
        }
        self.batch.get().record(py, self.index).map(Some)
    }

    /// The key; `None` without one.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.record()?.key.map(|key| PyBytes::new(py, key))
    }

    /// Names and values, which can be `None`.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let headers = self.record().map(|record| record.headers).unwrap_or_default();
        let headers =
            headers.map(|(name, value)| (String::from_utf8_lossy(name), value.map(|value| PyBytes::new(py, value))));
        PyList::new(py, headers.collect::<Vec<_>>())
    }

    /// The time that the producer gave it, in milliseconds since 1970; `None` without one.
    #[getter]
    fn timestamp(&self) -> Option<i64> {
        self.record().map(|record| record.timestamp_ms).filter(|timestamp_ms| *timestamp_ms >= 0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = self.key(py).map_or(Ok("None".to_owned()), |key| key.repr().map(|key| key.to_string()))?;
        Ok(format!("<rawline.Message at offset {} of partition {}, key {key}>", self.offset(), self.partition()))
    }
}
