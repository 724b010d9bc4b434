//! Writes Avro's primitive types.
//!
//! Source of the encoding: Avro specification 1.12, "Binary encoding".

/// A zigzag integer.
#[inline]
pub fn long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A length, a count or an index. Sizes in memory are below 2^63.
#[inline]
pub fn length(out: &mut Vec<u8>, value: usize) {
    long(out, value as i64);
}

/// A length and bytes, also of a string.
#[inline]
pub fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    length(out, value.len());
    out.extend_from_slice(value);
}
