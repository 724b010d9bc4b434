//! The state of a running roll-up: collects decoded reads and commits them in order.

use crate::MeasureError;
use crate::layout::{Commit, Counts};
use crate::rollup::clean::clean;
use crate::rollup::commit::{Committer, Gathered};
use crate::rollup::decode::BadMessage;
use crate::rollup::limits::{BAD_PERCENT_MAX, BAD_REPORTED_MAX, MERGE_COMMITS};
use crate::rollup::options::Options;
use crate::rollup::retention::advance_horizon;
use crate::rollup::workers::Decoded;
use crate::snapshot::Snapshot;
use futures_util::future::BoxFuture;
use rawline_client::Fetched;
use std::collections::VecDeque;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The progress of a roll-up.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Offset of the next record to decode.
    pub offset: u64,
    /// Offset after the last committed record.
    pub offset_committed: u64,
    /// Offset at which the roll-up ends; `None` if it follows the topic.
    pub end_offset: Option<u64>,
    /// Number of known series.
    pub series: u32,
    /// The resource that is full, if measurements were dropped.
    pub full: Option<Full>,
    /// Newest time of the measurements that this run committed, milliseconds since 1970.
    pub newest_ms: Option<i64>,
    /// Number of commits of this run.
    pub commits: u64,
    /// Numbers of records of this run by outcome.
    pub counts: Counts,
    /// Numbers of records that earlier runs committed, by outcome.
    pub counts_before: Counts,
    /// The first bad messages of this run.
    pub bad: Vec<BadMessage>,
}

/// A resource that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The table of series.
    Series,
    /// The memory for the texts of metrics and tags, which is proportional to the maximum number of series.
    Texts,
}

/// The result of a roll-up.
pub type Summary = Progress;

/// An item in the queue.
pub(crate) enum Next {
    /// A read that is being decoded, and the offset after it.
    Decoded(JoinHandle<Result<Decoded, MeasureError>>, u64),
    /// The end of a commit.
    Cut(u64),
}

pub(crate) type Committed = (Committer, Result<Commit, MeasureError>);

/// A roll-up that is running.
pub(crate) struct Run {
    pub(crate) options: Options,
    pub(crate) free: mpsc::UnboundedSender<Fetched>,
    /// In the order of offsets.
    pub(crate) queue: VecDeque<Next>,
    pub(crate) gathered: Gathered,
    /// `None` while a commit is in flight.
    pub(crate) committer: Option<Committer>,
    pub(crate) committing: Option<BoxFuture<'static, Committed>>,
    pub(crate) progress: Progress,
}

impl Run {
    /// Takes a cut from the queue, if it is next. Returns whether the chunk is complete.
    pub(crate) fn take_decoded_cut(&mut self) -> bool {
        let Some(Next::Cut(end_offset)) = self.queue.front() else { return false };
        self.gathered.offsets.end = *end_offset;
        self.queue.pop_front();
        true
    }

    pub(crate) fn gather(&mut self, (decoded, end_offset): (Decoded, u64)) {
        self.gathered.pieces.push(decoded.columns);
        self.gathered.counts += decoded.counts;
        // Fails only if the reader has ended.
        let _ = self.free.send(decoded.fetched);
        let progress = &mut self.progress;
        progress.offset = end_offset;
        progress.counts += decoded.counts;
        if decoded.counts.dropped > 0 {
            let series_max = self.options.series_max;
            let is_series = self.committer.as_ref().is_none_or(|committer| committer.table.len() >= series_max);
            progress.full = progress.full.or(Some(if is_series { Full::Series } else { Full::Texts }));
        }
        progress.bad.extend(decoded.bad);
        progress.bad.truncate(BAD_REPORTED_MAX);
        if let Some(committer) = &self.committer {
            progress.series = committer.table.len();
        }
    }

    /// Commits the gathered chunk after the previous commit has ended.
    pub(crate) async fn begin_commit(&mut self) -> Result<(), MeasureError> {
        if self.committing.is_some() {
            let committed = next_committed(&mut self.committing).await;
            self.end_commit(committed)?;
        }
        let next = self.gathered.offsets.end;
        let empty = Gathered { offsets: next..next, pieces: Vec::new(), counts: Counts::default() };
        let gathered = std::mem::replace(&mut self.gathered, empty);
        if let Some(mut committer) = self.committer.take() {
            self.refuse_if_nearly_all_are_bad(&committer, &gathered)?;
            let options = self.options.clone();
            self.committing = Some(Box::pin(async move {
                let committed = commit_and_merge(&options, &mut committer, gathered).await;
                (committer, committed)
            }));
        }
        Ok(())
    }

    /// Wrong settings must not skip the first records of a topic.
    fn refuse_if_nearly_all_are_bad(&self, committer: &Committer, gathered: &Gathered) -> Result<(), MeasureError> {
        let Counts { decoded, dropped, bad, .. } = gathered.counts;
        let before = committer.snapshot.counts();
        let is_first = before.decoded + before.dropped == 0;
        let records = decoded + dropped + bad;
        if self.options.accept_bad || !is_first || bad * 100 <= records * BAD_PERCENT_MAX {
            return Ok(());
        }
        let Some(BadMessage { offset, field, reason }) = self.progress.bad.first().cloned() else {
            unreachable!("{bad} bad records, and none was kept")
        };
        Err(MeasureError::NotMeasurements { topic: self.options.topic.clone(), records, bad, offset, field, reason })
    }

    pub(crate) fn end_commit(&mut self, (committer, committed): Committed) -> Result<(), MeasureError> {
        let commit = committed?;
        self.progress.commits += 1;
        self.progress.offset_committed = commit.end_offset;
        let newest_ms = commit.files.raw.iter().filter_map(|file| file.time_max).max();
        self.progress.newest_ms = self.progress.newest_ms.max(newest_ms);
        self.progress.counts.missing += commit.counts.missing;
        self.progress.series = committer.table.len();
        self.committer = Some(committer);
        Ok(())
    }
}

/// Commits. If that completes a run, first deletes the files that the previous merge replaced, then merges the run.
async fn commit_and_merge(
    options: &Options,
    committer: &mut Committer,
    gathered: Gathered,
) -> Result<Commit, MeasureError> {
    let commit = committer.commit(gathered).await?;
    if commit.sequence_end.is_multiple_of(MERGE_COMMITS) {
        committer.snapshot = Snapshot::load(&committer.storage, &committer.layout).await?;
        advance_horizon(options, &committer.layout, &mut committer.snapshot).await?;
        committer.publish().await?;
        clean(&committer.storage, &committer.layout).await?;
        committer.merge().await?;
    }
    Ok(commit)
}

/// The next decoded read. Waits forever if the next item is something else. Cancel-safe.
pub(crate) async fn next_decoded(queue: &mut VecDeque<Next>) -> Result<(Decoded, u64), MeasureError> {
    let Some(Next::Decoded(decoding, end_offset)) = queue.front_mut() else {
        return std::future::pending().await;
    };
    let end_offset = *end_offset;
    let decoded = decoding.await;
    queue.pop_front();
    let decoded = decoded.map_err(|error| MeasureError::BrokeOff { reason: error.to_string() })?;
    Ok((decoded?, end_offset))
}

/// The result of the commit in flight. Waits forever without one. Cancel-safe.
pub(crate) async fn next_committed(committing: &mut Option<BoxFuture<'static, Committed>>) -> Committed {
    let Some(commit) = committing else { return std::future::pending().await };
    let committed = commit.await;
    *committing = None;
    committed
}
