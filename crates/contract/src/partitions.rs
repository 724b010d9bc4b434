//! The number of a topic's partitions.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// Maximum number of partitions of a topic.
pub const PARTITIONS_MAX: u32 = 1024;

/// A number of partitions, from 1 to [`PARTITIONS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Partitions(u32);

impl Default for Partitions {
    /// One.
    fn default() -> Self {
        Partitions(1)
    }
}

impl Partitions {
    /// A number of partitions; `None` if a topic can't have as many.
    pub const fn new(partitions: u32) -> Option<Partitions> {
        if partitions >= 1 && partitions <= PARTITIONS_MAX { Some(Partitions(partitions)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Partitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why something is not a number of partitions.
fn expected(found: impl fmt::Display) -> String {
    format!("{found}: expected a number of partitions from 1 to {PARTITIONS_MAX}")
}

impl FromStr for Partitions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let partitions = text.parse().ok().and_then(Partitions::new);
        partitions.ok_or_else(|| expected(format_args!("{text:?}")))
    }
}

impl<'de> Deserialize<'de> for Partitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        let partitions = u32::try_from(number).ok().and_then(Partitions::new);
        partitions.ok_or_else(|| serde::de::Error::custom(expected(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_the_same_as_text_and_as_json() {
        for text in ["1", "4", "1024"] {
            let partitions: Partitions = text.parse().unwrap();
            assert_eq!(partitions.to_string(), text);
            let json = serde_json::to_string(&partitions).unwrap();
            assert_eq!(json, text);
            assert_eq!(serde_json::from_str::<Partitions>(&json).unwrap(), partitions);
        }
        for wrong in ["0", "1025", "-1", "1.5", "", "null", "5000000000"] {
            let error = wrong.parse::<Partitions>().unwrap_err();
            assert!(error.contains("from 1 to 1024"), "{error}");
            assert!(serde_json::from_str::<Partitions>(wrong).is_err(), "{wrong}");
        }
    }
}
