//! The records of several batches in Python: a sequence of records, and an Arrow table.

use crate::arrow;
use crate::batch::{Batch, no_array, place_of, range_of};
use crate::columns::{columns, schema};
use crate::count::count;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyList, PySlice, PyTuple, PyType};

/// Records of several batches, each partition's in order: a sequence of read-only memoryviews, and an Arrow table.
///
/// The table has the columns `partition`, `offset`, `timestamp`, `key`, `record` and `headers`. `to_pandas`,
/// `to_polars` and `to_arrow` return it; `polars.DataFrame(batches)`, `pyarrow.table(batches)` and DuckDB's
/// `FROM batches` read it. Records aren't copied for Arrow, polars and DuckDB.
#[pyclass(frozen, sequence, module = "rawline")]
pub struct Batches {
    batches: Py<PyTuple>,
    /// The number of records up to the end of each batch.
    ends: Vec<usize>,
}

impl Batches {
    pub fn new(py: Python<'_>, batches: impl IntoIterator<Item = Batch>) -> PyResult<Batches> {
        let all = batches.into_iter().map(|batch| Bound::new(py, batch)).collect::<PyResult<Vec<_>>>()?;
        Batches::of_all(py, all)
    }

    fn of_all<'py>(py: Python<'py>, all: Vec<Bound<'py, Batch>>) -> PyResult<Batches> {
        let mut records = 0;
        let end = |batch: &Bound<'_, Batch>| {
            records += batch.get().records();
            records
        };
        let ends = all.iter().map(end).collect();
        Ok(Batches { batches: PyTuple::new(py, all)?.unbind(), ends })
    }

    /// Number of records.
    pub fn records(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn each<'py>(&self, py: Python<'py>) -> impl Iterator<Item = Bound<'py, Batch>> {
        // The tuple contains only batches.
        self.batches.bind(py).iter().filter_map(|batch| batch.cast_into::<Batch>().ok())
    }

    /// Each batch with the number of the first of its records.
    fn placed<'py>(&self, py: Python<'py>) -> impl Iterator<Item = (usize, Bound<'py, Batch>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.each(py))
    }

    /// Calls a function of `lib/rawline/frames.py`.
    fn frame<'py>(&self, py: Python<'py>, function: &str, title: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let same = Batches { batches: self.batches.clone_ref(py), ends: self.ends.clone() };
        let function = py.import("rawline.frames")?.getattr(function)?;
        match title {
            None => function.call1((same,)),
            Some(title) => function.call1((same, title)),
        }
    }

    pub fn html<'py>(&self, py: Python<'py>, title: &str) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, "to_html", Some(title))
    }
}

/// Iterates over the elements of several iterables, as Python's `itertools` does.
fn chained<'py>(py: Python<'py>, iterables: impl IntoPyObject<'py>) -> PyResult<Bound<'py, PyAny>> {
    static CHAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CHAIN.import(py, "itertools", "chain")?.call_method1("from_iterable", (iterables,))
}

#[pymethods]
impl Batches {
    #[new]
    #[pyo3(signature = (batches=None, /))]
    fn of(py: Python<'_>, batches: Option<&Bound<'_, PyAny>>) -> PyResult<Batches> {
        let mut all = Vec::new();
        if let Some(batches) = batches {
            for batch in batches.try_iter()? {
                all.push(batch?.cast_into::<Batch>()?);
            }
        }
        Batches::of_all(py, all)
    }

    fn __len__(&self) -> usize {
        self.records()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(slice) = index.cast::<PySlice>() else {
            let place = place_of(index, self.records())?;
            let first = self.ends.partition_point(|end| *end <= place);
            let start = first.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            return self.batches.bind(py).get_item(first)?.cast_into::<Batch>()?.get().record(py, place - start);
        };
        let range = range_of(slice, self.records())?;
        let part = |(start, batch): (usize, Bound<'_, Batch>)| {
            batch.get().part(range.start.saturating_sub(start), range.end.saturating_sub(start))
        };
        let parts = self.placed(py).map(part).filter(|part| part.records() > 0);
        Ok(Bound::new(py, Batches::new(py, parts)?)?.into_any())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        chained(py, self.batches.bind(py))
    }

    fn __repr__(&self) -> String {
        let (records, batches) = (self.records(), self.ends.len());
        format!("<rawline.Batches: {} in {}>", count(records, "record", "records"), count(batches, "batch", "batches"))
    }

    /// The batches, each with its partition and offsets.
    #[getter]
    fn batches<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        self.batches.bind(py).clone()
    }

    /// The records with their partitions, offsets, keys, headers and times.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        chained(py, self.each(py).map(Batch::messages).collect::<Vec<_>>())
    }

    /// Offset of the first record; `None` without records.
    #[getter]
    fn first_offset(&self, py: Python<'_>) -> Option<u64> {
        self.each(py).next().map(|batch| batch.get().first_offset_value())
    }

    /// Offset after the last record, where the next read starts; `None` without records.
    #[getter]
    fn next_offset(&self, py: Python<'_>) -> Option<u64> {
        self.each(py).last().map(|batch| batch.get().next_offset())
    }

    /// Copies of the records.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::empty(py);
        for batch in self.each(py) {
            all.as_any().call_method1("extend", (batch.get().to_list(py)?,))?;
        }
        Ok(all)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Bound<'py, PyTuple>,)) {
        (py.get_type::<Batches>(), (self.batches(py),))
    }

    /// The table, in parts of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let requested = requested_schema.map(|requested| arrow::requested_type(&requested)).transpose()?;
        let schema = schema(requested.as_ref())?;
        let batches = self.each(py).map(|batch| columns(batch.get(), &schema)).collect::<PyResult<Vec<_>>>()?;
        arrow::export_stream(py, schema, batches)
    }

    /// The columns' types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::export_type(py, &arrow_schema::DataType::Struct(schema(None)?.fields().clone()))
    }

    /// The table as a `pyarrow.Table`.
    pub fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, "to_arrow", None)
    }

    /// The table as a `polars.DataFrame`.
    pub fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, "to_polars", None)
    }

    /// The table as a `pandas.DataFrame`. Needs pyarrow.
    pub fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, "to_pandas", None)
    }

    /// Raises: numpy would take the records' bytes for columns.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(&self, dtype: Option<Bound<'_, PyAny>>, copy: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(no_array())
    }

    /// The first and last records as a table, for notebooks.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.html(py, &self.__repr__())
    }
}
