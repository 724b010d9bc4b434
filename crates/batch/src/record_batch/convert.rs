//! The records of a Rawline batch as a RecordBatch, for Kafka's consumers. The same records make the same bytes.

use super::encode::{RecordFront, with_length_bytes};
use super::header::BATCH_BYTES_MAX;
use super::{RECORD_BATCH_HEADER_BYTES, RecordBatchError, RecordBatchHeader, varint};

/// Small fields are gathered up to this many bytes, so that neither the checksum nor the sink gets every one alone.
const GATHERED_BYTES: usize = 4 << 10;

/// Values of this size aren't copied to be gathered.
const ALONE_BYTES_MIN: usize = 1 << 10;

/// Size of the RecordBatch that [`convert`] makes of records of these sizes, in bytes.
///
/// Errors: no records; more bytes or records than a RecordBatch can have.
pub fn converted_bytes(sizes: impl IntoIterator<Item = u32>) -> Result<u32, RecordBatchError> {
    let (mut bytes, mut records) = (RECORD_BATCH_HEADER_BYTES as u64, 0_u32);
    for size in sizes {
        bytes += with_length_bytes(record_bytes(&front(records, size as usize)));
        if bytes > u64::from(BATCH_BYTES_MAX) {
            // Each record takes some bytes, so the number of records is small too.
            return Err(RecordBatchError::TooLarge { bytes, limit: BATCH_BYTES_MAX });
        }
        records += 1;
    }
    if records == 0 {
        return Err(RecordBatchError::Records { records: 0, last_offset_delta: -1 });
    }
    Ok(bytes as u32)
}

/// Gives `sink` the RecordBatch that a consumer gets for these records, piece by piece, and returns its size in bytes.
///
/// Keys are null, there are no headers, codec or producer, and all times are `created_us` (microseconds since the Unix
/// epoch) in milliseconds. The records are read twice, because the checksum goes before them: the sink then can be a
/// socket or blocks of any size, in which the place of the header would have to be found again. The second pass finds
/// them in the processor's cache. Errors: as [`converted_bytes`]; nothing was given to `sink` then.
pub fn convert<'a, R>(
    records: R,
    first_offset: u64,
    created_us: u64,
    mut sink: impl FnMut(&[u8]),
) -> Result<u32, RecordBatchError>
where
    R: ExactSizeIterator<Item = &'a [u8]> + Clone,
{
    // Longer records are longer than any batch, too.
    let sizes = records.clone().map(|record| u32::try_from(record.len()).unwrap_or(u32::MAX));
    let batch_bytes = converted_bytes(sizes)?;
    let created_ms = (created_us / 1000) as i64;
    let count = records.len() as u32;
    let mut header = RecordBatchHeader {
        base_offset: first_offset as i64,
        records: count,
        ..RecordBatchHeader::plain(batch_bytes, count, created_ms)
    };
    let mut crc = header.crc();
    let mut gathered = Vec::with_capacity(GATHERED_BYTES + 2 * ALONE_BYTES_MIN);
    put_records(records.clone(), &mut gathered, |piece| crc.update(piece));
    header.crc32c = crc.value();

    let mut written = 0;
    let mut sink = |piece: &[u8]| {
        written += piece.len() as u64;
        sink(piece);
    };
    sink(&header.encode());
    put_records(records, &mut gathered, sink);
    assert_eq!(written, u64::from(batch_bytes), "a batch of another size than {header:?}");
    Ok(batch_bytes)
}

/// Gives `sink` the records. `gathered` is empty, and is so again afterwards.
fn put_records<'a>(records: impl Iterator<Item = &'a [u8]>, gathered: &mut Vec<u8>, mut sink: impl FnMut(&[u8])) {
    for (record, value) in (0..).zip(records) {
        let front = front(record, value.len());
        front.put(record_bytes(&front), gathered);
        if value.len() < ALONE_BYTES_MIN {
            gathered.extend_from_slice(value);
        } else {
            flush(gathered, &mut sink);
            sink(value);
        }
        varint::put(0, gathered);
        if gathered.len() >= GATHERED_BYTES {
            flush(gathered, &mut sink);
        }
    }
    flush(gathered, sink);
}

/// Passes the collected bytes to `sink`.
fn flush(gathered: &mut Vec<u8>, mut sink: impl FnMut(&[u8])) {
    if !gathered.is_empty() {
        sink(gathered);
        gathered.clear();
    }
}

fn front(record: u32, value_bytes: usize) -> RecordFront<'static> {
    RecordFront { timestamp_delta_ms: 0, offset_delta: record, key: None, value_bytes: Some(value_bytes) }
}

/// Size of a record without its length: the number of headers follows the value.
fn record_bytes(front: &RecordFront<'_>) -> u64 {
    front.with_value_bytes() + varint::bytes(0)
}
