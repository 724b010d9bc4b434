//! Requests of Kafka's protocol: the bytes of a Produce of one record, of a Fetch that waits, and of its response.

use crate::data::Workload;
use crate::error::BenchError;
use crate::kafka::request;
use crate::requests::connection::Script;
use crate::requests::reply::{Protocol, kafka_response};
use rawline_batch::Limits;
use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec};

const PRODUCE: (i16, i16) = (0, 3);
const FETCH: (i16, i16) = (1, 4);
/// Fields of a batch before this position are the broker's: its offset, its length, and the leader's epoch.
const PRODUCERS_BYTES_FROM: usize = 16;
/// Maximum size of a response's records in bytes.
const BYTES_MAX: i32 = 1 << 20;

/// The batch of the workload's first record.
pub(super) fn batch(workload: &Workload) -> Result<Vec<u8>, BenchError> {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    let usage = |reason: String| BenchError::Usage(format!("such a batch can't be made: {reason}"));
    // The time of a record isn't what is measured.
    let pushed = builder.push(0, None, Some(&workload.data(0)), []);
    pushed.map_err(|_| usage("the record is too large".to_owned()))?;
    builder.finish(None).map(<[u8]>::to_vec).map_err(|error| usage(error.to_string()))
}

/// What a producer sends: `acks=all`, one batch for partition 0.
pub(super) fn produces(topic: &str, batch: &[u8]) -> Script {
    let mut body = (-1_i16).to_be_bytes().to_vec();
    body.extend((-1_i16).to_be_bytes());
    body.extend(30_000_i32.to_be_bytes());
    put_partition(&mut body, topic);
    body.extend((batch.len() as i32).to_be_bytes());
    body.extend(batch);
    Script {
        protocol: Protocol::Kafka,
        greeting: Vec::new(),
        welcome: b"",
        requests: vec![request(PRODUCE, &body)],
        replies: 1,
    }
}

/// A Fetch of partition 0 that waits for the first record at `offset`.
pub(super) fn fetch(topic: &str, offset: u64, wait_ms: i32) -> Vec<u8> {
    let mut body = (-1_i32).to_be_bytes().to_vec();
    body.extend(wait_ms.to_be_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(BYTES_MAX.to_be_bytes());
    // Records of transactions that are open are seen, too.
    body.push(0);
    put_partition(&mut body, topic);
    body.extend((offset as i64).to_be_bytes());
    body.extend(BYTES_MAX.to_be_bytes());
    request(FETCH, &body)
}

/// One topic, with its partition 0.
fn put_partition(body: &mut Vec<u8>, topic: &str) {
    body.extend(1_i32.to_be_bytes());
    body.extend((topic.len() as i16).to_be_bytes());
    body.extend(topic.as_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(0_i32.to_be_bytes());
}

/// The first response to a Fetch: its length, the offset of its first batch, and how many batches it has. Fails on one
/// that isn't `sent`.
pub(super) fn fetched(received: &[u8], sent: &[u8]) -> Result<Option<(usize, u64, u64)>, String> {
    let Some((response, bytes)) = kafka_response(received)? else { return Ok(None) };
    let (error, mut records) = records(response).ok_or("a Fetch response is too short")?;
    if error != 0 {
        return Err(format!("a Fetch has Kafka's error code {error}"));
    }
    let (mut first, mut count) = (None, 0);
    while let Some((batch, after)) = records.split_at_checked(sent.len()) {
        let base = batch.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let expected = *first.get_or_insert(base) + count;
        if base != expected || batch.get(PRODUCERS_BYTES_FROM..) != sent.get(PRODUCERS_BYTES_FROM..) {
            return Err(format!("a batch at offset {base} isn't the one sent with offset {expected}"));
        }
        count += 1;
        records = after;
    }
    if !records.is_empty() {
        return Err(format!("{} bytes after the batches that were sent", records.len()));
    }
    Ok(Some((bytes, first.unwrap_or(0), count)))
}

/// The error code and the records of the only partition.
fn records(response: &[u8]) -> Option<(i16, &[u8])> {
    // The throttle time and the number of topics.
    let (_, rest) = response.split_at_checked(4 + 4)?;
    let (name_bytes, rest) = rest.split_first_chunk()?;
    // The name, and the number of partitions and the partition's.
    let (_, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*name_bytes)) + 4 + 4)?;
    let (error, rest) = rest.split_first_chunk()?;
    // The offsets at the end, no aborted transactions, and the length of the records.
    let (_, rest) = rest.split_at_checked(8 + 8 + 4)?;
    let (length, records) = rest.split_first_chunk()?;
    let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
    (records.len() == length).then_some((i16::from_be_bytes(*error), records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_the_batches_that_were_sent() {
        let sent = batch(&Workload::new(1, 1, 10)).unwrap();
        let stored = |offset: u64| [&offset.to_be_bytes(), &sent[8..12], &[0; 4], &sent[16..]].concat();
        let response = |records: &[u8]| {
            let mut response = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            response.extend([0; 16]);
            response.extend((-1_i32).to_be_bytes());
            response.extend((records.len() as i32).to_be_bytes());
            response.extend(records);
            [&(response.len() as u32).to_be_bytes()[..], &response].concat()
        };
        let whole = response(&[stored(7), stored(8)].concat());
        for end in 0..whole.len() {
            assert_eq!(fetched(&whole[..end], &sent), Ok(None), "{end}");
        }
        assert_eq!(fetched(&whole, &sent), Ok(Some((whole.len(), 7, 2))));
        let empty = response(&[]);
        assert_eq!(fetched(&empty, &sent), Ok(Some((empty.len(), 0, 0))));
        let mut damaged = whole;
        *damaged.last_mut().unwrap() ^= 1;
        for wrong in [damaged, response(&stored(7)[1..]), response(&[stored(7), stored(9)].concat())] {
            assert!(fetched(&wrong, &sent).is_err(), "{wrong:?}");
        }
    }
}
