//! Decodes bytes into a view: one pass checks them and records where each value lies.
//!
//! The index is a list of eight-byte nodes. The children of a container are contiguous, so the n-th is found in
//! constant time; the node before them holds the container's end and number of children. The children of a set and the
//! pairs of a table are sorted in ascending order; the bytes stay unchanged.

use std::cmp::Ordering;
use std::ops::Range;

use crate::envelope::Envelope;
use crate::node::{Node, kind, link, pack, pack_end, position, reserve};
use crate::order;
use crate::variant::Variant;
use crate::wire::{FIXED_BYTES, Reader};
use crate::{Kind, Limits, Protocol, ValueError};

/// Checks bytes and makes views of them; reuses its memory for the next value.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    limits: Limits,
    nodes: Vec<Node>,
    open: Vec<Open>,
    orders: TableOrders,
}

impl Decoder {
    /// Creates a decoder that accepts values within these limits.
    pub fn new(limits: Limits) -> Decoder {
        Decoder { limits, ..Decoder::default() }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A view of the value in these bytes. Fails if bytes are left over. Allocates only while the memory grows.
    #[inline]
    pub fn decode<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Variant<'a>, ValueError> {
        let nodes = self.index_all(bytes)?;
        Ok(Variant::root(self.nodes.get(..nodes).unwrap_or_default(), bytes))
    }

    /// A view of the value at the beginning of these bytes; later bytes aren't read.
    pub(crate) fn decode_first<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Variant<'a>, ValueError> {
        let (nodes, end) = self.index(bytes)?;
        Ok(Variant::root(self.nodes.get(..nodes).unwrap_or_default(), bytes.get(..end).unwrap_or_default()))
    }

    /// An envelope that owns a copy of these bytes and of their topic, in one allocation.
    #[inline]
    pub fn envelope(&mut self, topic: &[u8], bytes: &[u8]) -> Result<Envelope, ValueError> {
        let nodes = self.index_all(bytes)?;
        Ok(Envelope::pack(&mut self.nodes, nodes, topic, bytes))
    }

    /// Indexes a value that fills the bytes exactly.
    #[inline]
    fn index_all(&mut self, bytes: &[u8]) -> Result<usize, ValueError> {
        let (nodes, end) = self.index(bytes)?;
        if end < bytes.len() {
            return Err(ValueError::TrailingBytes { position: end, count: bytes.len() - end });
        }
        Ok(nodes)
    }

    /// Reads the bytes of one value once, without recursion. Returns the number of nodes and the end of the value;
    /// the decoder's memory after those nodes holds nodes of earlier values.
    #[inline]
    fn index(&mut self, bytes: &[u8]) -> Result<(usize, usize), ValueError> {
        let Decoder { limits, nodes: memory, open, orders } = self;
        let mut nodes = 1;
        reserve(memory, nodes);
        open.clear();
        let mut places = memory.as_mut_slice();
        let mut reader = Reader::new(bytes, limits)?;
        // Start of the next value. The reader is moved there only for types that it alone can read.
        let mut at = 0;
        let mut slot = 0;
        let mut slot_end = 1;
        loop {
            while slot < slot_end {
                let position = at;
                let tag = *bytes.get(position).ok_or(ValueError::Truncated { position })?;
                let step = step(tag);
                let mut place = 0;
                if step != NO_STEP {
                    at = position + usize::from(step);
                    if at > bytes.len() {
                        return Err(ValueError::Truncated { position: position + 1 });
                    }
                } else if tag == Kind::String as u8 || tag == Kind::Enum as u8 {
                    let (length, start) = match bytes.get(position + 1) {
                        Some(length) if *length < 0x80 => (usize::from(*length), position + 2),
                        _ => {
                            reader.go_to(bytes, position + 1);
                            (reader.size()?, reader.position())
                        }
                    };
                    place = start;
                    at = start + length;
                    if at > bytes.len() {
                        return Err(ValueError::Truncated { position: start });
                    }
                } else if tag == Kind::Port as u8 {
                    at = position + 4;
                    let payload =
                        bytes.get(position + 1..at).ok_or(ValueError::Truncated { position: position + 1 })?;
                    check_protocol(payload, position)?;
                } else if tag <= Kind::Vector as u8 {
                    reader.check_depth(open.len() as u32, position)?;
                    reader.go_to(bytes, position + 1);
                    let width = if tag == Kind::Table as u8 { 2 } else { 1 };
                    let children = reader.elements(width)? * width;
                    at = reader.position();
                    let end_slot = nodes;
                    nodes += 1 + children;
                    put(places, slot, pack(tag, position, end_slot));
                    reserve(memory, nodes);
                    places = memory.as_mut_slice();
                    open.push(Open { slot, slot_end });
                    slot = end_slot + 1;
                    slot_end = slot + children;
                    continue;
                } else {
                    return Err(ValueError::Tag { position, found: tag });
                }
                put(places, slot, pack(tag, position, place));
                slot += 1;
            }
            let Some(outer) = open.pop() else {
                return Ok((nodes, at));
            };
            close(places, outer.slot, slot_end, at, bytes, orders)?;
            slot = outer.slot + 1;
            slot_end = outer.slot_end;
        }
    }
}

