//! Decodes Avro messages into Arrow columns, and encodes columns: `rawline.avro`.

use crate::arguments::whole;
use crate::arrow;
use crate::count::count;
use crate::error::{avro_error, config_error};
use crate::records::{Chunk, Source};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyCapsule, PyDict, PyFloat, PyInt, PyList, PyString};
use rawline_avro::{
    ColumnDecoder, ColumnEncoder, Encoded, Framing, Limits, Plan, RowBuffer, Schema, StringAs, WriterId,
};
use rawline_series::{Interner, InternerLimits};
use serde::ser::{Error, Serialize, SerializeMap, Serializer};
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AvroSchema>()?;
    module.add_class::<AvroDecoder>()?;
    module.add_class::<AvroEncoder>()?;
    module.add_class::<Table>()
}

/// An Avro schema, from its JSON. Schemas are equal if they read alike, logical types and aliases included.
#[pyclass(frozen, eq, module = "rawline.avro", name = "Schema")]
pub struct AvroSchema {
    pub schema: Arc<Schema>,
}

impl PartialEq for AvroSchema {
    fn eq(&self, other: &AvroSchema) -> bool {
        self.schema.reads_like(&other.schema)
    }
}

#[pymethods]
impl AvroSchema {
    #[new]
    fn new(json: &str) -> PyResult<AvroSchema> {
        Ok(AvroSchema { schema: Arc::new(Schema::parse(json).map_err(avro_error)?) })
    }

    /// The schema's JSON, unchanged.
    #[getter]
    fn json(&self) -> &str {
        self.schema.json()
    }

    /// Its parsing canonical form.
    #[getter]
    fn canonical(&self) -> &str {
        self.schema.canonical()
    }

    /// CRC-64-AVRO of the canonical form.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.schema.fingerprint()
    }

    fn __hash__(&self) -> u64 {
        self.schema.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("Schema({:?})", self.schema.json())
    }
}

/// Parses a framing's name (`bare`, `single-object` or `registry:N`). Returns it with the writer's id for messages of
/// this schema.
pub fn framing_of(name: &str, schema: &Schema) -> PyResult<(Framing, WriterId)> {
    match name.split_once(':') {
        None if name == "bare" => Ok((Framing::Bare, WriterId::Known)),
        None if name == "single-object" => Ok((Framing::SingleObject, WriterId::Fingerprint(schema.fingerprint()))),
        Some(("registry", number)) => match number.parse() {
            Ok(number) => Ok((Framing::Registry, WriterId::Number(number))),
            Err(_) => Err(config_error(format!("invalid framing {name:?}; a schema's number is below 2^32"))),
        },
        _ => Err(config_error(format!("unknown framing {name:?}; use bare, single-object or registry:N"))),
    }
}

/// All messages of an iterable, a batch, batches or an Arrow array.
pub fn all_messages(py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<Vec<Chunk>> {
    let mut source = Source::new(messages)?;
    std::iter::from_fn(|| source.next(py).transpose()).collect()
}

/// The messages of chunks, in order.
pub fn each_message(chunks: &[Chunk]) -> impl Iterator<Item = &[u8]> {
    chunks.iter().flat_map(|chunk| (0..chunk.len()).map(move |message| chunk.record(message)))
}

/// An unpredictable seed.
pub fn random_seed() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// Columns: `polars.DataFrame(table)`, `pyarrow.table(table)` and DuckDB read them without a copy.
#[pyclass(frozen, module = "rawline.avro")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    faulty: u64,
    dropped: u64,
    faults: Vec<String>,
}

impl Table {
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Table {
        Table { schema, batches, faulty: 0, dropped: 0, faults: Vec::new() }
    }

    /// The same table, with the skipped messages.
    pub fn without(mut self, faulty: u64, dropped: u64, faults: Vec<String>) -> Table {
        (self.faulty, self.dropped, self.faults) = (faulty, dropped, faults);
        self
    }

    /// Fails if messages were skipped, unless the caller allows that.
    pub fn checked(self, skip: bool) -> PyResult<Table> {
        if skip || self.faulty + self.dropped == 0 {
            return Ok(self);
        }
        let why = self.faults.first().map_or("the table of strings is full; raise its limits", String::as_str);
        Err(avro_error(format!(
            "{} messages were rejected: {why}; errors=\"skip\" skips them",
            self.faulty + self.dropped
        )))
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The columns' names.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of messages skipped because their bytes are invalid.
    #[getter]
    fn faulty(&self) -> u64 {
        self.faulty
    }

    /// Number of messages skipped because the table of strings or series is full.
    #[getter]
    fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The first few skipped messages, each with its error.
    #[getter]
    fn faults(&self) -> Vec<String> {
        self.faults.clone()
    }

    fn __repr__(&self) -> String {
        let rows = count(self.__len__(), "row", "rows");
        format!("<rawline.avro.Table of {rows}: {}>", self.column_names().join(", "))
    }

    /// The columns, as one or more batches.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows the columns to have their own types, whatever types were requested.
        let _asked = requested_schema;
        arrow::export_stream(py, self.schema.clone(), self.batches.clone())
    }

