//! A client that appends at full speed and reads back whatever was acknowledged.

use super::tally::{Tally, count};
use crate::data::Workload;
use crate::error::BenchError;
use crate::statistics::{new_histogram, record};
use crate::target::failed;
use hdrhistogram::Histogram;
use rawline_batch::Crc32c;
use rawline_client::{Client, Fetched, ReadOptions, RetryPolicy};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of batches that stay in the topic. Older ones are trimmed after they were read back, so that a long run fits
/// on the disk.
const KEPT: usize = 64;

/// A batch that the broker acknowledged.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    number: u64,
    first_offset: u64,
    next_offset: u64,
}

/// A worker with one request in flight and its own topic.
pub struct Worker {
    topic: String,
    /// Without retries, so that refusals are seen.
    client: Client,
    /// Retries for longer than a refusal lasts.
    patient: Client,
    workload: Arc<Workload>,
    tally: Arc<Tally>,
    kept: VecDeque<Acknowledged>,
    batches: u64,
    next_offset: u64,
    latency: Histogram<u64>,
    fetched: Fetched,
}

impl Worker {
    /// Worker `number`.
    pub fn new(number: u32, client: &Client, workload: &Arc<Workload>, tally: &Arc<Tally>) -> Worker {
        Worker {
            topic: format!("healthy-{number}"),
            client: client.with_retries(RetryPolicy::NONE),
            patient: client.with_retries(RetryPolicy::default()),
            workload: workload.clone(),
            tally: tally.clone(),
            kept: VecDeque::new(),
            batches: 0,
            next_offset: 0,
            latency: new_histogram(),
            fetched: Fetched::default(),
        }
    }

    /// Appends until `until`.
    pub async fn run(mut self, until: Instant) -> Result<Worker, BenchError> {
        while Instant::now() < until {
            self.step().await?;
        }
        Ok(self)
    }

    /// Number of batches that were acknowledged.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Times of the acknowledged appends.
    pub fn latency(&self) -> &Histogram<u64> {
        &self.latency
    }

    /// Fails unless everything that was acknowledged and is still kept has the bytes that were sent.
    pub async fn check_kept(&mut self) -> Result<(), BenchError> {
        for batch in std::mem::take(&mut self.kept) {
            self.check(batch).await?;
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<(), BenchError> {
        let number = self.batches;
        let data = self.workload.data(number);
        let sent = Instant::now();
        let appended = match self.client.append_records(&self.topic, self.workload.sizes(), data).await {
            Ok(appended) => appended,
            Err(error) if error.is_retryable() => {
                count(&self.tally.refused);
                tokio::time::sleep(Duration::from_millis(100)).await;
                return Ok(());
            }
            Err(error) => return Err(failed("an append of a healthy client", error)),
        };
        record(&mut self.latency, sent.elapsed());
        let batch = Acknowledged { number, first_offset: appended.first_offset, next_offset: appended.next_offset };
        // One that was refused may be stored nevertheless.
        if batch.first_offset < self.next_offset {
            return Err(lost(&self.topic, batch, "its offsets were acknowledged before"));
        }
        self.next_offset = batch.next_offset;
        self.batches += 1;
        self.kept.push_back(batch);
        self.check(batch).await?;
        count(&self.tally.appended);
        if self.kept.len() >= 2 * KEPT {
            self.kept.drain(..KEPT);
            let before = self.kept.front().map_or(0, |kept| kept.first_offset);
            self.patient.trim(&self.topic, before).await.map_err(|error| failed("trimming", error))?;
        }
        Ok(())
    }

    /// Fails unless a batch has the bytes that were sent.
    async fn check(&mut self, batch: Acknowledged) -> Result<(), BenchError> {
        let mut crc = Crc32c::new();
        let mut offset = batch.first_offset;
        while offset < batch.next_offset {
            let options = ReadOptions { offset, records_max: batch.next_offset - offset, ..ReadOptions::default() };
            let fetched = std::mem::take(&mut self.fetched);
            let read = self.patient.read(&self.topic, &options, fetched).await;
            self.fetched = read.map_err(|error| failed("reading back", error))?;
            if self.fetched.is_empty() || self.fetched.first_offset() != offset {
                return Err(lost(&self.topic, batch, "it is not there"));
            }
            self.fetched.batches().for_each(|(_, batch)| crc.update(batch.data()));
            offset = self.fetched.next_offset();
        }
        let is_whole = offset == batch.next_offset && crc.value() == self.workload.data_crc(batch.number);
        if is_whole { Ok(()) } else { Err(lost(&self.topic, batch, "it has other bytes")) }
    }
}

fn lost(topic: &str, batch: Acknowledged, why: &str) -> BenchError {
    let Acknowledged { number, first_offset, next_offset } = batch;
    BenchError::Failed(format!(
        "the broker lost batch {number} of topic {topic}, acknowledged at {first_offset}..{next_offset}: {why}"
    ))
}
