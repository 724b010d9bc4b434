//! Merges runs of small commits into one, so that readers have few files to read.
//!
//! The sequence numbers alone determine the runs: 64 commits, then 64 such runs, and so on. Therefore every process
//! merges the same runs, and whichever creates `merged/BEGIN-END.json` first determines whose files count.
//!
//! The files are made from the run's measurements as if they were one chunk. Sums and sketches don't depend on where
//! commits end, so queries return the same answers. If a run has more measurements than a chunk, or expired ones, it
//! keeps its files, and only the commits are merged.

use crate::MeasureError;
use crate::layout::{Commit, Counts, Files, LAYOUT_VERSION, Tier};
use crate::rollup::chunk::Columns;
use crate::rollup::commit::{Committer, Gathered, json};
use crate::rollup::limits::MERGE_COMMITS;
use crate::snapshot::Snapshot;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMillisecondType, UInt32Type};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::ops::Range;

impl Committer {
    /// Merges every complete run.
    pub(crate) async fn merge(&mut self) -> Result<(), MeasureError> {
        while let Some(run) = whole_run(&self.snapshot.commits) {
            let merged = self.merged(self.snapshot.commits.get(run.clone()).unwrap_or_default()).await?;
            let path = self.layout.merged_commit(merged.first_offset, merged.end_offset);
            if self.storage.create(&path, json(&merged)?).await? {
                self.snapshot.commits.splice(run, [merged]);
            } else {
                // Another process has merged it.
                self.snapshot = Snapshot::load(&self.storage, &self.layout).await?;
                break;
            }
        }
        self.publish().await
    }

    async fn merged(&self, run: &[Commit]) -> Result<Commit, MeasureError> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return Err(MeasureError::BrokeOff { reason: "a run of no commits".to_owned() });
        };
        let mut counts = Counts::default();
        let mut files = Files::default();
        for commit in run {
            counts += commit.counts;
            files.series.extend_from_slice(&commit.files.series);
            Tier::ALL.into_iter().for_each(|tier| {
                files.tier_mut(tier).extend_from_slice(commit.files.tier(tier));
            });
        }
        let offsets = first.first_offset..last.end_offset;
        let series = first.series_begin..last.series_end;
        if let Some(pieces) = self.measurements(&files, counts.decoded).await? {
            let gathered = Gathered { offsets: offsets.clone(), pieces, counts };
            files = self.store(gathered, series.clone(), self.series_end, "merged-").await?;
        }
        Ok(Commit {
            version: LAYOUT_VERSION,
            epoch: first.epoch,
            first_offset: offsets.start,
            end_offset: offsets.end,
            sequence_begin: first.sequence_begin,
            sequence_end: last.sequence_end,
            series_begin: series.start,
            series_end: series.end,
            files,
            counts,
        })
    }

    /// The measurements of these files, in the order of offsets as far as it matters. `None` if they don't fit into one
    /// chunk or if some of them have expired.
    async fn measurements(&self, files: &Files, count: u64) -> Result<Option<Vec<Columns>>, MeasureError> {
        if count > self.rows_max {
            return Ok(None);
        }
        let mut pieces = Vec::with_capacity(files.raw.len());
        let mut rows = 0;
        for file in &files.raw {
            let path = self.layout.file(file);
            let Some(bytes) = self.storage.get(&path).await? else { return Ok(None) };
            let columns = read_measurements(bytes).map_err(|reason| MeasureError::Damaged {
                path: path.to_string(),
                reason,
                folder: self.layout.root().to_string(),
            })?;
            rows += columns.len() as u64;
            pieces.push(columns);
        }
        Ok((rows == count).then_some(pieces))
    }
}

/// The first complete run of commits, of the shortest kind.
fn whole_run(commits: &[Commit]) -> Option<Range<usize>> {
    let mut length = MERGE_COMMITS;
    let last = commits.last()?.sequence_end;
    while length <= last {
        let mut begin = 0;
        while let Some(first) = commits.get(begin) {
            let end_wanted = (first.sequence_begin / length + 1) * length;
            let count = commits.get(begin..)?.iter().take_while(|commit| commit.sequence_end <= end_wanted).count();
            let end = commits.get(begin + count.max(1) - 1)?.sequence_end;
            if count > 1 && first.sequence_begin % length == 0 && end == end_wanted {
                return Some(begin..begin + count);
            }
            begin += count.max(1);
        }
        length = length.saturating_mul(MERGE_COMMITS);
    }
    None
}

fn read_measurements(bytes: Bytes) -> Result<Columns, String> {
    let wrong = || "it doesn't have the columns of measurements".to_owned();
    let mut columns = Columns::default();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).and_then(|builder| builder.build());
    for batch in reader.map_err(|error| error.to_string())? {
        let batch = batch.map_err(|error| error.to_string())?;
        let column = |name: &str| batch.column_by_name(name).ok_or_else(wrong);
        let series = column("series")?.as_primitive_opt::<UInt32Type>().ok_or_else(wrong)?;
        let time = column("time")?.as_primitive_opt::<TimestampMillisecondType>().ok_or_else(wrong)?;
        let value = column("value")?.as_primitive_opt::<Float64Type>().ok_or_else(wrong)?;
        columns.series.extend_from_slice(series.values());
        columns.time_ms.extend_from_slice(time.values());
        columns.value.extend_from_slice(value.values());
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(sequence: Range<u64>) -> Commit {
        Commit {
            version: LAYOUT_VERSION,
            epoch: 0,
            first_offset: sequence.start * 10,
            end_offset: sequence.end * 10,
            sequence_begin: sequence.start,
            sequence_end: sequence.end,
            series_begin: 0,
            series_end: 0,
            files: Files::default(),
            counts: Counts::default(),
        }
    }

    #[test]
    fn runs_are_the_same_for_everyone() {
        let mut commits = Vec::new();
        let mut merged = 0;
        for sequence in 0..64 * 64 * 2 + 70 {
            commits.push(commit(sequence..sequence + 1));
            while let Some(run) = whole_run(&commits) {
                let (first, last) = (&commits[run.start], &commits[run.end - 1]);
                let length = last.sequence_end - first.sequence_begin;
                assert!(length == 64 || length == 64 * 64, "{length}");
                assert_eq!(first.sequence_begin % length, 0);
                let one = commit(first.sequence_begin..last.sequence_end);
                commits.splice(run, [one]);
                merged += 1;
            }
            assert!(commits.len() < 64 * 2 + 2);
        }
        assert_eq!(merged, 129 + 2);
        // A process that finds many unmerged commits, and a partly merged run, gets the same result.
        let mut found: Vec<Commit> = (0..64 * 3 + 5).map(|sequence| commit(sequence..sequence + 1)).collect();
        found.splice(64..128, [commit(64..128)]);
        assert_eq!(whole_run(&found), Some(0..64));
        found.splice(0..64, [commit(0..64)]);
        assert_eq!(whole_run(&found), Some(2..66));
        found.splice(2..66, [commit(128..192)]);
        assert_eq!(whole_run(&found), None);
        assert_eq!(whole_run(&[]), None);
    }
}
