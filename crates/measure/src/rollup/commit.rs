//! Commits a chunk: stores its files, then creates the commit that names them.

use crate::MeasureError;
use crate::layout::{Commit, Counts, DataFile, Files, LAYOUT_VERSION, Layout, Tier, series_schema};
use crate::rollup::chunk::Chunk;
use crate::rollup::file::{Built, FileBuilder};
use crate::rollup::roll_up::{RolledUp, roll_up};
use crate::snapshot::Snapshot;
use crate::store::Storage;
use arrow_array::ArrayRef;
use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder, UInt32Builder};
use arrow_schema::{DataType, Field};
use futures_util::future::try_join_all;
use parquet::errors::ParquetError;
use rawline_series::{Columns, SeriesTable};
use std::ops::Range;
use std::sync::Arc;

/// The content of a commit.
pub(crate) struct Gathered {
    pub offsets: Range<u64>,
    pub pieces: Vec<Columns>,
    pub counts: Counts,
}

/// Creates commits, one after the other.
pub(crate) struct Committer {
    pub storage: Storage,
    pub layout: Layout,
    pub topic: String,
    pub table: Arc<SeriesTable>,
    pub threads: usize,
    /// Sequence number of the next commit.
    pub sequence: u64,
    /// Number of committed series.
    pub series_end: u32,
    /// The commits so far.
    pub snapshot: Snapshot,
    /// Maximum number of measurements to merge into one file.
    pub rows_max: u64,
}

impl Committer {
    /// Rolls up and commits. If this fails or is dropped, either everything or nothing is committed.
    pub(crate) async fn commit(&mut self, gathered: Gathered) -> Result<Commit, MeasureError> {
        let Range { start, end } = gathered.offsets;
        assert!(start < end, "an empty commit at offset {start}");
        assert!(self.snapshot.end_offset().is_none_or(|before| before == start), "a commit at {start} leaves a gap");
        // The chunk's series all have ids below the table's length, since they were decoded before. Some of the new ids
        // may belong to the next chunk.
        let series = self.series_end..self.table.len();
        let (offsets, counts) = (gathered.offsets.clone(), gathered.counts);
        let commit = Commit {
            version: LAYOUT_VERSION,
            epoch: self.snapshot.epoch,
            first_offset: offsets.start,
            end_offset: offsets.end,
            sequence_begin: self.sequence,
            sequence_end: self.sequence + 1,
            series_begin: series.start,
            series_end: series.end,
            files: self.store(gathered, series.clone(), series.end, "").await?,
            counts,
        };
        let path = self.layout.commit(offsets.start);
        if !self.storage.create(&path, json(&commit)?).await? {
            return Err(MeasureError::Raced { topic: self.topic.clone(), offset: offsets.start });
        }
        self.sequence = commit.sequence_end;
        self.series_end = commit.series_end;
        self.snapshot.commits.push(commit.clone());
        self.publish().await?;
        Ok(commit)
    }

    /// Stores the list of current files, for other readers of Parquet. Call it before deleting replaced files.
    pub(crate) async fn publish(&self) -> Result<(), MeasureError> {
        let Some(current) = self.snapshot.current() else { return Ok(()) };
        self.storage.put(&self.layout.current(), json(&current)?.into()).await
    }

    /// Rolls up the chunk and stores the files, with the series `new`. All measurements belong to series below
    /// `series_end`. `mark` becomes part of the files' names.
    pub(crate) async fn store(
        &self,
        gathered: Gathered,
        new: Range<u32>,
        series_end: u32,
        mark: &str,
    ) -> Result<Files, MeasureError> {
        let Gathered { offsets, pieces, .. } = gathered;
        let (table, threads) = (self.table.clone(), self.threads);
        let work = move || {
            let rolled_up = roll_up(Chunk::sort(pieces, series_end), threads)?;
            Ok::<_, ParquetError>((series_file(&table, new)?, rolled_up))
        };
        let broke_off = |error: &dyn std::fmt::Display| MeasureError::BrokeOff { reason: error.to_string() };
        #[expect(clippy::disallowed_methods, reason = "writing Parquet would stall a worker")]
        let done = tokio::task::spawn_blocking(work).await.map_err(|error| broke_off(&error))?;
        let (series, rolled_up) = done.map_err(|error| broke_off(&error))?;
        self.store_files(&offsets, mark, series, rolled_up).await
    }

    async fn store_files(
        &self,
        offsets: &Range<u64>,
        mark: &str,
        series: Option<Built>,
        rolled_up: RolledUp,
    ) -> Result<Files, MeasureError> {
        let mut files = Files::default();
        let mut puts = Vec::new();
        let mut put = |folder: &str, built: Built, times: Option<(i64, i64)>| {
            let Range { start, end } = offsets;
            let path = format!("{folder}/{start:020}-{end:020}-{mark}{:016x}.parquet", fastrand::u64(..));
            let file = DataFile {
                path,
                bytes: built.bytes.len() as u64,
                rows: built.rows,
                time_min: times.map(|(min, _)| min),
                time_max: times.map(|(_, max)| max),
            };
            let path = self.layout.file(&file);
            puts.push(async move { self.storage.put(&path, built.bytes.into()).await });
            file
        };
        if let Some(built) = series {
            files.series.push(put("series", built, None));
        }
        for (tier, file) in Tier::ALL.into_iter().zip(rolled_up.files) {
            if let Some(file) = file {
                files.tier_mut(tier).push(put(tier.name(), file.built, Some((file.time_min, file.time_max))));
            }
        }
        try_join_all(puts).await?;
        Ok(files)
    }
}

/// An object's JSON, indented.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, MeasureError> {
    serde_json::to_vec_pretty(value).map_err(|error| MeasureError::BrokeOff { reason: error.to_string() })
}

/// A file of the series with these ids; `None` without ids.
fn series_file(table: &SeriesTable, ids: Range<u32>) -> Result<Option<Built>, ParquetError> {
    let mut builder = FileBuilder::new(series_schema())?;
    if !ids.is_empty() {
        let group = builder.encode(&series_columns(table, ids)?)?;
        builder.append(group)?;
    }
    builder.finish()
}

fn series_columns(table: &SeriesTable, ids: Range<u32>) -> Result<[ArrayRef; 3], ParquetError> {
    let (mut series, mut metrics) = (UInt32Builder::new(), StringBuilder::new());
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut tags = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
        .with_values_field(Field::new("value", DataType::Utf8, false));
    for known in table.iter_since(ids.start).take(ids.len()) {
        series.append_value(known.id());
        metrics.append_value(known.metric());
        for (key, value) in known.tags() {
            tags.keys().append_value(key);
            tags.values().append_value(value);
        }
        tags.append(true)?;
    }
    let tags = tags.finish();
    // The builder can't mark the keys as sorted.
    let tags = arrow_array::MapArray::try_new(
        match crate::layout::tags_type() {
            DataType::Map(entries, _) => entries,
            _ => return Err(ParquetError::General("tags are not a map".to_owned())),
        },
        tags.offsets().clone(),
        tags.entries().clone(),
        None,
        true,
    )?;
    Ok([Arc::new(series.finish()), Arc::new(metrics.finish()), Arc::new(tags)])
}
