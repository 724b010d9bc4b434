//! The checksum of a batch's content without its time, which recognizes retried batches.
//!
//! Some clients give records without a time the present one whenever they encode a batch, also to send it again
//! (kafkajs). Then the same records have another base timestamp and another maximum timestamp, and nothing else is
//! different: a record's own time is a difference to the base.

use super::header::{BASE_TIMESTAMP_POSITION, CRC_FROM, MAX_TIMESTAMP_POSITION};
use crate::{crc32c, crc32c_concat};

/// The checksummed bytes up to the end of both timestamps.
const FRONT_BYTES: usize = MAX_TIMESTAMP_POSITION + 8 - CRC_FROM;

/// The CRC32C that a batch would have if its newest time were XORed onto both of its timestamps: the maximum would be
/// 0, and so would the base in a batch whose records have one time. `crc32c` is the batch's own, `newest_ms` the newest
/// time, and `batch_bytes` its size, of at least a header.
///
/// A checksum changes with certain bits in the same way whatever the other bits are. So the bytes aren't needed.
pub fn timeless_crc32c(crc: u32, newest_ms: u64, batch_bytes: u32) -> u32 {
    let mut times = [0; FRONT_BYTES];
    for position in [BASE_TIMESTAMP_POSITION, MAX_TIMESTAMP_POSITION] {
        let bytes = times.iter_mut().skip(position - CRC_FROM).zip(newest_ms.to_be_bytes());
        bytes.for_each(|(byte, time)| *byte = time);
    }
    let change = crc32c(&times) ^ crc32c(&[0; FRONT_BYTES]);
    let rest = (batch_bytes as usize).saturating_sub(CRC_FROM + FRONT_BYTES);
    crc ^ crc32c_concat(change, 0, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::record_batch::{RecordBatchBuilder, RecordCodec};

    /// A batch of records at these times, and its checksum without the newest.
    fn batch(times: &[i64], value: &str) -> (Vec<u8>, u32) {
        let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
        times.iter().for_each(|time| builder.push(*time, None, Some(value.as_bytes()), []).unwrap());
        let batch = builder.finish(None).unwrap().to_vec();
        let newest = *times.iter().max().unwrap() as u64;
        let timeless = timeless_crc32c(crc32c(&batch[CRC_FROM..]), newest, batch.len() as u32);
        (batch, timeless)
    }

    #[test]
    fn it_is_the_checksum_of_the_batch_without_its_newest_time() {
        for (times, value) in [(&[1_700_000_000_123, 1_700_000_000_456][..], "a"), (&[5], "b"), (&[0, 0], "")] {
            let (mut bytes, timeless) = batch(times, value);
            let newest = (*times.iter().max().unwrap() as u64).to_be_bytes();
            for position in [BASE_TIMESTAMP_POSITION, MAX_TIMESTAMP_POSITION] {
                bytes[position..].iter_mut().zip(newest).for_each(|(byte, time)| *byte ^= time);
            }
            assert_eq!(timeless, crc32c(&bytes[CRC_FROM..]));
        }
    }

    #[test]
    fn only_a_common_time_makes_no_difference() {
        let of = |times: &[i64], value| batch(times, value).1;
        assert_eq!(of(&[1_000, 1_000], "a"), of(&[1_700_000_000_123, 1_700_000_000_123], "a"));
        let all = [of(&[7, 7], "a"), of(&[7, 7], "b"), of(&[7, 8], "a"), of(&[8, 7], "a"), of(&[7], "a")];
        assert_eq!(std::collections::BTreeSet::from(all).len(), all.len());
    }
}
