//! The types that values are to get whose source does not say them: `address`, `port@proto`.
//!
//! JSON has no addresses, ports and times, and a program's objects often don't either. A [`Hint`] is the type that a
//! person asks for, and makes the value of a text or of a number; [`json::hinted`](crate::json::hinted) does so with the
//! fields of JSON. What is of the type already, or is none, stays as it is.

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
    /// A field behind the `@` of a type that has no protocol, or none behind a port's.
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
    #[error("a value of type {} was given for a field of type {}; change one of them", name_of(*.found), name_of(*.asked))]
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

/// What can be asked for besides any.
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

    /// Errs if a value of type `found` is not of the type asked for. None fits every type.
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
