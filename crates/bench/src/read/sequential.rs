//! Reads a topic from its first record to its last, each worker its part, with a consumer as users have it.

use super::{Tally, Topic, check_response};
use crate::error::BenchError;
use crate::report::progress;
use crate::runs::Moved;
use crate::statistics::{new_histogram, record};
use crate::target::failed;
use rawline_client::{Client, Consumer, ConsumerConfig, PartitionRange, RetryPolicy};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// One of this many records is compared byte for byte: the same ones, however responses split the topic.
const COMPARED_EVERY: u64 = 1009;

/// Reads the topic `passes` times. A latency is the time until the consumer has the next response.
pub(super) async fn read_through(
    client: &Client,
    topic: &Arc<Topic>,
    passes: u64,
    workers: u32,
    what: String,
) -> Result<Tally, BenchError> {
    let bar = progress(what, topic.records * passes);
    let mut tasks = JoinSet::new();
    for part in parts(topic.records, u64::from(workers)) {
        let (client, topic, bar) = (client.clone(), topic.clone(), bar.clone());
        tasks.spawn(async move {
            let (mut moved, mut check, mut latency) = (Moved::default(), 0u64, new_histogram());
            for _ in 0..passes {
                let mut consumer = consumer(&client, &topic.name, &part);
                let mut offset = part.start;
                loop {
                    let asked = Instant::now();
                    let next = consumer.next().await.map_err(|error| failed("a read", error))?;
                    let Some(fetched) = next else { break };
                    record(&mut latency, asked.elapsed());
                    let records = offset..fetched.next_offset();
                    let chosen = (offset.next_multiple_of(COMPARED_EVERY)..).step_by(COMPARED_EVERY as usize);
                    let (bytes, value) = check_response(&topic, fetched, &records, chosen).map_err(|what| {
                        BenchError::Failed(format!("the records from offset {offset} on are wrong: {what}"))
                    })?;
                    let records = records.end - records.start;
                    moved += Moved { requests: 1, batches: fetched.metas().len() as u64, records, bytes };
                    check = check.wrapping_add(value);
                    offset += records;
                    bar.inc(records);
                }
                if offset != part.end {
                    return Err(BenchError::Failed(format!("the records {part:?} end at offset {offset}")));
                }
            }
            Ok::<_, BenchError>((moved, check, latency))
        });
    }
    let read = super::joined(tasks).await?;
    bar.finish_and_clear();
    Ok(read)
}

/// The parts of a topic, one for each worker.
fn parts(records: u64, workers: u64) -> Vec<Range<u64>> {
    let part = |number| records * number / workers..records * (number + 1) / workers;
    (0..workers).map(part).filter(|part| !part.is_empty()).collect()
}

fn consumer(client: &Client, topic: &str, part: &Range<u64>) -> Consumer {
    let range = PartitionRange { partition: 0, offset: part.start, end_offset: Some(part.end) };
    let config = ConsumerConfig { retries: RetryPolicy::NONE, ..ConsumerConfig::default() };
    Consumer::of_ranges(client.clone(), topic, vec![range], config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_topic() {
        for (records, workers) in [(10, 3), (2, 16), (100_000, 1)] {
            let parts = parts(records, workers);
            assert_eq!(parts.first().map(|part| part.start), Some(0));
            assert_eq!(parts.last().map(|part| part.end), Some(records));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
        }
    }
}
