//! Where a consumer starts, as a flag.

use rawline_client::{Client, ClientError, Start, TopicPartition};
use rawline_contract::Extent;

/// The first record of each partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    At(Start),
    /// This many offsets before the partition's end.
    BeforeEnd(u64),
}

impl Begin {
    /// The offset in a partition of a topic whose partitions are `extents`.
    pub async fn offset(
        self,
        client: &Client,
        partition: TopicPartition<'_>,
        extents: &[Extent],
    ) -> Result<u64, ClientError> {
        match self {
            Begin::At(start) => start.offset(client, partition, extents).await,
            Begin::BeforeEnd(count) => partition.extent(extents).map(|extent| before_end(extent, count)),
        }
    }
}

/// The offset this far before a partition's end, or that of its oldest record.
pub fn before_end(extent: Extent, count: u64) -> u64 {
    extent.next_offset.saturating_sub(count).max(extent.first_offset)
}

/// Reads where to start: an offset, an offset before the end such as -10, earliest or latest.
pub fn parse_begin(text: &str) -> Result<Begin, String> {
    let wrong = || "give an offset, a negative number to count from the end, earliest or latest".to_owned();
    let number = |text: &str| text.parse().map_err(|_| wrong());
    match (text, text.strip_prefix('-')) {
        ("earliest", _) => Ok(Begin::At(Start::Earliest)),
        ("latest", _) => Ok(Begin::At(Start::Latest)),
        (_, Some(count)) if count.starts_with(|sign: char| sign.is_ascii_digit()) => {
            number(count).map(Begin::BeforeEnd)
        }
        (_, Some(_)) => Err(wrong()),
        _ => number(text).map(|offset| Begin::At(Start::Offset(offset))),
    }
}

/// Reads where to start, for commands that can't count from the end.
#[cfg(feature = "full")]
pub fn parse_start(text: &str) -> Result<Start, String> {
    match parse_begin(text) {
        Ok(Begin::At(start)) => Ok(start),
        _ => Err("give an offset, earliest or latest".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_begin_is_a_word_an_offset_or_a_distance_from_the_end() {
        assert_eq!(parse_begin("earliest"), Ok(Begin::At(Start::Earliest)));
        assert_eq!(parse_begin("17"), Ok(Begin::At(Start::Offset(17))));
        assert_eq!(parse_begin("-17"), Ok(Begin::BeforeEnd(17)));
        for wrong in ["", "-", "--1", "-+1", "1.5", "first", "99999999999999999999", "-99999999999999999999"] {
            assert!(parse_begin(wrong).is_err(), "{wrong}");
        }
        let extent = Extent { first_offset: 5, next_offset: 20 };
        assert_eq!([0, 3, 15, 16, u64::MAX].map(|count| before_end(extent, count)), [20, 17, 5, 5, 5]);
    }
}
