//! Reads batches from a partition into one buffer, and checks them while they arrive.

use crate::call::Call;
use crate::checked::Checking;
use crate::client::Client;
use crate::error::ClientError;
use crate::fetched::Fetched;
use crate::partition::TopicPartition;
use http::header::{ACCEPT, HeaderValue};
use http::{HeaderMap, StatusCode};
use rawline_contract::{MediaType, header, path};
use std::time::Duration;

/// Both kinds of batches: the broker returns them as stored.
const AS_STORED: HeaderValue =
    HeaderValue::from_static("application/vnd.rawline.batch, application/vnd.kafka.record-batch");

/// The options of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Offset of the first requested record.
    pub offset: u64,
    /// Maximum number of records; 0 for no limit. A compressed batch is returned whole, and so is one of Kafka's: there
    /// may be more.
    pub records_max: u64,
    /// Maximum size of the records in bytes; 0 for the broker's limit. At least one record is returned, whatever its
    /// length.
    pub bytes_max: u64,
    /// How long the broker waits if no record is available yet, in whole milliseconds.
    pub wait: Duration,
    /// Whether the broker converts Kafka's batches, so that all batches are of Rawline's format: their records are then
    /// values without keys, headers and times. Without it, batches arrive as they are stored.
    pub values_only: bool,
}

impl Default for ReadOptions {
    /// From the first record on, as much as the broker returns, without waiting.
    fn default() -> Self {
        ReadOptions { offset: 0, records_max: 0, bytes_max: 0, wait: Duration::ZERO, values_only: false }
    }
}

impl Client {
    /// Reads the records at `options.offset`, or after it where a compaction has removed them. The result is empty if
    /// no record was available in time.
    ///
    /// `buffer` is the result of an earlier read, or `Fetched::default()`: its memory is reused. When this returns, the
    /// checksum of every batch has been checked.
    pub async fn read<'a>(
        &self,
        from: impl Into<TopicPartition<'a>>,
        options: &ReadOptions,
        mut buffer: Fetched,
    ) -> Result<Fetched, ClientError> {
        let from = from.into();
        let mut options = *options;
        let (mut attempts, partition) = (self.attempts(), from.to_string());
        loop {
            let call = call(&partition, &options);
            let nearer = self.nearer_of(&partition);
            let reader = nearer.as_ref().map_or(self, |nearer| &nearer.client);
            let read = reader.read_once(&call, &options, &mut buffer, |head| {
                self.learn_nearer(&partition, head);
            });
            match reader.within(options.wait, read).await {
                Ok(()) if buffer.is_gap() => options.offset = buffer.next_offset(),
                Ok(()) => {
                    buffer.set_partition(from);
                    return Ok(buffer);
                }
                Err(error) => {
                    let is_unsent = nearer.is_some_and(|nearer| self.nearer_failed(&partition, &nearer, &error));
                    if !is_unsent {
                        attempts.failed(error).await?;
                    }
                }
            }
        }
    }

    /// `on_head` gets the headers of the response.
    async fn read_once(
        &self,
        call: &Call,
        options: &ReadOptions,
        fetched: &mut Fetched,
        on_head: impl FnOnce(&HeaderMap),
    ) -> Result<(), ClientError> {
        let limits = self.config().limits;
        fetched.begin(options.offset, limits.raw_bytes_max);
        let mut exchange = self.send(call, options.wait).await?;
        on_head(exchange.headers());
        let next_offset = exchange.number(&header::NEXT_OFFSET)?;
        if exchange.status() == StatusCode::NO_CONTENT {
            while exchange.chunk(true).await?.is_some() {}
            fetched.end_empty(next_offset);
            return Ok(());
        }
        let first_offset = exchange.number(&header::FIRST_OFFSET)?;
        let bytes_max = self.config().answer_bytes_max;
        let too_long =
            |bytes: u64| format!("a response of {bytes} bytes or more, where answer_bytes_max is {bytes_max}");
        if exchange.announced_bytes() > bytes_max {
            return Err(exchange.not_a_brokers(too_long(exchange.announced_bytes())));
        }
        fetched.buffer().reserve(exchange.announced_bytes() as usize);
        let mut checker = Checking::new(exchange.media_type(), limits);
        loop {
            let buffer = fetched.buffer();
            let received = buffer.len();
            if !exchange.receive(buffer).await? {
                break;
            }
            if buffer.len() as u64 > bytes_max {
                return Err(exchange.not_a_brokers(too_long(bytes_max)));
            }
            // Computed while the piece is still in the processor's cache.
            assert!(received <= buffer.len(), "{} bytes where {received} were received", buffer.len());
            checker.push(buffer.split_at(received).1)?;
        }
        let (received, held) = (exchange.received_bytes(), fetched.bytes());
        assert_eq!(received, held, "{held} bytes of a response of {received} are in the buffer");
        let batches = checker.finish()?;
        let records = batches.records();
        // If records began after the requested offset, the gap would go unnoticed. Batches as they are stored have all
        // offsets; those that are converted begin after the gaps of a compacted topic.
        let end_offset = first_offset.checked_add(records);
        if first_offset > options.offset && !options.values_only || end_offset.is_none_or(|end| end <= options.offset) {
            let end_offset = first_offset.saturating_add(records);
            let reason = format!("records {first_offset}..{end_offset} for offset {}", options.offset);
            return Err(exchange.not_a_brokers(reason));
        }
        if let Some((found, expected)) = batches.misplaced(first_offset) {
            return Err(exchange.not_a_brokers(format!("a batch of offset {found} at offset {expected}")));
        }
        fetched.end(first_offset, next_offset, batches);
        Ok(())
    }
}

/// `from` is a partition in a query.
fn call(from: &str, options: &ReadOptions) -> Call {
    let ReadOptions { offset, records_max, bytes_max, wait, values_only } = *options;
    let wait_ms = wait.as_millis();
    let target = format!(
        "{}?{from}&offset={offset}&max-records={records_max}&max-bytes={bytes_max}&timeout={wait_ms}ms",
        path::RECORDS
    );
    let accept = if values_only { MediaType::Batch.header_value() } else { AS_STORED };
    Call::get(target).header(ACCEPT, accept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_batches_are_accepted() {
        let accept = AS_STORED;
        let kinds = accept.to_str().unwrap().split(", ").map(MediaType::parse);
        assert!(kinds.eq([MediaType::Batch, MediaType::RecordBatch].map(Some)));
    }
}
