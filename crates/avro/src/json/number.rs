//! Decimal numbers as text, exactly.

/// A number's digits and where its point is: `digits * 10^exponent`.
struct Number {
    is_negative: bool,
    /// Without zeros at the beginning and the end; empty for zero.
    digits: String,
    exponent: i64,
}

/// Longer texts of exponents are clamped: only their sign matters.
const EXPONENT_MAX: i64 = 1 << 40;

impl Number {
    /// Reads `-12.5`, `+12`, `.5`, `1e3`.
    fn read(text: &str) -> Option<Number> {
        let is_negative = text.starts_with('-');
        let (mantissa, exponent) = match text.strip_prefix(['-', '+']).unwrap_or(text).split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (text.strip_prefix(['-', '+']).unwrap_or(text), 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let short = digits.trim_end_matches('0');
        let exponent = exponent - fraction.len() as i64 + (digits.len() - short.len()) as i64;
        Some(Number { is_negative, digits: short.trim_start_matches('0').to_owned(), exponent })
    }
}

fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = digits.parse().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if text.starts_with('-') { -exponent } else { exponent })
}

/// The number times `10^scale`, with its number of digits; `None` if that isn't a whole number of 128 bits.
pub(super) fn scaled(text: &str, scale: u32) -> Option<(i128, usize)> {
    /// More digits than 128 bits hold.
    const DIGITS_MAX: usize = 40;
    let Number { is_negative, digits, exponent } = Number::read(text)?;
    if digits.is_empty() {
        return Some((0, 0));
    }
    let zeros = usize::try_from(exponent.checked_add(scale.into())?).ok()?;
    let count = digits.len().checked_add(zeros).filter(|count| *count <= DIGITS_MAX)?;
    let value: i128 = format!("{digits}{}", "0".repeat(zeros)).parse().ok()?;
    Some((if is_negative { -value } else { value }, count))
}

/// The 64-bit integer value of a JSON number, including `1.0` and `1e3`.
pub(super) fn integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| i64::try_from(scaled(text, 0)?.0).ok())
}

/// Whether a JSON number is written as a whole number of 64 bits.
pub(super) fn is_whole(text: &str) -> bool {
    text != "-0" && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_exactly() {
        let cases = [
            ("0", 0, Some((0, 0))),
            ("-0.000", 2, Some((0, 0))),
            ("12.5", 2, Some((1250, 4))),
            ("-12.50", 1, Some((-125, 3))),
            ("1.25", 1, None),
            ("1e3", 0, Some((1000, 4))),
            ("1.5E+2", 0, Some((150, 3))),
            ("150e-1", 0, Some((15, 2))),
            ("1e-1", 0, None),
            ("1234567890123456.78", 2, Some((123_456_789_012_345_678, 18))),
            ("+.5", 1, Some((5, 1))),
            ("5.", 0, Some((5, 1))),
            ("1e40", 0, None),
            ("1e99999999999999999999", 0, None),
            ("0e99999999999999999999", 0, Some((0, 0))),
            ("1e-99999999999999999999", 0, None),
            ("170141183460469231731687303715884105727", 0, Some((i128::MAX, 39))),
            ("170141183460469231731687303715884105728", 0, None),
        ];
        for (text, scale, want) in cases {
            assert_eq!(scaled(text, scale), want, "{text}");
        }
        for wrong in ["", ".", "-", "e3", "1e", "1e+", "--1", "1.2.3", "1_000", "٣", "0x10", "inf", " 1"] {
            assert_eq!(scaled(wrong, 2), None, "{wrong}");
        }
        assert_eq!(integer("9007199254740993.0"), Some(9_007_199_254_740_993));
        assert_eq!(integer("-0"), Some(0));
    }
}
