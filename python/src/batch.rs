//! Batches in Python: sequences of records, each a memoryview of the received bytes.

use crate::arguments::whole;
use crate::arrow;
use crate::batches::Batches;
use crate::buffer::{Held, memoryview, slice};
use crate::count::count;
use crate::error::{batch_error, client_error, config_error};
use crate::kafka::KafkaBatch;
use crate::message::Message;
use crate::received::{Placed, Stored};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyList, PySlice};
use rawline_batch::{Builder, Codec, Header, Limits, record_batch};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Records of one batch: a sequence of read-only memoryviews of the received bytes. Created by consumers and reads.
///
/// Nothing is copied for `batch[i]`, `for record in batch`, `batch[a:b]` (which is a Batch too) and Arrow:
/// `pyarrow.array(batch)` and `polars.Series(batch)` share that memory. A compressed batch is decompressed on receipt.
#[pyclass(frozen, sequence, module = "rawline")]
pub struct Batch {
    stored: Arc<Stored>,
    /// Empty if it wasn't read from a topic.
    topic: Arc<str>,
    partition: u32,
    /// Offset of the whole batch's first record, which need not be one of these records.
    offset: u64,
    /// The range of these records in the batch.
    start: usize,
    end: usize,
    /// A memoryview of all data; the records are slices of it.
    data: PyOnceLock<Py<PyAny>>,
}

/// The arguments of `rawline.batch._restore`.
type Pickled<'py> = (Bound<'py, PyBytes>, u64, usize, usize, u32, String);

impl Batch {
    pub fn new(partition: u32, (offset, stored): Placed) -> Batch {
        let end = stored.header().records as usize;
        Batch { stored, topic: Arc::default(), partition, offset, start: 0, end, data: PyOnceLock::new() }
    }

    /// Says which topic it is from.
    pub fn of_topic(mut self, topic: Arc<str>) -> Batch {
        self.topic = topic;
        self
    }

    pub fn topic_name(&self) -> Arc<str> {
        self.topic.clone()
    }

    /// The records from `start` to before `end`, counted from the first of these records.
    pub fn part(&self, start: usize, end: usize) -> Batch {
        let place = |index| self.start.saturating_add(index).min(self.end);
        Batch { start: place(start), end: place(end), ..self.same() }
    }

    /// Keeps only the records with these offsets.
    pub fn within(mut self, first: u64, end: u64) -> Batch {
        let place = |offset: u64| usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        (self.start, self.end) = (self.start.max(place(first)).min(self.end), self.end.min(place(end)));
        self
    }

    pub fn same(&self) -> Batch {
        Batch {
            stored: self.stored.clone(),
            topic: self.topic.clone(),
            partition: self.partition,
            offset: self.offset,
            start: self.start,
            end: self.end,
            data: PyOnceLock::new(),
        }
    }

    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    pub fn records(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// The range of the records in the batch.
    pub fn places(&self) -> (usize, usize) {
        (self.start, self.end.max(self.start))
    }

    pub fn partition_number(&self) -> u32 {
        self.partition
    }

    pub fn first_offset_value(&self) -> u64 {
        self.offset + self.start as u64
    }

    fn data_view<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<&'a Bound<'py, PyAny>> {
        let view = self.data.get_or_try_init(py, || {
            let (owner, data) = self.stored.data();
            memoryview(py, owner, data).map(Bound::unbind)
        })?;
        Ok(view.bind(py))
    }

    pub fn record<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let (start, end) = self.stored.range(self.start + index).unwrap_or_default();
        slice(self.data_view(py)?, start, end)
    }

