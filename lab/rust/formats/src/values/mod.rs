//! Our values: tables with names in the bytes, or lists with fields by their position.

mod parts;

use anyhow::{Context, Result, bail};
use rawline_value::{Decoder, Limits, ValueReader, from_bytes, to_bytes_into};

use self::parts::Record;
use crate::cases::Sum;
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, plain_messages};

/// Written and read by serde's derived code, as the other self-describing formats are. serde writes records as lists
/// and reads tables too, so a table has no derived encoder.
pub struct Values<const TABLE: bool>(ByHand<TABLE>);

/// Written by the builders and read in one pass, by code written by hand for each message. Unlike the derived code it
/// doesn't check for duplicate keys.
pub struct ByHand<const TABLE: bool> {
    buffer: Vec<u8>,
    decoder: Decoder,
}

impl Used for Values<true> {
    const ROW: Row =
        Row::new("values", "rawline-value").only(&[Operation::Decode, Operation::Field, Operation::Fields]);
}

impl Used for Values<false> {
    const ROW: Row = Row::new("values-list", "rawline-value");
}

impl Used for ByHand<true> {
    const ROW: Row = Row::new("values", "rawline-value").variant("by hand").only(&BY_HAND);
}

impl Used for ByHand<false> {
    const ROW: Row = Values::<false>::ROW.variant("by hand").only(&BY_HAND);
}

/// One field is read by the same function in both rows.
const BY_HAND: [Operation; 3] = [Operation::Encode, Operation::Decode, Operation::Fields];

impl<M: Record, const TABLE: bool> Codec<M> for Values<TABLE>
where
    Values<TABLE>: Used,
    ByHand<TABLE>: Used,
{
    plain_messages!();

    fn new() -> Result<Self> {
        Ok(Values(<ByHand<TABLE> as Codec<M>>::new()?))
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        if TABLE {
            return Codec::<M>::encode(&mut self.0, native);
        }
        self.0.buffer.clear();
        to_bytes_into(native, &mut self.0.buffer)?;
        Ok(&self.0.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        Ok(from_bytes(bytes)?)
    }

    as_wrapped!(field -> u64);

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(from_bytes::<M>(bytes)?.sum())
    }
}

impl<M: Record, const TABLE: bool> Codec<M> for ByHand<TABLE>
where
    ByHand<TABLE>: Used,
{
    plain_messages!();

    fn new() -> Result<Self> {
        Ok(ByHand { buffer: Vec::new(), decoder: Decoder::new(Limits::default()) })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        self.buffer.clear();
        native.put::<TABLE>(&mut self.buffer);
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        let mut reader = ValueReader::new(bytes, &Limits::default())?;
        let decoded = M::take::<TABLE>(&mut reader)?;
        reader.finish()?;
        Ok(decoded)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let path = if TABLE { M::PATH_TABLE } else { M::PATH_LIST };
        let mut sum = Sum::default();
        let Some(found) = self.decoder.pick(bytes, path)? else {
            bail!("field missing: {:?}", M::ONE);
        };
        match found.as_str() {
            Some(text) => sum.text(text),
            None => sum.real(found.as_real().context("neither a string nor a real")?),
        }
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        let mut reader = ValueReader::new(bytes, &Limits::default())?;
        M::add::<TABLE>(&mut reader, &mut sum)?;
        reader.finish()?;
        Ok(sum.0)
    }
}
