//! `rawline consume --tail`: where the newest records of a topic begin in each partition.

use crate::commands::start::before_end;
use futures_util::{StreamExt, TryStreamExt, stream};
use rawline_client::{Client, ClientError, Extent, TopicPartition};
use std::time::{Duration, SystemTime};

/// Look-ups in flight.
const LOOKUPS_MAX: usize = 32;

/// The first distance from now at which records are looked for. It grows fourfold: 16 steps reach a lifetime.
const BACK: Duration = Duration::from_secs(1);

/// Times of appends are whole microseconds.
const RESOLUTION: Duration = Duration::from_micros(1);

/// A partition, and between which offsets its part of the newest records begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    partition: u32,
    low: u64,
    high: u64,
    next_offset: u64,
}

/// The offsets at which the newest `records` of these partitions begin, by the time of their append. Of records that
/// were appended at the same time, those of later partitions are left out first.
pub async fn offsets(
    client: &Client,
    topic: &str,
    extents: &[(u32, Extent)],
    records: u64,
) -> Result<Vec<(u32, u64)>, ClientError> {
    let part = |&(partition, extent): &(u32, Extent)| {
        let next_offset = extent.next_offset;
        Part { partition, low: before_end(extent, records), high: next_offset, next_offset }
    };
    let mut parts: Vec<Part> = extents.iter().map(part).collect();
    if sum(&parts, |part| part.low) > records {
        narrow(client, topic, &mut parts, records).await?;
    }
    Ok(chosen(&parts, records))
}

/// The number of records from these offsets on.
fn sum(parts: &[Part], offset: impl Fn(&Part) -> u64) -> u64 {
    parts.iter().map(|part| part.next_offset - offset(part)).sum()
}

/// Narrows the offsets to those of one point in time, from which on there are enough records, and after which there
/// are too few.
async fn narrow(client: &Client, topic: &str, parts: &mut [Part], records: u64) -> Result<(), ClientError> {
    let now = SystemTime::now();
    // Ahead of this clock, and of the broker's if that is a day ahead.
    let mut late = now + Duration::from_secs(86_400);
    let mut early = SystemTime::UNIX_EPOCH;
    let mut back = BACK;
    while let Some(time) = now.checked_sub(back).filter(|time| *time > early) {
        if !look(client, topic, parts, records, time).await? {
            early = time;
            break;
        }
        (late, back) = (time, back * 4);
    }
    while let Ok(between) = late.duration_since(early)
        && between > RESOLUTION
    {
        let middle = early + between / 2;
        if look(client, topic, parts, records, middle).await? {
            late = middle;
        } else {
            early = middle;
        }
        if parts.iter().all(|part| part.low == part.high) {
            break;
        }
    }
    Ok(())
}

/// Looks up where the records of this time begin. Returns whether there are too few from there on, and narrows the
/// parts accordingly.
async fn look(
    client: &Client,
    topic: &str,
    parts: &mut [Part],
    records: u64,
    time: SystemTime,
) -> Result<bool, ClientError> {
    let at = |part: Part| async move {
        if part.low == part.high {
            return Ok(part.low);
        }
        let name = TopicPartition { topic, partition: part.partition };
        client.offset_at(name, time).await.map(|offset| offset.clamp(part.low, part.high))
    };
    let found: Vec<u64> = stream::iter(parts.to_vec()).map(at).buffered(LOOKUPS_MAX).try_collect().await?;
    let count: u64 = parts.iter().zip(&found).map(|(part, offset)| part.next_offset - offset).sum();
    let too_few = count < records;
    for (part, offset) in parts.iter_mut().zip(found) {
        *(if too_few { &mut part.high } else { &mut part.low }) = offset;
    }
    Ok(too_few)
}

/// The offsets from which on there are this many records.
fn chosen(parts: &[Part], records: u64) -> Vec<(u32, u64)> {
    let mut missing = records.saturating_sub(sum(parts, |part| part.high));
    let choose = |part: &Part| {
        let taken = missing.min(part.high - part.low);
        missing -= taken;
        (part.partition, part.high - taken)
    };
    parts.iter().map(choose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_time_are_taken_until_there_are_enough() {
        let part = |partition, low, high, next_offset| Part { partition, low, high, next_offset };
        // Two newer records in partition 1; five and four of the same time.
        let parts = [part(0, 0, 5, 5), part(1, 3, 7, 9)];
        for (records, offsets) in [(2, [5, 7]), (3, [4, 7]), (7, [0, 7]), (9, [0, 5]), (11, [0, 3]), (99, [0, 3])] {
            assert_eq!(chosen(&parts, records), [(0, offsets[0]), (1, offsets[1])], "{records}");
        }
    }
}
