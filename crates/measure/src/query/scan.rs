//! Reads the rows of a tier that may match. Skips files, row groups and pages by the series and times in their
//! metadata.

use crate::MeasureError;
use crate::layout::{DataFile, Layout, Tier, raw_schema, window_schema};
use crate::snapshot::Snapshot;
use crate::store::{Storage, failed};
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMillisecondType, UInt32Type};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::{StreamExt, TryFutureExt};
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ArrowReaderOptions, RowFilter, RowSelection, RowSelector};
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::sync::Arc;

/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;

/// Size of the first read, at the end of a file: enough for a page index of some thousand pages.
const FOOTER_BYTES: usize = 64 << 10;

/// The first columns of all tiers are the series and the time, the sort order.
const SERIES_COLUMN: usize = 0;
const TIME_COLUMN: usize = 1;

/// An ordered set of series ids. Each has a place; the first has place 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeriesSet {
    /// In strictly increasing order.
    ids: Arc<[u32]>,
}

impl SeriesSet {
    /// Ids must be strictly increasing.
    pub(crate) fn new(ids: Vec<u32>) -> SeriesSet {
        debug_assert!(ids.is_sorted_by(|a, b| a < b));
        SeriesSet { ids: ids.into() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The place of an id in the set.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        let first = *self.ids.first()?;
        // Without gaps, an id determines its place.
        let place = usize::try_from(id.checked_sub(first)?).ok()?;
        match self.ids.get(place) {
            Some(&found) if found == id => Some(place),
            _ => self.ids.binary_search(&id).ok(),
        }
    }

    fn has_any(&self, min: u32, max: u32) -> bool {
        let at = self.ids.partition_point(|&id| id < min);
        self.ids.get(at).is_some_and(|&id| id <= max)
    }
}

/// How many of the files and rows were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReadCounts {
    /// Files of the tier in the range.
    pub files: u64,
    /// Rows in these files.
    pub rows: u64,
    /// Rows whose series and time were decoded.
    pub rows_read: u64,
    /// Rows that the answer uses.
    pub rows_used: u64,
}

/// The rows of a tier to read.
pub(crate) struct Scan<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) layout: &'a Layout,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) tier: Tier,
    pub(crate) series: &'a SeriesSet,
    /// Range of times, the end exclusive. For windows, this is the range of their starts.
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    /// Columns to decode, in the order of the file, including `series` and the time.
    pub(crate) columns: &'a [&'a str],
}

