//! Types for values whose source doesn't have them: `address`, `port@proto`.
//!
//! JSON has no addresses, ports and times, and a program's objects often don't either. A [`Hint`] names the
//! wanted type and converts a text or a number to it; [`json::hinted`](crate::json::hinted) does so for the fields of
//! JSON. A value that already has the type, or is none, is unchanged.

use std::fmt;
use std::str::FromStr;

use crate::item::Item;
use crate::{
    Address, AddressError, EnumName, Kind, Port, PortError, Protocol, Put, Subnet, SubnetError, TimeError, TimespanNs,
    TimestampNs,
};

/// A requested type. Parsed from its name and displayed as it; [`Hint::names`] lists all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    kind: Option<Kind>,
    protocol_field: Option<String>,
}

/// A field's name and the type of its value, written as `id.orig_h=address`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldHint {
    /// The name.
    pub field: String,
    /// The type.
    pub hint: Hint,
}

/// The text isn't a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HintError {
    /// No type has this name.
    #[error("{name:?} isn't a type; use one of {}", Hint::names())]
    Unknown {
        /// The given name.
        name: String,
    },
    /// A field after the `@` of a type that has no protocol, or no field after a port's `@`.
    #[error("{name:?} isn't a type; only a port takes its protocol from another field: port@FIELD")]
    ProtocolField {
        /// The given name.
        name: String,
    },
    /// No field is named.
    #[error("write it as FIELD=TYPE, such as id.orig_h=address")]
    NoField,
}

/// The value isn't of the requested type and can't be converted to it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MisfitError {
    /// The text isn't a value of the type.
    #[error("{text:?}: {reason}")]
    Text {
        /// The text.
        text: String,
        /// The reason, and what to write.
        reason: TextError,
    },
    /// The whole number is out of the type's range.
    #[error("{number} isn't a valid {}; the range is {} to {}", name_of(*.kind), range(*.kind).0, range(*.kind).1)]
    Number {
        /// The number.
        number: i128,
        /// The type.
        kind: Kind,
    },
    /// Seconds that exceed 64 bits of nanoseconds, or aren't a number.
    #[error("{seconds} seconds don't fit into 64 bits of nanoseconds; the maximum is 292 years")]
    Seconds {
        /// The seconds.
        seconds: f64,
    },
    /// The value's type can't be converted.
    #[error(
        "a value of type {} was given for a field of type {}; change one of them",
        name_of(*.found), name_of(*.asked)
    )]
    Kind {
        /// The requested type.
        asked: Kind,
        /// The value's.
        found: Kind,
    },
}

/// Why a text isn't a value of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Not an address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Not a subnet.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
    /// Not a port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Not a time or duration.
    #[error(transparent)]
    Time(#[from] TimeError),
}

/// The types that can be requested, except `any`.
const KINDS: [Kind; 11] = [
    Kind::Address,
    Kind::Subnet,
    Kind::Port,
    Kind::Timestamp,
    Kind::Timespan,
    Kind::Enum,
    Kind::String,
    Kind::Count,
    Kind::Integer,
    Kind::Real,
    Kind::Set,
];

/// The name for no particular type.
const ANY: &str = "any";

impl Hint {
    /// The source's own type; written `any`.
    pub const ANY: Hint = Hint { kind: None, protocol_field: None };

    /// The names of all types that can be requested, as human-readable text.
    pub fn names() -> String {
        let names: Vec<&str> = KINDS.map(name_of).into();
        format!("{ANY}, {}", names.join(", ")).replace("port,", "port, port@FIELD,")
    }

    /// The type; `None` for `any`.
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The field with the protocol of a port that is given as a number.
    pub fn protocol_field(&self) -> Option<&str> {
        self.protocol_field.as_deref()
    }