/// For a tag whose value varies in size or needs a check.
pub(crate) const NO_STEP: u8 = u8::MAX;

/// Size of a value by its tag, including the tag.
const STEPS: [u8; 16] = {
    let mut steps = [NO_STEP; 16];
    let mut tag = 0;
    while tag < FIXED_BYTES.len() {
        #[allow(clippy::indexing_slicing, reason = "checked when it is compiled")]
        if let Some(bytes) = FIXED_BYTES[tag]
            && tag != Kind::Port as usize
        {
            steps[tag] = 1 + bytes;
        }
        tag += 1;
    }
    steps
};

/// Size of a value by its tag, or [`NO_STEP`].
#[inline(always)]
pub(crate) fn step(tag: u8) -> u8 {
    STEPS.get(usize::from(tag)).copied().unwrap_or(NO_STEP)
}

/// Ends the container whose node is in `slot`; its children's nodes end at `children_end`.
#[inline]
fn close(
    nodes: &mut [Node],
    slot: usize,
    children_end: usize,
    end: usize,
    bytes: &[u8],
    orders: &mut TableOrders,
) -> Result<(), ValueError> {
    let container = nodes.get(slot).copied().unwrap_or_else(|| no_node(slot, nodes.len()));
    let end_slot = link(container);
    let children = children_end - end_slot - 1;
    put(nodes, end_slot, pack_end(end, children));
    let kind = kind(container);
    if kind == Kind::Vector || children == 0 {
        return Ok(());
    }
    let first = end_slot + 1;
    let ascended = match kind {
        Kind::Set => ascend::<1>(nodes, first..first + children, bytes, orders),
        _ => ascend::<2>(nodes, first..first + children, bytes, orders),
    };
    if ascended { Ok(()) } else { Err(ValueError::NotUnique { position: position(container) }) }
}

/// Sorts a set's children or a table's pairs, each of `WIDTH` nodes. Returns false if there is a duplicate.
fn ascend<const WIDTH: usize>(nodes: &mut [Node], range: Range<usize>, bytes: &[u8], orders: &mut TableOrders) -> bool {
    let keys = Keys { nodes, bytes };
    let children = nodes.get(range.clone()).unwrap_or_else(|| no_node(range.end, nodes.len()));
    let (entries, rest) = children.as_chunks::<WIDTH>();
    assert!(rest.is_empty(), "{} children in entries of {WIDTH}", children.len());
    if keys.ascend(entries) {
        return true;
    }
    let large;
    let sorted = if WIDTH == 2 && entries.len() <= TableOrders::PAIRS_MAX {
        orders.sort(entries.as_flattened().as_chunks().0, &keys).map(<[_]>::as_flattened)
    } else {
        large = keys.sort(entries);
        large.as_deref().map(<[_]>::as_flattened)
    };
    let Some(sorted) = sorted else { return false };
    let count = nodes.len();
    let places = nodes.get_mut(range.clone()).unwrap_or_else(|| no_node(range.end, count));
    places.copy_from_slice(sorted);
    true
}

