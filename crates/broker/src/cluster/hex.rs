//! 32 bytes as 64 hexadecimal digits: the text of fingerprints and public keys in cards.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

/// Writes the digits, in lower case.
pub(super) fn serialize<S: Serializer>(bytes: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    to.serialize_str(&digits)
}

/// Reads exactly 64 digits.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
    let text = String::deserialize(from)?;
    bytes(&text).ok_or_else(|| D::Error::custom(format!("{text:?} isn't 64 hexadecimal digits")))
}

fn bytes(text: &str) -> Option<[u8; 32]> {
    let digit = |digit: char| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = text.chars().map(digit).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    bytes.try_into().ok().filter(|_| digits.len() == 64)
}

#[cfg(test)]
mod tests {
    use crate::cluster::Fingerprint;

    #[test]
    fn bytes_are_read_as_they_were_written_and_nothing_else_is() {
        let fingerprint = Fingerprint(std::array::from_fn(|place| (place as u8).wrapping_mul(37)));
        let json = serde_json::to_string(&fingerprint).unwrap();
        assert!(json.starts_with("\"00254a6f"), "{json}");
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), fingerprint);
        let text = json.trim_matches('"');
        for wrong in ["", "00", &text[1..], &format!("{text}00"), &text.replace('f', "g"), &"é".repeat(32)] {
            assert!(serde_json::from_str::<Fingerprint>(&format!("\"{wrong}\"")).is_err(), "{wrong}");
        }
    }
}