    /// A record as a Kafka batch has it, if it is from one.
    pub fn kafka_record(&self, index: usize) -> Option<record_batch::Record<'_>> {
        self.stored.kafka()?.record(self.start + index)
    }

    /// Each record as a Kafka batch has it, if it is one; `None` from a record on that Python has changed.
    pub fn kafka_records(&self) -> impl Iterator<Item = Option<record_batch::Record<'_>>> {
        let records = self.stored.kafka().map(|kafka| kafka.records_from(self.start));
        records.into_iter().flatten().take(self.records())
    }

    /// The records' bytes.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let data = self.stored.data().1;
        let (start, end) = self.places();
        (start..end)
            .map(move |record| self.stored.range(record).and_then(|(from, to)| data.get(from..to)).unwrap_or_default())
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.records()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let records = self.records();
        if let Ok(range) = index.cast::<PySlice>() {
            let range = range_of(range, records)?;
            return Ok(Bound::new(py, self.part(range.start, range.end))?.into_any());
        }
        self.record(py, place_of(index, records)?)
    }

    fn __iter__(batch: Bound<'_, Self>) -> BatchIterator {
        BatchIterator::new(batch.unbind())
    }

    fn __repr__(&self) -> String {
        let (first, next) = (self.first_offset_value(), self.first_offset_value() + self.records() as u64);
        format!("<rawline.Batch of {}, offsets {first} to {next}>", count(self.records(), "record", "records"))
    }

    /// The topic that was read; empty for a batch that wasn't read from a topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    /// The partition that was read; 0 for a batch that wasn't read from a topic.
    #[getter]
    fn partition(&self) -> u32 {
        self.partition
    }

    /// Offset of the first of these records.
    #[getter]
    fn first_offset(&self) -> u64 {
        self.first_offset_value()
    }

    /// Offset after the last of these records.
    #[getter]
    pub fn next_offset(&self) -> u64 {
        self.first_offset_value() + self.records() as u64
    }

    /// The records with their keys, headers and times, which they have in Kafka's batches.
    pub fn messages(batch: Bound<'_, Self>) -> BatchIterator {
        BatchIterator::of_messages(batch.unbind())
    }

    /// Whether it is a Kafka batch, whose records have keys, headers and times.
    #[getter]
    fn is_kafka(&self) -> bool {
        self.stored.kafka().is_some()
    }

    /// Compression of the batch as received: `none`, `lz4` or `zstd`; one of Kafka's can have `gzip` or `snappy`.
    #[getter]
    fn codec(&self) -> String {
        self.stored
            .kafka()
            .map_or_else(|| self.stored.header().codec.to_string(), |kafka| kafka.header().codec.to_string())
    }

    /// Time at which the producer made the batch, in microseconds since 1970 by its clock.
    ///
    /// Of a Kafka batch, the latest time of its records.
    #[getter]
    fn created_us(&self) -> u64 {
        self.stored.header().created_us
    }

    /// Id of the producer that made the batch; 0 if it has none.
    #[getter]
    fn producer_id(&self) -> u64 {
        self.stored.header().producer_id
    }

    /// The producer's sequence number of the batch's first record.
    #[getter]
    fn sequence(&self) -> u64 {
        self.stored.header().sequence
    }

    /// The batch's checksum, which was verified.
    #[getter]
    fn crc32c(&self) -> u32 {
        self.stored.kafka().map_or(self.stored.header().crc32c, |kafka| kafka.header().crc32c)
    }

    /// Whether the batch is a slice of another.
    #[getter]
    fn is_slice(&self) -> bool {
        self.stored.header().slice
    }

    /// Length of the whole batch as received, in bytes.
    #[getter]
    fn batch_bytes(&self) -> u64 {
        self.stored.wire().1.len() as u64
    }

    /// Length of the batch's data as received, in bytes.
    #[getter]
    fn data_bytes(&self) -> u32 {
        self.stored.kafka().map_or(self.stored.header().data_bytes, KafkaBatch::section_bytes)
    }

    /// Total uncompressed length of the batch's records in bytes.
    #[getter]
    fn raw_bytes(&self) -> u32 {
        self.stored.header().raw_bytes
    }

    /// These records, concatenated and uncompressed.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (first, end) = self.places();
        let start = self.stored.range(first).map_or(self.stored.data().1.len(), |range| range.0);
        let end = end.checked_sub(1).filter(|last| *last >= first).and_then(|last| self.stored.range(last));
        slice(self.data_view(py)?, start, end.map_or(start, |range| range.1))
    }

    /// These records' lengths, u32 little-endian: `numpy.frombuffer(batch.sizes, "<u4")`.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (owner, sizes) = self.stored.sizes();
        let (start, end) = self.places();
        memoryview(py, owner, sizes.get(start * 4..end * 4).unwrap_or_default())
    }

    /// The whole batch as received, for `Client.append_batches`.
    #[getter]
    fn wire<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (owner, bytes) = self.stored.wire();
        memoryview(py, owner, bytes)
    }

    /// Copies of the records.
    pub fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records: Vec<_> = self.slices().map(|record| PyBytes::new(py, record)).collect();
        PyList::new(py, records)
    }

    /// Pickles the whole batch as received, with the range of these records in it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        static RESTORE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let restore = RESTORE.import(py, "rawline.batch", "_restore")?.clone();
        let (start, end) = self.places();
        Ok((
            restore,
            (PyBytes::new(py, self.stored.wire().1), self.offset, start, end, self.partition, self.topic.to_string()),
        ))
    }

    /// The records as an Arrow array of binary over the same memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let records = arrow::records(self)?;
        match requested_schema.map(|requested| arrow::requested_type(&requested)).transpose()? {
            Some(requested) => arrow::export_array(py, &arrow::records_as(records, &requested)?),
            None => arrow::export_array(py, &records),
        }
    }

    /// The array's type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::export_type(py, arrow_array::Array::data_type(&arrow::records(self)?))
    }

    /// The records as a `pyarrow.Table`, with the columns of `Batches`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.alone(py)?.to_arrow(py)
    }

    /// The records as a `polars.DataFrame`, with the columns of `Batches`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.alone(py)?.to_polars(py)
    }

    /// The records as a `pandas.DataFrame`, with the columns of `Batches`. Needs pyarrow.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.alone(py)?.to_pandas(py)
    }

    /// Raises: numpy would take the records' bytes for columns.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(&self, dtype: Option<Bound<'_, PyAny>>, copy: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(no_array())
    }

    /// The first and last records as a table, for notebooks.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.alone(py)?.html(py, &self.__repr__())
    }
}

