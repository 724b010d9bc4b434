//! Reads batches from a topic into one buffer, checked while they arrive.

use crate::client::{BATCH_TYPE, Call, query_value};
use crate::fetched::Fetched;
use crate::{Client, ClientError};
use http::StatusCode;
use http::header::ACCEPT;
use rawline_batch::Checker;
use std::time::Duration;

/// What a read asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Offset of the first record wanted.
    pub offset: u64,
    /// Most records; 0 for no limit. A compressed batch is served whole, so more may come.
    pub records_max: u64,
    /// Most bytes; 0 for the broker's own limit. At least one record comes, however long it is.
    pub bytes_max: u64,
    /// How long the broker waits for a record to come if there is none yet; whole milliseconds.
    pub wait: Duration,
}

impl Default for ReadOptions {
    /// From the first record on, as much as the broker gives, without waiting.
    fn default() -> Self {
        ReadOptions { offset: 0, records_max: 0, bytes_max: 0, wait: Duration::ZERO }
    }
}

impl Client {
    /// Reads what there is at `options.offset`; what is fetched is empty if nothing came in time.
    ///
    /// `buffer` is what an earlier read gave, or `Fetched::default()`: its memory is used again. Every batch's checksum
    /// has been found right when this returns.
    pub async fn read(&self, topic: &str, options: &ReadOptions, mut buffer: Fetched) -> Result<Fetched, ClientError> {
        let call = call(topic, options);
        let mut attempts = self.retries().begin();
        loop {
            match self.within(options.wait, self.read_once(&call, options, &mut buffer)).await {
                Ok(()) => return Ok(buffer),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    async fn read_once(&self, call: &Call, options: &ReadOptions, fetched: &mut Fetched) -> Result<(), ClientError> {
        fetched.begin(options.offset);
        let mut exchange = self.send(call).await?;
        let next_offset = exchange.number("rawline-next-offset")?;
        if exchange.status() == StatusCode::NO_CONTENT {
            while exchange.chunk(true).await?.is_some() {}
            fetched.end_empty(next_offset);
            return Ok(());
        }
        let first_offset = exchange.number("rawline-first-offset")?;
        let bytes_max = self.config().answer_bytes_max;
        let too_long = |bytes: u64| format!("{bytes} bytes or more in one answer, the limit here is {bytes_max}");
        if exchange.announced_bytes() > bytes_max {
            return Err(exchange.not_a_brokers(too_long(exchange.announced_bytes())));
        }
        fetched.buffer().reserve(exchange.announced_bytes() as usize);
        let mut checker = Checker::new(self.config().limits);
        loop {
            let buffer = fetched.buffer();
            let received = buffer.len();
            if !exchange.receive(buffer).await? {
                break;
            }
            if buffer.len() as u64 > bytes_max {
                return Err(exchange.not_a_brokers(too_long(bytes_max)));
            }
            // While the piece is still in the processor's cache.
            checker.push(buffer.get(received..).unwrap_or_default())?;
        }
        fetched.end(first_offset, next_offset, checker.finish()?);
        // Records that begin behind the offset would be a gap that nobody sees.
        if first_offset > options.offset || fetched.next_offset() <= options.offset {
            let reason = format!("records {first_offset}..{} for offset {}", fetched.next_offset(), options.offset);
            return Err(exchange.not_a_brokers(reason));
        }
        Ok(())
    }
}

fn call(topic: &str, options: &ReadOptions) -> Call {
    let ReadOptions { offset, records_max, bytes_max, wait } = *options;
    let topic = query_value(topic);
    let wait_ms = wait.as_millis();
    let target = format!(
        "/records?topic-name={topic}&offset={offset}&max-records={records_max}&max-bytes={bytes_max}&timeout={wait_ms}ms"
    );
    Call::get(target).header(ACCEPT, BATCH_TYPE)
}
