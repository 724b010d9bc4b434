//! Decodes measurements into columns of series, time and value: `rawline.measurement`.

use crate::arguments::{whole, whole_option};
use crate::arrow::arrow_error;
use crate::avro::{AvroSchema, Table, all_messages, each_message, framing_of, random_seed};
use crate::error::{avro_error, config_error};
use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use pyo3::prelude::*;
use rawline_avro::{Framing, SchemaStore, WriterId};
use rawline_series::{Columns, MEASUREMENT_SCHEMA, MeasurementReader, SeriesLimits, SeriesTable};
use std::sync::{Arc, Mutex, PoisonError};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MEASUREMENT_SCHEMA", MEASUREMENT_SCHEMA)?;
    module.add_class::<MeasurementCore>()
}

/// Behind `rawline.measurement.Reader`.
#[pyclass(frozen, module = "rawline._rawline")]
struct MeasurementCore {
    store: Arc<SchemaStore>,
    table: Arc<SeriesTable>,
    framing: Framing,
    reader: Mutex<MeasurementReader>,
    /// All strings, as in the last table; rebuilt only when strings were added.
    strings: Mutex<Arc<StringArray>>,
}

#[pymethods]
impl MeasurementCore {
    #[new]
    fn new(framing: &str, series_max: &Bound<'_, PyAny>) -> PyResult<MeasurementCore> {
        let framing = match framing {
            "bare" => Framing::Bare,
            "single-object" => Framing::SingleObject,
            "registry" => Framing::Registry,
            other => {
                return Err(config_error(format!("unknown framing {other:?}; use bare, single-object or registry")));
            }
        };
        let limits = SeriesLimits::for_series(whole("series_max", series_max)?);
        let table = Arc::new(SeriesTable::new(limits, random_seed()).map_err(avro_error)?);
        let store = Arc::new(SchemaStore::default());
        let reader = Mutex::new(MeasurementReader::new(store.clone(), framing, table.clone()));
        Ok(MeasurementCore { store, table, framing, reader, strings: Mutex::new(Arc::new(StringArray::new_null(0))) })
    }

    /// Adds a writer's schema; `number` is its number in the registry.
    fn add_schema(&self, schema: &AvroSchema, number: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let number = whole_option::<u32>("a schema's number", number)?;
        let id = match (self.framing, number) {
            (Framing::Bare, _) => WriterId::Known,
            (Framing::Registry, Some(number)) => framing_of(&format!("registry:{number}"), &schema.schema)?.1,
            (Framing::Registry, None) => return Err(config_error("give the schema's number in the registry")),
            (Framing::SingleObject, _) => WriterId::Fingerprint(schema.schema.fingerprint()),
        };
        self.store.add_as(id, &schema.schema).map_err(avro_error)
    }

    fn decode(&self, py: Python<'_>, messages: &Bound<'_, PyAny>, skip: bool) -> PyResult<Table> {
        let chunks = all_messages(py, messages)?;
        py.detach(|| {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut columns = Columns::default();
            let counts = reader.decode(each_message(&chunks), &mut columns);
            let faults = reader.faults().iter().map(ToString::to_string).collect();
            let table = self.columns(columns)?;
            table.without(counts.faulty, counts.dropped, faults).checked(skip)
        })
    }

    /// The series with ids from `since` on: id, metric and tags.
    fn series(&self, py: Python<'_>, since: &Bound<'_, PyAny>) -> PyResult<Table> {
        let since = whole("since", since)?;
        py.detach(|| {
            let mut ids = Vec::new();
            let mut metrics = StringBuilder::new();
            let mut tags = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
            for series in self.table.iter_since(since) {
                ids.push(series.id());
                metrics.append_value(series.metric());
                for (key, value) in series.tags() {
                    tags.keys().append_value(key);
                    tags.values().append_value(value);
                }
                tags.append(true).map_err(arrow_error)?;
            }
            let columns: Vec<(&str, ArrayRef)> = vec![
                ("series", Arc::new(UInt32Array::from(ids))),
                ("metric", Arc::new(metrics.finish())),
                ("tags", Arc::new(tags.finish())),
            ];
            let batch = RecordBatch::try_from_iter(columns).map_err(arrow_error)?;
            Ok(Table::new(batch.schema(), vec![batch]))
        })
    }

    #[getter]
    fn series_count(&self) -> u32 {
        self.table.len()
    }
}

impl MeasurementCore {
    fn columns(&self, columns: Columns) -> PyResult<Table> {
        let metric = Field::new_dictionary("metric", DataType::UInt32, DataType::Utf8, false);
        let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        let schema = Arc::new(Schema::new(vec![
            Field::new("series", DataType::UInt32, false),
            metric,
            Field::new("time", time, false),
            Field::new("value", DataType::Float64, false),
        ]));
        // Every series in the columns is in the table of series.
        let metric_of = |series: &u32| self.table.get(*series).map_or(0, |series| series.metric_id());
        let keys = UInt32Array::from_iter_values(columns.series.iter().map(metric_of));
        let metrics = DictionaryArray::try_new(keys, self.strings()).map_err(arrow_error)?;
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(columns.series)),
            Arc::new(metrics),
            Arc::new(TimestampMillisecondArray::from(columns.time_ms).with_timezone("UTC")),
            Arc::new(Float64Array::from(columns.value)),
        ];
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(arrow_error)?;
        Ok(Table::new(schema, vec![batch]))
    }

    fn strings(&self) -> Arc<StringArray> {
        let mut known = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < self.table.strings().len() as usize {
            *known = Arc::new(self.table.strings().iter_since(0).map(|(_, string)| Some(string)).collect());
        }
        known.clone()
    }
}
