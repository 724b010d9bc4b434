//! Reads a topic of equal batches back, from its first record to its last, and compares its check value.

use super::data::check_value;
use super::report::progress;
use super::target::failed;
use crate::BenchError;
use indicatif::ProgressBar;
use rawline_batch::{Codec, Crc32c};
use rawline_client::{Client, Fetched, ReadOptions};
use std::ops::Range;
use tokio::task::JoinSet;

/// Maximum size of one read in bytes.
const READ_BYTES: u64 = 8 << 20;
/// Number of reads in flight: enough to keep every core of a small machine busy with checksums.
const WORKERS: u64 = 8;

/// Checks that the topic ends after `batches` batches of `records_per_batch` records, and that the sum of their check
/// values, of the bytes that the broker returns, is that of the `sent` ones. Returns the sum.
pub async fn read_back(
    client: &Client,
    topic: &str,
    batches: u64,
    records_per_batch: u64,
    sent: u64,
) -> Result<u64, BenchError> {
    let records = batches * records_per_batch;
    let next_offset = match client.topic(topic).await {
        Ok(info) => info.next_offset,
        // Only an append creates a topic.
        Err(error) if error.code() == Some("topic_not_found") => 0,
        Err(error) => return Err(failed("reading the topic's state", error)),
    };
    if next_offset != records {
        return Err(BenchError::Failed(format!(
            "the broker lost records: {records} were acknowledged, but the topic's next offset is {next_offset}"
        )));
    }
    let bar = progress("reading back".to_owned(), batches);
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let part = Part {
            client: client.clone(),
            topic: topic.to_owned(),
            bar: bar.clone(),
            records_per_batch,
            batches: batches * worker / WORKERS..batches * (worker + 1) / WORKERS,
        };
        workers.spawn(part.read());
    }
    let mut found = 0u64;
    while let Some(worker) = workers.join_next().await {
        let worker = worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))?;
        found = found.wrapping_add(worker?);
    }
    bar.finish_and_clear();
    if found != sent {
        return Err(BenchError::Failed(format!(
            "the broker's bytes are not those that were sent: check value {found:016x}, expected {sent:016x}"
        )));
    }
    Ok(found)
}

/// The batches that one worker reads.
struct Part {
    client: Client,
    topic: String,
    bar: ProgressBar,
    records_per_batch: u64,
    batches: Range<u64>,
}

impl Part {
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
            fetched = client.read(&topic, &options, fetched).await.map_err(|error| failed("reading back", error))?;
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
