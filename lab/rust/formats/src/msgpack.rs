//! MessagePack with rmp-serde: records as maps with names, or as arrays.

use anyhow::Result;

use crate::cases::{Message, OneSummed, Summed};
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, named_messages, plain_messages, wraps};

/// Records as maps with names.
pub struct RmpNamed {
    buffer: Vec<u8>,
}

impl Used for RmpNamed {
    const ROW: Row = Row::new("msgpack", "rmp-serde");
}

impl<M: Message> Codec<M> for RmpNamed {
    named_messages!();
    fn new() -> Result<Self> {
        Ok(RmpNamed { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M::Named) -> Result<&[u8]> {
        self.buffer.clear();
        rmp_serde::encode::write_named(&mut self.buffer, native)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        Ok(rmp_serde::from_slice(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rmp_serde::from_slice::<M::One<'_>>(bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rmp_serde::from_slice::<M::Named>(bytes)?.sum())
    }
}

/// Records as maps with names, read into types that borrow their strings.
pub struct RmpBorrowed(RmpNamed);

impl Used for RmpBorrowed {
    const ROW: Row = RmpNamed::ROW.variant("borrowed").only(&[Operation::Fields]);
}

impl<M: Message> Codec<M> for RmpBorrowed {
    named_messages!();
    wraps!(RmpNamed);
    as_wrapped!(decode -> M::Named, field -> u64);

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rmp_serde::from_slice::<M::Borrowed<'_>>(bytes)?.sum())
    }
}

/// Records as arrays, fields by position: rmp-serde's default, not self-describing. It refuses to read only the
/// first of an array's values, so the one field is read from the whole message, borrowed.
pub struct RmpArray {
    buffer: Vec<u8>,
}

impl Used for RmpArray {
    const ROW: Row = Row::new("msgpack-array", "rmp-serde");
}

impl<M: Message> Codec<M> for RmpArray {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(RmpArray { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        self.buffer.clear();
        rmp_serde::encode::write(&mut self.buffer, native)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        Ok(rmp_serde::from_slice(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rmp_serde::from_slice::<M::Borrowed<'_>>(bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rmp_serde::from_slice::<M>(bytes)?.sum())
    }
}
