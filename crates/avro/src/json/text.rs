//! Converts logical types to text and back.

use std::fmt::Display;
use std::io::Write;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Unit};

use crate::json::number;
use crate::schema::Logical;
use rawline_time::iso;

/// Nanoseconds per unit of a logical type.
fn unit_nanos(logical: Logical) -> Option<i64> {
    Some(match logical {
        Logical::TimestampMillis | Logical::LocalTimestampMillis | Logical::TimeMillis => 1_000_000,
        Logical::TimestampMicros | Logical::LocalTimestampMicros | Logical::TimeMicros => 1_000,
        Logical::TimestampNanos | Logical::LocalTimestampNanos => 1,
        _ => return None,
    })
}

fn is_local(logical: Logical) -> bool {
    matches!(logical, Logical::LocalTimestampMillis | Logical::LocalTimestampMicros | Logical::LocalTimestampNanos)
}

/// Appends a date, time of day or timestamp as a JSON string. `None` if it isn't one, or the number is out of the
/// text's range; then it appends nothing.
pub(crate) fn put_time(logical: Logical, value: i64, out: &mut Vec<u8>) -> Option<()> {
    if logical == Logical::Date {
        return put_quoted(epoch().checked_add(Span::new().try_days(value).ok()?).ok()?, out);
    }
    let nanos = i128::from(value) * i128::from(unit_nanos(logical)?);
    if matches!(logical, Logical::TimeMillis | Logical::TimeMicros) {
        let nanos = i64::try_from(nanos).ok().filter(|nanos| (0..86_400_000_000_000).contains(nanos))?;
        return put_quoted(Time::midnight().checked_add(SignedDuration::from_nanos(nanos)).ok()?, out);
    }
    let timestamp = Timestamp::from_nanosecond(nanos).ok()?;
    match is_local(logical) {
        true => put_quoted(TimeZone::UTC.to_datetime(timestamp), out),
        false => put_quoted(timestamp, out),
    }
}

/// Appends a time between quotes: its text has no characters to escape.
fn put_quoted(time: impl Display, out: &mut Vec<u8>) -> Option<()> {
    write!(out, "\"{time}\"").ok()
}

/// Parses a date, time of day or timestamp; `None` if the text is invalid, or finer than the type's unit.
pub(crate) fn parse_time(logical: Logical, text: &str) -> Option<i64> {
    if logical == Logical::Date {
        let span = epoch().until((Unit::Day, iso::date(text)?)).ok()?;
        return Some(i64::from(span.get_days()));
    }
    let unit = i128::from(unit_nanos(logical)?);
    let nanos = match logical {
        Logical::TimeMillis | Logical::TimeMicros => iso::time(text)?.duration_since(Time::midnight()).as_nanos(),
        logical if is_local(logical) => iso::datetime(text)?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond(),
        _ => iso::timestamp(text)?.as_nanosecond(),
    };
    if nanos % unit != 0 {
        return None;
    }
    i64::try_from(nanos / unit).ok()
}

fn epoch() -> Date {
    Date::constant(1970, 1, 1)
}

/// A decimal of at most 16 bytes as text.
pub(crate) fn decimal(bytes: &[u8], scale: u32) -> Option<String> {
    let first = *bytes.first()?;
    let mut wide = [if first >= 0x80 { 0xff } else { 0 }; 16];
    wide.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    let value = i128::from_be_bytes(wide);
    let scale = usize::try_from(scale).ok().filter(|scale| *scale <= 100)?;
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    Some(if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") })
}

/// The bytes of a decimal: exactly `size`, or as few as possible. `None` if it has more digits than allowed.
pub(crate) fn parse_decimal(text: &str, precision: u32, scale: u32, size: Option<usize>) -> Option<Vec<u8>> {
    let (value, digits) = number::scaled(text, scale)?;
    if u32::try_from(digits).ok()? > precision {
        return None;
    }
    let wide = value.to_be_bytes();
    let sign_byte = if value < 0 { 0xff } else { 0 };
    // Leading bytes that only repeat the sign are dropped while the next byte still shows it.
    let spare = wide
        .windows(2)
        .take_while(|pair| matches!(pair, [first, second] if *first == sign_byte && (second ^ sign_byte) < 0x80));
    let short = wide.get(spare.count()..)?;
    match size {
        None => Some(short.to_vec()),
        Some(size) => {
            let mut bytes = vec![sign_byte; size.checked_sub(short.len())?];
            bytes.extend_from_slice(short);
            Some(bytes)
        }
    }
}

/// A UUID's 16 bytes as text.
pub(crate) fn uuid(bytes: &[u8]) -> Option<String> {
    if bytes.len() != 16 {
        return None;
    }
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Some(text)
}

/// The bytes of a UUID's text.
pub(crate) fn parse_uuid(text: &str) -> Option<Vec<u8>> {
    let dashes = text.bytes().enumerate().all(|(i, byte)| (byte == b'-') == matches!(i, 8 | 13 | 18 | 23));
    if text.len() != 36 || !dashes {
        return None;
    }
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|character| *character != '-')
        .map(|character| character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let (pairs, _) = digits.as_deref()?.as_chunks::<2>();
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