impl Batch {
    fn alone(&self, py: Python<'_>) -> PyResult<Batches> {
        Batches::new(py, [self.same()])
    }
}

/// The error of `numpy.asarray` and `pandas.DataFrame`, which would take the records' bytes for columns.
pub fn no_array() -> PyErr {
    PyTypeError::new_err(
        "records are no numpy array; use to_pandas(), to_polars() or to_arrow(), or to_list() for bytes",
    )
}

/// The position of an index of Python, which counts from the end if it is negative, among this many records.
pub fn place_of(index: &Bound<'_, PyAny>, records: usize) -> PyResult<usize> {
    let outside = || PyIndexError::new_err(format!("no record {index}: there are {records}"));
    let wanted = match index.extract::<isize>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(index.py()) => return Err(outside()),
        wanted => wanted?,
    };
    let place = if wanted < 0 { wanted + records as isize } else { wanted };
    usize::try_from(place).ok().filter(|place| *place < records).ok_or_else(outside)
}

/// The range of a slice of Python among this many records.
pub fn range_of(slice: &Bound<'_, PySlice>, records: usize) -> PyResult<Range<usize>> {
    let indices = slice.indices(records as isize)?;
    if indices.step != 1 {
        return Err(PyValueError::new_err("records are sliced in steps of 1; use list(records)[...] for others"));
    }
    let start = indices.start.unsigned_abs();
    Ok(start..start + indices.slicelength)
}

/// Iterates over the records of a batch, as memoryviews or as messages.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct BatchIterator {
    batch: Py<Batch>,
    next: AtomicUsize,
    pub has_messages: bool,
}

impl BatchIterator {
    pub fn new(batch: Py<Batch>) -> BatchIterator {
        BatchIterator { batch, next: AtomicUsize::new(0), has_messages: false }
    }

    pub fn of_messages(batch: Py<Batch>) -> BatchIterator {
        BatchIterator { has_messages: true, ..BatchIterator::new(batch) }
    }

    /// Whether some records were not returned yet.
    pub fn has_rest(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.batch.get().records()
    }

    /// Partition and offset of the next record, if there is one.
    pub fn next_record(&self) -> Option<(u32, u64)> {
        let batch = self.batch.get();
        let next = self.next.load(Ordering::Relaxed);
        (next < batch.records()).then(|| (batch.partition, batch.first_offset_value() + next as u64))
    }

    /// Topic, partition and offset of the next record, if there is one.
    pub fn next_record_of_topic(&self) -> Option<(Arc<str>, u32, u64)> {
        self.next_record().map(|(partition, offset)| (self.batch.get().topic.clone(), partition, offset))
    }

