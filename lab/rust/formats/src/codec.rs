//! A row: a library used in one way, and its operations on a message.

use anyhow::Result;

use crate::cases::Message;

/// The measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// From the owned message to bytes.
    Encode,
    /// From bytes to a message that owns all of its memory.
    Decode,
    /// From bytes to the one field, as cheaply as the library allows.
    Field,
    /// From bytes to every field, read once.
    Fields,
}

impl Operation {
    /// All operations.
    pub const ALL: [Operation; 4] = [Operation::Encode, Operation::Decode, Operation::Field, Operation::Fields];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Encode => "encode",
            Operation::Decode => "decode",
            Operation::Field => "field",
            Operation::Fields => "fields",
        }
    }
}

/// A library, how it is used, and which of its operations are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The wire format.
    pub format: &'static str,
    /// The crate.
    pub library: &'static str,
    /// What differs from the documented use; empty for the documented use.
    pub variant: &'static str,
    /// The measured operations; [`Codec`]'s other functions aren't called.
    pub operations: &'static [Operation],
}

impl Row {
    /// A row with every operation, used as documented.
    pub const fn new(format: &'static str, library: &'static str) -> Row {
        Row { format, library, variant: "", operations: &Operation::ALL }
    }

    /// The row with a variant.
    pub const fn variant(self, variant: &'static str) -> Row {
        Row { variant, ..self }
    }

    /// The row with only some operations.
    pub const fn only(self, operations: &'static [Operation]) -> Row {
        Row { operations, ..self }
    }

    /// Whether this operation is measured.
    pub fn has(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Library and variant, as in folder names: `simd-json+reused buffers`.
    pub fn name(&self) -> String {
        if self.variant.is_empty() {
            return self.library.to_owned();
        }
        format!("{}+{}", self.library, self.variant)
    }
}

/// A codec's row.
pub trait Used {
    /// Which one it is.
    const ROW: Row;
}

/// A library used in one way on one case: buffers, schemas and whatever else it keeps between messages. Each
/// thread has its own.
pub trait Codec<M: Message>: Used + Sized {
    /// The message as the library writes it; created before the clock starts.
    type Native: Send + Sync + 'static;
    /// The message as the library reads it, owning all of its memory.
    type Decoded;

    /// A codec with nothing read or written yet.
    fn new() -> Result<Self>;

    /// The library's message.
    fn native(message: &M) -> Result<Self::Native>;

    /// The case's message, for comparison.
    fn message(decoded: Self::Decoded) -> Result<M>;

    /// The message's bytes.
    fn encode(&mut self, native: &Self::Native) -> Result<&[u8]>;

    /// The message in these bytes.
    fn decode(&mut self, bytes: &[u8]) -> Result<Self::Decoded>;

    /// The sum of the one field.
    fn field(&mut self, bytes: &[u8]) -> Result<u64>;

    /// The sum of all fields.
    fn fields(&mut self, bytes: &[u8]) -> Result<u64>;

    /// What [`Codec::fields`] must return.
    fn sum(message: &M) -> Result<u64> {
        Ok(message.sum())
    }

    /// What [`Codec::field`] must return.
    fn one(message: &M) -> Result<u64> {
        Ok(message.one())
    }
}

/// A message in a library's own type with the same fields, converted through JSON.
pub fn convert<From: serde::Serialize, To: serde::de::DeserializeOwned>(from: &From) -> Result<To> {
    Ok(serde_json::from_value(serde_json::to_value(from)?)?)
}

/// A codec's types and conversions if the library uses the plain types.
macro_rules! plain_messages {
    () => {
        type Native = M;
        type Decoded = M;

        fn native(message: &M) -> ::anyhow::Result<M> {
            Ok(message.clone())
        }

        fn message(decoded: M) -> ::anyhow::Result<M> {
            Ok(decoded)
        }
    };
}
pub(crate) use plain_messages;

/// A codec's types and conversions if the library uses the types that leave absent fields out.
macro_rules! named_messages {
    () => {
        type Native = M::Named;
        type Decoded = M::Named;

        fn native(message: &M) -> ::anyhow::Result<M::Named> {
            $crate::codec::convert(message)
        }

        fn message(decoded: M::Named) -> ::anyhow::Result<M> {
            $crate::codec::convert(&decoded)
        }
    };
}
pub(crate) use named_messages;

/// Functions that a variant forwards to the row it wraps.
macro_rules! as_wrapped {
    ($($verb:ident -> $of:ty),*) => {
        $(fn $verb(&mut self, bytes: &[u8]) -> ::anyhow::Result<$of> {
            $crate::codec::Codec::<M>::$verb(&mut self.0, bytes)
        })*
    };
}
pub(crate) use as_wrapped;

/// A variant's construction, and its encoding by the row it wraps.
macro_rules! wraps {
    ($of:ty) => {
        fn new() -> ::anyhow::Result<Self> {
            Ok(Self(<$of as $crate::codec::Codec<M>>::new()?))
        }

        fn encode(&mut self, native: &Self::Native) -> ::anyhow::Result<&[u8]> {
            $crate::codec::Codec::<M>::encode(&mut self.0, native)
        }
    };
}
pub(crate) use wraps;
