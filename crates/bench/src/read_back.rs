//! Reads topics of equal batches back, from the first record to the last, and compares their check values.

use super::data::check_value;
use super::report::progress;
use super::target::failed;
use crate::error::BenchError;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use rawline_batch::{Codec, Crc32c};
use rawline_client::{Client, Fetched, ReadOptions};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::JoinSet;

/// Maximum size of one read in bytes.
const READ_BYTES: u64 = 8 << 20;
/// Number of reads in flight: enough to keep every core of a small machine busy with checksums.
const WORKERS: u64 = 8;

/// The records sent to a topic.
pub struct Sent {
    /// The topic's name.
    pub topic: String,
    /// Number of batches.
    pub batches: u64,
    /// Sum of their check values.
    pub check: u64,
}

/// Checks that each topic ends after its batches of `records_per_batch` records, and that the sum of their check
/// values, of the bytes that the broker returns, is that of the sent ones. Returns the sum of all topics.
pub async fn read_back(client: &Client, sent: Vec<Sent>, records_per_batch: u64) -> Result<u64, BenchError> {
    // A missing record is reported as lost, not as one that can't be read.
    stream::iter(&sent)
        .map(|Sent { topic, batches, .. }| check_end(client, topic, batches * records_per_batch))
        .buffer_unordered(WORKERS as usize)
        .try_collect::<()>()
        .await?;
    let bar = progress("reading back".to_owned(), sent.iter().map(|sent| sent.batches).sum());
    // A lone topic is read in parts, several are read whole.
    let parts_per_topic = WORKERS.div_ceil(sent.len().max(1) as u64);
    let next = Arc::new(AtomicU64::new(0));
    let sent = Arc::new(sent);
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (client, sent, next, bar) = (client.clone(), sent.clone(), next.clone(), bar.clone());
        workers.spawn(async move {
            let mut sums = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let (topic, place) = (number / parts_per_topic, number % parts_per_topic);
                let Some(Sent { topic: name, batches, .. }) = sent.get(topic as usize) else { return Ok(sums) };
                let part = Part {
                    client: &client,
                    topic: name,
                    bar: &bar,
                    records_per_batch,
                    batches: batches * place / parts_per_topic..batches * (place + 1) / parts_per_topic,
                };
                sums.push((topic as usize, part.read().await?));
            }
        });
    }
    let mut found = vec![0u64; sent.len()];
    while let Some(worker) = workers.join_next().await {
        let worker = worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))?;
        for (topic, sum) in worker? {
            if let Some(found) = found.get_mut(topic) {
                *found = found.wrapping_add(sum);
            }
        }
    }
    bar.finish_and_clear();
    for (Sent { topic, check, .. }, found) in sent.iter().zip(&found) {
        if found != check {
            return Err(BenchError::Failed(format!(
                "the broker's bytes of topic {topic} are not those that were sent: check value {found:016x}, expected \
                 {check:016x}"
            )));
        }
    }
    Ok(found.into_iter().fold(0, u64::wrapping_add))
}

async fn check_end(client: &Client, topic: &str, records: u64) -> Result<(), BenchError> {
    let next_offset = match client.topic(topic).await {
        Ok(info) => info.next_offset,
        // A topic that was not created beforehand is created by an append.
        Err(error) if error.code() == Some("topic_not_found") => 0,
        Err(error) => return Err(failed("reading the topic's state", error)),
    };
    if next_offset != records {
        return Err(BenchError::Failed(format!(
            "the broker lost records: {records} were acknowledged, but the next offset of {topic} is {next_offset}"
        )));
    }
    Ok(())
}

/// The batches that one worker reads.
struct Part<'a> {
    client: &'a Client,
    topic: &'a str,
    bar: &'a ProgressBar,
    records_per_batch: u64,
    batches: Range<u64>,
}

impl Part<'_> {
    /// Sum of the batches' check values.
    async fn read(self) -> Result<u64, BenchError> {
        let Part { client, topic, bar, records_per_batch, batches } = self;
        let mut sum = 0u64;
        let mut fetched = Fetched::default();
        let mut crc = Crc32c::new();
        let mut offset = batches.start * records_per_batch;
        let end_offset = batches.end * records_per_batch;
        while offset < end_offset {
            let records_max = end_offset - offset;
            let options = ReadOptions { offset, records_max, bytes_max: READ_BYTES, ..ReadOptions::default() };
            fetched = client.read(topic, &options, fetched).await.map_err(|error| failed("reading back", error))?;
            if fetched.is_empty() || fetched.first_offset() != offset {
                let got = fetched.first_offset()..fetched.next_offset();
                let message = format!("requested records from offset {offset}, the broker returned records {got:?}");
                return Err(BenchError::Failed(message));
            }
            for (first_offset, batch) in fetched.batches() {
                // A batch may come in slices, where a response ends; it never comes joined with another.
                let place = first_offset % records_per_batch;
                let records = u64::from(batch.header().records);
                if place + records > records_per_batch || batch.header().codec != Codec::None {
                    let message = format!("the batch at offset {first_offset} is not the one that was sent");
                    return Err(BenchError::Failed(message));
                }
                crc.update(batch.data());
                if place + records == records_per_batch {
                    sum = sum.wrapping_add(check_value(first_offset - place, crc.value()));
                    crc = Crc32c::new();
                    bar.inc(1);
                }
            }
            offset = fetched.next_offset();
        }
        Ok(sum)
    }
}
