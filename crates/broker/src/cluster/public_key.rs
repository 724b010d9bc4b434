//! By what brokers recognize each other: each run has an Ed25519 key pair, and its card has the public key.

use super::hex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The public key of one run of a broker. Its text is 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey(pub [u8; 32]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(&self.0, f)
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        key.to_string()
    }
}

/// A text that isn't a public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} isn't a broker's public key: 64 hexadecimal digits")]
pub struct PublicKeyInvalid(String);

impl FromStr for PublicKey {
    type Err = PublicKeyInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        hex::read(text).map(PublicKey).ok_or_else(|| PublicKeyInvalid(text.to_owned()))
    }
}

impl TryFrom<String> for PublicKey {
    type Error = PublicKeyInvalid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_is_read_as_it_was_written_and_nothing_else_is() {
        let key = PublicKey(std::array::from_fn(|place| (place as u8).wrapping_mul(91)));
        assert_eq!(key.to_string().parse(), Ok(key));
        for wrong in ["", "00", &key.to_string()[1..], &format!("{key}00"), &"g".repeat(64)] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
    }
}