impl Scan<'_> {
    /// Calls `visit` with the matching rows: files in the order of offsets, rows by series and time.
    pub(crate) async fn run<E: From<MeasureError>>(
        &self,
        mut visit: impl FnMut(&RecordBatch) -> Result<(), E>,
    ) -> Result<ReadCounts, E> {
        let mut counts = ReadCounts::default();
        for file in self.snapshot.files(self.tier, self.from_ms, self.to_ms) {
            counts.files += 1;
            counts.rows += file.rows;
            let path = self.layout.file(file);
            let Some(mut batches) = self.open(file, &path, &mut counts).await? else { continue };
            while let Some(batch) = batches.next().await {
                let batch = batch.map_err(|error| parquet_failed(self.layout, &path, error))?;
                counts.rows_used += batch.num_rows() as u64;
                visit(&batch)?;
                // So that a caller's timeout ends a long scan.
                tokio::task::consume_budget().await;
            }
        }
        Ok(counts)
    }

    /// The rows of one file; `None` if no page can match.
    async fn open(
        &self,
        file: &DataFile,
        path: &Path,
        counts: &mut ReadCounts,
    ) -> Result<Option<parquet::arrow::async_reader::ParquetRecordBatchStream<FileReader>>, MeasureError> {
        let builder = open(self.storage, self.layout, file, path).await?;
        let (found, expected) = (builder.schema().fields(), self.schema());
        let same = |(a, b): (&FieldRef, &FieldRef)| a.name() == b.name() && a.data_type() == b.data_type();
        if found.len() < expected.fields().len() || !found.iter().zip(expected.fields()).all(same) {
            let reason = "it doesn't have the columns of its tier".to_owned();
            let folder = self.layout.root().to_string();
            return Err(MeasureError::Damaged { path: path.to_string(), reason, folder });
        }
        let metadata = builder.metadata().clone();
        let mut row_groups = Vec::new();
        let mut selectors: Vec<RowSelector> = Vec::new();
        for (i, row_group) in metadata.row_groups().iter().enumerate() {
            let selection = self.select(&metadata, i, row_group);
            if selection.selects_any() {
                counts.rows_read += selection.row_count() as u64;
                row_groups.push(i);
                selectors.extend(Vec::from(selection));
            }
        }
        if row_groups.is_empty() {
            return Ok(None);
        }
        let schema = builder.parquet_schema();
        let sorted_by = ProjectionMask::leaves(schema, [SERIES_COLUMN, TIME_COLUMN]);
        let (series, from_ms, to_ms) = (self.series.clone(), self.from_ms, self.to_ms);
        let wanted = move |batch: RecordBatch| {
            let ids = batch.column(SERIES_COLUMN).as_primitive::<UInt32Type>().values();
            let times = batch.column(TIME_COLUMN).as_primitive::<TimestampMillisecondType>().values();
            let mut series_before = None;
            let wanted = ids.iter().zip(times).map(|(&id, &time)| {
                let is_in_set = match series_before {
                    Some((before, is_in_set)) if before == id => is_in_set,
                    _ => series.place(id).is_some(),
                };
                series_before = Some((id, is_in_set));
                is_in_set && (from_ms..to_ms).contains(&time)
            });
            Ok(BooleanArray::from_iter(wanted.map(Some)))
        };
        let columns = ProjectionMask::columns(schema, self.columns.iter().copied());
        let stream = builder
            .with_batch_size(BATCH_ROWS)
            .with_projection(columns)
            .with_row_groups(row_groups)
            .with_row_selection(RowSelection::from(selectors))
            .with_row_filter(RowFilter::new(vec![Box::new(ArrowPredicateFn::new(sorted_by, wanted))]))
            .build();
        stream.map(Some).map_err(|error| parquet_failed(self.layout, path, error))
    }

    fn schema(&self) -> SchemaRef {
        match self.tier {
            Tier::Raw => raw_schema(),
            Tier::Minute | Tier::Hour => window_schema(),
        }
    }

    /// The rows of a row group's pages that may match.
    fn select(&self, metadata: &ParquetMetaData, i: usize, row_group: &RowGroupMetaData) -> RowSelection {
        let rows = usize::try_from(row_group.num_rows()).unwrap_or(0);
        let all_or_none = |all: bool| {
            let selector = if all { RowSelector::select(rows) } else { RowSelector::skip(rows) };
            RowSelection::from(vec![selector])
        };
        let has_series = |range: Option<(i32, i32)>| {
            // Parquet stores unsigned numbers as signed numbers with the same bits.
            range.is_none_or(|(min, max)| self.series.has_any(min.cast_unsigned(), max.cast_unsigned()))
        };
        let has_time =
            |range: Option<(i64, i64)>| range.is_none_or(|(min, max)| max >= self.from_ms && min < self.to_ms);
        let series_statistics = row_group.columns().get(SERIES_COLUMN).and_then(|column| column.statistics());
        let time_statistics = row_group.columns().get(TIME_COLUMN).and_then(|column| column.statistics());
        let series_range = match series_statistics {
            Some(Statistics::Int32(values)) => values.min_opt().copied().zip(values.max_opt().copied()),
            _ => None,
        };
        let time_range = match time_statistics {
            Some(Statistics::Int64(values)) => values.min_opt().copied().zip(values.max_opt().copied()),
            _ => None,
        };
        if !has_series(series_range) || !has_time(time_range) {
            return all_or_none(false);
        }
        let pages = metadata.page_index_for_row_group(i);
        let page_starts = |column: usize| {
            let locations = pages.offset_index(column)?.page_locations();
            Some(locations.iter().map(|page| usize::try_from(page.first_row_index).unwrap_or(0)).collect::<Vec<_>>())
        };
        let mut selection = all_or_none(true);
        if let (Some(ColumnIndexMetaData::INT32(index)), Some(starts)) =
            (pages.column_index(SERIES_COLUMN), page_starts(SERIES_COLUMN))
        {
            let wanted = |page| has_series(index.min_value(page).copied().zip(index.max_value(page).copied()));
            selection = selection.intersection(&select_pages(&starts, rows, wanted));
        }
        if let (Some(ColumnIndexMetaData::INT64(index)), Some(starts)) =
            (pages.column_index(TIME_COLUMN), page_starts(TIME_COLUMN))
        {
            let wanted = |page| has_time(index.min_value(page).copied().zip(index.max_value(page).copied()));
            selection = selection.intersection(&select_pages(&starts, rows, wanted));
        }
        selection
    }
}

