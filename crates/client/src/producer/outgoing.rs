//! A record that is to be added to a batch, of the kind that it needs.

use crate::error::ClientError;
use crate::limits::ALIGNMENT;
use rawline_batch::HEADER_BYTES;
use rawline_batch::record_batch::RECORD_BATCH_HEADER_BYTES;
use rawline_contract::MediaType;

/// After this many, the sequences of Kafka's batches begin at 0 again.
const SEQUENCES_WRAP_AT: u64 = 1 << 31;

/// Maximum size of a record of Kafka's without its fields: three numbers of up to 5 bytes that count from the batch,
/// one of 10, one byte, and the lengths of key and value.
const MESSAGE_BYTES: usize = 36;

/// Maximum size of the two lengths of a header.
const MESSAGE_HEADER_BYTES: usize = 10;

/// A record with what only Kafka's batches have room for: a key, headers, a timestamp, a value that is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// The key, which is stored with the record, and chooses its partition unless [`Message::partition`] does.
    pub key: Option<&'a [u8]>,
    /// The record itself; `None` is null, which deletes the key in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// Names and values, which can be null, in this order.
    pub headers: &'a [(&'a str, Option<&'a [u8]>)],
    /// Its time in milliseconds since the Unix epoch; `None` is the time at which it is sent.
    pub timestamp_ms: Option<i64>,
    /// The partition that it goes to. Without it and a key, any.
    pub partition: Option<u32>,
}

/// The format of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchKind {
    Rawline,
    Kafka,
}

impl BatchKind {
    pub(super) fn media_type(self) -> MediaType {
        match self {
            BatchKind::Rawline => MediaType::Batch,
            BatchKind::Kafka => MediaType::RecordBatch,
        }
    }

    /// The sequence of the next batch after this many records.
    pub(super) fn sequence(self, after: u64) -> u64 {
        match self {
            BatchKind::Rawline => after,
            BatchKind::Kafka => after % SEQUENCES_WRAP_AT,
        }
    }

    /// Whether a batch may have this size in bytes.
    pub(super) fn is_aligned(self, bytes: usize) -> bool {
        self == BatchKind::Kafka || bytes.is_multiple_of(ALIGNMENT)
    }
}

/// A record to be added to a batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outgoing<'a> {
    Plain(&'a [u8]),
    Message {
        message: &'a Message<'a>,
        /// Its own, or the time at which it is sent.
        timestamp_ms: i64,
    },
}

impl Outgoing<'_> {
    /// The kind of batch that it needs.
    pub(super) fn kind(self) -> BatchKind {
        match self {
            Outgoing::Plain(_) => BatchKind::Rawline,
            Outgoing::Message { .. } => BatchKind::Kafka,
        }
    }

    /// Its cost in the buffer in bytes: the record and its size field, or the most that a message takes in a batch.
    pub(super) fn cost(self) -> usize {
        match self {
            Outgoing::Plain(record) => record.len() + 4,
            Outgoing::Message { message, .. } => {
                let bytes = |field: Option<&[u8]>| field.map_or(0, <[u8]>::len);
                let header = |(name, value): &(&str, _)| name.len() + bytes(*value) + MESSAGE_HEADER_BYTES;
                let headers: usize = message.headers.iter().map(header).sum();
                MESSAGE_BYTES + bytes(message.key) + bytes(message.value) + headers
            }
        }
    }

    /// Size of a batch of this record alone, in bytes.
    pub(super) fn batch_bytes(self) -> u64 {
        match self {
            Outgoing::Plain(_) => HEADER_BYTES as u64 + self.cost() as u64 + 7,
            Outgoing::Message { .. } => RECORD_BATCH_HEADER_BYTES as u64 + self.cost() as u64,
        }
    }

    /// Its share of a batch's uncompressed data, in bytes.
    pub(super) fn raw_bytes(self) -> u64 {
        match self {
            Outgoing::Plain(record) => record.len() as u64,
            Outgoing::Message { .. } => self.cost() as u64,
        }
    }

    /// Checks what no batch can hold.
    pub(super) fn check(self) -> Result<(), ClientError> {
        match self {
            Outgoing::Message { timestamp_ms, .. } if timestamp_ms < 0 => Err(ClientError::Config {
                reason: format!(
                    "a timestamp of {timestamp_ms}; give milliseconds since 1970, or none for the time of sending"
                ),
            }),
            _ => Ok(()),
        }
    }
}
