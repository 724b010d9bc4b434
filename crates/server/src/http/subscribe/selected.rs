//! The records of a read that fulfil a filter, as binary messages in buffers of the pool.

use super::deliver;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::render::{self, Buffer};
use crate::http::select::{self, Part};
use crate::http::websocket::FrameKind;
use crate::net::peer::Peer;
use bytes::Bytes;
use rawline_broker::ReadAnswer;
use rawline_broker::pool::Gathered;
use rawline_broker::subscriptions::Records;
use rawline_contract::subscription::{Delivery, DeliveryKind, put_selection};
use rawline_value::Filter;
use std::io::Write;
use std::ops::Range;

/// A message's maximum size without its topic's name and its records in bytes: the frame's header, the fields before
/// the name, the zeros after it, the count, and an offset and a size.
const AROUND_BYTES: u64 = 10 + 32 + 8 + 8 + 12;

/// The result of a search.
pub(super) struct Found {
    pub frames: Vec<Bytes>,
    pub records: u64,
    pub bytes: u64,
    /// How far the filter has looked.
    pub end_offset: u64,
}

/// Records of one time, next to each other in a batch.
struct Run {
    time_us: u64,
    /// Offsets and sizes.
    entries: Vec<(u64, u32)>,
    ranges: Vec<Range<usize>>,
}

/// Applies the filter to read batches.
pub(super) async fn find(
    api: &Api,
    peer: &Peer,
    filter: &Filter,
    records: &Records,
    read: ReadAnswer,
    unpacked_bytes_max: u64,
) -> Result<Found, ApiError> {
    let read_end = read.end_offset;
    let selected = select::select(api, read, &deliver::all(records.offset, unpacked_bytes_max)).await?;
    let topic = &*records.topic;
    // Each record may become its own message.
    let around = AROUND_BYTES + topic.len() as u64;
    let bytes_max = selected.parts.iter().map(|part| part.bytes() + part.records() * around).sum();
    let mut frames = Buffer(Gathered::new(render::reserve(api, peer, bytes_max).await?));
    let (mut count, mut end_offset) = (0, read_end);
    for part in &selected.parts {
        let data = match part.data(api).await {
            Ok(data) => data,
            // The next message begins with the unreadable batch.
            Err(error) if error.next_offset().is_some() && part.first_offset > records.offset => {
                end_offset = part.first_offset;
                break;
            }
            Err(error) => return Err(error),
        };
        end_offset = part.first_offset + part.records();
        let runs = runs(part, |range| filter.matches(data.get(range)))?;
        let last = runs.len().saturating_sub(1);
        for (number, Run { time_us, entries, ranges }) in runs.into_iter().enumerate() {
            let (Some((first, _)), Some((newest, _))) = (entries.first(), entries.last()) else { continue };
            // The last message of a batch covers all its offsets.
            let next_offset = if number == last { end_offset } else { newest + 1 };
            let (first_offset, partition) = (*first, records.number);
            let kind = DeliveryKind::Selection;
            let delivery = Delivery { kind, topic, partition, first_offset, end_offset: next_offset, time_us };
            let mut front = Vec::new();
            delivery.put(&mut front);
            put_selection(&entries, &mut front);
            let content: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            let mut header = Vec::new();
            FrameKind::Binary.put_header((front.len() + content) as u64, &mut header);
            for bytes in [header, front] {
                frames.write_all(&bytes).map_err(render::too_large)?;
            }
            for range in &ranges {
                frames.write_all(data.get(range)).map_err(render::too_large)?;
            }
            count += ranges.len() as u64;
        }
    }
    Ok(Found { bytes: frames.0.bytes(), frames: frames.0.freeze(), records: count, end_offset })
}

/// The records of a part that are wanted. Those of Kafka's batches have their own times.
fn runs(part: &Part, is_wanted: impl Fn(&Range<usize>) -> bool) -> Result<Vec<Run>, ApiError> {
    let mut times = part.fields().map(|records| {
        records.map(|record| u64::try_from(record.timestamp_ms).unwrap_or_default().saturating_mul(1000))
    });
    let mut runs: Vec<Run> = Vec::new();
    for (offset, range) in (part.first_offset..).zip(part.ranges()?) {
        let time_us = times.as_mut().map_or(Some(part.created_us()), Iterator::next).unwrap_or_default();
        if !is_wanted(&range) {
            continue;
        }
        if runs.last().is_none_or(|run| run.time_us != time_us) {
            runs.push(Run { time_us, entries: Vec::new(), ranges: Vec::new() });
        }
        let Some(run) = runs.last_mut() else { unreachable!("one was just added") };
        run.entries.push((offset, range.len() as u32));
        run.ranges.push(range);
    }
    Ok(runs)
}
