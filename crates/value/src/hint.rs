//! The types that values are to get whose source does not say them: `address`, `port@proto`.
//!
//! JSON has no addresses, ports and times, and a program's objects often don't either. A [`Hint`] is the type that a
//! person asks for, and makes the value of a text or of a number; [`json::hinted`](crate::json::hinted) does so with
//! the fields of JSON. What is of the type already, or is none, stays as it is.

use std::fmt;
use std::str::FromStr;

use crate::{
    Address, AddressError, EnumName, Kind, Port, PortError, Protocol, Put, Subnet, SubnetError, TimeError, TimespanNs,
    TimestampNs,
};

/// A type asked for. Read from its name and shown as it: [`Hint::names`] has all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    kind: Option<Kind>,
    protocol_field: Option<String>,
}

/// A field's name and the type that its value is to get, written as `id.orig_h=address`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldHint {
    /// The name.
    pub field: String,
    /// The type.
    pub hint: Hint,
}

/// A text is no type to ask for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HintError {
    /// No type is called so.
    #[error("{name:?} is no type; there are {}", Hint::names())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A field after the `@` of a type that has no protocol, or no field after a port's `@`.
    #[error("{name:?} is no type; only a port takes its protocol from another field: port@FIELD")]
    ProtocolField {
        /// What was asked for.
        name: String,
    },
    /// No field is named.
    #[error("write it as FIELD=TYPE, such as id.orig_h=address")]
    NoField,
}

/// A value is not of the type asked for, nor stands for one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MisfitError {
    /// A text that names nothing of the type.
    #[error("{text:?}: {reason}")]
    Text {
        /// The text.
        text: String,
        /// Why not, and what does.
        reason: TextError,
    },
    /// A whole number that the type does not have.
    #[error("{number} is no {}; they begin at {} and end at {}", name_of(*.kind), range(*.kind).0, range(*.kind).1)]
    Number {
        /// The number.
        number: i128,
        /// The type.
        kind: Kind,
    },
    /// Seconds beyond what 64 bits of nanoseconds hold, or no number.
    #[error("{seconds} seconds do not fit into 64 bits of nanoseconds; they are at most 292 years")]
    Seconds {
        /// The seconds.
        seconds: f64,
    },
    /// A value of a type that nothing is made of.
    #[error(
        "a value of type {} was given for a field of type {}; change one of them",
        name_of(*.found), name_of(*.asked)
    )]
    Kind {
        /// The type asked for.
        asked: Kind,
        /// The value's.
        found: Kind,
    },
}

/// Why a text names no value of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// No address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No subnet.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
    /// No port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// No time or duration.
    #[error(transparent)]
    Time(#[from] TimeError),
}

/// The types that can be asked for, apart from `any`.
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

/// The name of no type in particular.
const ANY: &str = "any";

impl Hint {
    /// As the source says; written `any`.
    pub const ANY: Hint = Hint { kind: None, protocol_field: None };

    /// The names of all types that can be asked for, as a text for people.
    pub fn names() -> String {
        let names: Vec<&str> = KINDS.map(name_of).into();
        format!("{ANY}, {}", names.join(", ")).replace("port,", "port, port@FIELD,")
    }

    /// The type; none if it is as the source says.
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The field whose text is the protocol of a port that comes as a number.
    pub fn protocol_field(&self) -> Option<&str> {
        self.protocol_field.as_deref()
    }

    /// Appends the value that a text stands for. False, with nothing appended, where it stands for itself: it is then a
    /// string, which [`Hint::check`] may refuse.
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

    /// Appends the value that a whole number stands for: times and durations are in nanoseconds, a port is of this
    /// `protocol`. False, with nothing appended, where it stands for itself.
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

    /// Appends the time or the duration of so many seconds, rounded to nanoseconds. False, with nothing appended, for
    /// other types: the number then stands for itself.
    #[inline]
    pub fn put_real(&self, seconds: f64, out: &mut Vec<u8>) -> Result<bool, MisfitError> {
        if !self.is_time() {
            return Ok(false);
        }
        let nanoseconds = (seconds * 1e9).round();
        // 2^63 is the first that 64 bits do not hold.
        if nanoseconds.is_nan() || nanoseconds.abs() >= 9_223_372_036_854_775_808.0 {
            return Err(MisfitError::Seconds { seconds });
        }
        self.put_number(nanoseconds as i64, Protocol::Unknown, out)
    }

    /// Appends the time or the duration of this many seconds, given as a JSON number's text and exact to the
    /// nanosecond: a double has no room for a time of today and its nanoseconds. False, with nothing appended, for
    /// other types and for a text that isn't a number.
    pub fn put_seconds(&self, seconds: &str, out: &mut Vec<u8>) -> Result<bool, MisfitError> {
        if !self.is_time() {
            return Ok(false);
        }
        match nanoseconds(seconds) {
            Some(Ok(nanoseconds)) => self.put_number(nanoseconds, Protocol::Unknown, out),
            Some(Err(TooLarge)) => Err(MisfitError::Seconds { seconds: seconds.parse().unwrap_or(f64::INFINITY) }),
            None => Ok(false),
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

    /// Whether real numbers are seconds.
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

/// More seconds than 64 bits of nanoseconds hold.
struct TooLarge;

/// The nanoseconds of a decimal number of seconds, rounded half away from zero; nothing if the text isn't a JSON
/// number.
fn nanoseconds(seconds: &str) -> Option<Result<i64, TooLarge>> {
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
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(Ok(0));
    }
    // An exponent beyond 64 bits decides by its sign alone, whatever the digits are.
    let extreme = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    let exponent = exponent.parse().unwrap_or(extreme).clamp(i64::MIN / 2, i64::MAX / 2);
    // The digits are the nanoseconds after a shift by this many places, to the left if it is positive.
    let shift = exponent - fraction.len() as i64 + 9;
    // Where the nanoseconds' whole part ends among the digits.
    let end = digits.len() as i64 + shift;
    if end > 19 {
        return Some(Err(TooLarge));
    }
    let (kept, dropped) = digits.split_at(usize::try_from(end).unwrap_or(0).min(digits.len()));
    let zeros = u32::try_from(shift).unwrap_or(0);
    let rounds_up = end >= 0 && dropped.as_bytes().first().is_some_and(|digit| *digit >= b'5');
    // At most 19 digits, zeros included.
    let value = kept.parse::<i128>().unwrap_or(0) * 10_i128.pow(zeros) + i128::from(rounds_up);
    Some(i64::try_from(if is_negative { -value } else { value }).map_err(|_| TooLarge))
}

/// What people call a type.
fn name_of(kind: Kind) -> &'static str {
    if kind == Kind::Enum { "enum" } else { kind.name() }
}

/// The whole numbers that a type has.
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
