//! Partitions: how a request names one, and how a key leads to one.

use crate::call::query_value;
use crate::error::ClientError;
use rawline_contract::Extent;
use std::fmt;

/// A partition of a topic, as requests name it. A topic's name alone stands for partition 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicPartition<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partition's number.
    pub partition: u32,
}

impl TopicPartition<'_> {
    /// Its extent, of those of all partitions of its topic. Fails if the topic has fewer.
    pub fn extent(&self, extents: &[Extent]) -> Result<Extent, ClientError> {
        extents.get(self.partition as usize).copied().ok_or_else(|| ClientError::NoPartition {
            topic: self.topic.to_owned(),
            partition: self.partition,
            partitions: extents.len() as u32,
        })
    }
}

impl<'a> From<&'a str> for TopicPartition<'a> {
    fn from(topic: &'a str) -> Self {
        TopicPartition { topic, partition: 0 }
    }
}

impl<'a> From<&'a String> for TopicPartition<'a> {
    fn from(topic: &'a String) -> Self {
        TopicPartition { topic, partition: 0 }
    }
}

impl<'a> From<(&'a str, u32)> for TopicPartition<'a> {
    fn from((topic, partition): (&'a str, u32)) -> Self {
        TopicPartition { topic, partition }
    }
}

impl fmt::Display for TopicPartition<'_> {
    /// As the parameters of a query. The first is the default, so it isn't named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "topic-name={}", query_value(self.topic))?;
        if self.partition == 0 { Ok(()) } else { write!(f, "&partition={}", self.partition) }
    }
}

/// The partition to which a key leads: the one to which Kafka's Java client sends records with this key.
pub fn partition_of_key(key: &[u8], partitions: u32) -> u32 {
    assert!(partitions > 0, "a topic without partitions");
    (murmur2(key) & 0x7fff_ffff) % partitions
}

/// MurmurHash2 with the seed that Kafka uses.
fn murmur2(bytes: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const MULTIPLIER: u32 = 0x5bd1_e995;
    // Kafka's keys have a length of 31 bits.
    let mut hash = SEED ^ bytes.len() as u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut word = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word ^= word >> 24;
        hash = hash.wrapping_mul(MULTIPLIER) ^ word.wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let last = rest.iter().rev().fold(0, |last, byte| last << 8 | u32::from(*byte));
        hash = (hash ^ last).wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of Kafka's own test.
    #[test]
    fn keys_have_the_hash_that_kafka_gives_them() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
    }

    #[test]
    fn keys_lead_to_all_partitions_and_each_to_one() {
        assert_eq!(partition_of_key(b"21", 4), ((-973_932_308i32 & 0x7fff_ffff) % 4).cast_unsigned());
        assert_eq!(partition_of_key(b"abc", 1024), 479_470_107 % 1024);
        let mut counts = [0; 7];
        for number in 0..7000 {
            counts[partition_of_key(format!("key {number}").as_bytes(), 7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        assert_eq!(partition_of_key(b"", 1), 0);
    }

    #[test]
    fn a_partition_is_named_unless_it_is_the_first() {
        assert_eq!(TopicPartition::from("a b").to_string(), "topic-name=a%20b");
        assert_eq!(TopicPartition::from(("t", 3)).to_string(), "topic-name=t&partition=3");
    }
}
