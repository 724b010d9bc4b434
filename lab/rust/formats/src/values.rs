//! Our values: tables with names in the bytes, or vectors with fields by their places, as Zeek sends records.

use anyhow::{Context, Result};
use rawline_value::{Decoder, Limits, ValueReader, from_bytes, to_bytes_into};

use crate::cases::Sum;
use crate::codec::{Codec, Operation, Row, Used, as_wrapped};
use crate::value_parts::{Part, Valued};

/// Written by the builders; objects are read in one pass, fields by views.
pub struct Values<const TABLE: bool> {
    buffer: Vec<u8>,
    decoder: Decoder,
}

/// Written and read by serde.
pub struct ValuesSerde<const TABLE: bool>(Values<TABLE>);

impl Used for Values<true> {
    const ROW: Row = Row::new("values", "rawline-value");
}

impl Used for Values<false> {
    const ROW: Row = Row::new("values-list", "rawline-value");
}

impl Used for ValuesSerde<true> {
    /// serde writes records as vectors; it reads tables too.
    const ROW: Row = Values::<true>::ROW.variant("serde").only(&[Operation::Decode, Operation::Fields]);
}

impl Used for ValuesSerde<false> {
    const ROW: Row =
        Values::<false>::ROW.variant("serde").only(&[Operation::Encode, Operation::Decode, Operation::Fields]);
}

impl<M: Valued, const TABLE: bool> Codec<M> for Values<TABLE>
where
    Values<TABLE>: Used,
{
    type Native = M::Typed;
    type Decoded = M::Typed;

    fn new() -> Result<Self> {
        Ok(Values { buffer: Vec::new(), decoder: Decoder::new(Limits::default()) })
    }

    fn native(message: &M) -> Result<M::Typed> {
        message.typed()
    }

    fn message(decoded: M::Typed) -> Result<M> {
        M::untyped(decoded)
    }

    fn encode(&mut self, native: &M::Typed) -> Result<&[u8]> {
        self.buffer.clear();
        native.put::<TABLE>(&mut self.buffer);
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Typed> {
        let mut reader = ValueReader::new(bytes, &Limits::default())?;
        let decoded = M::Typed::take::<TABLE>(&mut reader)?;
        reader.finish()?;
        Ok(decoded)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let way = if TABLE { M::WAY_TABLE } else { M::WAY_LIST };
        let mut sum = Sum::default();
        let Some(found) = self.decoder.pick(bytes, way)? else {
            anyhow::bail!("there is no {:?}", M::ONE);
        };
        match found.as_str() {
            Some(text) => sum.text(text),
            None => sum.real(found.as_real().context("neither text nor real")?),
        }
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        let mut reader = ValueReader::new(bytes, &Limits::default())?;
        M::Typed::add::<TABLE>(&mut reader, &mut sum)?;
        reader.finish()?;
        Ok(sum.0)
    }

    fn sum(message: &M) -> Result<u64> {
        let mut sum = Sum::default();
        message.typed()?.add_owned(&mut sum);
        Ok(sum.0)
    }
}

impl<M: Valued, const TABLE: bool> Codec<M> for ValuesSerde<TABLE>
where
    ValuesSerde<TABLE>: Used,
    Values<TABLE>: Codec<M, Native = M::Typed, Decoded = M::Typed>,
{
    type Native = M::Typed;
    type Decoded = M::Typed;

    fn new() -> Result<Self> {
        Ok(ValuesSerde(<Values<TABLE> as Codec<M>>::new()?))
    }

    fn native(message: &M) -> Result<M::Typed> {
        message.typed()
    }

    fn message(decoded: M::Typed) -> Result<M> {
        M::untyped(decoded)
    }

    fn encode(&mut self, native: &M::Typed) -> Result<&[u8]> {
        if TABLE {
            return Codec::<M>::encode(&mut self.0, native);
        }
        self.0.buffer.clear();
        to_bytes_into(native, &mut self.0.buffer)?;
        Ok(&self.0.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Typed> {
        Ok(from_bytes(bytes)?)
    }

    as_wrapped!(field -> u64);

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let mut sum = Sum::default();
        from_bytes::<M::Typed>(bytes)?.add_owned(&mut sum);
        Ok(sum.0)
    }

    fn sum(message: &M) -> Result<u64> {
        <Values<TABLE> as Codec<M>>::sum(message)
    }
}
