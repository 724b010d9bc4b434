//! Scalars as text: times, durations, and bytes that aren't text.

use std::fmt;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;
use jiff::tz::TimeZone;

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;

/// Digits of a second's fraction that nanoseconds fill.
const FRACTION_DIGITS: usize = 9;

/// A time in UTC with nine digits of a second, in RFC 3339: `2022-04-10T07:00:00.123456789Z`.
pub(crate) struct Rfc3339(pub i64);

/// Length of a time in RFC 3339 with nine digits of a second.
const RFC3339_BYTES: usize = 30;

impl Rfc3339 {
    /// The text, which is ASCII. Years have four digits: 64 bits of nanoseconds reach from 1677 to 2262.
    pub(super) fn bytes(&self) -> [u8; RFC3339_BYTES] {
        let time = TimeZone::UTC.to_datetime(Timestamp::from_nanosecond(self.0.into()).unwrap_or_default());
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        put_digits(&mut text, 0..4, time.year().unsigned_abs().into());
        put_digits(&mut text, 5..7, time.month().unsigned_abs().into());
        put_digits(&mut text, 8..10, time.day().unsigned_abs().into());
        put_digits(&mut text, 11..13, time.hour().unsigned_abs().into());
        put_digits(&mut text, 14..16, time.minute().unsigned_abs().into());
        put_digits(&mut text, 17..19, time.second().unsigned_abs().into());
        put_digits(&mut text, 20..29, time.subsec_nanosecond().unsigned_abs());
        text
    }
}

/// Writes times whose days are mostly the same as that of the time before.
#[derive(Debug, Clone)]
pub(super) struct DayText {
    /// The day of the text, counted from 1970.
    day: i64,
    text: [u8; RFC3339_BYTES],
}

impl Default for DayText {
    fn default() -> DayText {
        DayText { day: 0, text: Rfc3339(0).bytes() }
    }
}

impl DayText {
    /// What [`Rfc3339`] writes.
    #[inline]
    pub(super) fn rfc3339(&mut self, time: i64) -> &[u8; RFC3339_BYTES] {
        const NANOSECONDS_A_DAY: i64 = 86_400 * NANOSECONDS_A_SECOND as i64;
        let day = time.div_euclid(NANOSECONDS_A_DAY);
        if day != self.day {
            *self = DayText { day, text: Rfc3339(time).bytes() };
            return &self.text;
        }
        let nanoseconds = time.rem_euclid(NANOSECONDS_A_DAY) as u64;
        let seconds = (nanoseconds / NANOSECONDS_A_SECOND) as u32;
        put_digits(&mut self.text, 11..13, seconds / 3600);
        put_digits(&mut self.text, 14..16, seconds / 60 % 60);
        put_digits(&mut self.text, 17..19, seconds % 60);
        put_digits(&mut self.text, 20..29, (nanoseconds % NANOSECONDS_A_SECOND) as u32);
        &self.text
    }
}

/// Writes a number's digits to a place in a text, with zeros before them.
fn put_digits(text: &mut [u8], place: Range<usize>, mut number: u32) {
    for digit in text.get_mut(place).unwrap_or_default().iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

impl fmt::Display for Rfc3339 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(str::from_utf8(&self.bytes()).map_err(|_| fmt::Error)?)
    }
}

/// A time in UTC without a zone and with three, six or nine digits of a second, as few as
/// possible without loss. The original always writes three.
pub(super) struct ZonelessTime(pub i64);

impl fmt::Display for ZonelessTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0 {
            time if time % 1_000_000 == 0 => 3,
            time if time % 1_000 == 0 => 6,
            _ => 9,
        };
        print_time(self.0, digits, formatter)
    }
}

fn print_time(nanoseconds: i64, digits: u8, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let time = Timestamp::from_nanosecond(nanoseconds.into()).map_err(|_| fmt::Error)?;
    DateTimePrinter::new()
        .precision(Some(digits))
        .print_datetime(&TimeZone::UTC.to_datetime(time), StdFmtWrite(formatter))
        .map_err(|_| fmt::Error)
}

