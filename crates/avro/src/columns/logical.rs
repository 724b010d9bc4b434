//! Logical types with a different representation in Arrow.

/// A UUID's text, 8-4-4-4-12 digits, as bytes.
pub(super) fn uuid_of_text(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut uuid = [0; 16];
    let mut digits = text.iter().enumerate();
    for byte in &mut uuid {
        for _ in 0..2 {
            let (mut at, mut digit) = digits.next()?;
            if matches!(at, 8 | 13 | 18 | 23) {
                if *digit != b'-' {
                    return None;
                }
                (at, digit) = digits.next()?;
            }
            debug_assert!(at < 36);
            *byte = *byte << 4 | char::from(*digit).to_digit(16)? as u8;
        }
    }
    Some(uuid)
}

/// A UUID as text, in lower case.
pub(super) fn uuid_to_text(uuid: &[u8; 16]) -> [u8; 36] {
    let mut text = [b'-'; 36];
    let places = (0..36_usize).filter(|at| !matches!(at, 8 | 13 | 18 | 23));
    let digits = uuid.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    for (at, digit) in places.zip(digits) {
        if let (Some(place), Some(digit)) = (text.get_mut(at), char::from_digit(u32::from(digit), 16)) {
            *place = digit as u8;
        }
    }
    text
}

/// A big-endian two's complement number in `N` bytes, if it fits.
#[inline]
pub(super) fn sign_extended<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let fill = if bytes.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
    let mut out = [fill; N];
    match N.checked_sub(bytes.len()) {
        Some(begin) => out.get_mut(begin..)?.copy_from_slice(bytes),
        None => {
            let (front, back) = bytes.split_last_chunk::<N>()?;
            let same_sign = back.first().is_some_and(|first| (first ^ fill) & 0x80 == 0);
            if !same_sign || front.iter().any(|byte| *byte != fill) {
                return None;
            }
            out = *back;
        }
    }
    Some(out)
}

/// The shortest form of a big-endian two's complement number.
pub(super) fn shortest(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first @ (0 | 0xff), tail @ ..] = rest
        && tail.first().is_some_and(|second| (first ^ second) & 0x80 == 0)
    {
        rest = tail;
    }
    rest
}

/// Months, days and milliseconds as months, days and nanoseconds, if they fit into Arrow's numbers.
#[inline]
pub(super) fn duration(bytes: &[u8]) -> Option<(i32, i32, i64)> {
    let ([months, days, milliseconds], []) = bytes.as_chunks::<4>() else { return None };
    let number = |bytes: &[u8; 4]| i32::try_from(u32::from_le_bytes(*bytes)).ok();
    let milliseconds = u32::from_le_bytes(*milliseconds);
    Some((number(months)?, number(days)?, i64::from(milliseconds) * 1_000_000))
}

/// The inverse.
pub(super) fn duration_of(months: i32, days: i32, nanoseconds: i64) -> Option<[u8; 12]> {
    let milliseconds = u32::try_from(nanoseconds / 1_000_000).ok().filter(|_| nanoseconds % 1_000_000 == 0)?;
    let parts = [u32::try_from(months).ok()?, u32::try_from(days).ok()?, milliseconds].map(u32::to_le_bytes);
    parts.as_flattened().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_go_both_ways() {
        let text = "0188f0a2-7c3d-7def-8123-456789abcdef";
        let uuid = uuid_of_text(text).unwrap();
        assert_eq!(uuid[..4], [1, 0x88, 0xf0, 0xa2]);
        assert_eq!(uuid_to_text(&uuid), text.as_bytes());
        assert_eq!(uuid_of_text(&text.to_uppercase()), Some(uuid));
        for wrong in ["", "0188f0a27c3d7def8123456789abcdef", "0188f0a2-7c3d-7def-8123-456789abcdeg"] {
            assert_eq!(uuid_of_text(wrong), None);
        }
        assert_eq!(uuid_of_text("0188f0a207c3d-7def-8123-456789abcdef"), None);
        assert_eq!(uuid_of_text("0188f0a2-7c3d-7def-8123-456789abcd-f"), None);
    }

    #[test]
    fn numbers_keep_their_sign_in_any_length() {
        assert_eq!(sign_extended(&[]).map(i128::from_be_bytes), Some(0));
        assert_eq!(sign_extended(&[0xff]).map(i128::from_be_bytes), Some(-1));
        assert_eq!(sign_extended(&[0, 0x80]).map(i128::from_be_bytes), Some(128));
        assert_eq!(sign_extended(&[[0xff; 20], [0x80; 20]].concat()).map(i128::from_be_bytes), None);
        assert_eq!(sign_extended(&[[0xff; 4].as_slice(), &[0x80; 16]].concat()), Some([0x80; 16]));
        assert_eq!(sign_extended::<16>(&[[0; 4].as_slice(), &[0x80; 16]].concat()), None);
        for (number, bytes) in [(0_i128, 1), (-1, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (i128::MIN, 16)] {
            let long = number.to_be_bytes();
            assert_eq!(shortest(&long).len(), bytes);
            assert_eq!(sign_extended(shortest(&long)), Some(long));
        }
    }
}
