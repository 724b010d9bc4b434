//! Cap'n Proto with capnpc's code: bytes that are read in place, plain or packed.

mod cases;

use anyhow::Result;
use capnp::message::{Allocator, Builder, ReaderOptions, ScratchSpaceHeapAllocator};
use capnp::traits::Owned;
use capnp::{Word, serialize, serialize_packed};

use self::cases::Generated;
use crate::cases::Sum;
use crate::codec::{Codec, Operation, Row, Used, plain_messages};

/// Initial scratch space: many times a message of the published size.
const SCRATCH_WORDS: usize = 4096;

/// Written by a new builder each time, as documented; read in place. Strings are checked when they are read.
pub struct Capn {
    buffer: Vec<u8>,
}

/// Written in a reused scratch space.
pub struct CapnScratch {
    inner: Capn,
    allocator: ScratchSpaceHeapAllocator<'static>,
}

/// Packed: runs of zeros are short. The message is unpacked before anything is read.
pub struct CapnPacked {
    buffer: Vec<u8>,
}

impl Used for Capn {
    const ROW: Row = Row::new("capnp", "capnp");
}

impl Used for CapnScratch {
    const ROW: Row = Capn::ROW.variant("scratch space").only(&[Operation::Encode]);
}

impl Used for CapnPacked {
    const ROW: Row = Capn::ROW.variant("packed");
}

impl<M: Generated> Codec<M> for Capn {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(Capn { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let message = put(native, Builder::new_default())?;
        self.buffer.clear();
        serialize::write_message(&mut self.buffer, &message)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, mut bytes: &[u8]) -> Result<M> {
        let message = serialize::read_message_from_flat_slice(&mut bytes, ReaderOptions::new())?;
        M::get(message.get_root()?)
    }

    fn field(&mut self, mut bytes: &[u8]) -> Result<u64> {
        let message = serialize::read_message_from_flat_slice(&mut bytes, ReaderOptions::new())?;
        let mut sum = Sum::default();
        M::add_one(message.get_root()?, &mut sum)?;
        Ok(sum.0)
    }

    fn fields(&mut self, mut bytes: &[u8]) -> Result<u64> {
        let message = serialize::read_message_from_flat_slice(&mut bytes, ReaderOptions::new())?;
        let mut sum = Sum::default();
        M::add(message.get_root()?, &mut sum)?;
        Ok(sum.0)
    }
}

impl<M: Generated> Codec<M> for CapnScratch {
    plain_messages!();
    fn new() -> Result<Self> {
        // Leaked on purpose: the allocator borrows its space as long as the program runs.
        let words: &'static mut [Word] = Vec::leak(Word::allocate_zeroed_vec(SCRATCH_WORDS));
        let allocator = ScratchSpaceHeapAllocator::new(Word::words_to_bytes_mut(words));
        Ok(CapnScratch { inner: Capn { buffer: Vec::new() }, allocator })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let message = put(native, Builder::new(&mut self.allocator))?;
        self.inner.buffer.clear();
        serialize::write_message(&mut self.inner.buffer, &message)?;
        Ok(&self.inner.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        Codec::<M>::decode(&mut self.inner, bytes)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Codec::<M>::field(&mut self.inner, bytes)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Codec::<M>::fields(&mut self.inner, bytes)
    }
}

impl<M: Generated> Codec<M> for CapnPacked {
    plain_messages!();
    fn new() -> Result<Self> {
        Ok(CapnPacked { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M) -> Result<&[u8]> {
        let message = put(native, Builder::new_default())?;
        self.buffer.clear();
        serialize_packed::write_message(&mut self.buffer, &message)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M> {
        let message = serialize_packed::read_message(bytes, ReaderOptions::new())?;
        M::get(message.get_root()?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let message = serialize_packed::read_message(bytes, ReaderOptions::new())?;
        let mut sum = Sum::default();
        M::add_one(message.get_root()?, &mut sum)?;
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        let message = serialize_packed::read_message(bytes, ReaderOptions::new())?;
        let mut sum = Sum::default();
        M::add(message.get_root()?, &mut sum)?;
        Ok(sum.0)
    }
}

/// Writes the message to a builder.
fn put<M: Generated, A: Allocator>(message: &M, mut builder: Builder<A>) -> Result<Builder<A>> {
    message.put(builder.init_root::<<M::Owned as Owned>::Builder<'_>>())?;
    Ok(builder)
}
