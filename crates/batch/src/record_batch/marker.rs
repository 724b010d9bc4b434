//! The control batch that ends a transaction in a partition, as Kafka's brokers write it.
//!
//! ```text
//! key:   version i16, 0 │ type i16: 0 aborted, 1 committed
//! value: version i16, 0 │ coordinator's epoch i32, 0 here
//! ```

use super::{RECORD_BATCH_HEADER_BYTES, RecordBatchHeader, RecordCodec, RecordProducer};

/// A record without headers: length, attributes, time, offset, key, value, number of headers.
const RECORD_BYTES: usize = 17;

/// Size of a marker in bytes.
pub const MARKER_BYTES: usize = RECORD_BATCH_HEADER_BYTES + RECORD_BYTES;

/// The marker that ends a producer's transaction. The base offset is 0: the broker sets it.
pub fn end_marker(id: u64, epoch: u16, is_committed: bool, timestamp_ms: i64) -> [u8; MARKER_BYTES] {
    let kind = u8::from(is_committed);
    // Lengths are varints in zigzag: 16, 4 and 6 bytes.
    let record: [u8; RECORD_BYTES] = [32, 0, 0, 0, 8, 0, 0, 0, kind, 12, 0, 0, 0, 0, 0, 0, 0];
    let header = RecordBatchHeader {
        base_offset: 0,
        batch_bytes: MARKER_BYTES as u32,
        records: 1,
        offsets: 1,
        crc32c: 0,
        codec: RecordCodec::None,
        is_transactional: true,
        is_control: true,
        has_append_time: false,
        has_delete_horizon: false,
        base_timestamp_ms: timestamp_ms,
        max_timestamp_ms: timestamp_ms,
        producer: Some(RecordProducer { id, epoch, base_sequence: 0 }),
    };
    let mut crc = header.crc();
    crc.update(&record);
    let mut marker = [0; MARKER_BYTES];
    let (front, rest) = marker.split_at_mut(RECORD_BATCH_HEADER_BYTES);
    front.copy_from_slice(&RecordBatchHeader { crc32c: crc.value(), ..header }.encode());
    rest.copy_from_slice(&record);
    marker
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_batch::{Records, check_stored};

    /// As kafka-clients 4.3.1 builds it, with `MemoryRecords.withEndTransactionMarker`.
    #[test]
    fn a_marker_is_what_kafka_writes() {
        let marker = end_marker(5, 3, true, 1_700_000_000_123);
        let hex: String = marker.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = "0000000000000000 00000042 00000000 02 CRC 0030 00000000 0000018bcfe5687b 0000018bcfe5687b \
                        0000000000000005 0003 ffffffff 00000001 20000000 0800000001 0c000000000000 00";
        let crc = &hex[34..42];
        assert_eq!(hex, expected.replace(' ', "").replace("CRC", crc));
        let header = check_stored(&marker, 0).unwrap();
        assert!(header.is_control && header.is_transactional);
        assert_eq!(header.producer, Some(RecordProducer { id: 5, epoch: 3, base_sequence: 0 }));
        let record = Records::new(&header, &marker[RECORD_BATCH_HEADER_BYTES..]).next().unwrap().unwrap();
        assert_eq!((record.key, record.value), (Some(&[0, 0, 0, 1][..]), Some(&[0; 6][..])));
        let aborted = end_marker(5, 3, false, 7);
        assert!(check_stored(&aborted, 0).is_ok());
        assert_eq!(aborted[RECORD_BATCH_HEADER_BYTES + 8], 0);
    }
}
