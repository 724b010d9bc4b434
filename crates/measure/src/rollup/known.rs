//! Loads the committed series, so that they keep their ids.

use crate::MeasureError;
use crate::layout::Layout;
use crate::snapshot::Snapshot;
use crate::store::{Storage, failed};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rawline_series::SeriesTable;

/// Number of files of series that are fetched concurrently.
const READS_AT_ONCE: usize = 8;

/// Adds the snapshot's series to an empty table, with their ids.
pub(crate) async fn load_series(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    table: &SeriesTable,
) -> Result<(), MeasureError> {
    let files = snapshot.series().map(|file| async {
        let path = layout.file(file);
        let bytes = storage.get(&path).await?;
        let missing = object_store::Error::NotFound { path: path.to_string(), source: "it doesn't exist".into() };
        Ok::<_, MeasureError>((path.clone(), bytes.ok_or_else(|| failed("read", &path, &missing))?))
    });
    let mut files = futures_util::stream::iter(files).buffered(READS_AT_ONCE);
    while let Some((path, bytes)) = files.try_next().await? {
        load_file(bytes, table).map_err(|problem| match problem {
            Problem::Damaged(reason) => {
                MeasureError::Damaged { path: path.to_string(), reason, folder: layout.root().to_string() }
            }
            Problem::Full => MeasureError::Config {
                reason: format!(
                    "{} series are committed, more than the maximum number of series; raise it",
                    snapshot.series_end()
                ),
            },
        })?;
    }
    Ok(())
}

enum Problem {
    Damaged(String),
    Full,
}

fn load_file(bytes: Bytes, table: &SeriesTable) -> Result<(), Problem> {
    let damaged = |error: &dyn std::fmt::Display| Problem::Damaged(error.to_string());
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).and_then(|builder| builder.build());
    for batch in reader.map_err(|error| damaged(&error))? {
        load_batch(&batch.map_err(|error| damaged(&error))?, table)?;
    }
    Ok(())
}

fn load_batch(batch: &RecordBatch, table: &SeriesTable) -> Result<(), Problem> {
    let wrong = || Problem::Damaged("it doesn't have the columns of series".to_owned());
    let column = |name: &str| batch.column_by_name(name).ok_or_else(wrong);
    let series = column("series")?.as_primitive_opt::<UInt32Type>().ok_or_else(wrong)?;
    let metrics = column("metric")?.as_string_opt::<i32>().ok_or_else(wrong)?;
    let tags = column("tags")?.as_map_opt().ok_or_else(wrong)?;
    let keys = tags.keys().as_string_opt::<i32>().ok_or_else(wrong)?;
    let values = tags.values().as_string_opt::<i32>().ok_or_else(wrong)?;
    for (row, (&id, metric)) in series.values().iter().zip(metrics).enumerate() {
        let (Some(metric), Some(&[begin, end])) = (metric, tags.value_offsets().get(row..row + 2)) else {
            return Err(wrong());
        };
        let pairs = (begin as usize..end as usize).map(|place| (keys.value(place), values.value(place)));
        let got = table.intern(metric, pairs).map_err(|error| match error {
            rawline_series::SeriesError::Full => Problem::Full,
            error => Problem::Damaged(error.to_string()),
        })?;
        if got != id {
            return Err(Problem::Damaged(format!("it has series {id} in place of series {got}")));
        }
    }
    Ok(())
}
