//! rkyv: the bytes are the message, with or without a check before reading.

use anyhow::{Error, Result};
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::rancor::Error as RkyvError;
use rkyv::ser::allocator::{Arena, ArenaHandle};
use rkyv::util::AlignedVec;
use rkyv::{Archive, Archived, Deserialize, Serialize};

use crate::cases::plain::{Doubles, Measurement, Order, PingPong, Strings, Zeek};
use crate::cases::{Message, Sum};
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, plain_messages, wraps};

/// rkyv: written into a reused `AlignedVec` and arena, read after a check of all bytes.
pub struct Rkyv {
    buffer: AlignedVec,
    arena: Arena,
}

impl Used for Rkyv {
    const ROW: Row = Row::new("rkyv", "rkyv");
}

/// A case's archived type can be read in place.
pub trait View {
    /// The sum of the one field.
    fn one(&self) -> u64;
    /// The sum of all fields.
    fn sum(&self) -> u64;
}

impl<M> Codec<M> for Rkyv
where
    M: Message + Archive + for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, RkyvError>>,
    Archived<M>: View
        + Deserialize<M, HighDeserializer<RkyvError>>
        + for<'a> rkyv::bytecheck::CheckBytes<HighValidator<'a, RkyvError>>,
{
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(Rkyv { buffer: AlignedVec::new(), arena: Arena::new() })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let written = rkyv::api::high::to_bytes_in_with_alloc::<_, _, RkyvError>(native, buffer, self.arena.acquire());
        self.buffer = written.map_err(Error::new)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        let archived = rkyv::access::<Archived<M>, RkyvError>(bytes).map_err(Error::new)?;
        rkyv::deserialize::<M, RkyvError>(archived).map_err(Error::new)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rkyv::access::<Archived<M>, RkyvError>(bytes).map_err(Error::new)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(rkyv::access::<Archived<M>, RkyvError>(bytes).map_err(Error::new)?.sum())
    }
}

/// rkyv without the check: for bytes that the program wrote itself and that nothing else can change.
pub struct RkyvUnchecked(Rkyv);

impl Used for RkyvUnchecked {
    const ROW: Row = Rkyv::ROW.variant("unchecked").only(&[Operation::Field, Operation::Fields]);
}

impl<M> Codec<M> for RkyvUnchecked
where
    M: Message + Archive,
    Rkyv: Codec<M, Native = M, Decoded = M>,
    Archived<M>: View + rkyv::Portable,
{
    plain_messages!();
    wraps!(Rkyv);
    as_wrapped!(decode -> M);

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        // SAFETY: the laboratory gives this row only bytes that the row above wrote and that its test checked.
        Ok(unsafe { rkyv::access_unchecked::<Archived<M>>(bytes) }.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        // SAFETY: as above.
        Ok(unsafe { rkyv::access_unchecked::<Archived<M>>(bytes) }.sum())
    }
}

macro_rules! view {
    ($of:ident, $self:ident, $sum:ident, $one:expr, $fields:expr) => {
        impl View for Archived<$of> {
            #[inline]
            fn one(&$self) -> u64 {
                let mut $sum = Sum::default();
                $one;
                $sum.0
            }

            #[inline]
            fn sum(&$self) -> u64 {
                let mut $sum = Sum::default();
                $fields;
                $sum.0
            }
        }
    };
}

view!(PingPong, self, sum, sum.text(&self.message), {
    sum.int(self.id.to_native());
    sum.int(self.version.to_native().into());
    sum.text(&self.message);
    sum.flag(self.is_important);
    self.names.iter().for_each(|name| sum.text(name));
    self.ints.iter().for_each(|number| sum.int(number.to_native().into()));
    self.doubles.iter().for_each(|number| sum.real(number.to_native()));
});

view!(Doubles, self, sum, sum.real(self.single_3.to_native()), {
    for single in [self.single_1, self.single_2, self.single_3, self.single_4, self.single_5] {
        sum.real(single.to_native());
    }
    self.list.iter().for_each(|number| sum.real(number.to_native()));
});

view!(Strings, self, sum, sum.text(&self.string_3), {
    for single in [&self.string_1, &self.string_2, &self.string_3, &self.string_4, &self.string_5] {
        sum.text(single);
    }
    self.names.iter().for_each(|name| sum.text(name));
});

view!(Zeek, self, sum, sum.text(&self.query), {
    sum.int(self.ts.to_native());
    for number in [self.orig_p, self.resp_p, self.trans_id, self.qclass, self.qtype, self.rcode, self.z] {
        sum.int(number.to_native().into());
    }
    for text in [&self.uid, &self.orig_h, &self.resp_h, &self.proto, &self.query] {
        sum.text(text);
    }
    for text in [&self.qclass_name, &self.qtype_name, &self.rcode_name] {
        sum.text(text);
    }
    if let Some(rtt) = self.rtt.as_ref() {
        sum.real(rtt.to_native());
    }
    for flag in [self.aa, self.tc, self.rd, self.ra, self.rejected] {
        sum.flag(flag);
    }
    self.answers.iter().for_each(|answer| sum.text(answer));
    self.ttls.iter().for_each(|number| sum.real(number.to_native()));
});

view!(Measurement, self, sum, sum.text(&self.metric), {
    sum.text(&self.metric);
    for (key, value) in self.tags.iter() {
        sum.text(key);
        sum.text(value);
    }
    sum.int(self.logtime.to_native());
    sum.int(self.value.to_native());
});

view!(Order, self, sum, sum.text(&self.customer.name), {
    for number in [self.id, self.placed_at, self.customer.id, self.total_cents] {
        sum.int(number.to_native());
    }
    sum.text(&self.currency);
    sum.text(&self.customer.name);
    for text in [self.customer.email.as_ref(), self.note.as_ref()].into_iter().flatten() {
        sum.text(text);
    }
    if let Some(shipping) = self.shipping.as_ref() {
        for text in [&shipping.street, &shipping.city, &shipping.postcode, &shipping.country] {
            sum.text(text);
        }
    }
    for line in self.lines.iter() {
        sum.text(&line.sku);
        if let Some(description) = line.description.as_ref() {
            sum.text(description);
        }
        sum.int(line.quantity.to_native().into());
        sum.int(line.unit_price_cents.to_native());
        if let Some(discount) = line.discount.as_ref() {
            sum.real(discount.to_native());
        }
    }
});
