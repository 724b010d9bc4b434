//! Which records of a topic are kept: the limits by age and by size.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Longest age that is accepted, in hours: more than a hundred thousand years. A longer one is a mistake in its unit.
const HOURS_MAX: f64 = 1e9;

/// A number of hours, greater than 0; fractions are allowed. A whole number has no decimal point as text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Hours(f64);

// It is never NaN.
impl Eq for Hours {}

impl Hours {
    /// A number of hours; `None` if it is 0, negative, not a number, or longer than a human life.
    pub fn new(hours: f64) -> Option<Hours> {
        (hours > 0.0 && hours <= HOURS_MAX).then_some(Hours(hours))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why something is not a number of hours.
const HOURS_EXPECTED: &str = "expected a number of hours greater than 0, such as 24 or 0.5";

impl FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hours = text.parse().ok().and_then(Hours::new);
        hours.ok_or_else(|| format!("{text:?}: {HOURS_EXPECTED}"))
    }
}

impl Serialize for Hours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 { serializer.serialize_u64(self.0 as u64) } else { serializer.serialize_f64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hours = f64::deserialize(deserializer)?;
        Hours::new(hours).ok_or_else(|| serde::de::Error::custom(format!("{hours}: {HOURS_EXPECTED}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_the_same_as_text_and_as_json() {
        for text in ["24", "0.5", "1000000000", "0.000001"] {
            let hours: Hours = text.parse().unwrap();
            assert_eq!(hours.to_string(), text);
            let json = serde_json::to_string(&hours).unwrap();
            assert_eq!(serde_json::from_str::<Hours>(&json).unwrap(), hours, "{json}");
            assert!(!json.ends_with(".0"), "{json}");
        }
        for wrong in ["0", "-1", "NaN", "inf", "1e10", "", "2h"] {
            let error = wrong.parse::<Hours>().unwrap_err();
            assert!(error.contains("such as 24"), "{error}");
            assert!(serde_json::from_str::<Hours>(wrong).is_err(), "{wrong}");
        }
    }
}
