//! Writes the pieces of a measurement, right and wrong, as a producer would.

#![allow(dead_code)] // Each test needs some of it.

/// A zigzag `long`.
pub fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// A `string`.
pub fn string(text: &str) -> Vec<u8> {
    [long(text.len() as i64), text.as_bytes().to_vec()].concat()
}

/// A metric and a map of tags in one block.
pub fn identity(metric: &str, tags: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = string(metric);
    if !tags.is_empty() {
        bytes.extend(long(tags.len() as i64));
    }
    for (key, value) in tags {
        bytes.extend(string(key));
        bytes.extend(string(value));
    }
    bytes.push(0);
    bytes
}
