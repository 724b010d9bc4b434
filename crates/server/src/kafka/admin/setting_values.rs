//! The values that Kafka allows for settings that are only kept.

use super::topic_settings::elements;
use std::fmt;

/// Which values are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Whole numbers from the first to the second.
    Int(i32, i32),
    /// Whole numbers of this or more.
    Long(i64),
    /// Numbers from 0 to 1.
    Ratio,
    OneOf(&'static [&'static str]),
    /// A list of `PARTITION:BROKER`, or `*`.
    Replicas,
}

impl Check {
    pub fn allows(self, value: &str) -> bool {
        match self {
            Check::Int(min, max) => value.parse().is_ok_and(|value| (min..=max).contains(&value)),
            Check::Long(min) => value.parse().is_ok_and(|value: i64| value >= min),
            Check::Ratio => value.parse().is_ok_and(|value: f64| (0.0..=1.0).contains(&value)),
            Check::OneOf(values) => values.iter().any(|allowed| allowed.eq_ignore_ascii_case(value)),
            Check::Replicas => value.is_empty() || value == "*" || elements(value).all(is_replica),
        }
    }
}

fn is_replica(element: &str) -> bool {
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    element.split_once(':').is_some_and(|(partition, broker)| is_number(partition) && is_number(broker))
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Check::Int(min, i32::MAX) => write!(formatter, "a whole number of {min} or more, below 2^31"),
            Check::Int(min, max) => write!(formatter, "a whole number from {min} to {max}"),
            Check::Long(min) => write!(formatter, "a whole number of {min} or more"),
            Check::Ratio => write!(formatter, "a number from 0 to 1"),
            Check::OneOf(values) => write!(formatter, "one of {}", values.join(", ")),
            Check::Replicas => write!(formatter, "a list of PARTITION:BROKER, or *"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_as_in_kafka() {
        for (check, allowed, refused) in [
            (Check::Int(4, 9), &["4", "9"][..], &["3", "10", "", "4.0", "x"][..]),
            (Check::Long(-2), &["-2", "9223372036854775807"], &["-3", "9223372036854775808"]),
            (Check::Ratio, &["0", "0.25", "1"], &["-0.1", "1.1", "NaN", "all"]),
            (Check::OneOf(&["true", "false"]), &["true", "False"], &["", "yes"]),
            (Check::Replicas, &["", "*", "0:1", "0:1, 1:2"], &["0", "0:1,", "a:1", "*,0:1"]),
        ] {
            allowed.iter().for_each(|value| assert!(check.allows(value), "{value:?}: {check}"));
            refused.iter().for_each(|value| assert!(!check.allows(value), "{value:?}: {check}"));
        }
    }
}
