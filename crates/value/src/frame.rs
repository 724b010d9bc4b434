//! The frame in which Zeek Broker's peers send a value to each other (protocol version 1).
//!
//! ```text
//!  0  16  sender          33   2  hops left, big-endian
//! 16  16  receiver        35   2  topic's length T, big-endian
//! 32   1  kind            37   T  topic, then the payload up to the frame's end
//! ```

use thiserror::Error;

use crate::{Decoder, Envelope, ValueError};

/// Size of the header, which precedes the topic.
const HEADER_BYTES: usize = 37;

/// Default number of hops of an envelope.
pub const TTL_DEFAULT: u16 = 16;

/// An endpoint's 16 bytes; all zero is nil: this node as a sender, everyone as a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct EndpointId(pub [u8; 16]);

/// The kind of a frame, with its number in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// A value.
    Data = 1,
    /// A data store's command.
    Command = 2,
    /// Changed subscriptions.
    RoutingUpdate = 3,
    /// A ping.
    Ping = 4,
    /// A response to a ping.
    Pong = 5,
}

/// A frame's parts; topic and payload point into its bytes. The payload isn't parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sender.
    pub sender: EndpointId,
    /// The receiver.
    pub receiver: EndpointId,
    /// Its kind.
    pub kind: FrameKind,
    /// Remaining hops.
    pub ttl: u16,
    /// The topic, of any bytes.
    pub topic: &'a [u8],
    /// The payload; a value's bytes for data.
    pub payload: &'a [u8],
}

/// Why bytes aren't a frame, or not a data frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Fewer bytes than the header and the topic need.
    #[error("the frame is truncated: {have} of {need} bytes; send it whole")]
    Truncated {
        /// Size of the frame in bytes.
        have: usize,
        /// Size of header and topic in bytes.
        need: usize,
    },
    /// The number isn't the kind of a frame.
    #[error("no frame has the kind {found}; use 1 (data) to 5 (pong)")]
    Kind {
        /// The number.
        found: u8,
    },
    /// A frame of another kind where data was expected.
    #[error("a frame of kind {0:?} carries no value; send one of kind 1 (data)")]
    NotData(FrameKind),
    /// A topic of more than 65,535 bytes.
    #[error("a topic of {bytes} bytes; the maximum is 65535: use a shorter topic")]
    Topic {
        /// Length of the topic in bytes.
        bytes: usize,
    },
    /// The payload isn't a value.
    #[error(transparent)]
    Value(#[from] ValueError),
}

impl<'a> Frame<'a> {
    /// Parses a frame without its length prefix.
    pub fn parse(bytes: &'a [u8]) -> Result<Frame<'a>, FrameError> {
        let (header, rest) = bytes
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or(FrameError::Truncated { have: bytes.len(), need: HEADER_BYTES })?;
        let (sender, header) = split::<16, 21>(header);
        let (receiver, header) = split::<16, 5>(&header);
        let [kind, ttl_high, ttl_low, topic_high, topic_low] = header;
        let kind = match kind {
            1 => FrameKind::Data,
            2 => FrameKind::Command,
            3 => FrameKind::RoutingUpdate,
            4 => FrameKind::Ping,
            5 => FrameKind::Pong,
            found => return Err(FrameError::Kind { found }),
        };
        let topic_bytes = usize::from(u16::from_be_bytes([topic_high, topic_low]));
        let (topic, payload) = rest
            .split_at_checked(topic_bytes)
            .ok_or(FrameError::Truncated { have: bytes.len(), need: HEADER_BYTES + topic_bytes })?;
        let ttl = u16::from_be_bytes([ttl_high, ttl_low]);
        Ok(Frame { sender: EndpointId(sender), receiver: EndpointId(receiver), kind, ttl, topic, payload })
    }

    /// Appends the frame without its length prefix; the payload is copied unchanged.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let bytes = self.topic.len();
        let topic_bytes = u16::try_from(bytes).map_err(|_| FrameError::Topic { bytes })?;
        out.reserve(HEADER_BYTES + bytes + self.payload.len());
        out.extend_from_slice(&self.sender.0);
        out.extend_from_slice(&self.receiver.0);
        out.push(self.kind as u8);
        out.extend_from_slice(&self.ttl.to_be_bytes());
        out.extend_from_slice(&topic_bytes.to_be_bytes());
        out.extend_from_slice(self.topic);
        out.extend_from_slice(self.payload);
        Ok(())
    }

    /// The envelope that a frame of data carries, with a copy of its topic and payload.
    pub fn to_envelope(&self, decoder: &mut Decoder) -> Result<Envelope, FrameError> {
        if self.kind != FrameKind::Data {
            return Err(FrameError::NotData(self.kind));
        }
        let mut envelope = decoder.envelope(self.topic, self.payload)?;
        envelope.sender = self.sender;
        envelope.receiver = self.receiver;
        envelope.ttl = self.ttl;
        Ok(envelope)
    }
}

/// The first `N` and the last `M` of `N + M` bytes.
fn split<const N: usize, const M: usize>(bytes: &[u8]) -> ([u8; N], [u8; M]) {
    debug_assert_eq!(bytes.len(), N + M);
    (bytes.first_chunk().copied().unwrap_or([0; N]), bytes.last_chunk().copied().unwrap_or([0; M]))
}
