//! The head of a subscription's binary message, which has records of one partition. All numbers are little-endian.
//!
//! ```text
//!  0  u8   version, 1
//!  1  u8   kind
//!  2  u16  name_bytes, length of the topic's name
//!  4  u32  partition
//!  8  u64  first_offset, of the first record in the first batch
//! 16  u64  end_offset, the subscriber's next position
//! 24  u64  time_us, when the newest of the records was appended; 0 if that isn't known
//! 32       the topic's name, then zeros up to a multiple of 8
//!          the content, by kind: Rawline's batches, Kafka's batches, or a selection (selection.rs)
//! ```

/// Length of the head's part before the name, in bytes.
pub const DELIVERY_FRONT_BYTES: usize = 32;

const VERSION: u8 = 1;

/// The content begins at a multiple of this, as batches do.
const ALIGNMENT: usize = 8;

/// The kind of a message's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DeliveryKind {
    /// Batches in Rawline's format, whole or slices; their offsets are dense from `first_offset` on.
    Batches = 1,
    /// Kafka's batches, version 2, as they are stored.
    RecordBatches = 2,
    /// Records that a filter has selected, with their offsets: a [`Selection`](super::Selection).
    Selection = 3,
}

/// The head of a binary message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// The kind of the content.
    pub kind: DeliveryKind,
    /// The topic's name.
    pub topic: &'a str,
    /// The partition.
    pub partition: u32,
    /// Offset of the first record in the first batch. It may be lower than the subscriber's position, because
    /// compressed batches and Kafka's are delivered whole.
    pub first_offset: u64,
    /// The subscriber's next position.
    pub end_offset: u64,
    /// When the newest of the records was appended, in microseconds since the Unix epoch; 0 if that isn't known.
    pub time_us: u64,
}

/// A message that isn't one of a subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The message ends too early.
    #[error("a message of {bytes} bytes, where {needed} or more were expected")]
    Truncated {
        /// Its length.
        bytes: u64,
        /// The length that it has at least.
        needed: u64,
    },
    /// Another version.
    #[error("a message of version {found}, not {VERSION}; use a client of the broker's version")]
    Version {
        /// The version.
        found: u8,
    },
    /// An unknown kind.
    #[error("a message of the unknown kind {found}; use a client of the broker's version")]
    UnknownKind {
        /// The kind.
        found: u8,
    },
    /// The topic's name is empty or not UTF-8.
    #[error("a message whose topic has an invalid name")]
    Name,
    /// The bytes after the name, or those after a selection's count, aren't zero.
    #[error("a message whose padding isn't zero")]
    Padding,
    /// The offsets don't grow.
    #[error("a message of the offsets {first_offset} to before {end_offset}")]
    Offsets {
        /// The first offset.
        first_offset: u64,
        /// The offset after the message.
        end_offset: u64,
    },
    /// The batches don't have the head's offsets.
    #[error("batches of the offsets {first_offset} to before {found}, in a message that ends before {end_offset}")]
    ContentOffsets {
        /// The first offset.
        first_offset: u64,
        /// The offset after the message.
        end_offset: u64,
        /// The offset after the batches, or the one at which a batch begins that should not.
        found: u64,
    },
    /// The records don't continue at the subscriber's position.
    #[error("records {first_offset} to before {end_offset}, for a subscriber that is at {position}")]
    Position {
        /// The first offset.
        first_offset: u64,
        /// The offset after the message.
        end_offset: u64,
        /// The subscriber's position.
        position: u64,
    },
    /// The content of a selection has another length than its sizes say.
    #[error("a selection of {found} bytes, where {expected} were expected")]
    SelectionLength {
        /// The length.
        found: u64,
        /// The length that its count and its sizes say.
        expected: u64,
    },
    /// The offsets of a selection aren't ascending and within the message's.
    #[error("a selection with the offset {offset}, which isn't in {from}..{end}")]
    SelectionOffset {
        /// The offset.
        offset: u64,
        /// The lowest that was expected.
        from: u64,
        /// The end of the message's.
        end: u64,
    },
}

impl DeliveryError {
    /// Its name in `vectors/subscribe`, for tests of several languages.
    pub fn code(&self) -> &'static str {
        match self {
            DeliveryError::Truncated { .. } => "truncated",
            DeliveryError::Version { .. } => "version",
            DeliveryError::UnknownKind { .. } => "kind",
            DeliveryError::Name => "name",
            DeliveryError::Padding => "padding",
            DeliveryError::Offsets { .. } => "offsets",
            DeliveryError::ContentOffsets { .. } => "content_offsets",
            DeliveryError::Position { .. } => "position",
            DeliveryError::SelectionLength { .. } => "selection_length",
            DeliveryError::SelectionOffset { .. } => "selection_offset",
        }
    }
}

