//! What brokers recognize each other by: the public key of a run, and the fingerprints of its certificates.

use super::hex;
use serde::{Deserialize, Serialize};

/// The Ed25519 public key of one run of a broker. Its text is 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey(#[serde(with = "hex")] pub [u8; 32]);

/// The SHA-256 of a certificate (DER). Its text is 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint(#[serde(with = "hex")] pub [u8; 32]);
