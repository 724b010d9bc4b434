//! A value with its topic, owned: the original bytes and their index.

use std::fmt;
use std::sync::Arc;

use crate::frame::{EndpointId, Frame, FrameKind, TTL_DEFAULT};
use crate::node::{Node, reserve};
use crate::{Decoder, ValueError, Variant};

/// A topic and a value's bytes, checked once. Immutable; a clone shares the memory, so it is cheap and can be sent to
/// another thread. Forwarding it copies bytes and encodes nothing.
///
/// One allocation holds index, bytes and topic, each padded to eight bytes.
#[derive(Clone)]
pub struct Envelope {
    memory: Arc<[Node]>,
    nodes: u32,
    payload_bytes: u32,
    topic_bytes: u32,
    /// The sender; nil for this node.
    pub sender: EndpointId,
    /// The receiver; nil for everyone.
    pub receiver: EndpointId,
    /// Remaining hops.
    pub ttl: u16,
}

impl Envelope {
    /// Creates an envelope from these bytes. A reused [`Decoder`] saves this function's second allocation.
    pub fn decode(topic: &[u8], bytes: &[u8]) -> Result<Envelope, ValueError> {
        Decoder::default().envelope(topic, bytes)
    }

    /// The first `count` nodes index the bytes; the memory after them is free.
    #[inline]
    pub(crate) fn pack(nodes: &mut Vec<Node>, count: usize, topic: &[u8], bytes: &[u8]) -> Envelope {
        let topic_place = count + bytes.len().div_ceil(size_of::<Node>());
        let end = topic_place + topic.len().div_ceil(size_of::<Node>());
        reserve(nodes, end);
        copy(nodes, count, bytes);
        copy(nodes, topic_place, topic);
        Envelope {
            memory: Arc::from(nodes.get(..end).unwrap_or_default()),
            nodes: count as u32,
            payload_bytes: bytes.len() as u32,
            topic_bytes: topic.len() as u32,
            sender: EndpointId::default(),
            receiver: EndpointId::default(),
            ttl: TTL_DEFAULT,
        }
    }

    /// The topic, of any bytes.
    pub fn topic(&self) -> &[u8] {
        let (_, rest) = self.parts();
        let skipped_bytes = (self.payload_bytes as usize).next_multiple_of(size_of::<Node>());
        rest.get(skipped_bytes..skipped_bytes + self.topic_bytes as usize).unwrap_or_default()
    }

    /// The value's bytes, unchanged.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let (_, rest) = self.parts();
        rest.get(..self.payload_bytes as usize).unwrap_or_default()
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> Variant<'_> {
        let (nodes, rest) = self.parts();
        Variant::root(nodes, rest.get(..self.payload_bytes as usize).unwrap_or_default())
    }

    /// The frame that carries this envelope to a peer.
    pub fn frame(&self) -> Frame<'_> {
        Frame {
            sender: self.sender,
            receiver: self.receiver,
            kind: FrameKind::Data,
            ttl: self.ttl,
            topic: self.topic(),
            payload: self.bytes(),
        }
    }

    #[inline]
    fn parts(&self) -> (&[Node], &[u8]) {
        let (nodes, rest) = self.memory.split_at_checked(self.nodes as usize).unwrap_or_default();
        (nodes, rest.as_flattened())
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Envelope")
            .field("topic", &self.topic().escape_ascii().to_string())
            .field("value", &self.value())
            .finish_non_exhaustive()
    }
}

/// Copies bytes over the nodes from `place` on.
#[inline]
fn copy(nodes: &mut [Node], place: usize, bytes: &[u8]) {
    let start = place * size_of::<Node>();
    if let Some(room) = nodes.as_flattened_mut().get_mut(start..start + bytes.len()) {
        room.copy_from_slice(bytes);
    }
}