/// The rows of the pages that `wanted` selects. `starts` are the pages' first rows.
fn select_pages(starts: &[usize], rows: usize, wanted: impl Fn(usize) -> bool) -> RowSelection {
    let ends = starts.iter().skip(1).copied().chain([rows]);
    let pages = starts.iter().zip(ends).enumerate();
    let selectors = pages.map(|(page, (&start, end))| match wanted(page) {
        true => RowSelector::select(end.saturating_sub(start)),
        false => RowSelector::skip(end.saturating_sub(start)),
    });
    RowSelection::from(selectors.collect::<Vec<_>>())
}

/// Opens a file: reads its footer, and its page index if it has one.
pub(crate) async fn open(
    storage: &Storage,
    layout: &Layout,
    file: &DataFile,
    path: &Path,
) -> Result<ParquetRecordBatchStreamBuilder<FileReader>, MeasureError> {
    let reader = FileReader { store: storage.store.clone(), path: path.clone(), bytes: file.bytes };
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let opened = ParquetRecordBatchStreamBuilder::new_with_options(reader, options).await;
    opened.map_err(|error| parquet_failed(layout, path, error))
}

/// Converts a failure to read Parquet, which may be caused by the store.
pub(crate) fn parquet_failed(layout: &Layout, path: &Path, error: ParquetError) -> MeasureError {
    let error = match error {
        ParquetError::External(error) => match error.downcast::<object_store::Error>() {
            Ok(error) => return failed("read", path, &error),
            Err(error) => ParquetError::External(error),
        },
        error => error,
    };
    MeasureError::Damaged { path: path.to_string(), reason: error.to_string(), folder: layout.root().to_string() }
}

/// A Parquet file in a store.
pub(crate) struct FileReader {
    store: Arc<dyn ObjectStore>,
    path: Path,
    bytes: u64,
}

fn external(error: object_store::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl AsyncFileReader for FileReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.store.get_range(&self.path, range).map_err(external).boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        async move { self.store.get_ranges(&self.path, &ranges).await.map_err(external) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        async move {
            let file_bytes = self.bytes;
            let reader =
                ParquetMetaDataReader::new().with_arrow_reader_options(options).with_prefetch_hint(Some(FOOTER_BYTES));
            Ok(Arc::new(reader.load_and_finish(self, file_bytes).await?))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_places_and_ranges() {
        let set = SeriesSet::new(vec![3, 4, 5, 9, 20]);
        assert_eq!([3, 4, 5, 9, 20].map(|id| set.place(id)), [0, 1, 2, 3, 4].map(Some));
        assert_eq!([0, 6, 8, 10, 21, u32::MAX].map(|id| set.place(id)), [None; 6]);
        assert!(set.has_any(0, 3) && set.has_any(5, 8) && set.has_any(9, 9) && set.has_any(10, u32::MAX));
        assert!(!set.has_any(0, 2) && !set.has_any(6, 8) && !set.has_any(21, u32::MAX));
        let empty = SeriesSet::default();
        assert!(empty.place(0).is_none() && !empty.has_any(0, u32::MAX));
    }

    #[test]
    fn pages_become_rows() {
        let selection = select_pages(&[0, 10, 25], 30, |page| page != 1);
        assert_eq!(
            Vec::<RowSelector>::from(selection),
            [RowSelector::select(10), RowSelector::skip(15), RowSelector::select(5)]
        );
    }
}
