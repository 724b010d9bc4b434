//! Formats without a schema that only Rust has: postcard and bincode.

use anyhow::Result;

use crate::cases::{Message, OneSummed};
use crate::codec::{Codec, Row, Used, plain_messages};

/// postcard: `to_extend` into a reused buffer, `from_bytes`. The one field is read with the fields before it;
/// nothing after it is read.
pub struct Postcard {
    buffer: Vec<u8>,
}

impl Used for Postcard {
    const ROW: Row = Row::new("postcard", "postcard");
}

impl<M: Message> Codec<M> for Postcard {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(Postcard { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        self.buffer = postcard::to_extend(native, buffer)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        Ok(postcard::from_bytes(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(postcard::take_from_bytes::<M::Prefix<'_>>(bytes)?.0.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(postcard::from_bytes::<M>(bytes)?.sum())
    }
}

/// bincode 2 by its own derive, integers of variable length. The one field is read as by postcard.
pub struct Bincode {
    buffer: Vec<u8>,
}

/// bincode 2 by its own derive, integers of fixed length: other bytes, so another format.
pub struct BincodeFixed {
    buffer: Vec<u8>,
}

macro_rules! bincode_row {
    ($of:ident, $format:literal, $config:expr) => {
        impl Used for $of {
            const ROW: Row = Row::new($format, "bincode");
        }

        impl<M: Message + bincode::Encode + bincode::Decode<()>> Codec<M> for $of {
            plain_messages!();
            fn new() -> Result<Self> {
                Ok($of { buffer: Vec::new() })
            }

            fn encode(&mut self, native: &M) -> Result<&[u8]> {
                self.buffer.clear();
                bincode::encode_into_std_write(native, &mut self.buffer, $config)?;
                Ok(&self.buffer)
            }

            fn decode(&mut self, bytes: &[u8]) -> Result<M> {
                Ok(bincode::decode_from_slice(bytes, $config)?.0)
            }

            fn field(&mut self, bytes: &[u8]) -> Result<u64> {
                let (prefix, _) = bincode::serde::borrow_decode_from_slice::<M::Prefix<'_>, _>(bytes, $config)?;
                Ok(prefix.one())
            }

            fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
                Ok(bincode::decode_from_slice::<M, _>(bytes, $config)?.0.sum())
            }
        }
    };
}

bincode_row!(Bincode, "bincode", bincode::config::standard());
bincode_row!(BincodeFixed, "bincode-fixed", bincode::config::standard().with_fixed_int_encoding());
