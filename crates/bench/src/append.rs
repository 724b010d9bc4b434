//! Appends batches from several workers, one request in flight per worker, and checks the returned offsets.

use super::data::{Workload, check_value};
use super::report::progress;
use super::statistics::{new_histogram, record};
use super::target::failed;
use crate::error::BenchError;
use bytes::Bytes;
use hdrhistogram::Histogram;
use rawline_client::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// The work of an append.
pub struct Appends {
    /// Label of the progress bar.
    pub what: String,
    /// The topics. Batches go to them in turns: batch `number` to topic `number` modulo their count.
    pub topics: Vec<String>,
    /// Number of batches, to all topics together.
    pub batches: u64,
    /// Number of requests in flight.
    pub workers: u32,
    /// Sizes of every batch's records in bytes.
    pub sizes: Vec<u32>,
    /// Gives the data of a batch by its number.
    pub data: Box<dyn Fn(u64) -> Bytes + Send + Sync>,
}

/// Where a batch is stored, by the broker's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The batch's number among those sent.
    pub number: u64,
    /// Offset of its first record.
    pub first_offset: u64,
    /// Offset after its last record.
    pub next_offset: u64,
}

/// Appends every batch. Workers take the next batch's number from one counter, as those of Seb's benchmark take
/// it from one channel.
pub async fn append_all(client: &Client, appends: Appends) -> Result<(Vec<Appended>, Histogram<u64>), BenchError> {
    assert!(!appends.topics.is_empty(), "{} batches go to no topic", appends.batches);
    let bar = progress(appends.what.clone(), appends.batches);
    let appends = Arc::new(appends);
    let next = Arc::new(AtomicU64::new(0));
    // Dropping it, when the benchmark is interrupted, ends its tasks.
    let mut workers = JoinSet::new();
    for _ in 0..appends.workers {
        let (client, appends, next, bar) = (client.clone(), appends.clone(), next.clone(), bar.clone());
        workers.spawn(async move {
            let mut appended = Vec::with_capacity((appends.batches / u64::from(appends.workers.max(1))) as usize * 2);
            let mut latency = new_histogram();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= appends.batches {
                    return Ok((appended, latency));
                }
                let data = (appends.data)(number);
                let topic = topic_of(number, &appends.topics);
                let sent = Instant::now();
                let place = client.append_records(topic, &appends.sizes, data).await?;
                record(&mut latency, sent.elapsed());
                appended.push(Appended { number, first_offset: place.first_offset, next_offset: place.next_offset });
                bar.inc(1);
            }
        });
    }
    let mut all = Vec::with_capacity(appends.batches as usize);
    let mut latency = new_histogram();
    while let Some(worker) = workers.join_next().await {
        let worker = worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))?;
        let (appended, times) = worker.map_err(|error| failed("an append", error))?;
        all.extend(appended);
        latency += times;
    }
    bar.finish_and_clear();
    assert_eq!(all.len() as u64, appends.batches, "each batch is appended once");
    assert_eq!(latency.len(), appends.batches, "each append has one latency");
    Ok((all, latency))
}

/// The topic of a batch.
fn topic_of(number: u64, topics: &[String]) -> &str {
    topics.get((number % topics.len() as u64) as usize).map_or("", String::as_str)
}

/// The batches of each topic, of `topics` topics that were appended to in turns.
pub fn by_topic(appended: Vec<Appended>, topics: u32) -> Vec<Vec<Appended>> {
    let each = appended.len().div_ceil(topics.max(1) as usize);
    let mut split: Vec<_> = (0..topics).map(|_| Vec::with_capacity(each)).collect();
    for batch in appended {
        if let Some(topic) = split.get_mut((batch.number % u64::from(topics)) as usize) {
            topic.push(batch);
        }
    }
    split
}

/// Sorts the batches by offset. Fails if two overlap, if there is a gap, or if one isn't whole: such a broker has lost
/// records.
pub fn check_dense(appended: &mut [Appended], records_per_batch: u64) -> Result<(), BenchError> {
    appended.sort_unstable_by_key(|batch| batch.first_offset);
    let mut expected = 0;
    for batch in appended {
        if batch.first_offset != expected || batch.next_offset != expected + records_per_batch {
            return Err(BenchError::Failed(format!(
                "the broker returned offsets {}..{} instead of {expected}..{}: it loses or repeats records",
                batch.first_offset,
                batch.next_offset,
                expected + records_per_batch
            )));
        }
        expected = batch.next_offset;
    }
    Ok(())
}

/// Sum of the check values of these batches of the workload: of the sent records, by the offsets that the broker
/// returned.
pub fn check_value_of(appended: &[Appended], workload: &Workload) -> u64 {
    appended
        .iter()
        .fold(0, |sum: u64, batch| sum.wrapping_add(check_value(batch.first_offset, workload.data_crc(batch.number))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_must_be_dense() {
        let batch = |number, first_offset, next_offset| Appended { number, first_offset, next_offset };
        let mut good = [batch(0, 10, 20), batch(1, 0, 10), batch(2, 20, 30)];
        check_dense(&mut good, 10).unwrap();
        assert_eq!(good.map(|batch| batch.number), [1, 0, 2]);
        for mut bad in [
            vec![batch(0, 10, 20)],
            vec![batch(0, 0, 10), batch(1, 0, 10)],
            vec![batch(0, 0, 10), batch(1, 20, 30)],
            vec![batch(0, 0, 11)],
            vec![batch(0, 0, 10), batch(1, 9, 19)],
        ] {
            assert!(check_dense(&mut bad, 10).is_err(), "{bad:?}");
        }
    }
}