/// Parses a time: `2022-04-10T07:00:00`, at most nine digits of a second after a point, then `Z`, an offset of less
/// than a day, or nothing, which is UTC. `None` for every other form, and for a time that doesn't exist: there is no
/// second 60.
pub(crate) fn read_time(text: &str) -> Option<i64> {
    let (head, rest) = text.as_bytes().split_first_chunk::<19>()?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = *head else {
        return None;
    };
    let (fraction, offset) = match rest {
        [b'.', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (1..=FRACTION_DIGITS).contains(&digits).then(|| rest.split_at(digits))?
        }
        rest => (&[][..], rest),
    };
    let zeros = 10_u32.pow((FRACTION_DIGITS - fraction.len()) as u32);
    let nanoseconds = i32::try_from(number(fraction)? * zeros).ok()?;
    let year = i16::try_from(number(&[y1, y2, y3, y4])?).ok()?;
    let (month, day) = (pair(m1, m2)?, pair(d1, d2)?);
    let time = DateTime::new(year, month, day, pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?, nanoseconds).ok()?;
    let utc = TimeZone::UTC.to_timestamp(time).ok()?.as_nanosecond();
    i64::try_from(utc - i128::from(read_offset(offset)?) * i128::from(NANOSECONDS_A_SECOND)).ok()
}

/// An offset from UTC in seconds: nothing, `Z`, `+02`, `+0200`, `+02:00`; at most 23:59.
fn read_offset(text: &[u8]) -> Option<i32> {
    let (sign, hours, minutes) = match *text {
        [] | [b'Z'] => return Some(0),
        [sign, h1, h2] => (sign, pair(h1, h2)?, 0),
        [sign, h1, h2, n1, n2] | [sign, h1, h2, b':', n1, n2] => (sign, pair(h1, h2)?, pair(n1, n2)?),
        _ => return None,
    };
    let seconds = i32::from(hours) * 3600 + i32::from(minutes) * 60;
    match sign {
        _ if hours > 23 || minutes > 59 => None,
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// The number of some digits, at most nine.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
}

fn pair(tens: u8, ones: u8) -> Option<i8> {
    i8::try_from(number(&[tens, ones])?).ok()
}

/// A duration as a whole number of the largest of s, ms, us and ns without loss: `1500ms`.
pub(super) struct WholeSpan(pub i64);

impl fmt::Display for WholeSpan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            span if span % 1_000_000_000 == 0 => (1_000_000_000, "s"),
            span if span % 1_000_000 == 0 => (1_000_000, "ms"),
            span if span % 1_000 == 0 => (1_000, "us"),
            _ => (1, "ns"),
        };
        write!(formatter, "{}{name}", self.0 / unit)
    }
}

/// A duration in seconds, with as few digits as possible without loss: `1.5s`, `-0.000000001s`.
pub(crate) struct Seconds(pub i64);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanoseconds = self.0.unsigned_abs();
        write!(formatter, "{sign}{}", nanoseconds / NANOSECONDS_A_SECOND)?;
        let fraction = nanoseconds % NANOSECONDS_A_SECOND;
        if fraction != 0 {
            let mut digits = [0; FRACTION_DIGITS];
            put_digits(&mut digits, 0..FRACTION_DIGITS, fraction as u32);
            let digits = str::from_utf8(&digits).map_err(|_| fmt::Error)?;
            write!(formatter, ".{}", digits.trim_end_matches('0'))?;
        }
        formatter.write_str("s")
    }
}

/// Parses a duration, a number with a unit (ns, us, ms, s, min, h; fractions must be whole
/// numbers of nanoseconds).
pub(crate) fn read_span(text: &str) -> Option<i64> {
    let unit_at = text.bytes().position(|byte| byte.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at_checked(unit_at)?;
    let unit: i128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    // Longer numbers than these would be out of range, or finer than a nanosecond of an hour.
    let digits = |text: &str| text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut span = whole.parse::<i128>().ok()?.checked_mul(unit)?;
    if !fraction.is_empty() {
        let scale = 10_i128.checked_pow(fraction.len().try_into().ok()?)?;
        let parts = fraction.parse::<i128>().ok()?.checked_mul(unit)?;
        if parts % scale != 0 {
            return None;
        }
        span += parts / scale;
    }
    i64::try_from(if negative { -span } else { span }).ok()
}

/// The text of a real that JSON has no number for; `None` for others.
pub(super) fn special_real(real: f64) -> Option<&'static str> {
    match real {
        real if real.is_nan() => Some("nan"),
        f64::INFINITY => Some("inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ => None,
    }
}

/// The real that [`special_real`] writes as this text.
pub(super) fn read_special_real(text: &str) -> Option<f64> {
    match text {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Bytes in hexadecimal.
pub(super) struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Parses hexadecimal digits in either case.
pub(super) fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}
