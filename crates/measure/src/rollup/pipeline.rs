//! Rolls up a topic: fetches records, decodes them on all cores, and commits chunk by chunk.
//!
//! ```text
//! fetch.rs   one task      reads ahead, and decides where commits end
//! decode.rs  all threads   decodes several reads into columns, which are gathered in the order of offsets
//! commit.rs  all threads   sorts and aggregates a chunk, writes its files, commits; meanwhile the next one is gathered
//! ```
//!
//! Memory is decided at the start: two chunks fit into the budget, and the number of reads in flight is the number of
//! buffers. If commits are slow, buffers stay in use and reading waits, which is the backpressure.

use crate::MeasureError;
use crate::layout::{Counts, LAYOUT_VERSION, Layout, StartMark};
use crate::rollup::clean::{clean, delete_all};
use crate::rollup::commit::{Committer, Gathered, json};
use crate::rollup::fetch::{Fetch, Item};
use crate::rollup::known::load_series;
use crate::rollup::limits::{CHUNK_RECORDS_MAX, CHUNK_RECORDS_MIN, READS_AHEAD, RECORD_BYTES, SERIES_BYTES_MAX};
use crate::rollup::options::Options;
use crate::rollup::retention::advance_horizon;
use crate::rollup::run::{Next, Progress, Run, Summary, next_committed, next_decoded};
use crate::rollup::workers::Workers;
use crate::snapshot::Snapshot;
use rawline_avro::{Framing, WriterId};
use rawline_client::{Fetched, Start, TopicInfo};
use rawline_series::{SeriesLimits, SeriesTable};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// A roll-up that is ready to run.
pub struct Pipeline {
    options: Options,
    committer: Committer,
    fetch: Fetch,
    progress: Progress,
    first_offset: u64,
}

impl Pipeline {
    /// Finds the offset at which to continue, and loads the known series. Doesn't roll up anything yet.
    pub async fn open(options: Options) -> Result<Pipeline, MeasureError> {
        if options.framing == Framing::Bare
            && let Err(error) = options.schemas.schema(WriterId::Known)
        {
            return Err(MeasureError::Config { reason: error.to_string() });
        }
        let layout = Layout::new(&options.storage.prefix, &options.topic);
        let topic = options.client.topic(&options.topic).await?;
        if topic.partitions.get() > 1 {
            let (name, partitions) = (&options.topic, topic.partitions);
            return Err(MeasureError::Config {
                reason: format!(
                    "topic {name} has {partitions} partitions, and roll-ups are of topics with one; use one"
                ),
            });
        }
        if options.start_over {
            delete_all(&options.storage, &layout).await?;
        }
        let mut snapshot = Snapshot::load(&options.storage, &layout).await?;
        if snapshot.start.is_none() {
            mark_start(&options, &layout, &topic).await?;
            snapshot = Snapshot::load(&options.storage, &layout).await?;
        }
        let offset = snapshot.end_offset().unwrap_or(topic.first_offset);
        if offset > topic.next_offset && !snapshot.commits.is_empty() {
            return Err(MeasureError::OtherTopic {
                topic: options.topic.clone(),
                next_offset: topic.next_offset,
                end_offset: offset,
                folder: layout.root().to_string(),
            });
        }
        let table = SeriesTable::new(SeriesLimits::for_series(options.series_max), fastrand::u64(..));
        let table = table.map_err(|error| MeasureError::Config { reason: error.to_string() })?;
        let table = table.with_encoded_bytes_max(SERIES_BYTES_MAX);
        load_series(&options.storage, &layout, &snapshot, &table).await?;
        advance_horizon(&options, &layout, &mut snapshot).await?;
        let committer = Committer {
            storage: options.storage.clone(),
            layout,
            topic: options.topic.clone(),
            table: Arc::new(table),
            threads: options.threads.max(1),
            sequence: snapshot.commits.last().map_or(0, |last| last.sequence_end),
            series_end: snapshot.series_end(),
            snapshot,
            rows_max: (options.memory_bytes / RECORD_BYTES).min(CHUNK_RECORDS_MAX),
        };
        committer.publish().await?;
        clean(&committer.storage, &committer.layout).await?;
        let progress = Progress {
            offset: offset.max(topic.first_offset),
            offset_committed: offset,
            end_offset: (!options.follow).then_some(topic.next_offset),
            series: committer.table.len(),
            counts_before: committer.snapshot.counts(),
            ..Progress::default()
        };
        let fetch = Fetch {
            client: options.client.clone(),
            topic: options.topic.clone(),
            offset: progress.offset,
            end_offset: progress.end_offset,
            chunk_records: chunk_records(&options)?,
            flush_after: options.flush_after,
        };
        Ok(Pipeline { options, committer, fetch, progress, first_offset: offset })
    }

