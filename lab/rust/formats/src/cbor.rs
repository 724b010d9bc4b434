//! CBOR, records as maps with names: ciborium, and minicbor through serde.

use anyhow::Result;
use serde::Serialize;

use crate::cases::{Message, OneSummed, Summed};
use crate::codec::{Codec, Row, Used, named_messages};

/// ciborium: `into_writer`, `from_reader`.
pub struct Ciborium {
    buffer: Vec<u8>,
}

impl Used for Ciborium {
    const ROW: Row = Row::new("cbor", "ciborium");
}

impl<M: Message> Codec<M> for Ciborium {
    named_messages!();
    fn new() -> Result<Self> {
        Ok(Ciborium { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M::Named) -> Result<&[u8]> {
        self.buffer.clear();
        ciborium::into_writer(native, &mut self.buffer)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        Ok(ciborium::from_reader(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(ciborium::from_reader::<M::OneOwned, _>(bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(ciborium::from_reader::<M::Named, _>(bytes)?.sum())
    }
}

/// minicbor by its serde crate, since its own derive has numbers for names.
pub struct Minicbor {
    buffer: Vec<u8>,
}

impl Used for Minicbor {
    const ROW: Row = Row::new("cbor", "minicbor-serde");
}

impl<M: Message> Codec<M> for Minicbor {
    named_messages!();
    fn new() -> Result<Self> {
        Ok(Minicbor { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M::Named) -> Result<&[u8]> {
        self.buffer.clear();
        native.serialize(&mut minicbor_serde::Serializer::new(&mut self.buffer))?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        Ok(minicbor_serde::from_slice(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(minicbor_serde::from_slice::<M::One<'_>>(bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(minicbor_serde::from_slice::<M::Named>(bytes)?.sum())
    }
}