    /// Returns these records; afterwards the iterator is empty.
    pub fn take_rest(&self) -> Option<Batch> {
        let batch = self.batch.get();
        let given = self.next.swap(batch.records(), Ordering::Relaxed);
        let rest = Batch { start: batch.start + given.min(batch.records()), ..batch.same() };
        Some(rest).filter(|rest| rest.records() > 0)
    }
}

#[pymethods]
impl BatchIterator {
    fn __iter__(iterator: Py<Self>) -> Py<Self> {
        iterator
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = self.batch.get();
        let records = batch.records();
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        if next >= records {
            self.next.store(records, Ordering::Relaxed);
            return Ok(None);
        }
        if self.has_messages {
            let message = Message::new(self.batch.clone_ref(py), next);
            return Ok(Some(Bound::new(py, message)?.into_any()));
        }
        batch.record(py, next).map(Some)
    }
}

/// Encodes a batch.
#[pyfunction]
#[pyo3(signature = (records, codec, created_us, producer_id, sequence, is_slice))]
pub fn build_batch<'py>(
    py: Python<'py>,
    records: &Bound<'py, PyAny>,
    codec: &str,
    created_us: &Bound<'py, PyAny>,
    producer_id: &Bound<'py, PyAny>,
    sequence: &Bound<'py, PyAny>,
    is_slice: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let created_us = whole("created_us", created_us)?;
    let (producer_id, sequence) = (whole("producer_id", producer_id)?, whole("sequence", sequence)?);
    let codec: Codec = codec.parse().map_err(config_error)?;
    let records = records.try_iter()?.map(|record| Held::new(&record?)).collect::<PyResult<Vec<Held>>>()?;
    let built = py.detach(|| {
        let mut out = Vec::new();
        let mut builder = Builder::new(codec, Limits::FORMAT);
        for record in &records {
            builder.push(record.as_ref()).map_err(|full| config_error(full.to_string()))?;
        }
        builder.finish_into(created_us, producer_id, sequence, &mut out).map_err(batch_error)?;
        if is_slice {
            mark_as_slice(&mut out)?;
        }
        Ok::<_, PyErr>(out)
    })?;
    Ok(PyBytes::new(py, &built))
}

/// Gives a batch the header of a slice.
fn mark_as_slice(batch: &mut [u8]) -> PyResult<()> {
    let (header, data_bytes) = {
        let (parsed, _) = rawline_batch::Batch::parse_prefix_trusted(batch, &Limits::FORMAT).map_err(batch_error)?;
        (*parsed.header(), parsed.data().len())
    };
    if header.codec != Codec::None {
        return Err(batch_error(rawline_batch::BatchError::SliceCompressed));
    }
    let sizes_end = rawline_batch::HEADER_BYTES + header.records as usize * 4;
    if let Some((front, body)) = batch.split_at_mut_checked(rawline_batch::HEADER_BYTES) {
        let sizes_bytes = sizes_end - rawline_batch::HEADER_BYTES;
        let (sizes, rest) = body.split_at(sizes_bytes.min(body.len()));
        let data = rest.get(..data_bytes).unwrap_or_default();
        front.copy_from_slice(&Header { slice: true, crc32c: 0, ..header }.seal([sizes, data]));
    }
    Ok(())
}

/// The batch at `position` of these bytes, and the position of the next batch.
#[pyfunction]
#[pyo3(signature = (data, position, first_offset, batch_bytes_max, records_max, raw_bytes_max, partition=0, topic=""))]
#[expect(clippy::too_many_arguments, reason = "three limits, and Python's arguments")]
pub fn parse_batch(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    position: usize,
    first_offset: &Bound<'_, PyAny>,
    batch_bytes_max: &Bound<'_, PyAny>,
    records_max: &Bound<'_, PyAny>,
    raw_bytes_max: &Bound<'_, PyAny>,
    partition: u32,
    topic: &str,
) -> PyResult<(Batch, usize)> {
    let first_offset = whole("first_offset", first_offset)?;
    let limits = Limits {
        batch_bytes_max: whole("batch_bytes_max", batch_bytes_max)?,
        records_max: whole("records_max", records_max)?,
        raw_bytes_max: whole("raw_bytes_max", raw_bytes_max)?,
    };
    let held = Arc::new(Held::new(data)?);
    let stored = py.detach(|| Stored::parse(held, position, &limits)).map_err(client_error)?;
    let end = stored.end();
    Ok((Batch::new(partition, (first_offset, Arc::new(stored))).of_topic(topic.into()), end))
}