    /// Appends the value that a text is converted to. Returns false and appends nothing if the text stays a string,
    /// which [`Hint::check`] may reject.
    #[inline]
    pub fn put_text(&self, text: &str, out: &mut Vec<u8>) -> Result<bool, MisfitError> {
        match self.kind {
            Some(Kind::Address) => parsed::<Address>(text)?.put(out),
            Some(Kind::Subnet) => parsed::<Subnet>(text)?.put(out),
            Some(Kind::Port) => parsed::<Port>(text)?.put(out),
            Some(Kind::Timestamp) => parsed::<TimestampNs>(text)?.put(out),
            Some(Kind::Timespan) => parsed::<TimespanNs>(text)?.put(out),
            Some(Kind::Enum) => EnumName(text).put(out),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends the value that a whole number is converted to: times and durations are in nanoseconds, a port has this
    /// `protocol`. Returns false and appends nothing if the number stays a number.
    #[inline]
    pub fn put_number(
        &self,
        number: impl Into<i128>,
        protocol: Protocol,
        out: &mut Vec<u8>,
    ) -> Result<bool, MisfitError> {
        let number = number.into();
        let Some(kind) = self.kind else { return Ok(false) };
        let misfit = |_| MisfitError::Number { number, kind };
        match kind {
            Kind::Count => u64::try_from(number).map_err(misfit)?.put(out),
            Kind::Integer => i64::try_from(number).map_err(misfit)?.put(out),
            Kind::Real => (number as f64).put(out),
            Kind::Port => Port::new(u16::try_from(number).map_err(misfit)?, protocol).put(out),
            Kind::Timestamp => TimestampNs(i64::try_from(number).map_err(misfit)?).put(out),
            Kind::Timespan => TimespanNs(i64::try_from(number).map_err(misfit)?).put(out),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends the time or the duration of this many seconds, rounded to nanoseconds, or the whole number that a real
    /// stands for, as a port with this `protocol`. Returns false and appends nothing for other types and other numbers:
    /// they stay as they are.
    ///
    /// `1.0` and `1e3` are whole numbers, up to the greatest that a double tells from its neighbors.
    #[inline]
    pub fn put_real(&self, real: f64, protocol: Protocol, out: &mut Vec<u8>) -> Result<bool, MisfitError> {
        if matches!(self.kind, Some(Kind::Count | Kind::Integer | Kind::Port)) {
            const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
            let is_whole = real.fract() == 0.0 && real.abs() < EXACT_MAX;
            return if is_whole { self.put_number(real as i64, protocol, out) } else { Ok(false) };
        }
        if !self.is_time() {
            return Ok(false);
        }
        let seconds = real;
        let nanoseconds = (seconds * 1e9).round();
        // 2^63 is the first integer that doesn't fit.
        if nanoseconds.is_nan() || nanoseconds.abs() >= 9_223_372_036_854_775_808.0 {
            return Err(MisfitError::Seconds { seconds });
        }
        self.put_number(nanoseconds as i64, Protocol::Unknown, out)
    }

    /// The time or the duration of this many seconds, given as a JSON number's text and exact to the nanosecond, which
    /// a double can't hold for a current time. `None` for other types, and for a text that isn't a number or is too
    /// large.
    pub(crate) fn time_of_seconds(&self, seconds: &str) -> Option<Item<'static>> {
        match self.kind? {
            Kind::Timestamp => nanoseconds(seconds).map(Item::Timestamp),
            Kind::Timespan => nanoseconds(seconds).map(Item::Timespan),
            _ => None,
        }
    }

    /// Fails unless `found` is the hinted type. A `none` value matches any hint.
    #[inline]
    pub fn check(&self, found: Kind) -> Result<(), MisfitError> {
        match self.kind {
            Some(asked) if asked != found && found != Kind::None => Err(MisfitError::Kind { asked, found }),
            _ => Ok(()),
        }
    }

    /// Whether real numbers are read as seconds.
    #[inline]
    pub(crate) fn is_time(&self) -> bool {
        matches!(self.kind, Some(Kind::Timestamp | Kind::Timespan))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.map_or(ANY, name_of))?;
        match &self.protocol_field {
            Some(field) => write!(formatter, "@{field}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Hint {
    type Err = HintError;

    fn from_str(name: &str) -> Result<Hint, HintError> {
        if name == ANY {
            return Ok(Hint::ANY);
        }
        match name.split_once('@') {
            Some(("port", field)) if !field.is_empty() => {
                Ok(Hint { kind: Some(Kind::Port), protocol_field: Some(field.to_owned()) })
            }
            Some(_) => Err(HintError::ProtocolField { name: name.to_owned() }),
            None => match KINDS.into_iter().find(|kind| name_of(*kind) == name) {
                Some(kind) => Ok(Hint { kind: Some(kind), protocol_field: None }),
                None => Err(HintError::Unknown { name: name.to_owned() }),
            },
        }
    }
}

impl FromStr for FieldHint {
    type Err = HintError;

    fn from_str(text: &str) -> Result<FieldHint, HintError> {
        let (field, name) = text.split_once('=').ok_or(HintError::NoField)?;
        Ok(FieldHint { field: field.to_owned(), hint: name.parse()? })
    }
}

/// The nanoseconds of a decimal number of seconds, rounded half away from zero; `None` if the text isn't a JSON
/// number, and if 64 bits don't hold them.
fn nanoseconds(seconds: &str) -> Option<i64> {
    let (is_negative, number) = match seconds.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, seconds),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || !is_exponent {
        return None;
    }
    if exponent == "0"
        && let Some(nanoseconds) = short_nanoseconds(whole, fraction)
    {
        return Some(if is_negative { -nanoseconds } else { nanoseconds });
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // With an exponent beyond 64 bits, only its sign matters.
    let extreme = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    let exponent = exponent.parse().unwrap_or(extreme).clamp(i64::MIN / 2, i64::MAX / 2);
    // The digits are the nanoseconds after a shift by this many places, to the left if it is positive.
    let shift = exponent - fraction.len() as i64 + 9;
    // End of the nanoseconds' whole part among the digits.
    let end = digits.len() as i64 + shift;
    if end > 19 {
        return None;
    }
    let (kept, dropped) = digits.split_at(usize::try_from(end).unwrap_or(0).min(digits.len()));
    let zeros = u32::try_from(shift).unwrap_or(0);
    let rounds_up = end >= 0 && dropped.as_bytes().first().is_some_and(|digit| *digit >= b'5');
    // At most 19 digits, including zeros.
    let value = kept.parse::<i128>().unwrap_or(0) * 10_i128.pow(zeros) + i128::from(rounds_up);
    i64::try_from(if is_negative { -value } else { value }).ok()
}

/// The nanoseconds of seconds without an exponent, as most are given; `None` if they are close to what 64 bits hold.
fn short_nanoseconds(whole: &str, fraction: &str) -> Option<i64> {
    /// More digits than those of 292 years would overflow the seconds.
    const WHOLE_DIGITS_MAX: usize = 10;
    if whole.len() > WHOLE_DIGITS_MAX {
        return None;
    }
    let append = |number: i64, digit: u8| number * 10 + i64::from(digit - b'0');
    let seconds = whole.bytes().fold(0, append);
    let mut digits = fraction.bytes();
    let nanoseconds = (0..9).fold(0, |number, _| append(number, digits.next().unwrap_or(b'0')));
    let rounds_up = digits.next().is_some_and(|digit| digit >= b'5');
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds + i64::from(rounds_up))
}

/// The human-readable name of a type.
fn name_of(kind: Kind) -> &'static str {
    if kind == Kind::Enum { "enum" } else { kind.name() }
}

/// The range of whole numbers of a type.
fn range(kind: Kind) -> (i128, i128) {
    match kind {
        Kind::Port => (0, u16::MAX.into()),
        Kind::Count => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

fn parsed<T: FromStr<Err: Into<TextError>>>(text: &str) -> Result<T, MisfitError> {
    text.parse().map_err(|reason: T::Err| MisfitError::Text { text: text.to_owned(), reason: reason.into() })
}
