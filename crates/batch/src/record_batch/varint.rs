//! Numbers in records: zigzag (0, -1, 1, -2, …), then seven bits a byte, the lowest first, with bit 7 set in all bytes
//! but the last.

/// Why a number can't be read.
pub(super) enum Broken {
    /// The bytes end within it.
    Truncated,
    /// It has more bits than allowed.
    TooLong,
}

/// The number at the front of `bytes`, which has up to `bits` bits, and the bytes after it.
#[inline]
pub(super) fn read(bytes: &[u8], bits: u32) -> Result<(i64, &[u8]), Broken> {
    match bytes {
        // Most numbers are small.
        [byte @ 0..0x80, rest @ ..] => Ok((unzigzag(u64::from(*byte)), rest)),
        _ => read_long(bytes, bits),
    }
}

fn read_long(bytes: &[u8], bits: u32) -> Result<(i64, &[u8]), Broken> {
    let (mut value, mut rest) = (0, bytes);
    for shift in (0..bits).step_by(7) {
        let Some((&byte, after)) = rest.split_first() else { return Err(Broken::Truncated) };
        rest = after;
        let part = u64::from(byte & 0x7f);
        if bits - shift < 7 && part >> (bits - shift) != 0 {
            return Err(Broken::TooLong);
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Ok((unzigzag(value), rest));
        }
    }
    Err(Broken::TooLong)
}

/// Appends a number.
pub(super) fn put(value: i64, to: &mut Vec<u8>) {
    let mut left = zigzag(value);
    while left > 0x7f {
        to.push(left as u8 | 0x80);
        left >>= 7;
    }
    to.push(left as u8);
}

/// How many bytes [`put`] appends.
#[inline]
pub(super) fn bytes(value: i64) -> u64 {
    match zigzag(value) {
        0..0x80 => 1,
        long => u64::from((64 - long.leading_zeros()).div_ceil(7)),
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_put() {
        let edges = (0..63).flat_map(|bit| [1_i64 << bit, (1 << bit) - 1, -(1 << bit)]);
        for value in edges.chain([0, -1, i64::MIN, i64::MAX, i32::MIN.into(), i32::MAX.into()]) {
            let mut to = Vec::new();
            put(value, &mut to);
            assert_eq!(to.len() as u64, bytes(value), "{value}");
            for bits in [32, 64] {
                match read(&to, bits) {
                    Ok((found, rest)) => assert_eq!((found, rest), (value, &[][..])),
                    Err(_) => assert!(bits == 32 && i32::try_from(value).is_err(), "{value} in {bits} bits"),
                }
                for end in 0..to.len() {
                    let cut = read(&to[..end], bits);
                    assert!(cut.is_err(), "{value} in {end} of {} bytes", to.len());
                }
            }
        }
    }

    #[test]
    fn numbers_have_no_more_bits_than_their_field() {
        let put_bits = |bytes: &[u8], bits| read(bytes, bits).ok().map(|(value, _)| value);
        assert_eq!(put_bits(&[0xff, 0xff, 0xff, 0xff, 0x0f], 32), Some(i32::MIN.into()));
        assert_eq!(put_bits(&[0xff, 0xff, 0xff, 0xff, 0x1f], 32), None);
        assert_eq!(put_bits(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], 32), None);
        assert_eq!(put_bits(&[0x80, 0x80, 0x80, 0x80, 0], 32), Some(0), "longer than needed, which writers may be");
        let mut longest = [0xff; 10];
        longest[9] = 1;
        assert_eq!(put_bits(&longest, 64), Some(i64::MIN));
        longest[9] = 2;
        assert_eq!(put_bits(&longest, 64), None);
        assert_eq!(put_bits(&[0x80; 11], 64), None);
    }
}