#[inline]
fn put(nodes: &mut [Node], slot: usize, node: Node) {
    let count = nodes.len();
    match nodes.get_mut(slot) {
        Some(place) => *place = node,
        None => no_node(slot, count),
    }
}

/// Every slot is reserved before it is filled: a missing one would make a value vanish from its container.
#[cold]
#[inline(never)]
fn no_node(slot: usize, count: usize) -> ! {
    unreachable!("slot {slot} of {count} nodes")
}

/// A container around the current one.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Position of the inner container's node.
    slot: usize,
    /// End of its siblings' nodes.
    slot_end: usize,
}

/// The key that sets and tables are sorted by.
struct Keys<'a> {
    nodes: &'a [Node],
    bytes: &'a [u8],
}

impl Keys<'_> {
    fn of<const WIDTH: usize>(&self, entry: &[Node; WIDTH]) -> Variant<'_> {
        Variant::new(self.nodes, self.bytes, entry.first().copied().unwrap_or_default())
    }

    fn ascend<const WIDTH: usize>(&self, entries: &[[Node; WIDTH]]) -> bool {
        let mut neighbours = entries.iter().zip(entries.iter().skip(1));
        neighbours.all(|(left, right)| order::variants_ascend(&self.of(left), &self.of(right)))
    }

    fn compare<const WIDTH: usize>(&self, left: &[Node; WIDTH], right: &[Node; WIDTH]) -> Ordering {
        order::variants(&self.of(left), &self.of(right))
    }

    /// Whether these sorted entries contain a duplicate.
    fn repeat<const WIDTH: usize>(&self, entries: &[[Node; WIDTH]]) -> bool {
        let mut neighbours = entries.iter().zip(entries.iter().skip(1));
        neighbours.any(|(left, right)| order::duplicate_variants(&self.of(left), &self.of(right)))
    }

    #[inline(never)]
    fn sort<const WIDTH: usize>(&self, entries: &[[Node; WIDTH]]) -> Option<Vec<[Node; WIDTH]>> {
        let mut sorted = entries.to_vec();
        sorted.sort_unstable_by(|left, right| self.compare(left, right));
        (!self.repeat(&sorted)).then_some(sorted)
    }
}

/// Orders of recent tables: tables of one type usually have their fields in one order, which then only needs a check.
#[derive(Debug, Clone, Default)]
struct TableOrders {
    /// The pairs' origins, by the number of pairs.
    places: [Vec<u8>; 8],
    sorted: Vec<[Node; 2]>,
}

impl TableOrders {
    /// Maximum number of pairs that a byte can count.
    const PAIRS_MAX: usize = 256;

    /// The pairs ascending by key; `None` if a key is duplicate.
    #[inline(never)]
    fn sort(&mut self, pairs: &[[Node; 2]], keys: &Keys<'_>) -> Option<&[[Node; 2]]> {
        let TableOrders { places, sorted } = self;
        let places = places.get_mut(pairs.len() % 8)?;
        let pair = |place: u8| pairs.get(usize::from(place)).copied().unwrap_or_default();
        if places.len() == pairs.len() {
            sorted.clear();
            sorted.extend(places.iter().map(|place| pair(*place)));
            if keys.ascend(sorted) {
                return Some(sorted);
            }
        }
        places.clear();
        places.extend((0..=u8::MAX).take(pairs.len()));
        places.sort_unstable_by(|left, right| keys.compare(&pair(*left), &pair(*right)));
        sorted.clear();
        sorted.extend(places.iter().map(|place| pair(*place)));
        (!keys.repeat(sorted)).then_some(sorted)
    }
}

#[inline]
fn check_protocol(payload: &[u8], position: usize) -> Result<(), ValueError> {
    match payload.last() {
        Some(number) if Protocol::of_number(*number).is_none() => {
            Err(ValueError::Protocol { position: position + payload.len(), found: *number })
        }
        _ => Ok(()),
    }
}
