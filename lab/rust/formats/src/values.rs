//! Our values: tables with names in the bytes, or lists with fields by their position. Types derive their code.

use anyhow::{Context, Result, bail};
use rawline_value::{Decoder, Step, decode, encode_into};

use crate::cases::{Message, Sum, Summed};
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, named_messages, plain_messages, wraps};

/// Records as tables with names.
pub struct Table(State);

/// Records as lists, fields by position: the default of the derived code.
pub struct List(State);

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    decoder: Decoder,
}

impl Used for Table {
    const ROW: Row = Row::new("values", "rawline-value");
}

impl Used for List {
    const ROW: Row = Row::new("values-list", "rawline-value");
}

macro_rules! codec {
    ($of:ident, $path:ident, $($messages:tt)*) => {
        impl<M: Message> Codec<M> for $of {
            $($messages)*

            fn new() -> Result<Self> {
                Ok($of(State::default()))
            }

            fn encode(&mut self, native: &Self::Native) -> Result<&[u8]> {
                self.0.buffer.clear();
                encode_into(native, &mut self.0.buffer)?;
                Ok(&self.0.buffer)
            }

            fn decode(&mut self, bytes: &[u8]) -> Result<Self::Decoded> {
                Ok(decode(bytes)?)
            }

            fn field(&mut self, bytes: &[u8]) -> Result<u64> {
                self.0.field(bytes, M::$path)
            }

            fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
                Ok(decode::<Self::Decoded>(bytes)?.sum())
            }
        }
    };
}

codec!(Table, KEYS, named_messages!(););
codec!(List, PLACES, plain_messages!(););

/// A row's types that borrow their strings.
pub struct Borrowed<C>(C);

impl Used for Borrowed<Table> {
    const ROW: Row = Table::ROW.variant("borrowed").only(&[Operation::Fields]);
}

impl Used for Borrowed<List> {
    const ROW: Row = List::ROW.variant("borrowed").only(&[Operation::Fields]);
}

impl<M: Message, C: Codec<M>> Codec<M> for Borrowed<C>
where
    Borrowed<C>: Used,
{
    type Native = C::Native;
    type Decoded = C::Decoded;

    fn native(message: &M) -> Result<C::Native> {
        C::native(message)
    }

    fn message(decoded: C::Decoded) -> Result<M> {
        C::message(decoded)
    }

    wraps!(C);
    as_wrapped!(decode -> C::Decoded, field -> u64);

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(decode::<M::Borrowed<'_>>(bytes)?.sum())
    }
}

impl State {
    fn field(&mut self, bytes: &[u8], path: &[Step<'_>]) -> Result<u64> {
        let mut sum = Sum::default();
        let Some(found) = self.decoder.pick(bytes, path)? else {
            bail!("field missing: {path:?}");
        };
        match found.as_str() {
            Some(text) => sum.text(text),
            None => sum.real(found.as_real().context("neither a string nor a real")?),
        }
        Ok(sum.0)
    }
}
