//! The times of records in a Kafka batch.

use super::ConvertError;
use super::batches::{Unpacked, split};
use rawline_batch::record_batch::Records;
use rawline_broker::{BatchKind, Piece, ReadAnswer};
use tokio::sync::Semaphore;

/// The record that is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// The first of this time or later, in milliseconds since the Unix epoch.
    Since(i64),
    /// The first of those with the greatest time.
    Newest,
}

/// A record's offset and its time in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatedRecord {
    pub offset: u64,
    pub time_ms: i64,
}

/// The wanted record from `first_offset` on, of the first batch that was read. The batch may unpack to `raw_bytes_max`
/// bytes.
pub(crate) async fn find_time(
    unpacking: &Semaphore,
    read: ReadAnswer,
    first_offset: u64,
    wanted: Wanted,
    raw_bytes_max: u32,
) -> Result<Option<DatedRecord>, ConvertError> {
    assert_eq!(read.kind, BatchKind::Kafka, "batches without times of records");
    let (found, _permit) = super::run(unpacking, move || find(read, first_offset, wanted, raw_bytes_max)).await?;
    Ok(found)
}

fn find(
    read: ReadAnswer,
    first_offset: u64,
    wanted: Wanted,
    raw_bytes_max: u32,
) -> Result<Option<DatedRecord>, ConvertError> {
    let Some(Piece::Whole(mut bytes)) = read.pieces.into_iter().next() else { return Ok(None) };
    let (_, batch) = split(&mut bytes)?;
    let unpacked = Unpacked::new(read.first_offset, &batch, raw_bytes_max)?;
    let mut found: Option<DatedRecord> = None;
    for record in Records::new(&unpacked.header, &unpacked.section) {
        let record = record?;
        let (offset, time_ms) = (read.first_offset + u64::from(record.offset_delta), record.timestamp_ms);
        if offset < first_offset {
            continue;
        }
        let dated = DatedRecord { offset, time_ms };
        match wanted {
            Wanted::Since(wanted_ms) if time_ms >= wanted_ms => return Ok(Some(dated)),
            Wanted::Since(_) => {}
            Wanted::Newest if found.is_none_or(|found| time_ms > found.time_ms) => found = Some(dated),
            Wanted::Newest => {}
        }
    }
    Ok(found)
}
