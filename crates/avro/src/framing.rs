//! The header before a message's value: none, a schema's fingerprint, or its number in a registry.
//!
//! Sources: Avro specification 1.12, "Single-object encoding"; Confluent's "wire format" of its schema registry.

use thiserror::Error;

use crate::error::ResolveError;

/// How a message identifies its writer's schema.
///
/// | framing | bytes before the value |
/// |---|---|
/// | bare | none |
/// | single object | `C3 01`, then the fingerprint, 8 bytes, little-endian |
/// | registry | `00`, then the schema's number, 4 bytes, big-endian |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No header.
    Bare,
    /// Identifies the schema by its fingerprint.
    SingleObject,
    /// Identifies the schema by its number in a registry.
    Registry,
}

/// The identity of a message's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriterId {
    /// The reader knows the schema from elsewhere.
    Known,
    /// The CRC-64-AVRO fingerprint.
    Fingerprint(u64),
    /// The number in the registry.
    Number(u32),
}

/// Why a message's schema was not found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FramingError {
    /// The message doesn't begin with the framing's header.
    #[error("the message does not begin with {expected}; it has another framing")]
    Head {
        /// The expected beginning.
        expected: &'static str,
    },
    /// No schema with this fingerprint was added.
    #[error("no schema with the fingerprint {0:016x} is known; add the schema that wrote the message")]
    UnknownFingerprint(u64),
    /// No schema with this number was added.
    #[error("no schema with the number {0} is known; add it from the registry")]
    UnknownNumber(u32),
    /// No schema for bare messages was added.
    #[error("the message names no schema; specify the writer's schema")]
    NoWriter,
    /// The number or fingerprint belongs to a schema whose messages are read in another way.
    #[error("{}", taken(.0))]
    Taken(WriterId),
    /// The schema can't be read as the reader's.
    #[error("the writer's schema doesn't match: {0}")]
    Resolve(#[from] ResolveError),
}

fn taken(id: &WriterId) -> String {
    match id {
        WriterId::Known => "another schema is known for messages that name none; use a separate store".to_owned(),
        WriterId::Number(number) => format!("another schema has the number {number}; give each schema its own"),
        WriterId::Fingerprint(fingerprint) => format!(
            "another schema has the fingerprint {fingerprint:016x}: it differs in logical types (a decimal's scale, a \
             time's unit) or aliases, which fingerprints don't cover; give the record another name or namespace"
        ),
    }
}

impl Framing {
    /// The writer's schema of the message, and the value's bytes.
    #[inline]
    pub fn open(self, message: &[u8]) -> Result<(WriterId, &[u8]), FramingError> {
        match self {
            Self::Bare => Ok((WriterId::Known, message)),
            Self::SingleObject => match message.split_first_chunk::<10>() {
                Some(([0xc3, 0x01, fingerprint @ ..], value)) => {
                    Ok((WriterId::Fingerprint(u64::from_le_bytes(*fingerprint)), value))
                }
                _ => Err(FramingError::Head { expected: "C3 01 and a fingerprint" }),
            },
            Self::Registry => match message.split_first_chunk::<5>() {
                Some(([0, number @ ..], value)) => Ok((WriterId::Number(u32::from_be_bytes(*number)), value)),
                _ => Err(FramingError::Head { expected: "00 and a schema's number" }),
            },
        }
    }
}

impl WriterId {
    /// Appends the header of a value written with this schema: at most 10 bytes.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Known => {}
            Self::Fingerprint(fingerprint) => {
                out.extend_from_slice(&[0xc3, 0x01]);
                out.extend_from_slice(&fingerprint.to_le_bytes());
            }
            Self::Number(number) => {
                out.push(0);
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
    }
}