    /// The columns' types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::export_type(py, &arrow_schema::DataType::Struct(self.schema.fields().clone()))
    }
}

/// Decodes messages of one schema into columns. See `lib/rawline/_rawline.pyi`.
#[pyclass(frozen, module = "rawline._rawline")]
struct AvroDecoder {
    /// An error for schemas that have no columns, such as recursive ones: their messages can only be decoded one by
    /// one.
    decoder: Result<Mutex<ColumnDecoder>, String>,
    plan: Arc<Plan>,
    framing: Framing,
    writer: WriterId,
}

#[pymethods]
impl AvroDecoder {
    #[new]
    fn new(
        writer: &AvroSchema,
        reader: Option<&AvroSchema>,
        framing: &str,
        strings: &str,
        strings_max: &Bound<'_, PyAny>,
        strings_bytes_max: &Bound<'_, PyAny>,
    ) -> PyResult<AvroDecoder> {
        let (framing, id) = framing_of(framing, &writer.schema)?;
        let reader = reader.map_or(&writer.schema, |reader| &reader.schema);
        let plan = Arc::new(Plan::new(&writer.schema, reader, Limits::DEFAULT).map_err(avro_error)?);
        let strings = match strings {
            "utf8" => StringAs::Utf8,
            "view" => StringAs::Utf8View,
            "dictionary" => {
                let limits = InternerLimits {
                    strings_max: whole("strings_max", strings_max)?,
                    bytes_max: whole("strings_bytes_max", strings_bytes_max)?,
                };
                StringAs::Dictionary(Arc::new(Interner::new(limits, random_seed()).map_err(avro_error)?))
            }
            other => return Err(config_error(format!("strings={other:?}; use utf8, view or dictionary"))),
        };
        let decoder = match ColumnDecoder::new(plan.clone(), strings) {
            Ok(decoder) => Ok(Mutex::new(decoder)),
            Err(error) => Err(format!("{error}; decode_one decodes such messages to Python objects")),
        };
        Ok(AvroDecoder { decoder, plan, framing, writer: id })
    }

    /// All messages as a table.
    fn decode(&self, py: Python<'_>, messages: &Bound<'_, PyAny>, skip: bool) -> PyResult<Table> {
        let decoder = self.decoder.as_ref().map_err(avro_error)?;
        let chunks = all_messages(py, messages)?;
        py.detach(|| self.decode_all(decoder, &chunks)).checked(skip)
    }

    /// One message as JSON.
    fn to_json(&self, message: &Bound<'_, PyAny>) -> PyResult<String> {
        let held = crate::buffer::Held::new(message)?;
        let (id, value) = self.framing.open(held.as_ref()).map_err(avro_error)?;
        if id != self.writer {
            return Err(avro_error(OTHER_SCHEMA));
        }
        let mut buffer = RowBuffer::new();
        let row = self.plan.row(&mut buffer, value).map_err(avro_error)?;
        let mut json = Vec::new();
        row.datum().write_json(&mut json);
        String::from_utf8(json).map_err(avro_error)
    }
}

const OTHER_SCHEMA: &str = "its frame names another schema; create the decoder with the schema that wrote it";

impl AvroDecoder {
    fn decode_all(&self, decoder: &Mutex<ColumnDecoder>, chunks: &[Chunk]) -> Table {
        let mut decoder = decoder.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batches = Vec::new();
        let (mut faulty, mut dropped, mut faults) = (0, 0, Vec::new());
        let mut fault = |number: usize, why: String| {
            faulty += 1;
            if faults.len() < rawline_avro::FAULTS_MAX {
                faults.push(format!("message {number}, {why}"));
            }
        };
        for (number, message) in each_message(chunks).enumerate() {
            let value = match self.framing.open(message) {
                Ok((id, value)) if id == self.writer => value,
                Ok(_) => {
                    fault(number, OTHER_SCHEMA.to_owned());
                    continue;
                }
                Err(error) => {
                    fault(number, error.to_string());
                    continue;
                }
            };
            let mut appended = decoder.append(value);
            if appended.as_ref().is_err_and(|error| error.fault.kind == rawline_avro::FaultKind::ColumnsFull) {
                batches.push(decoder.finish());
                appended = decoder.append(value);
            }
            match appended {
                Ok(()) => {}
                Err(error) if error.fault.kind == rawline_avro::FaultKind::StringsFull => dropped += 1,
                Err(error) => fault(number, error.to_string()),
            }
        }
        batches.push(decoder.finish());
        Table::new(decoder.schema().clone(), batches).without(faulty, dropped, faults)
    }
}

