//! Appends batches from several workers, each awaiting one answer at a time, and checks the offsets answered.

use super::report::{new_histogram, progress, record};
use super::target::failed;
use crate::BenchError;
use bytes::Bytes;
use hdrhistogram::Histogram;
use rawline_client::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// What to append.
pub struct Appends {
    /// Shown beside the progress bar.
    pub what: String,
    /// The topic.
    pub topic: String,
    /// Number of batches.
    pub batches: u64,
    /// Requests on their way at once.
    pub workers: u32,
    /// Sizes of every batch's records in bytes.
    pub sizes: Vec<u32>,
    /// Gives the data of a batch by its number.
    pub data: Box<dyn Fn(u64) -> Bytes + Send + Sync>,
}

/// Where a batch lies, by the broker's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// The batch's number among those sent.
    pub number: u64,
    /// Offset of its first record.
    pub first_offset: u64,
    /// Offset behind its last record.
    pub next_offset: u64,
}

/// Appends everything. Workers take the next batch's number from one counter, as those of the original's benchmark take
/// it from one channel.
pub async fn append_all(client: &Client, appends: Appends) -> Result<(Vec<Answered>, Histogram<u64>), BenchError> {
    let bar = progress(appends.what.clone(), appends.batches);
    let appends = Arc::new(appends);
    let next = Arc::new(AtomicU64::new(0));
    // Dropped when the benchmark is interrupted, and then its tasks end too.
    let mut workers = JoinSet::new();
    for _ in 0..appends.workers {
        let (client, appends, next, bar) = (client.clone(), appends.clone(), next.clone(), bar.clone());
        workers.spawn(async move {
            let mut answered = Vec::with_capacity((appends.batches / u64::from(appends.workers.max(1))) as usize * 2);
            let mut latency = new_histogram();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= appends.batches {
                    return Ok((answered, latency));
                }
                let data = (appends.data)(number);
                let sent = Instant::now();
                let place = client.append_records(&appends.topic, &appends.sizes, data).await?;
                record(&mut latency, sent.elapsed());
                answered.push(Answered { number, first_offset: place.first_offset, next_offset: place.next_offset });
                bar.inc(1);
            }
        });
    }
    let mut all = Vec::with_capacity(appends.batches as usize);
    let mut latency = new_histogram();
    while let Some(worker) = workers.join_next().await {
        let worker = worker.map_err(|error| BenchError::Failed(format!("a worker stopped: {error}")))?;
        let (answered, times) = worker.map_err(|error| failed("an append", error))?;
        all.extend(answered);
        latency += times;
    }
    bar.finish_and_clear();
    Ok((all, latency))
}

/// Puts the answers in the order of their offsets. Fails if two overlap, if there is a gap, or if one does not hold a
/// whole batch: a broker that answers so has lost records.
pub fn check_dense(answered: &mut [Answered], records_per_batch: u64) -> Result<(), BenchError> {
    answered.sort_unstable_by_key(|answer| answer.first_offset);
    let mut expected = 0;
    for answer in answered {
        if answer.first_offset != expected || answer.next_offset != expected + records_per_batch {
            return Err(BenchError::Failed(format!(
                "the broker answered offsets {}..{} where {expected}..{} were due: it loses or repeats records",
                answer.first_offset,
                answer.next_offset,
                expected + records_per_batch
            )));
        }
        expected = answer.next_offset;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_must_be_dense() {
        let answer = |number, first_offset, next_offset| Answered { number, first_offset, next_offset };
        let mut good = [answer(0, 10, 20), answer(1, 0, 10), answer(2, 20, 30)];
        check_dense(&mut good, 10).unwrap();
        assert_eq!(good.map(|answer| answer.number), [1, 0, 2]);
        for mut bad in [
            vec![answer(0, 10, 20)],
            vec![answer(0, 0, 10), answer(1, 0, 10)],
            vec![answer(0, 0, 10), answer(1, 20, 30)],
            vec![answer(0, 0, 11)],
            vec![answer(0, 0, 10), answer(1, 9, 19)],
        ] {
            assert!(check_dense(&mut bad, 10).is_err(), "{bad:?}");
        }
    }
}
