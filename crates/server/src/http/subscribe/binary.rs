//! Binary messages of a WebSocket: records of one partition.
//!
//! ```text
//! version u8 │ kind u8 │ name_bytes u16 │ partition u32 │ first_offset u64 │ end_offset u64 │ time_us u64
//! the topic's name │ zeros up to a multiple of 8 │ content
//! ```
//!
//! All numbers are little-endian. The content is batches of either kind, as they are stored, or selected records:
//!
//! ```text
//! count u32 │ zero u32 │ count × offset u64 │ count × size u32 │ the records back to back
//! ```

use rawline_broker::BatchKind;

/// The version of these messages.
const VERSION: u8 = 1;

/// Size of the fields before the name in bytes.
const FIXED_BYTES: usize = 32;

/// What the content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Batches of ours.
    Rawline = 1,
    /// Kafka's batches.
    Kafka = 2,
    /// Records that a filter has selected.
    Selected = 3,
}

impl From<BatchKind> for Kind {
    fn from(kind: BatchKind) -> Kind {
        match kind {
            BatchKind::Rawline => Kind::Rawline,
            BatchKind::Kafka => Kind::Kafka,
        }
    }
}

/// What precedes the content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    pub kind: Kind,
    pub topic: &'a str,
    pub partition: u32,
    pub first_offset: u64,
    pub end_offset: u64,
    pub time_us: u64,
}

impl Head<'_> {
    pub fn encode(&self) -> Vec<u8> {
        let Head { kind, topic, partition, first_offset, end_offset, time_us } = *self;
        let Ok(name_bytes) = u16::try_from(topic.len()) else { unreachable!("a name of {} bytes", topic.len()) };
        let mut bytes = Vec::with_capacity(FIXED_BYTES + topic.len().next_multiple_of(8));
        bytes.extend([VERSION, kind as u8]);
        bytes.extend(name_bytes.to_le_bytes());
        bytes.extend(partition.to_le_bytes());
        for number in [first_offset, end_offset, time_us] {
            bytes.extend(number.to_le_bytes());
        }
        assert_eq!(bytes.len(), FIXED_BYTES, "the fields before the name");
        bytes.extend(topic.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// Records that were selected, each with its offset and its size.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub offsets: Vec<u64>,
    pub sizes: Vec<u32>,
}

impl Selection {
    pub fn push(&mut self, offset: u64, size: u32) {
        self.offsets.push(offset);
        self.sizes.push(size);
    }

    /// What precedes the records.
    pub fn encode(&self) -> Vec<u8> {
        let Ok(count) = u32::try_from(self.offsets.len()) else { unreachable!("{} records", self.offsets.len()) };
        let mut bytes = Vec::with_capacity(8 + self.offsets.len() * 12);
        bytes.extend(count.to_le_bytes());
        bytes.extend([0; 4]);
        self.offsets.iter().for_each(|offset| bytes.extend(offset.to_le_bytes()));
        self.sizes.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_documented_layout() {
        let head = Head {
            kind: Kind::Kafka,
            topic: "dns",
            partition: 0x0102_0304,
            first_offset: 5,
            end_offset: 0x0607_0809_0a0b_0c0d,
            time_us: 14,
        };
        let expected = concat!(
            "\x01\x02\x03\0\x04\x03\x02\x01\x05\0\0\0\0\0\0\0\x0d\x0c\x0b\x0a\x09\x08\x07\x06",
            "\x0e\0\0\0\0\0\0\0dns\0\0\0\0\0"
        );
        assert_eq!(head.encode(), expected.as_bytes());
        let mut selection = Selection::default();
        selection.push(3, 2);
        selection.push(9, 1);
        let expected = b"\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x02\0\0\0\x01\0\0\0";
        assert_eq!(selection.encode(), expected);
    }
}