/// Encodes objects and columns as messages of one schema. See `lib/rawline/_rawline.pyi`.
#[pyclass(frozen, module = "rawline._rawline")]
struct AvroEncoder {
    schema: Arc<Schema>,
    writer: WriterId,
}

#[pymethods]
impl AvroEncoder {
    #[new]
    fn new(schema: &AvroSchema, framing: &str) -> PyResult<AvroEncoder> {
        let (_, writer) = framing_of(framing, &schema.schema)?;
        Ok(AvroEncoder { schema: schema.schema.clone(), writer })
    }

    /// Encodes an object as a message. Also fails if the types of the objects are ambiguous, such as a dict for a union
    /// of several records.
    fn encode<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::new();
        self.writer.write(&mut out);
        self.schema.encode(&Object(value, 0), &mut out).map_err(avro_error)?;
        Ok(PyBytes::new(py, &out))
    }

    fn encode_json<'py>(&self, py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::new();
        self.writer.write(&mut out);
        self.schema.encode_json(json, &mut out).map_err(avro_error)?;
        Ok(PyBytes::new(py, &out))
    }

    /// A message for each row.
    fn encode_table<'py>(&self, py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let tables = arrow::import_tables(table)?;
        let mut head = Vec::new();
        self.writer.write(&mut head);
        let encoded = py.detach(|| {
            let mut encoded = Encoded::default();
            let encoder = ColumnEncoder::new(self.schema.clone());
            tables.iter().try_for_each(|table| encoder.encode(table, &mut encoded)).map(|()| encoded)
        });
        let encoded = encoded.map_err(avro_error)?;
        let messages: Vec<_> = encoded.messages().map(|value| PyBytes::new(py, &[&head, value].concat())).collect();
        PyList::new(py, messages)
    }
}

/// Maximum nesting of objects: both an object and a schema may contain themselves.
const DEPTH_MAX: usize = 128;

/// A Python object to be serialized with serde, and its depth.
struct Object<'a, 'py>(&'a Bound<'py, PyAny>, usize);

impl Serialize for Object<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (object, depth) = (self.0, self.1 + 1);
        if depth > DEPTH_MAX {
            return Err(S::Error::custom("nested more than 128 deep"));
        }
        let wrong = |error: PyErr| S::Error::custom(error);
        if object.is_none() {
            serializer.serialize_none()
        } else if let Ok(text) = object.cast::<PyString>() {
            serializer.serialize_str(text.to_str().map_err(wrong)?)
        } else if let Ok(boolean) = object.cast::<PyBool>() {
            serializer.serialize_bool(boolean.is_true())
        } else if object.is_instance_of::<PyInt>() {
            serializer.serialize_i64(object.extract().map_err(wrong)?)
        } else if let Ok(real) = object.cast::<PyFloat>() {
            serializer.serialize_f64(real.value())
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            serializer.serialize_bytes(bytes.as_bytes())
        } else if let Ok(table) = object.cast::<PyDict>() {
            let mut map = serializer.serialize_map(Some(table.len()))?;
            for (key, value) in table {
                map.serialize_entry(&Object(&key, depth), &Object(&value, depth))?;
            }
            map.end()
        } else if let Ok(list) = object.cast::<PyList>() {
            serializer.collect_seq(list.iter().map(|element| OwnedObject(element, depth)))
        } else if let Some(plain) = of_numpy(object).map_err(wrong)? {
            Object(&plain, depth).serialize(serializer)
        } else {
            Err(S::Error::custom("another object"))
        }
    }
}

/// The objects of Python that one of numpy stands for: a number of its types, or the elements of an array.
fn of_numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let class = object.get_type();
    match class.module()?.to_str()? {
        "numpy" => object.call_method0("tolist").map(Some),
        _ => Ok(None),
    }
}

struct OwnedObject<'py>(Bound<'py, PyAny>, usize);

impl Serialize for OwnedObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Object(&self.0, self.1).serialize(serializer)
    }
}
