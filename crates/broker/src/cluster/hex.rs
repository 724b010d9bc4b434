//! 32 bytes as 64 hexadecimal digits: the text of fingerprints and public keys in cards.

use std::fmt;

/// Writes the digits, in lower case.
pub(super) fn write(bytes: &[u8; 32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// The bytes of exactly 64 digits.
pub(super) fn read(text: &str) -> Option<[u8; 32]> {
    let digit = |digit: char| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = text.chars().map(digit).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    bytes.try_into().ok().filter(|_| digits.len() == 64)
}
