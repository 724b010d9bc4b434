//! A storage's id: no other storage has it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of a storage: 128 random bits, drawn when it was created, as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StorageId(u128);

impl StorageId {
    /// Of a new storage.
    #[expect(clippy::disallowed_methods, reason = "an id that no other storage draws, in simulations neither")]
    pub(crate) fn draw() -> StorageId {
        StorageId(rand::random())
    }
}

impl fmt::Display for StorageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl From<StorageId> for String {
    fn from(id: StorageId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for StorageId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<StorageId, &'static str> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = is_hex.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        bits.map(StorageId).ok_or("an id isn't 32 hexadecimal digits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_digits_in_text() {
        let id = StorageId::draw();
        assert_ne!(id, StorageId::draw());
        assert_eq!(StorageId::try_from(id.to_string()), Ok(id));
        assert_eq!(StorageId(255).to_string(), "000000000000000000000000000000ff");
        for text in ["", "1", "+0000000000000000000000000000001", "g0000000000000000000000000000000"] {
            assert!(StorageId::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
