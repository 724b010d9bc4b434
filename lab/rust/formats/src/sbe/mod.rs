//! SBE with its own tool's code: a block of numbers, then groups, then strings, which can only be read in that order.

mod cases;

use anyhow::Result;

use self::cases::Generated;
use crate::cases::Sum;
use crate::codec::{Codec, Row, Used, plain_messages};

/// Larger than any message of the laboratory: the generated code panics at the end of its slice. The system provides
/// the pages when they are first written.
const BUFFER_BYTES: usize = 8 << 20;

/// Written into a reused buffer, after the message header that names the template; read in place. The
/// generated code trusts the lengths in the bytes and panics if they point outside.
pub struct Sbe {
    buffer: Vec<u8>,
}

impl Used for Sbe {
    const ROW: Row = Row::new("sbe", "sbe-tool");
}

impl<M: Generated> Codec<M> for Sbe {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(Sbe { buffer: vec![0; BUFFER_BYTES] })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let length = native.put(&mut self.buffer)?;
        Ok(self.buffer.get(..length).unwrap_or_default())
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        M::get(bytes)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        M::add_one(bytes, &mut sum)?;
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        M::add(bytes, &mut sum)?;
        Ok(sum.0)
    }
}
