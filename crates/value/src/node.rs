//! The nodes of a view's index, of eight bytes each.
//!
//! ```text
//! node of a value:      u28 position of its tag, u4 tag, u32 link
//!                       link: a string's first byte, a container's node of its end; else unused
//! node of an end:       u32 position after the container, u32 children (a table's pair is two)
//! ```

use crate::{Kind, Limits};

/// One value's place in the bytes, or the end of a container.
pub(crate) type Node = [u8; 8];

const POSITION_BITS: u32 = 28;

/// A reader admits exactly the positions that a node can hold.
const _: () = assert!(Limits::FORMAT.bytes_max < 1 << POSITION_BITS);

#[inline]
pub(crate) fn pack(tag: u8, position: usize, link: usize) -> Node {
    (position as u64 | u64::from(tag) << POSITION_BITS | (link as u64) << 32).to_ne_bytes()
}

#[inline]
pub(crate) fn position(node: Node) -> usize {
    (u64::from_ne_bytes(node) & ((1 << POSITION_BITS) - 1)) as usize
}

#[inline]
pub(crate) fn kind(node: Node) -> Kind {
    Kind::of_tag((u64::from_ne_bytes(node) >> POSITION_BITS & 0xf) as u8).unwrap_or(Kind::None)
}

#[inline]
pub(crate) fn link(node: Node) -> usize {
    (u64::from_ne_bytes(node) >> 32) as usize
}

#[inline]
pub(crate) fn pack_end(end: usize, children: usize) -> Node {
    (end as u64 | (children as u64) << 32).to_ne_bytes()
}

/// A container's end and its number of children.
#[inline]
pub(crate) fn unpack_end(node: Node) -> (usize, usize) {
    let bits = u64::from_ne_bytes(node);
    (bits as u32 as usize, (bits >> 32) as usize)
}

/// Reserves memory for this many nodes.
#[inline]
pub(crate) fn reserve(nodes: &mut Vec<Node>, count: usize) {
    if count > nodes.len() {
        grow(nodes, count);
    }
}

#[cold]
fn grow(nodes: &mut Vec<Node>, count: usize) {
    nodes.resize(count.next_power_of_two().max(64), Node::default());
}
