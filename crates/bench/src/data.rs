//! The records that a benchmark sends: random bytes from a seed, which no disk or store can compress.

use bytes::Bytes;
use rawline_batch::crc32c;

/// Number of different batches, sent in turn. More would only measure how fast this process reads its own memory, which
/// a producer that has just made its records doesn't do.
const DISTINCT: u64 = 16;

/// Length of the number at the start of a stamped record.
const STAMP_BYTES: usize = size_of::<u64>();

/// Batches of equal size, made before anything is timed, as in Seb's benchmark: what a producer does with its
/// records is measured (header, sizes, checksum, sending); making the records is not.
pub struct Workload {
    sizes: Vec<u32>,
    record_bytes: usize,
    batches: Vec<Bytes>,
    crcs: Vec<u32>,
}

impl Workload {
    /// Makes the batches of a seed; the same seed gives the same bytes.
    pub fn new(seed: u64, records_per_batch: u32, record_bytes: u32) -> Workload {
        assert!(records_per_batch > 0 && record_bytes > 0, "{records_per_batch} records of {record_bytes} bytes");
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes = records_per_batch as usize * record_bytes as usize;
        let batches: Vec<Bytes> = (0..DISTINCT)
            .map(|_| {
                let mut data = vec![0; bytes];
                random.fill(&mut data);
                Bytes::from(data)
            })
            .collect();
        let crcs = batches.iter().map(|data| crc32c(data)).collect();
        let sizes = vec![record_bytes; records_per_batch as usize];
        Workload { sizes, record_bytes: record_bytes as usize, batches, crcs }
    }

    /// The sizes of every batch's records.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Number of records in a batch.
    pub fn records_per_batch(&self) -> u64 {
        self.sizes.len() as u64
    }

    /// Data of batch `number`, without a copy.
    pub fn data(&self, number: u64) -> Bytes {
        self.batch(number).clone()
    }

    /// CRC32C of the data of batch `number`.
    pub fn data_crc(&self, number: u64) -> u32 {
        self.crcs.get((number % DISTINCT) as usize).copied().unwrap_or_default()
    }

    /// The same data with each record's number, among all records sent, in its first bytes: no two records are alike.
    pub fn stamped_data(&self, number: u64) -> Bytes {
        let mut data = self.batch(number).to_vec();
        for (record, place) in data.chunks_exact_mut(self.record_bytes).zip(number * self.records_per_batch()..) {
            for (byte, stamp) in record.iter_mut().zip(place.to_le_bytes()) {
                *byte = stamp;
            }
        }
        Bytes::from(data)
    }

    /// Whether `record` has the stamp of record number `place`.
    pub fn has_stamp(&self, record: &[u8], place: u64) -> bool {
        record.len() == self.record_bytes && record.iter().zip(place.to_le_bytes()).all(|(byte, stamp)| *byte == stamp)
    }

    /// Whether `record` is the stamped record number `place`, byte for byte.
    pub fn is_stamped_record(&self, record: &[u8], place: u64) -> bool {
        let start =
            (place % self.records_per_batch()) as usize * self.record_bytes + STAMP_BYTES.min(self.record_bytes);
        let end = (place % self.records_per_batch() + 1) as usize * self.record_bytes;
        self.has_stamp(record, place)
            && record.get(STAMP_BYTES.min(self.record_bytes)..)
                == self.batch(place / self.records_per_batch()).get(start..end)
    }

    fn batch(&self, number: u64) -> &Bytes {
        static NONE: Bytes = Bytes::new();
        self.batches.get((number % DISTINCT) as usize).unwrap_or(&NONE)
    }
}

/// The part of one batch in a run's check value. It binds the bytes to the offset that the broker returned. The values
/// of all batches are summed, so their order doesn't matter.
pub fn check_value(first_offset: u64, data_crc: u32) -> u64 {
    mix(mix(first_offset) ^ u64::from(data_crc))
}

/// The finalizer of SplitMix64: each bit of the input changes half of the output's.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_the_bytes() {
        let [one, same, other] = [1, 1, 2].map(|seed| Workload::new(seed, 4, 100));
        assert_eq!(one.data(3), same.data(3));
        assert_ne!(one.data(3), other.data(3));
        assert_ne!(one.data(3), one.data(4));
        assert_eq!(one.data_crc(3), crc32c(&one.data(3)));
        assert_eq!(one.data_crc(3 + DISTINCT), one.data_crc(3));
    }

    #[test]
    fn a_stamped_record_is_recognized_by_its_number_and_its_bytes() {
        for record_bytes in [1, 7, 8, 9, 100] {
            let workload = Workload::new(1, 4, record_bytes);
            let data = workload.stamped_data(5);
            let record = &data[2 * record_bytes as usize..3 * record_bytes as usize];
            assert!(workload.is_stamped_record(record, 22));
            for place in [0, 6, 21, 23] {
                assert!(!workload.is_stamped_record(record, place));
            }
            let mut damaged = record.to_vec();
            *damaged.last_mut().unwrap() ^= 1;
            assert!(!workload.is_stamped_record(&damaged, 22));
            assert!(!workload.is_stamped_record(&record[1..], 22));
        }
    }

    #[test]
    fn the_check_value_depends_on_bytes_and_offset() {
        let values = [check_value(0, 1), check_value(1, 0), check_value(1, 1), check_value(1 << 32, 0)];
        for (i, value) in values.iter().enumerate() {
            assert!(!values[i + 1..].contains(value));
        }
    }
}
