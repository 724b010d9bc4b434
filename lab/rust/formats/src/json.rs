//! JSON: serde_json, sonic-rs and simd-json, all with the same serde types.

use anyhow::{Context, Result};
use sonic_rs::JsonValueTrait;

use crate::cases::{Message, OneSummed, Sum, Summed};
use crate::codec::{Codec, Operation, Row, Used, as_wrapped, named_messages, wraps};

/// serde_json as documented: `to_writer`, `from_slice` into types that own their strings.
pub struct SerdeJson {
    buffer: Vec<u8>,
}

impl Used for SerdeJson {
    const ROW: Row = Row::new("json", "serde_json");
}

impl<M: Message> Codec<M> for SerdeJson {
    named_messages!();

    fn new() -> Result<Self> {
        Ok(SerdeJson { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M::Named) -> Result<&[u8]> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, native)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        Ok(serde_json::from_slice(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(serde_json::from_slice::<M::One<'_>>(bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(serde_json::from_slice::<M::Named>(bytes)?.sum())
    }
}

/// serde_json into types that borrow their strings.
pub struct SerdeJsonBorrowed(SerdeJson);

impl Used for SerdeJsonBorrowed {
    const ROW: Row = SerdeJson::ROW.variant("borrowed").only(&[Operation::Fields]);
}

impl<M: Message> Codec<M> for SerdeJsonBorrowed {
    named_messages!();

    wraps!(SerdeJson);
    as_wrapped!(decode -> M::Named, field -> u64);

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(serde_json::from_slice::<M::Borrowed<'_>>(bytes)?.sum())
    }
}

/// sonic-rs; the one field with its lazy `get`, which skips everything before it and reads nothing after it.
pub struct SonicRs {
    buffer: Vec<u8>,
}

impl Used for SonicRs {
    const ROW: Row = Row::new("json", "sonic-rs");
}

impl<M: Message> Codec<M> for SonicRs {
    named_messages!();

    fn new() -> Result<Self> {
        Ok(SonicRs { buffer: Vec::new() })
    }

    fn encode(&mut self, native: &M::Named) -> Result<&[u8]> {
        self.buffer.clear();
        sonic_rs::to_writer(&mut self.buffer, native)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        Ok(sonic_rs::from_slice(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        let lazy = sonic_rs::get_from_slice(bytes, M::ONE)?;
        let mut sum = Sum::default();
        // One after the other: a mismatch creates an error, which is expensive.
        if let Some(text) = lazy.as_str() {
            sum.text(text);
        } else {
            sum.real(
                lazy.as_f64().with_context(|| format!("the field {:?} is neither a string nor a number", M::ONE))?,
            );
        }
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(sonic_rs::from_slice::<M::Named>(bytes)?.sum())
    }
}

/// simd-json modifies its input; the figures include the copy that this needs.
pub struct SimdJson {
    buffer: Vec<u8>,
    scratch: simd_json::Buffers,
}

impl SimdJson {
    /// A copy to modify.
    #[inline]
    fn copy(&mut self, bytes: &[u8]) {
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes);
    }
}

impl Used for SimdJson {
    const ROW: Row = Row::new("json", "simd-json");
}

impl<M: Message> Codec<M> for SimdJson {
    named_messages!();

    fn new() -> Result<Self> {
        Ok(SimdJson { buffer: Vec::new(), scratch: simd_json::Buffers::default() })
    }

    fn encode(&mut self, native: &M::Named) -> Result<&[u8]> {
        self.buffer.clear();
        simd_json::to_writer(&mut self.buffer, native)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        self.copy(bytes);
        Ok(simd_json::from_slice(&mut self.buffer)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        self.copy(bytes);
        Ok(simd_json::from_slice::<M::One<'_>>(&mut self.buffer)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        self.copy(bytes);
        Ok(simd_json::from_slice::<M::Named>(&mut self.buffer)?.sum())
    }
}

/// simd-json with reused scratch buffers.
pub struct SimdJsonReused(SimdJson);

impl Used for SimdJsonReused {
    const ROW: Row =
        SimdJson::ROW.variant("reused buffers").only(&[Operation::Decode, Operation::Field, Operation::Fields]);
}

impl<M: Message> Codec<M> for SimdJsonReused {
    named_messages!();

    wraps!(SimdJson);
    fn decode(&mut self, bytes: &[u8]) -> Result<M::Named> {
        self.0.copy(bytes);
        Ok(simd_json::serde::from_slice_with_buffers(&mut self.0.buffer, &mut self.0.scratch)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        self.0.copy(bytes);
        let SimdJson { buffer, scratch } = &mut self.0;
        Ok(simd_json::serde::from_slice_with_buffers::<M::One<'_>>(buffer, scratch)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        self.0.copy(bytes);
        let SimdJson { buffer, scratch } = &mut self.0;
        Ok(simd_json::serde::from_slice_with_buffers::<M::Named>(buffer, scratch)?.sum())
    }
}
