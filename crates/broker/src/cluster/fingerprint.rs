//! By what brokers recognize each other's certificates.

use super::hex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The SHA-256 of a certificate (DER). Its text is 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(&self.0, f)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

/// A text that is no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no certificate's fingerprint: 64 hexadecimal digits")]
pub struct FingerprintInvalid(String);

impl FromStr for Fingerprint {
    type Err = FingerprintInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        hex::read(text).map(Fingerprint).ok_or_else(|| FingerprintInvalid(text.to_owned()))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = FingerprintInvalid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_was_written_and_nothing_else_is() {
        let bytes: [u8; 32] = std::array::from_fn(|place| (place as u8).wrapping_mul(37));
        let text = Fingerprint(bytes).to_string();
        assert!(text.starts_with("00254a6f"), "{text}");
        assert_eq!(text.parse(), Ok(Fingerprint(bytes)));
        for wrong in ["", "00", &text[1..], &format!("{text}00"), &text.replace('f', "g"), &"é".repeat(32)] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
