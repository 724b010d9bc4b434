//! The vectors that the original program made.

#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]

use serde_json::Value as Json;

/// The vectors of one file in `vectors/value`.
pub fn vectors(name: &str) -> Vec<Json> {
    let path = format!("{}/../../vectors/value/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The bytes of the field `key` in hexadecimal; none if it is null or missing.
pub fn hex(vector: &Json, key: &str) -> Option<Vec<u8>> {
    vector[key].as_str().map(unhex)
}

/// The bytes that a text in hexadecimal stands for.
pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The vector of this name.
pub fn value_bytes(name: &str) -> Vec<u8> {
    let vectors = vectors("values");
    hex(vectors.iter().find(|vector| vector["name"] == name).unwrap(), "hex").unwrap()
}

/// `depth` vectors of one element inside each other, around a none.
pub fn nested(depth: usize) -> Vec<u8> {
    let mut bytes = [0x0e, 0x01].repeat(depth);
    bytes.push(0);
    bytes
}
