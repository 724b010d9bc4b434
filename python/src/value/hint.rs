//! What type a field is to get whose Python object does not say it: `{"host": "address", "port": "port@proto"}`.

use crate::error::value_error;
use crate::value::types::protocol_of;
use pyo3::prelude::*;
use rawline_value::{EnumName, Port, Put, TimespanNs, TimestampNs};

/// A type asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Hint {
    /// As the object says.
    #[default]
    None,
    Address,
    Subnet,
    /// From text, or from a number and the protocol that another field names.
    Port {
        protocol: Option<String>,
    },
    Timestamp,
    Timespan,
    Enum,
    String,
    Count,
    Integer,
    Real,
    /// A list's elements, sorted.
    Set,
}

impl Hint {
    pub fn parse(name: &str) -> PyResult<Hint> {
        Ok(match name.split_once('@') {
            Some(("port", protocol)) => Hint::Port { protocol: Some(protocol.to_owned()) },
            Some(_) => return Err(value_error("only a port takes its protocol from another field: port@FIELD")),
            None => match name {
                "any" => Hint::None,
                "address" => Hint::Address,
                "subnet" => Hint::Subnet,
                "port" => Hint::Port { protocol: None },
                "timestamp" => Hint::Timestamp,
                "timespan" => Hint::Timespan,
                "enum" => Hint::Enum,
                "string" => Hint::String,
                "count" => Hint::Count,
                "integer" => Hint::Integer,
                "real" => Hint::Real,
                "set" => Hint::Set,
                other => {
                    return Err(value_error(format!(
                        "{other:?} is no type; there are any, address, subnet, port, port@FIELD, timestamp, timespan, \
                         enum, string, count, integer, real and set"
                    )));
                }
            },
        })
    }

    /// Appends the value that a text stands for; false if the type has no text.
    pub fn put_text(&self, text: &str, out: &mut Vec<u8>) -> Result<bool, String> {
        fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
            text.parse().map_err(|error: T::Err| format!("{text:?}: {error}"))
        }
        match self {
            Hint::Address => parsed::<rawline_value::Address>(text)?.put(out),
            Hint::Subnet => parsed::<rawline_value::Subnet>(text)?.put(out),
            Hint::Port { .. } => parsed::<Port>(text)?.put(out),
            Hint::Timestamp => parsed::<TimestampNs>(text)?.put(out),
            Hint::Timespan => parsed::<TimespanNs>(text)?.put(out),
            Hint::Enum => EnumName(text).put(out),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends the value that a whole number stands for; false if the object says it already.
    pub fn put_number(&self, number: i64, protocol: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        match self {
            Hint::Timestamp => TimestampNs(number).put(out),
            Hint::Timespan => TimespanNs(number).put(out),
            Hint::Integer => number.put(out),
            Hint::Real => (number as f64).put(out),
            Hint::Port { .. } => {
                let number = u16::try_from(number).map_err(|_| format!("{number} is no port; they end at 65535"))?;
                Port::new(number, protocol_of(protocol).unwrap_or_default()).put(out);
            }
            Hint::Count if number < 0 => return Err(format!("{number} is no count; counts begin at 0")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends the value that a real number of seconds stands for; false if the object says it already.
    pub fn put_real(&self, real: f64, out: &mut Vec<u8>) -> Result<bool, String> {
        if !matches!(self, Hint::Timestamp | Hint::Timespan) {
            return Ok(false);
        }
        let ns = (real * 1e9).round();
        // 2^63 is the first that 64 bits do not hold.
        if ns.is_nan() || ns.abs() >= 9_223_372_036_854_775_808.0 {
            return Err(format!("{real} seconds are more than 64 bits of nanoseconds hold"));
        }
        self.put_number(ns as i64, b"", out)
    }

    /// Whether a value of that tag is of this type.
    pub fn admits(&self, tag: u8) -> bool {
        match self {
            Hint::None => true,
            Hint::String => tag == 5,
            Hint::Address => tag == 6,
            Hint::Subnet => tag == 7,
            Hint::Port { .. } => tag == 8,
            Hint::Timestamp => tag == 9,
            Hint::Timespan => tag == 10,
            Hint::Enum => tag == 11,
            Hint::Count => tag == 2,
            Hint::Integer => tag == 3,
            Hint::Real => tag == 4,
            Hint::Set => tag == 12,
        }
    }

    /// What a user calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Hint::None => "any",
            Hint::Address => "address",
            Hint::Subnet => "subnet",
            Hint::Port { .. } => "port",
            Hint::Timestamp => "timestamp",
            Hint::Timespan => "timespan",
            Hint::Enum => "enum",
            Hint::String => "string",
            Hint::Count => "count",
            Hint::Integer => "integer",
            Hint::Real => "real",
            Hint::Set => "set",
        }
    }
}