    /// The progress so far.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Rolls up until the topic's end, or until `stop` resolves; then commits the decoded measurements. Calls `report`
    /// whenever records are decoded or committed.
    ///
    /// If this fails or is dropped, commits stay, and the next run continues after them: no record is lost or counted
    /// twice.
    pub async fn run(
        self,
        mut report: impl FnMut(&Progress),
        stop: impl Future<Output = ()>,
    ) -> Result<Summary, MeasureError> {
        let threads = self.committer.threads;
        let reads_max = threads + READS_AHEAD;
        let (free, free_buffers) = mpsc::unbounded_channel();
        for _ in 0..reads_max {
            // Can't fail: the receiver still exists.
            let _ = free.send(Fetched::default());
        }
        let (items_in, mut items) = mpsc::channel(READS_AHEAD);
        let (stopping, stopped) = watch::channel(false);
        #[expect(clippy::disallowed_methods, reason = "records are fetched while others are decoded")]
        let _fetching = AbortOnDrop(tokio::spawn(self.fetch.run(free_buffers, items_in, stopped)));
        let workers = Arc::new(Workers {
            topic: self.options.topic.clone(),
            schemas: self.options.schemas.clone(),
            framing: self.options.framing,
            refresh: self.options.refresh.clone(),
            table: self.committer.table.clone(),
            idle: Mutex::default(),
        });
        let mut run = Run {
            options: self.options,
            free,
            queue: VecDeque::new(),
            gathered: Gathered {
                offsets: self.first_offset..self.first_offset,
                pieces: Vec::new(),
                counts: Counts { missing: self.progress.offset - self.first_offset, ..Counts::default() },
            },
            committer: Some(self.committer),
            committing: None,
            progress: self.progress,
        };
        let mut stop = std::pin::pin!(stop);
        let mut is_stopping = false;
        let mut has_ended = false;
        let mut failed = None;
        loop {
            if run.take_decoded_cut() {
                run.begin_commit().await?;
                continue;
            }
            if has_ended && run.queue.is_empty() && run.committing.is_none() {
                return failed.map_or(Ok(run.progress), Err);
            }
            let wants_more = !has_ended && run.queue.len() < reads_max + READS_AHEAD;
            tokio::select! {
                item = items.recv(), if wants_more => match item {
                    Some(Item::Records(fetched, wanted)) => {
                        let end_offset = wanted.end;
                        #[expect(clippy::disallowed_methods, reason = "records are decoded in parallel")]
                        let decoding = tokio::spawn(workers.clone().decode(fetched, wanted));
                        run.queue.push_back(Next::Decoded(decoding, end_offset));
                    }
                    Some(Item::Cut(end_offset)) => run.queue.push_back(Next::Cut(end_offset)),
                    Some(Item::Failed(error)) => failed = Some(error),
                    None => has_ended = true,
                },
                decoded = next_decoded(&mut run.queue) => {
                    run.gather(decoded?);
                    report(&run.progress);
                }
                committed = next_committed(&mut run.committing) => {
                    run.end_commit(committed)?;
                    report(&run.progress);
                }
                () = &mut stop, if !is_stopping => {
                    is_stopping = true;
                    stopping.send_replace(true);
                }
            }
        }
    }
}

/// Stores the offset at which the topic's roll-ups begin, unless another process has just done so.
async fn mark_start(options: &Options, layout: &Layout, topic: &TopicInfo) -> Result<(), MeasureError> {
    let first_offset = match options.start {
        Start::Earliest => topic.first_offset,
        Start::Latest => topic.next_offset,
        Start::Offset(offset) => offset,
        Start::Time(time) => options.client.offset_at(&options.topic, time).await?,
    };
    // A process that still rolls up for the deleted roll-ups has another epoch, so its commits never count.
    let epoch = if options.start_over { fastrand::u32(1..) } else { 0 };
    let mark = StartMark { version: LAYOUT_VERSION, first_offset, epoch };
    // The first process decides.
    options.storage.create(&layout.start(), json(&mark)?).await.map(|_| ())
}

fn chunk_records(options: &Options) -> Result<u64, MeasureError> {
    let fitting = options.memory_bytes / RECORD_BYTES;
    if fitting < CHUNK_RECORDS_MIN && options.chunk_records.is_none() {
        return Err(MeasureError::Config {
            reason: format!(
                "{} bytes of memory are not enough for a roll-up; the minimum is {}",
                options.memory_bytes,
                CHUNK_RECORDS_MIN * RECORD_BYTES
            ),
        });
    }
    Ok(options.chunk_records.unwrap_or(fitting).clamp(1, CHUNK_RECORDS_MAX))
}

/// A task that is aborted when this value is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
