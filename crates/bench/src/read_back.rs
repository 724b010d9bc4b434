//! Reads a topic of equal batches back from its first record to its last, and sums up its check value.

use super::data::check_value;
use super::report::progress;
use super::target::failed;
use crate::BenchError;
use rawline_batch::{Codec, Crc32c};
use rawline_client::{Client, Fetched, ReadOptions};
use tokio::task::JoinSet;

/// Most bytes of one read.
const READ_BYTES: u64 = 8 << 20;
/// Reads on their way at once; enough to keep every core of a small machine busy with checksums.
const WORKERS: u64 = 8;

/// Checks that the topic ends after `batches` batches of `records_per_batch` records; gives the sum of their check
/// values, of the bytes that the broker hands out.
pub async fn read_back(client: &Client, topic: &str, batches: u64, records_per_batch: u64) -> Result<u64, BenchError> {
    let info = client.topic(topic).await.map_err(|error| failed("looking at the topic", error))?;
    if info.next_offset != batches * records_per_batch {
        return Err(BenchError::Failed(format!(
            "the broker lost records: {} were sent and answered, the topic's next offset is {}",
            batches * records_per_batch,
            info.next_offset
        )));
    }
    let bar = progress("reading back".to_owned(), batches);
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (client, topic, bar) = (client.clone(), topic.to_owned(), bar.clone());
        let (first, end) = (batches * worker / WORKERS, batches * (worker + 1) / WORKERS);
        workers.spawn(async move {
            let mut sum = 0u64;
            let mut fetched = Fetched::default();
            let mut crc = Crc32c::new();
            let mut offset = first * records_per_batch;
            while offset < end * records_per_batch {
                let records_max = end * records_per_batch - offset;
                let options = ReadOptions { offset, records_max, bytes_max: READ_BYTES, ..ReadOptions::default() };
                fetched =
                    client.read(&topic, &options, fetched).await.map_err(|error| failed("reading back", error))?;
                if fetched.is_empty() || fetched.first_offset() != offset {
                    let got = fetched.first_offset()..fetched.next_offset();
                    let message = format!("asked for offset {offset}, the broker answered with records {got:?}");
                    return Err(BenchError::Failed(message));
                }
                for (first_offset, batch) in fetched.batches() {
                    // A batch may come in slices, where an answer ends; it never comes joined with another.
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
            Ok::<_, BenchError>(sum)
        });
    }
    let mut sum = 0u64;
    while let Some(worker) = workers.join_next().await {
        let worker = worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))?;
        sum = sum.wrapping_add(worker?);
    }
    bar.finish_and_clear();
    Ok(sum)
}