impl<'a> Delivery<'a> {
    /// Length of the head of a message that begins with `front`, in bytes. Checks the bytes so far.
    pub fn head_bytes(front: &[u8; DELIVERY_FRONT_BYTES]) -> Result<usize, DeliveryError> {
        let [version, kind, name_low, name_high, ..] = *front;
        if version != VERSION {
            return Err(DeliveryError::Version { found: version });
        }
        kind_of(kind)?;
        let name_bytes = usize::from(u16::from_le_bytes([name_low, name_high]));
        if name_bytes == 0 {
            return Err(DeliveryError::Name);
        }
        Ok((DELIVERY_FRONT_BYTES + name_bytes).next_multiple_of(ALIGNMENT))
    }

    /// Reads the head of a message, and returns the content after it.
    pub fn parse(message: &'a [u8]) -> Result<(Delivery<'a>, &'a [u8]), DeliveryError> {
        let truncated = |needed| DeliveryError::Truncated { bytes: message.len() as u64, needed: needed as u64 };
        let Some((front, rest)) = message.split_first_chunk::<DELIVERY_FRONT_BYTES>() else {
            return Err(truncated(DELIVERY_FRONT_BYTES));
        };
        let head_bytes = Delivery::head_bytes(front)?;
        let [_version, kind, n0, n1, p0, p1, p2, p3, numbers @ ..] = *front;
        let (numbers, _): (&[[u8; 8]], _) = numbers.as_chunks();
        let &[first_offset, end_offset, time_us] = numbers else { return Err(truncated(DELIVERY_FRONT_BYTES)) };
        let (first_offset, end_offset) = (u64::from_le_bytes(first_offset), u64::from_le_bytes(end_offset));
        let split = rest.split_at_checked(head_bytes - DELIVERY_FRONT_BYTES);
        let (name, content) = split.ok_or_else(|| truncated(head_bytes))?;
        let Some((name, padding)) = name.split_at_checked(usize::from(u16::from_le_bytes([n0, n1]))) else {
            return Err(truncated(head_bytes));
        };
        if padding.iter().any(|byte| *byte != 0) {
            return Err(DeliveryError::Padding);
        }
        if end_offset <= first_offset {
            return Err(DeliveryError::Offsets { first_offset, end_offset });
        }
        let delivery = Delivery {
            kind: kind_of(kind)?,
            topic: std::str::from_utf8(name).map_err(|_| DeliveryError::Name)?,
            partition: u32::from_le_bytes([p0, p1, p2, p3]),
            first_offset,
            end_offset,
            time_us: u64::from_le_bytes(time_us),
        };
        Ok((delivery, content))
    }

    /// Checks that the records are the next ones of a subscriber that is at `position`, if it is known. A selection may
    /// begin later: only selected records are delivered.
    pub fn check_position(&self, position: Option<u64>) -> Result<(), DeliveryError> {
        let Delivery { kind, first_offset, end_offset, .. } = *self;
        let Some(position) = position else { return Ok(()) };
        let has_gap = first_offset > position && kind != DeliveryKind::Selection;
        if has_gap || end_offset <= position {
            return Err(DeliveryError::Position { first_offset, end_offset, position });
        }
        Ok(())
    }

    /// Appends the head, after which the content follows.
    pub fn put(&self, out: &mut Vec<u8>) {
        let name_bytes = self.topic.len();
        assert!((1..=usize::from(u16::MAX)).contains(&name_bytes), "a topic's name of {name_bytes} bytes");
        assert!(self.first_offset < self.end_offset, "records {}..{}", self.first_offset, self.end_offset);
        let begin = out.len();
        out.extend([VERSION, self.kind as u8]);
        out.extend((name_bytes as u16).to_le_bytes());
        out.extend(self.partition.to_le_bytes());
        for number in [self.first_offset, self.end_offset, self.time_us] {
            out.extend(number.to_le_bytes());
        }
        assert_eq!(out.len() - begin, DELIVERY_FRONT_BYTES, "the part before the name");
        out.extend(self.topic.as_bytes());
        out.resize(begin + (DELIVERY_FRONT_BYTES + name_bytes).next_multiple_of(ALIGNMENT), 0);
    }
}

fn kind_of(number: u8) -> Result<DeliveryKind, DeliveryError> {
    let kinds = [DeliveryKind::Batches, DeliveryKind::RecordBatches, DeliveryKind::Selection];
    let kind = kinds.into_iter().find(|kind| *kind as u8 == number);
    kind.ok_or(DeliveryError::UnknownKind { found: number })
}
